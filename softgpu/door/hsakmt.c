/* Linked into libhsakmt.so.1, which runtimes up to ROCm 6.2 link. */
#include "softgpu/thunk/layout.h"

const bool softgpu_is_dtif = false;
