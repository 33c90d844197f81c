#include "softgpu/isa/exec/scalar/operand.h"

static uint32_t inline32(unsigned code)
{
  static const uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  if (code >= ISA_CODE_FLOATS)
    return floats[code - ISA_CODE_FLOATS];
  return code <= ISA_CODE_SIXTY_FOUR ? code - ISA_CODE_ZERO : ISA_CODE_SIXTY_FOUR - code;
}

uint64_t isa_scalar_inline64(unsigned code)
{
  static const uint64_t floats[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
  if (code >= ISA_CODE_FLOATS)
    return floats[code - ISA_CODE_FLOATS];
  return (uint64_t)(int64_t)(int32_t)inline32(code);
}

bool isa_operand_prepare(isa_operand_t *operand, unsigned dwords, const isa_limits_t *limits)
{
  const unsigned end = operand->index + dwords;
  if (operand->kind == ISA_OPERAND_SGPR && operand->index < ISA_NULL && end > ISA_NULL)
    return false; /* there is no such register; it reads as 0 because nothing is written to it */
  switch (operand->kind) {
  case ISA_OPERAND_VGPR:
    return end <= limits->vgprs;
  case ISA_OPERAND_AGPR:
    return end <= limits->agprs;
  case ISA_OPERAND_SGPR: /* vcc, exec and others every wave has */
    return end <= limits->sgprs || (operand->index >= ISA_FLAT_SCRATCH && end <= ISA_SGPRS) ||
           operand->index == ISA_NOWHERE;
  case ISA_OPERAND_INLINE:
    operand->value = inline32(operand->index);
    return dwords <= 2;
  case ISA_OPERAND_SPECIAL:
    return operand->index != ISA_CODE_LDS_DIRECT && operand->index != ISA_CODE_POPS_WAVE;
  default:
    return true;
  }
}

uint64_t isa_scalar_special(const isa_wave_t *wave, unsigned code, bool is_wide)
{
  uint64_t shared_aperture = (uint64_t)wave->dispatch->shared_aperture_hi << 32;
  uint64_t private_aperture = (uint64_t)wave->dispatch->private_aperture_hi << 32;
  /* Apertures are 64-bit values whose lower half is 0 (base) or all ones (limit); 32-bit reads
   * give the upper half. */
  const uint64_t apertures[] = {shared_aperture, shared_aperture | UINT32_MAX, private_aperture,
                                private_aperture | UINT32_MAX};
  if (code >= ISA_CODE_APERTURES && code < ISA_CODE_POPS_WAVE)
    return is_wide ? apertures[code - ISA_CODE_APERTURES]
                   : apertures[code - ISA_CODE_APERTURES] >> 32;
  switch (code) {
  case ISA_CODE_VCCZ:
    return isa_vcc(wave) == 0;
  case ISA_CODE_EXECZ:
    return isa_exec(wave) == 0;
  default:
    return wave->scc;
  }
}
