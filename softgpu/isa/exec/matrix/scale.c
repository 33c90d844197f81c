/* gfx950's conversions between f32, f16 or bf16 and scaled small floats, a lane at a time. AMD's
 * CDNA4 ISA document, pseudocode of v_cvt_scalef32_*. */
#include "softgpu/isa/exec/matrix/matrix.h"

#include "softgpu/isa/base/small.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/exec/vector/vector.h"

typedef struct scale_op {
  uint16_t op;
  uint8_t small, wide; /* mfma_format_t */
  uint8_t count;       /* numbers a lane */
  bool narrows;        /* from wide to small */
  bool has_noise;      /* source 1 seeds v_prng_b32's sequence, a step a number */
  bool has_two;        /* wide numbers come from source 0 and source 1 in turn */
} scale_op_t;

#define ROW(name, small, wide, ...)                                                                \
  {                                                                                                \
    ISA_v_cvt_scalef32_##name, small, wide, __VA_ARGS__                                            \
  }
/* What every pair of a small and a wide format has. */
#define PAIR(s, SMALL, w, WIDE)                                                                    \
  ROW(pk_##s##_##w, SMALL, WIDE, 2, true, false, WIDE == MFMA_F32),                                \
      ROW(pk_##w##_##s, SMALL, WIDE, 2, false, false, false)
#define EIGHT_BITS(s, SMALL)                                                                       \
  PAIR(s, SMALL, f32, MFMA_F32), PAIR(s, SMALL, f16, MFMA_F16), PAIR(s, SMALL, bf16, MFMA_BF16),   \
      ROW(sr_##s##_f32, SMALL, MFMA_F32, 1, true, true, false),                                    \
      ROW(sr_##s##_f16, SMALL, MFMA_F16, 1, true, true, false),                                    \
      ROW(sr_##s##_bf16, SMALL, MFMA_BF16, 1, true, true, false),                                  \
      ROW(f32_##s, SMALL, MFMA_F32, 1, false, false, false),                                       \
      ROW(f16_##s, SMALL, MFMA_F16, 1, false, false, false)
#define SIX_BITS(s, SMALL)                                                                         \
  ROW(2xpk16_##s##_f32, SMALL, MFMA_F32, 32, true, false, true),                                   \
      ROW(pk32_##s##_f16, SMALL, MFMA_F16, 32, true, false, false),                                \
      ROW(pk32_##s##_bf16, SMALL, MFMA_BF16, 32, true, false, false),                              \
      ROW(sr_pk32_##s##_f32, SMALL, MFMA_F32, 32, true, true, false),                              \
      ROW(sr_pk32_##s##_f16, SMALL, MFMA_F16, 32, true, true, false),                              \
      ROW(sr_pk32_##s##_bf16, SMALL, MFMA_BF16, 32, true, true, false),                            \
      ROW(pk32_f32_##s, SMALL, MFMA_F32, 32, false, false, false),                                 \
      ROW(pk32_f16_##s, SMALL, MFMA_F16, 32, false, false, false),                                 \
      ROW(pk32_bf16_##s, SMALL, MFMA_BF16, 32, false, false, false)

static const scale_op_t rows[] = {
    EIGHT_BITS(fp8, MFMA_E4M3),
    EIGHT_BITS(bf8, MFMA_E5M2),
    SIX_BITS(fp6, MFMA_E2M3),
    SIX_BITS(bf6, MFMA_E3M2),
    PAIR(fp4, MFMA_E2M1, f32, MFMA_F32),
    PAIR(fp4, MFMA_E2M1, f16, MFMA_F16),
    PAIR(fp4, MFMA_E2M1, bf16, MFMA_BF16),
    ROW(sr_pk_fp4_f32, MFMA_E2M1, MFMA_F32, 2, true, true, false),
    ROW(sr_pk_fp4_f16, MFMA_E2M1, MFMA_F16, 2, true, true, false),
    ROW(sr_pk_fp4_bf16, MFMA_E2M1, MFMA_BF16, 2, true, true, false),
};

static const scale_op_t *scale_find(unsigned op)
{
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}

/* The source whose exponent is the scale. */
static unsigned scale_source(const scale_op_t *s)
{
  return s->has_noise || s->has_two ? 2 : 1;
}

/* Where a part of a register that op_sel names begins: of the small numbers when there are fewer
 * than a register holds, of a lone f16 result too. */
static unsigned scale_small_shift(const scale_op_t *s, unsigned op_sel)
{
  const unsigned bits = s->count * mfma_element_bits(s->small);
  const unsigned select = s->narrows ? op_sel >> 2 : op_sel & 3;
  if (bits > 16)
    return 0;
  return bits == 8 ? 8 * select : 16 * (s->narrows ? select >> 1 : select & 1);
}

static small_format_t format_of(const scale_op_t *s)
{
  switch (s->small) {
  case MFMA_E4M3:
    return small_e4m3;
  case MFMA_E5M2:
    return small_e5m2;
  case MFMA_E2M3:
    return small_e2m3;
  case MFMA_E3M2:
    return small_e3m2;
  default:
    return small_e2m1;
  }
}

/* --- to small floats --- */

/* Wide number i of a lane. */
static float wide_number(const isa_wave_t *wave, const isa_inst_t *inst, unsigned i, unsigned lane)
{
  const scale_op_t *s = inst->plan;
  const unsigned n = s->has_two ? i % 2 : 0, at = s->has_two ? i / 2 : i;
  const bool abs = inst->vop.abs >> n & 1, neg = inst->vop.neg >> n & 1;
  uint32_t bits;
  if (s->wide == MFMA_F32) {
    bits = isa_vector_dword(wave, inst, n, at, lane);
  } else {
    const unsigned high = s->count == 1 ? inst->vop.op_sel & 1u : at % 2;
    const uint32_t half = isa_vector_dword(wave, inst, 0, at / 2, lane) >> 16 * high & 0xffff;
    bits = s->wide == MFMA_F16 ? half_to_float_bits(half) : half << 16;
  }
  bits = abs ? bits & 0x7fffffff : bits;
  return float_of(neg ? bits ^ 0x80000000 : bits);
}

static uint32_t next_noise(uint32_t noise)
{
  return noise << 1 ^ (noise >> 31 ? 197 : 0);
}

static void narrow_lane(const isa_wave_t *wave, const isa_inst_t *inst, uint32_t scale,
                        unsigned lane, uint32_t *out)
{
  const scale_op_t *s = inst->plan;
  const small_format_t format = format_of(s);
  const bool saturate = wave->mode & ISA_MODE_FP16_OVFL;
  const unsigned start = scale_small_shift(s, inst->vop.op_sel);
  uint32_t noise = s->has_noise ? isa_vector_dword(wave, inst, 1, 0, lane) : 0;
  for (unsigned i = 0; i < s->count; ++i) {
    const unsigned bit = start + i * format.bits;
    const uint64_t code = small_of_float(wide_number(wave, inst, i, lane), scale, format,
                                         s->has_noise ? &noise : NULL, saturate);
    const uint64_t field = ((1ull << format.bits) - 1) << bit % 32, put = code << bit % 32;
    out[bit / 32] = (out[bit / 32] & ~(uint32_t)field) | (uint32_t)put;
    if (field >> 32)
      out[bit / 32 + 1] = (out[bit / 32 + 1] & ~(uint32_t)(field >> 32)) | (uint32_t)(put >> 32);
    noise = next_noise(noise);
  }
}

/* --- from small floats --- */

static uint32_t small_code(const isa_wave_t *wave, const isa_inst_t *inst, unsigned bit,
                           unsigned bits, unsigned lane)
{
  uint64_t word = isa_vector_dword(wave, inst, 0, bit / 32, lane);
  if (bit % 32 + bits > 32)
    word |= (uint64_t)isa_vector_dword(wave, inst, 0, bit / 32 + 1, lane) << 32;
  return (uint32_t)(word >> bit % 32);
}

static void widen_lane(const isa_wave_t *wave, const isa_inst_t *inst, uint32_t scale,
                       unsigned lane, uint32_t *out)
{
  const scale_op_t *s = inst->plan;
  const small_format_t format = format_of(s);
  const double factor = scale == 255 ? __builtin_nan("") : double_of((scale + 896ull) << 52);
  const unsigned start = scale_small_shift(s, inst->vop.op_sel);
  for (unsigned i = 0; i < s->count; ++i) {
    const uint32_t code = small_code(wave, inst, start + i * format.bits, format.bits, lane);
    const float value = (float)((double)small_to_float(code, format) * factor);
    const uint32_t bits = value != value ? 0x7fc00000 : float_bits(value);
    if (s->wide == MFMA_F32) {
      out[i] = bits;
      continue;
    }
    const unsigned high = s->count == 1 ? inst->vop.op_sel >> 3 & 1u : i % 2;
    const uint32_t half = s->wide == MFMA_F16 ? float_bits_to_half(bits) : float_bits_to_bf16(bits);
    out[i / 2] = (out[i / 2] & ~(0xffffu << 16 * high)) | half << 16 * high;
  }
}

static bool run_scale(isa_wave_t *wave, const isa_inst_t *inst)
{
  const scale_op_t *s = inst->plan;
  const unsigned dwords = inst->row->dst;
  isa_row_t *d = isa_vector_destination(wave, inst, dwords);
  ISA_EACH_LANE(lane, d ? isa_exec(wave) : 0) {
    const uint32_t scale = isa_vector_dword(wave, inst, scale_source(s), 0, lane) >> 23 & 255;
    uint32_t out[32];
    for (unsigned i = 0; i < dwords; ++i)
      out[i] = d[i][lane];
    (s->narrows ? narrow_lane : widen_lane)(wave, inst, scale, lane, out);
    for (unsigned i = 0; i < dwords; ++i)
      d[i][lane] = out[i];
  }
  return true;
}

bool isa_scale_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const scale_op_t *s = scale_find(inst->op);
  if (!s || inst->vop.clamp || inst->vop.omod || !isa_vector_sources_ok(inst, limits) ||
      !isa_vector_result_ok(inst, limits))
    return false;
  /* Signs of f32 numbers and of a lone half; no document speaks of those of packed halves. */
  const bool has_signs = s->narrows && (s->wide == MFMA_F32 || s->count == 1);
  const unsigned numbers = has_signs ? s->has_two ? 3 : 1 : 0;
  if ((inst->vop.abs | inst->vop.neg) & 7 & ~numbers & ~(1u << scale_source(s)))
    return false;
  /* An inline constant of a register of halves is another one than that of an f32. */
  const isa_operand_t *source = &inst->src[0];
  if (s->narrows && s->wide != MFMA_F32 && source->kind == ISA_OPERAND_INLINE &&
      source->index >= ISA_CODE_FLOATS)
    return false;
  inst->plan = s;
  inst->run = run_scale;
  return true;
}
