/* The vector ALU for any host. */
#include "softgpu/isa/float.h"
#include "softgpu/isa/small.h"
#include "softgpu/isa/valu_mfma.h"

#define VALU_BUILD isa_valu_portable
#include "softgpu/isa/valu_build.inc"
