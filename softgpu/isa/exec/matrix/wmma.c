/* WMMA: products of matrices of GFX11, 16 x 16 x 16, of waves of both widths.
 *
 * Layouts (RDNA 3 ISA document; LLVM's tests; measured, see dot2.h): row i of A is in lane i, and
 * again in each further 16 lanes, k from the lowest bits of the first register on; so is column j
 * of B. Of C and D lane n has column n % 16, of rows n / 16, n / 16 + lanes / 16 and so on, a
 * register each. 16-bit results are in one half of each, which op_sel says; the other one stays.
 * EXEC does not count. */
#include "softgpu/isa/exec/matrix/matrix.h"

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/vector/dot2.h"
#include "softgpu/isa/exec/vector/valu.h"

enum { SIZE = 16, GROUPS = ISA_LANES / SIZE, ROWS_OF_D = SIZE / GROUPS };

typedef enum element { F16, BF16, I8, I4 } element_t;

typedef struct wmma {
  uint16_t op;
  uint8_t element; /* of A and B */
  bool is_half;    /* C and D are of 16 bits */
} wmma_t;

static const wmma_t products[] = {
    {ISA_v_wmma_f32_16x16x16_f16, F16, false}, {ISA_v_wmma_f32_16x16x16_bf16, BF16, false},
    {ISA_v_wmma_f16_16x16x16_f16, F16, true},  {ISA_v_wmma_bf16_16x16x16_bf16, BF16, true},
    {ISA_v_wmma_i32_16x16x16_iu8, I8, false},  {ISA_v_wmma_i32_16x16x16_iu4, I4, false},
};

/* Pairs of k of each row of A, or column of B, with their signs as the instruction says. */
static void read_pairs(const isa_wave_t *wave, const isa_inst_t *inst, unsigned n,
                       uint32_t pairs[SIZE][SIZE / 2])
{
  const isa_row_t *rows = isa_rows(wave, &inst->src[n]);
  const uint32_t signs =
      (inst->vop.neg >> n & 1 ? 0x8000u : 0) | (inst->vop.neg_hi >> n & 1 ? 0x80000000u : 0);
  for (unsigned i = 0; i < SIZE; ++i)
    for (unsigned k = 0; k < SIZE / 2; ++k)
      pairs[i][k] = rows[k][i] ^ signs;
}

/* Integers of `bits`, of the rows of A or the columns of B: `neg` says whether they have a sign. */
static void read_integers(const isa_wave_t *wave, const isa_inst_t *inst, unsigned n, unsigned bits,
                          int32_t integers[SIZE][SIZE])
{
  const isa_row_t *rows = isa_rows(wave, &inst->src[n]);
  const unsigned each = 32 / bits;
  for (unsigned i = 0; i < SIZE; ++i)
    for (unsigned k = 0; k < SIZE; ++k) {
      const uint32_t top = rows[k / each][i] >> k % each * bits << (32 - bits);
      integers[i][k] =
          inst->vop.neg >> n & 1 ? (int32_t)top >> (32 - bits) : (int32_t)(top >> (32 - bits));
    }
}

/* C, with its sign, of numbers as f32. */
static uint32_t read_third(const isa_wave_t *wave, const isa_inst_t *inst, const wmma_t *m,
                           unsigned row, unsigned lane)
{
  const isa_operand_t *c = &inst->src[2];
  const bool is_number = m->element <= BF16;
  const unsigned type = !is_number          ? T_i32
                        : !m->is_half       ? T_f32
                        : m->element == F16 ? T_f16
                                            : T_h16;
  uint32_t bits =
      isa_is_vector(c) ? isa_rows(wave, c)[row][lane] : (uint32_t)isa_valu_constant(inst, c, type);
  if (!is_number)
    return bits;
  if (m->is_half) {
    bits = (isa_is_vector(c) && inst->vop.op_sel & 4 ? bits >> 16 : bits) & 0xffff;
    bits = m->element == F16 ? half_to_float_bits(bits) : bits << 16;
  }
  bits = inst->vop.neg_hi & 4 ? bits & 0x7fffffff : bits;
  return inst->vop.neg & 4 ? bits ^ 0x80000000 : bits;
}

