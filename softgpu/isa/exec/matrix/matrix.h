/* Matrix multiply-add, and the conversions of scaled numbers that feed it. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MATRIX_MATRIX_H
#define SOFTGPU_ISA_EXEC_MATRIX_MATRIX_H

#include "softgpu/isa/base/wave.h"

/* WMMA: wmma.c, of waves of both widths. */
bool isa_wmma_prepare(isa_inst_t *inst, const isa_limits_t *limits);
bool isa_matrix_prepare(isa_inst_t *inst, const isa_limits_t *limits); /* see wave.h */
bool isa_scale_prepare(isa_inst_t *inst, const isa_limits_t *limits);

#endif
