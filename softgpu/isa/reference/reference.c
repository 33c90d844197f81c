#include "softgpu/isa/reference/reference.h"

static uint64_t constant(unsigned code, unsigned float_bits)
{
  /* 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi) */
  static const struct {
    uint16_t f16;
    uint32_t f32;
    uint64_t f64;
  } floats[] = {
      {0x3800, 0x3f000000, 0x3fe0000000000000}, {0xb800, 0xbf000000, 0xbfe0000000000000},
      {0x3c00, 0x3f800000, 0x3ff0000000000000}, {0xbc00, 0xbf800000, 0xbff0000000000000},
      {0x4000, 0x40000000, 0x4000000000000000}, {0xc000, 0xc0000000, 0xc000000000000000},
      {0x4400, 0x40800000, 0x4010000000000000}, {0xc400, 0xc0800000, 0xc010000000000000},
      {0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
  };
  if (code >= ISA_CODE_FLOATS)
    return float_bits == 16   ? floats[code - ISA_CODE_FLOATS].f16
           : float_bits == 32 ? floats[code - ISA_CODE_FLOATS].f32
                              : floats[code - ISA_CODE_FLOATS].f64;
  return (uint64_t)(code <= ISA_CODE_SIXTY_FOUR ? (int64_t)code - ISA_CODE_ZERO
                                                : ISA_CODE_SIXTY_FOUR - (int64_t)code);
}

static uint64_t special(const isa_wave_t *wave, unsigned code, unsigned dwords)
{
  const uint64_t shared_aperture = (uint64_t)wave->dispatch->shared_aperture_hi << 32;
  const uint64_t private_aperture = (uint64_t)wave->dispatch->private_aperture_hi << 32;
  switch (code) {
  case 235:
  case 236:
    return dwords == 1 ? shared_aperture >> 32 : shared_aperture + (code == 236 ? UINT32_MAX : 0);
  case 237:
  case 238:
    return dwords == 1 ? private_aperture >> 32 : private_aperture + (code == 238 ? UINT32_MAX : 0);
  case 251:
    return !isa_vcc(wave);
  case 252:
    return !isa_exec(wave);
  case 253:
    return wave->scc;
  default:
    return 0;
  }
}

uint64_t isa_reference_scalar(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords,
                              unsigned float_bits)
{
  uint64_t value = 0;
  switch (operand->kind) {
  case ISA_OPERAND_SGPR:
    for (unsigned i = 0; operand->index != ISA_NULL && i < dwords; ++i)
      value |= (uint64_t)wave->s[operand->index + i] << 32 * i;
    return value;
  case ISA_OPERAND_INLINE:
    value = constant(operand->index, float_bits);
    break;
  case ISA_OPERAND_LITERAL:
    return operand->value;
  case ISA_OPERAND_SPECIAL:
    return special(wave, operand->index, dwords);
  default:
    break;
  }
  return dwords == 1 ? value & UINT32_MAX : value;
}

uint32_t isa_reference_register(const isa_wave_t *wave, const isa_operand_t *operand, int n,
                                unsigned rows, unsigned row, unsigned lane)
{
  unsigned index = operand->index;
  if (operand->kind == ISA_OPERAND_AGPR)
    return wave->a[index + row][lane];
  if (n >= 0 && wave->gpr_index_mode >> n & 1)
    index += wave->s[ISA_M0] & 255;
  if (index + rows > wave->vgprs)
    index = 0; /* ISA document: out of range reads v0 */
  return wave->v[index + row][lane];
}

/* By encoding: what may be run, what runs it, and whether a lane's access would not fail, and where
 * it writes, or NULL where there is none. */
static const struct {
  bool (*allows)(const isa_wave_t *wave, const isa_inst_t *inst);
  bool (*run)(isa_wave_t *wave, const isa_inst_t *inst);
  bool (*passes)(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);
  bool (*writes)(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                 struct place *place);
} families[ISA_ENCODING_COUNT] = {
    [ISA_SOP1... ISA_SOPP] = {isa_reference_allows_scalar, isa_reference_salu, NULL, NULL},
    [ISA_SMEM] = {isa_reference_allows_smem, isa_reference_smem, NULL, isa_reference_smem_writes},
    [ISA_VOP1... ISA_VOP3P] = {isa_reference_allows_vector, isa_reference_valu, NULL, NULL},
    [ISA_DS] = {isa_reference_allows_ds, isa_reference_ds, isa_reference_ds_passes,
                isa_reference_ds_writes},
    [ISA_FLAT... ISA_SCRATCH] = {isa_reference_allows_flat, isa_reference_memory,
                                 isa_reference_memory_passes, isa_reference_memory_writes},
    [ISA_MUBUF... ISA_MTBUF] = {isa_reference_allows_buffer, isa_reference_memory,
                                isa_reference_memory_passes, isa_reference_memory_writes},
    [ISA_VOPD] = {isa_reference_allows_dual, isa_reference_dual, NULL, NULL},
#if ISA_LANES == 64
    [ISA_MIMG] = {isa_reference_allows_image, isa_reference_image, isa_reference_image_passes,
                  isa_reference_image_writes},
#endif
};

bool isa_reference_allows(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return families[inst->encoding].allows && families[inst->encoding].allows(wave, inst);
}

bool isa_reference_run(isa_wave_t *wave, const isa_inst_t *inst)
{
  return isa_reference_allows(wave, inst)
             ? families[inst->encoding].run(wave, inst)
             : isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
}

bool isa_reference_failing(isa_wave_t *wave, const isa_inst_t *inst, unsigned from, uint64_t *lanes)
{
  *lanes = 0;
  if (!families[inst->encoding].passes)
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave) >> from << from)
    if (!families[inst->encoding].passes(wave, inst, lane))
      *lanes |= 1ull << lane;
  return true;
}

bool isa_reference_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                          struct place *place)
{
  return families[inst->encoding].writes &&
         families[inst->encoding].writes(wave, inst, lane, part, place);
}
