/* Operands. Internal to softgpu.
 *
 * isa_operand_prepare() leaves constants in operand->value, so that reading a scalar is a choice
 * between a register and that value; only the few special sources take the slow way. */
#ifndef SOFTGPU_ISA_EXEC_SCALAR_OPERAND_H
#define SOFTGPU_ISA_EXEC_SCALAR_OPERAND_H

#include "softgpu/isa/base/wave.h"

enum { ISA_LITERAL_SIGNED = 1 << 8 }; /* in operand->index of a prepared literal */

/* False when the operand names registers that the wave does not have, or cannot be read. One that
 * is not there is in order. */
bool isa_operand_prepare(isa_operand_t *operand, unsigned dwords, const isa_limits_t *limits);

/* The same of one that must be there. */
static inline bool isa_operand_require(isa_operand_t *operand, unsigned dwords,
                                       const isa_limits_t *limits)
{
  return operand->kind != ISA_OPERAND_NONE && isa_operand_prepare(operand, dwords, limits);
}

uint64_t isa_scalar_special(const isa_wave_t *wave, unsigned code, bool is_wide);
uint64_t isa_scalar_inline64(unsigned code);

static inline uint32_t isa_read32(const isa_wave_t *wave, const isa_operand_t *operand)
{
  if (operand->kind == ISA_OPERAND_SGPR)
    return wave->s[operand->index];
  if (operand->kind != ISA_OPERAND_SPECIAL)
    return operand->value;
  return (uint32_t)isa_scalar_special(wave, operand->index, false);
}

static inline uint64_t isa_read64(const isa_wave_t *wave, const isa_operand_t *operand)
{
  if (operand->kind == ISA_OPERAND_SGPR)
    return isa_read_s64(wave, operand->index);
  if (operand->kind == ISA_OPERAND_LITERAL)
    return operand->index & ISA_LITERAL_SIGNED ? (uint64_t)(int64_t)(int32_t)operand->value
                                               : operand->value;
  if (operand->kind == ISA_OPERAND_INLINE)
    return isa_scalar_inline64(operand->index);
  return isa_scalar_special(wave, operand->index, true);
}

#endif
