/* The engines of waves of one width; compiled for each. */
#include "softgpu/isa/run/width.h"

#include "softgpu/isa/exec/matrix/matrix.h"
#include "softgpu/isa/exec/memory/checks.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/salu.h"
#include "softgpu/isa/exec/vector/valu.h"
#include "softgpu/isa/reference/reference.h"

/* Matrices and images are GFX9's, whose waves have 64 lanes. */
#if ISA_LANES == 64
#define IF_64(executor) executor
#else
#define IF_64(executor) NULL
#endif

typedef bool executor_t(isa_inst_t *inst, const isa_limits_t *limits);

enum { WAYS = 3 };

/* By encoding: who is asked, and who is asked then. */
static executor_t *const executors[ISA_ENCODING_COUNT][WAYS] = {
    [ISA_SOP1... ISA_SOPP] = {isa_salu_prepare, isa_scalar_float_prepare},
    [ISA_SMEM] = {isa_smem_prepare},
    [ISA_VOP1... ISA_VOPC] = {isa_valu_prepare},
    [ISA_VOP3... ISA_VOP3P] = {isa_valu_prepare, isa_wmma_prepare, IF_64(isa_matrix_prepare)},
    [ISA_VOPD] = {isa_dual_prepare},
    [ISA_DS] = {isa_ds_prepare},
    [ISA_FLAT... ISA_SCRATCH] = {isa_flat_prepare},
    [ISA_MUBUF... ISA_MTBUF] = {isa_buffer_prepare},
    [ISA_MIMG] = {IF_64(isa_image_prepare)},
};

/* Whether what has the place of a result is read. */
static bool reads_result(const isa_inst_t *inst)
{
  return inst->encoding == ISA_SOPK &&
         ((inst->op >= ISA_s_cmpk_eq_i32 && inst->op <= ISA_s_cmpk_lt_u32) ||
          inst->op == ISA_s_setreg_b32);
}

/* ISA_NULL reads as 0, and what is written to it goes nowhere. */
static void replace_null(isa_inst_t *inst)
{
  static const isa_operand_t zero = {.kind = ISA_OPERAND_INLINE, .index = ISA_CODE_ZERO};
  isa_operand_t *const sources[] = {&inst->src[0], &inst->src[1], &inst->src[2],
                                    &inst->mem.soffset};
  const size_t count = isa_is_memory(inst) ? 4 : 3;
  isa_operand_t *const results[] = {&inst->dst, &inst->sdst};
  for (size_t i = 0; i < count; ++i)
    if (sources[i]->kind == ISA_OPERAND_SGPR && sources[i]->index == ISA_NULL)
      *sources[i] = zero;
  for (size_t i = 0; i < sizeof results / sizeof *results; ++i)
    if (results[i]->kind == ISA_OPERAND_SGPR && results[i]->index == ISA_NULL &&
        !reads_result(inst))
      results[i]->index = ISA_NOWHERE;
}

bool isa_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  if (inst->op >= ISA_OP_COUNT) /* none that isa_decode() gives */
    return false;
  replace_null(inst);
  executor_t *const *asked = executors[inst->encoding];
  unsigned at = 0;
  while (at < WAYS && asked[at] && !asked[at](inst, limits))
    ++at;
  if (at == WAYS || !asked[at])
    return false;
  if (limits->checks)
    isa_checks_prepare(inst, limits->checks);
  return true;
}

const isa_width_t isa_width_table = {
    .prepare = isa_prepare,
    .halves = isa_dual_halves,
    .checks_failing = isa_checks_failing,
    .reference = {.run = isa_reference_run,
                  .takes = isa_reference_takes,
                  .allows = isa_reference_allows,
                  .failing = isa_reference_failing,
                  .writes = isa_reference_writes,
                  .scalar = isa_reference_scalar,
                  .transfer = isa_reference_transfer,
                  .place = isa_reference_place},
};
