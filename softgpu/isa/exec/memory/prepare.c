#include "softgpu/isa/exec/memory/prepare.h"

#include "softgpu/isa/exec/memory/checks.h"

static bool prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  switch (inst->encoding) {
  case ISA_SMEM:
    return isa_smem_prepare(inst, limits);
  case ISA_DS:
    return isa_ds_prepare(inst, limits);
  case ISA_FLAT:
  case ISA_GLOBAL:
  case ISA_SCRATCH:
    return isa_flat_prepare(inst, limits);
  case ISA_MUBUF:
  case ISA_MTBUF:
    return isa_buffer_prepare(inst, limits);
  case ISA_MIMG:
    return isa_image_prepare(inst, limits);
  default:
    return false;
  }
}

bool isa_memory_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  if (!prepare(inst, limits))
    return false;
  if (limits->checks)
    isa_checks_prepare(inst);
  return true;
}
