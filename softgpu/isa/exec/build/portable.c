/* The vector ALU for any host. */
#define VALU_BUILD isa_valu_portable
#include "softgpu/isa/exec/build/build.inc"