/* Eight steps of dot2.h, each of which rounds to what D has. */
static uint32_t multiplied(const wmma_t *m, const uint32_t *a, const uint32_t *b, uint32_t c,
                           bool is_finite)
{
  const bool is_bfloat = m->element == BF16, is_f16 = m->is_half && !is_bfloat;
  for (unsigned k = 0; k < SIZE / 2; ++k) {
    const dot2_sum_t sum = dot2_add(a[k], b[k], c, is_bfloat, is_f16 ? -14 : DOT2_NOTHING);
    if (is_f16)
      c = half_to_float_bits(dot2_half(&sum, is_finite));
    else
      c = m->is_half ? dot2_bfloat(&sum) << 16 : dot2_f32(&sum);
  }
  return is_f16 ? float_bits_to_half(c) : m->is_half ? c >> 16 : c;
}

static uint32_t summed(const int32_t *a, const int32_t *b, int32_t c, bool clamps)
{
  int64_t sum = c;
  for (unsigned k = 0; k < SIZE; ++k)
    sum += (int64_t)a[k] * b[k];
  if (clamps && sum != (int32_t)sum)
    return sum < 0 ? (uint32_t)INT32_MIN : INT32_MAX;
  return (uint32_t)sum;
}

static void write_half(uint32_t *d, uint32_t half, bool is_high)
{
  *d = is_high ? (*d & 0xffff) | half << 16 : (*d & 0xffff0000) | half;
}

static void put(isa_wave_t *wave, const isa_inst_t *inst, const wmma_t *m,
                const uint32_t results[ROWS_OF_D][ISA_LANES])
{
  isa_row_t *d = isa_rows(wave, &inst->dst);
  for (unsigned n = 0; n < ROWS_OF_D; ++n)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
      if (m->is_half)
        write_half(&d[n][lane], results[n][lane], inst->vop.op_sel & 4);
      else
        d[n][lane] = results[n][lane];
    }
}

ISA_GOES_ON(run_numbers)
static bool run_numbers(isa_wave_t *wave, const isa_inst_t *inst)
{
  const wmma_t *m = inst->plan;
  uint32_t a[SIZE][SIZE / 2], b[SIZE][SIZE / 2], results[ROWS_OF_D][ISA_LANES];
  const bool is_finite = wave->mode & ISA_MODE_FP16_OVFL;
  read_pairs(wave, inst, 0, a);
  read_pairs(wave, inst, 1, b);
  for (unsigned n = 0; n < ROWS_OF_D; ++n)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane)
      results[n][lane] = multiplied(m, a[n * GROUPS + lane / SIZE], b[lane % SIZE],
                                    read_third(wave, inst, m, n, lane), is_finite);
  put(wave, inst, m, results);
  return true;
}

ISA_GOES_ON(run_integers)
static bool run_integers(isa_wave_t *wave, const isa_inst_t *inst)
{
  const wmma_t *m = inst->plan;
  const unsigned bits = m->element == I8 ? 8 : 4;
  int32_t a[SIZE][SIZE], b[SIZE][SIZE];
  uint32_t results[ROWS_OF_D][ISA_LANES];
  read_integers(wave, inst, 0, bits, a);
  read_integers(wave, inst, 1, bits, b);
  for (unsigned n = 0; n < ROWS_OF_D; ++n)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane)
      results[n][lane] = summed(a[n * GROUPS + lane / SIZE], b[lane % SIZE],
                                (int32_t)read_third(wave, inst, m, n, lane), inst->vop.clamp);
  put(wave, inst, m, results);
  return true;
}

bool isa_wmma_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const wmma_t *m = NULL;
  for (size_t i = 0; i < sizeof products / sizeof *products; ++i)
    if (products[i].op == inst->op)
      m = &products[i];
  if (!m || inst->dst.kind != ISA_OPERAND_VGPR ||
      !isa_operand_require(&inst->dst, isa_result_dwords(inst), limits))
    return false;
  for (unsigned n = 0; n < 2; ++n)
    if (inst->src[n].kind != ISA_OPERAND_VGPR ||
        !isa_operand_require(&inst->src[n], isa_source_dwords(inst, n), limits))
      return false;
  isa_operand_t *c = &inst->src[2];
  const unsigned dwords = isa_is_vector(c) ? isa_source_dwords(inst, 2) : 1;
  if (!isa_operand_require(c, dwords, limits) ||
      !(isa_is_vector(c) || c->kind == ISA_OPERAND_INLINE))
    return false;
  inst->plan = m;
  if (m->element <= BF16)
    ISA_RUNS(inst, run_numbers);
  else
    ISA_RUNS(inst, run_integers);
  return true;
}
