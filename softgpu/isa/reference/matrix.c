/* The reference engine's matrices and lane exchanges: element by element, by the formulas of the
 * MI200 and MI300 ISA documents. */
#include <math.h>
#include <string.h>

#include "softgpu/isa/base/float.h"
#include "softgpu/isa/base/real.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/reference/reference.h"

/* A lane's element of A or B: `item` counts in the order of k. */
static uint64_t element(const isa_wave_t *wave, const isa_operand_t *operand, unsigned format,
                        unsigned lane, unsigned item)
{
  const unsigned bits = mfma_element_bits(format), row = item * bits / 32;
  const isa_row_t *rows = operand->kind == ISA_OPERAND_AGPR ? wave->a : wave->v;
  uint64_t word = rows[operand->index + row][lane];
  if (bits == 64)
    return word | (uint64_t)rows[operand->index + row + 1][lane] << 32;
  if (item * bits % 32 + bits > 32) /* six bits across two registers */
    word |= (uint64_t)rows[operand->index + row + 1][lane] << 32;
  return word >> item * bits % 32 & (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
}

/* Denormals of f16, bf16 and the f32 used with them are zero on MI200. */
static uint64_t flushed(uint64_t bits, const real_format_t *format)
{
  const unsigned width = format->exponent_bits + format->fraction_bits;
  const uint64_t field = bits >> format->fraction_bits & ((1u << format->exponent_bits) - 1);
  return field ? bits : bits >> width << width;
}

static bool flushes(const isa_inst_t *inst, const mfma_t *m)
{
  return isa_chip(inst->chip)->flushes_products && (m->a == MFMA_F16 || m->a == MFMA_BF16);
}

static double number(unsigned format, uint64_t bits, bool is_flushed)
{
  static const real_format_t *const formats[] = {
      [MFMA_F32] = &real_f32,   [MFMA_XF32] = &real_f32,  [MFMA_F16] = &real_f16,
      [MFMA_BF16] = &real_bf16, [MFMA_FP8] = &real_fp8,   [MFMA_BF8] = &real_bf8,
      [MFMA_F64] = &real_f64,   [MFMA_E4M3] = &real_e4m3, [MFMA_E5M2] = &real_e5m2,
      [MFMA_E2M3] = &real_e2m3, [MFMA_E3M2] = &real_e3m2, [MFMA_E2M1] = &real_e2m1,
  };
  static const real_format_t xf32 = {8, 10, 127, REAL_IEEE};
  if (format == MFMA_I8)
    return (int8_t)bits;
  bits = is_flushed ? flushed(bits, formats[format]) : bits;
  real_t x = real_of(bits, formats[format]);
  if (x.kind == REAL_NAN)
    return NAN;
  if (format == MFMA_XF32)
    x = real_of(real_bits(x, &xf32, REAL_NEAREST), &xf32);
  return double_of(real_bits(x, &real_f64, REAL_NEAREST));
}

/* The lane that holds A's element of a block, and the lane that stands for it by cbsz and abid. */
static unsigned lane_of_a(const mfma_t *m, const isa_inst_t *inst, unsigned block, unsigned i,
                          unsigned part)
{
  unsigned group = 1u << inst->vop.cbsz;
  if (m->a != MFMA_F64 && m->a != MFMA_MIXED && group <= m->blocks)
    block = block / group * group + inst->vop.abid % group;
  return i + m->size * (block + m->blocks * part);
}

static unsigned lane_of_b(const mfma_t *m, const isa_inst_t *inst, unsigned block, unsigned j,
                          unsigned part)
{
  unsigned lane = j + m->size * (block + m->blocks * part);
  if (m->a == MFMA_F64 || m->a == MFMA_MIXED || !inst->vop.blgp)
    return lane;
  if (inst->vop.blgp <= 2)
    return lane % 32 + (inst->vop.blgp == 2 ? 32 : 0);
  return inst->vop.blgp == 3 ? (lane + 16) % 64 : lane % 16 + (inst->vop.blgp - 4u) * 16;
}

/* Where row i, column j of a block of the result is: the formulas' H, B_I, M_I and G. */
static void find_result(const mfma_t *m, unsigned block, unsigned i, unsigned j, unsigned *item,
                        unsigned *lane)
{
  const bool wide = m->a == MFMA_F64;
  const unsigned size = m->size, h = wide ? 1 : 4, area = size * size / h;
  const unsigned b_i = area >= 64 ? 1 : 64 / area, m_i = 64 / b_i / size, g = size / (h * m_i);
  *item = i % h + h * (i / (h * m_i) + g * (block / b_i));
  *lane = j + size * (wide && b_i > 1 ? block % b_i + b_i * (i / h % m_i)
                                      : i / h % m_i + m_i * (block % b_i));
}

static uint64_t addend(const isa_wave_t *wave, const isa_inst_t *inst, const mfma_t *m,
                       unsigned item, unsigned lane)
{
  const isa_operand_t *c = &inst->src[2];
  const bool wide = m->a == MFMA_F64;
  if (!isa_reference_is_vector(c))
    return isa_reference_scalar(wave, c, wide ? 2 : 1, wide ? 64 : 32);
  return element(wave, c, wide ? MFMA_F64 : MFMA_F32, lane, item);
}

static double signed_number(double x, bool negative)
{
  return negative ? -x : x;
}

/* Element k of a row of A (n is 0) or a column of B. */
typedef struct factor {
  unsigned format, part, item;
} factor_t;

/* With more than 4 bits, f8f6f4 instructions deal k out by 16: to each part of the lanes once, then
 * to each again. All else is dealt out once. */
static factor_t find_factor(const mfma_t *m, const isa_inst_t *inst, unsigned n, unsigned k)
{
  const unsigned format = mfma_format(m, inst, n), items = mfma_items(m), parts = m->k / items;
  if (m->a == MFMA_MIXED && mfma_element_bits(format) > 4)
    return (factor_t){format, k / 16 % parts, k / 16 / parts * 16 + k % 16};
  return (factor_t){format, k / items, k % items};
}

static double factor(const isa_wave_t *wave, const isa_inst_t *inst, const mfma_t *m, unsigned n,
                     unsigned i, unsigned k, unsigned block)
{
  const factor_t at = find_factor(m, inst, n, k);
  const unsigned lane =
      n ? lane_of_b(m, inst, block, i, at.part) : lane_of_a(m, inst, block, i, at.part);
  const uint64_t bits = element(wave, &inst->src[n], at.format, lane, at.item);
  return number(at.format, bits, flushes(inst, m));
}

/* The exponent of the scale of element k of row or column i; 255 is NaN. */
static int scale_of(const isa_wave_t *wave, const isa_inst_t *inst, const mfma_t *m, unsigned n,
                    unsigned i, unsigned k)
{
  const isa_operand_t *operand = &inst->vop.scale[n];
  const unsigned lane = i + m->size * (k / 32);
  const uint32_t bits = isa_reference_is_vector(operand)
                            ? isa_reference_register(wave, operand, -1, 1, 0, lane)
                            : (uint32_t)isa_reference_scalar(wave, operand, 1, 32);
  const unsigned byte = (inst->vop.op_sel >> n & 1u) + 2u * (inst->vop.op_sel_hi >> n & 1u);
  return (int)(bits >> 8 * byte & 255);
}

/* sum + a * b * 2^(scales - 254), rounded once. */
static float added_scaled(float sum, double a, double b, int a_scale, int b_scale)
{
  real_t product = real_of(double_bits(a * b), &real_f64);
  product =
      a_scale == 255 || b_scale == 255 ? real_nan() : real_scaled(product, a_scale + b_scale - 254);
  const real_t total = real_sum(real_of(float_bits(sum), &real_f32), product, REAL_NEAREST);
  return float_of((uint32_t)real_bits(total, &real_f32, REAL_NEAREST));
}

static uint64_t multiplied(const isa_wave_t *wave, const isa_inst_t *inst, const mfma_t *m,
                           unsigned block, unsigned i, unsigned j)
{
  const bool wide = m->a == MFMA_F64;
  unsigned item, lane;
  find_result(m, block, i, j, &item, &lane);
  const bool is_flushed = flushes(inst, m);
  uint64_t c = addend(wave, inst, m, item, lane);
  c = is_flushed ? flushed(c, &real_f32) : c;
  uint32_t integer = (uint32_t)c;
  float single = float_of((uint32_t)c);
  double twice = signed_number(double_of(c), wide && inst->vop.blgp >> 2 & 1);
  for (unsigned k = 0; k < m->k; ++k) {
    double a = factor(wave, inst, m, 0, i, k, block), b = factor(wave, inst, m, 1, j, k, block);
    if (m->a == MFMA_I8)
      integer += (uint32_t)((int32_t)a * (int32_t)b);
    else if (wide)
      twice = fma(signed_number(a, inst->vop.blgp & 1), signed_number(b, inst->vop.blgp >> 1 & 1),
                  twice);
    else if (inst->vop.has_scale)
      single = added_scaled(single, a, b, scale_of(wave, inst, m, 0, i, k),
                            scale_of(wave, inst, m, 1, j, k));
    else
      single = fmaf((float)a, (float)b, single);
  }
  if (m->a == MFMA_I8)
    return integer;
  if (wide)
    return twice != twice ? 0x7ff8000000000000 : double_bits(twice);
  const uint32_t bits = single != single ? 0x7fc00000 : float_bits(single);
  return is_flushed ? flushed(bits, &real_f32) : bits;
}

/* --- sparse --- */

/* Which lanes hold group q of k, and which group it is there: bits of q, the highest first. The
 * tables of AMD's matrix instruction calculator, and gfx950's as probed (amdgcn_smfmac.hpp of AMD's
 * fpsan), with groups counted as A's lanes hold them. */
typedef struct sparse_layout {
  uint8_t size, k, bits; /* of an element */
  const char *a_lanes, *a_group, *b_lanes, *b_group;
} sparse_layout_t;

static const sparse_layout_t sparse_layouts[] = {
    {16, 32, 16, "21", "0", "21", "0"},     {32, 16, 16, "1", "0", "1", "0"},
    {16, 64, 8, "32", "10", "32", "10"},    {32, 32, 8, "2", "10", "2", "10"},
    {16, 64, 16, "32", "10", "21", "30"},   {32, 32, 16, "2", "10", "1", "20"},
    {16, 128, 8, "43", "210", "32", "410"}, {32, 64, 8, "3", "210", "2", "310"},
};

static unsigned chosen_bits(unsigned q, const char *which)
{
  unsigned out = 0;
  for (; *which; ++which)
    out = out << 1 | (q >> (*which - '0') & 1);
  return out;
}

static uint32_t multiplied_sparse(const isa_wave_t *wave, const isa_inst_t *inst, const mfma_t *m,
                                  unsigned i, unsigned j)
{
  const unsigned bits = mfma_element_bits(m->a),
                 format[2] = {mfma_format(m, inst, 0), mfma_format(m, inst, 1)};
  const sparse_layout_t *at = sparse_layouts;
  while (at->size != m->size || at->k != m->k || at->bits != bits)
    ++at;
  unsigned item, lane;
  find_result(m, 0, i, j, &item, &lane);
  uint32_t integer = (uint32_t)element(wave, &inst->dst, MFMA_F32, lane, item);
  float single = float_of(integer);
  /* Indices of 8 bits a lane: four sets; of 16: two; of 32: one. */
  const unsigned set_bits = 4u << strlen(at->a_group), sets = 32 / set_bits;
  const unsigned set = inst->vop.cbsz % 4 ? 0 : inst->vop.abid % sets;
  for (unsigned n = 0; n < m->k / 2u; ++n) {
    const unsigned q = n / 2, a_group = chosen_bits(q, at->a_group);
    const unsigned a_lane = i + m->size * chosen_bits(q, at->a_lanes);
    const unsigned b_lane = j + m->size * chosen_bits(q, at->b_lanes);
    const uint64_t index = element(wave, &inst->src[2], MFMA_F32, a_lane, 0);
    const unsigned p = index >> (set * set_bits + 4 * a_group + 2 * (n % 2)) & 3;
    const unsigned b_item = 4 * chosen_bits(q, at->b_group) + p;
    const double a =
        number(format[0], element(wave, &inst->src[0], format[0], a_lane, 2 * a_group + n % 2), 0);
    const double b = number(format[1], element(wave, &inst->src[1], format[1], b_lane, b_item), 0);
    integer += m->a == MFMA_I8 ? (uint32_t)((int32_t)a * (int32_t)b) : 0;
    single = fmaf((float)a, (float)b, single);
  }
  if (m->a == MFMA_I8)
    return integer;
  return single != single ? 0x7fc00000 : float_bits(single);
}

bool isa_reference_matrix(isa_wave_t *wave, const isa_inst_t *inst)
{
  const mfma_t *m = isa_mfma_find(inst->op);
  if (!m)
    return false;
  uint64_t results[2048]; /* of at most 32 items in 64 lanes */
  for (unsigned block = 0; block < m->blocks; ++block)
    for (unsigned i = 0; i < m->size; ++i)
      for (unsigned j = 0; j < m->size; ++j) {
        unsigned item, lane;
        find_result(m, block, i, j, &item, &lane);
        results[item * ISA_LANES + lane] = m->is_sparse ? multiplied_sparse(wave, inst, m, i, j)
                                                        : multiplied(wave, inst, m, block, i, j);
      }
  isa_row_t *d = (inst->dst.kind == ISA_OPERAND_AGPR ? wave->a : wave->v) + inst->dst.index;
  const unsigned count = (unsigned)m->size * m->size * m->blocks;
  for (unsigned n = 0; n < count; ++n) {
    unsigned row = n / ISA_LANES * (m->a == MFMA_F64 ? 2 : 1), lane = n % ISA_LANES;
    d[row][lane] = (uint32_t)results[n];
    if (m->a == MFMA_F64)
      d[row + 1][lane] = (uint32_t)(results[n] >> 32);
  }
  return true;
}
