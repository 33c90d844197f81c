/* The reference engine's matrices of GFX11, element by element. Layouts: RDNA3 ISA document,
 * "WMMA"; arithmetic: dot2.c, a chain of steps along k. */
#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/dot2.h"
#include "softgpu/isa/reference/reference.h"

enum { SIZE = 16, RESULTS = SIZE * SIZE / ISA_LANES };

typedef struct kind {
  uint16_t op;
  uint8_t bits;   /* of an element of A and B */
  uint8_t result; /* of isa_dot2_t; of integers nothing */
  bool is_bf16;
} kind_t;

static const kind_t *kind_of(unsigned op)
{
  static const kind_t kinds[] = {
      {ISA_v_wmma_f32_16x16x16_f16, 16, ISA_DOT2_F32, false},
      {ISA_v_wmma_f32_16x16x16_bf16, 16, ISA_DOT2_F32, true},
      {ISA_v_wmma_f16_16x16x16_f16, 16, ISA_DOT2_F16, false},
      {ISA_v_wmma_bf16_16x16x16_bf16, 16, ISA_DOT2_BF16, true},
      {ISA_v_wmma_i32_16x16x16_iu8, 8, 0, false},
      {ISA_v_wmma_i32_16x16x16_iu4, 4, 0, false},
  };
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (kinds[i].op == op)
      return &kinds[i];
  return NULL;
}

static bool has_small_result(const kind_t *kind)
{
  return kind->bits == 16 && kind->result != ISA_DOT2_F32;
}

/* Elements k and k + 1 of row or column `i` of source n. All groups of 16 lanes have the same. */
static uint32_t pair_of(const isa_wave_t *wave, const isa_inst_t *inst, unsigned n, unsigned i,
                        unsigned k)
{
  const uint32_t signs = (inst->vop.neg >> n & 1u) << 15 | (inst->vop.neg_hi >> n & 1u) << 31;
  return isa_reference_register(wave, &inst->src[n], -1, 1, k / 2, i) ^ signs;
}

static int64_t integer_of(const isa_wave_t *wave, const isa_inst_t *inst, unsigned bits, unsigned n,
                          unsigned i, unsigned k)
{
  const uint32_t word =
      isa_reference_register(wave, &inst->src[n], -1, 1, k * bits / 32, i) >> k * bits % 32;
  const int64_t value = word & ((1u << bits) - 1), beyond = (int64_t)1 << bits;
  return inst->vop.neg >> n & 1 && value >= beyond / 2 ? value - beyond : value;
}

/* Of f16 and bf16 the constant of that format. */
static uint32_t constant_of(const isa_wave_t *wave, const isa_operand_t *source, const kind_t *kind)
{
  const bool is_bf16 = has_small_result(kind) && kind->is_bf16 && source->index >= ISA_CODE_FLOATS;
  const unsigned bits = has_small_result(kind) && !is_bf16 ? 16 : 32;
  return (uint32_t)isa_reference_scalar(wave, source, 1, bits) >> (is_bf16 ? 16 : 0);
}

/* The third, as it is added. */
static uint32_t third_of(const isa_wave_t *wave, const isa_inst_t *inst, const kind_t *kind,
                         unsigned row, unsigned lane)
{
  const isa_operand_t *source = &inst->src[2];
  const bool is_small = has_small_result(kind);
  const uint32_t sign = is_small ? 0x8000 : 0x80000000;
  uint32_t value = isa_reference_is_vector(source)
                       ? isa_reference_register(wave, source, -1, 1, row, lane) >>
                             (is_small && inst->vop.op_sel >> 2 & 1 ? 16 : 0)
                       : constant_of(wave, source, kind);
  value &= is_small ? 0xffff : UINT32_MAX;
  if (kind->bits < 16)
    return value;
  value = inst->vop.neg_hi >> 2 & 1 ? value & ~sign : value;
  return inst->vop.neg >> 2 & 1 ? value ^ sign : value;
}

static uint32_t sum_of_integers(const isa_wave_t *wave, const isa_inst_t *inst, unsigned bits,
                                unsigned row, unsigned column, uint32_t third)
{
  int64_t sum = (int32_t)third;
  for (unsigned k = 0; k < SIZE; ++k)
    sum += integer_of(wave, inst, bits, 0, row, k) * integer_of(wave, inst, bits, 1, column, k);
  if (inst->vop.clamp)
    sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
  return (uint32_t)sum;
}

static uint32_t sum_of(const isa_wave_t *wave, const isa_inst_t *inst, const kind_t *kind,
                       unsigned row, unsigned column, uint32_t third)
{
  if (kind->bits < 16)
    return sum_of_integers(wave, inst, kind->bits, row, column, third);
  isa_dot2_t dot = {.c = third, .is_bf16 = kind->is_bf16, .result = kind->result};
  dot.limits = wave->mode & ISA_MODE_FP16_OVFL;
  for (unsigned k = 0; k < SIZE; k += 2) {
    dot.a = pair_of(wave, inst, 0, row, k);
    dot.b = pair_of(wave, inst, 1, column, k);
    dot.c = isa_reference_dot2(&dot);
  }
  return dot.c;
}

/* Rows of the result follow each other from one group of 16 lanes to the next, then from register
 * to register. A small one is half a register. EXEC does not count. */
bool isa_reference_wmma(isa_wave_t *wave, const isa_inst_t *inst)
{
  enum { GROUPS = ISA_LANES / SIZE };
  const kind_t *kind = kind_of(inst->op);
  uint32_t results[RESULTS][ISA_LANES];
  if (!kind)
    return false;
  for (unsigned i = 0; i < RESULTS; ++i)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane)
      results[i][lane] = sum_of(wave, inst, kind, i * GROUPS + lane / SIZE, lane % SIZE,
                                third_of(wave, inst, kind, i, lane));
  const unsigned shift = has_small_result(kind) && inst->vop.op_sel >> 2 & 1 ? 16 : 0;
  const uint32_t kept = has_small_result(kind) ? ~(0xffffu << shift) : 0;
  for (unsigned i = 0; i < RESULTS; ++i)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
      uint32_t *to = &wave->v[inst->dst.index + i][lane];
      *to = (*to & kept) | results[i][lane] << shift;
    }
  return true;
}
