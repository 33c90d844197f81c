#include "softgpu/isa/run/prepare.h"

#include "softgpu/isa/exec/matrix/matrix.h"
#include "softgpu/isa/exec/memory/checks.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/salu.h"
#include "softgpu/isa/exec/vector/valu.h"

bool isa_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  if (!isa_salu_prepare(inst, limits))
    return isa_memory_prepare(inst, limits) || isa_valu_prepare(inst, limits) ||
           isa_matrix_prepare(inst, limits);
  if (inst->op == ISA_s_endpgm && limits->checks & SOFTGPU_CHECK_STORES)
    isa_checks_prepare(inst);
  return true;
}
