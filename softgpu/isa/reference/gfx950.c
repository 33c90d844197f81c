/* The reference engine's instructions of gfx950 that its tables have no room for: v_cvt_scalef32_*,
 * v_bitop3, swaps of rows, transposing reads of LDS. By the pseudocode of AMD's CDNA4 ISA document;
 * of each format by its name. */
#include <string.h>

#include "softgpu/isa/base/real.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

static uint32_t dword(const isa_wave_t *wave, const isa_inst_t *inst, unsigned n, unsigned row,
                      unsigned lane)
{
  const isa_operand_t *operand = &inst->src[n];
  if (isa_reference_is_vector(operand))
    return isa_reference_register(wave, operand, (int)n, inst->row->src[n], row, lane);
  return (uint32_t)isa_reference_scalar(wave, operand, 1, 32);
}

static isa_row_t *destination(const isa_wave_t *wave, const isa_inst_t *inst, unsigned rows)
{
  const unsigned index = inst->dst.index + (wave->gpr_index_mode & 8 ? wave->s[ISA_M0] & 255 : 0);
  return index + rows <= wave->vgprs ? &wave->v[index] : NULL;
}

/* --- v_cvt_scalef32_* --- */

static const struct {
  const char *name;
  const real_format_t *format;
  unsigned bits;
} formats[] = {{"bf16", &real_bf16, 16}, {"f16", &real_f16, 16}, {"f32", &real_f32, 32},
               {"bf8", &real_e5m2, 8},   {"fp8", &real_e4m3, 8}, {"bf6", &real_e3m2, 6},
               {"fp6", &real_e2m3, 6},   {"fp4", &real_e2m1, 4}};

/* What a mnemonic says: v_cvt_scalef32_[sr_][pk|pk32|2xpk16]_TO_FROM. */
typedef struct conversion {
  unsigned to, from; /* of `formats` */
  unsigned count;
  bool has_noise, has_two;
} conversion_t;

static unsigned format_at(const char *name, const char **end)
{
  for (unsigned i = 0; i < sizeof formats / sizeof *formats; ++i)
    if (!strncmp(name, formats[i].name, strlen(formats[i].name))) {
      *end = name + strlen(formats[i].name);
      return i;
    }
  return 0;
}

static conversion_t conversion_of(unsigned op)
{
  static const struct {
    const char *word;
    unsigned count;
  } counts[] = {{"2xpk16_", 32}, {"pk32_", 32}, {"pk_", 2}, {"", 1}};
  conversion_t c = {0};
  const char *at = isa_op_name(op) + strlen("v_cvt_scalef32_");
  c.has_noise = !strncmp(at, "sr_", 3);
  at += c.has_noise ? 3 : 0;
  for (unsigned i = 0; !c.count; ++i)
    if (!strncmp(at, counts[i].word, strlen(counts[i].word))) {
      c.count = counts[i].count;
      c.has_two = *at == '2';
      at += strlen(counts[i].word);
    }
  c.to = format_at(at, &at);
  c.from = format_at(at + 1, &at);
  c.has_two |= !c.has_noise && c.count == 2 && formats[c.from].bits == 32;
  return c;
}

/* Number i of the source: its bits, signs applied. */
static uint64_t number_bits(const isa_wave_t *wave, const isa_inst_t *inst, const conversion_t *c,
                            unsigned i, unsigned lane)
{
  const unsigned width = formats[c->from].bits, n = c->has_two ? i % 2 : 0;
  unsigned first = (c->has_two ? i / 2 : i) * width;
  if (width == 16 && c->count == 1)
    first += 16 * (inst->vop.op_sel & 1u);
  if (width < 16 && c->count * width == 8) /* a byte of the register */
    first += 8 * (inst->vop.op_sel & 3u);
  if (width < 16 && c->count * width == 16)
    first += 16 * (inst->vop.op_sel & 1u);
  uint64_t bits = 0;
  for (unsigned bit = 0; bit < width; ++bit)
    bits |= (uint64_t)(dword(wave, inst, n, (first + bit) / 32, lane) >> (first + bit) % 32 & 1)
            << bit;
  const uint64_t sign = (uint64_t)1 << (width - 1);
  bits = inst->vop.abs >> n & 1 ? bits & ~sign : bits;
  return inst->vop.neg >> n & 1 ? bits ^ sign : bits;
}

/* Into one of the small formats, where a NaN keeps its sign and FP16_OVFL ends at the largest. */
static uint64_t small_bits(const isa_wave_t *wave, real_t x, unsigned to, const uint32_t *noise)
{
  const real_format_t *format = formats[to].format;
  const uint64_t sign = (uint64_t)x.negative << (formats[to].bits - 1);
  const uint64_t largest = format == &real_e4m3   ? 0x7e
                           : format == &real_e5m2 ? 0x7b
                                                  : (1u << (formats[to].bits - 1)) - 1;
  uint64_t bits =
      noise ? real_bits_stochastic(x, format, *noise) : real_bits(x, format, REAL_NEAREST);
  bits &= ((uint64_t)1 << (formats[to].bits - 1)) - 1;
  if (x.kind != REAL_NAN && wave->mode & ISA_MODE_FP16_OVFL && bits > largest)
    bits = largest;
  return sign | bits;
}

static void put_bits(uint32_t *out, unsigned first, unsigned width, uint64_t bits)
{
  for (unsigned bit = first; bit < first + width; ++bit)
    out[bit / 32] = (out[bit / 32] & ~(1u << bit % 32)) | (uint32_t)(bits >> (bit - first) & 1)
                                                              << bit % 32;
}

static void convert_lane(const isa_wave_t *wave, const isa_inst_t *inst, const conversion_t *c,
                         unsigned lane, uint32_t *out)
{
  const unsigned width = formats[c->to].bits, all = c->count * width;
  const unsigned scale_at = c->has_noise || c->has_two ? 2 : 1;
  const int scale = (int)(dword(wave, inst, scale_at, 0, lane) >> 23 & 255) - 127;
  const bool narrows = width < 16;
  uint32_t noise = c->has_noise ? dword(wave, inst, 1, 0, lane) : 0;
  unsigned start = 0;
  if (all == 8)
    start = 8 * (inst->vop.op_sel >> 2 & 3u);
  else if (all == 16)
    start = 16 * (inst->vop.op_sel >> 3 & 1u);
  for (unsigned i = 0; i < c->count; ++i) {
    real_t x = real_of(number_bits(wave, inst, c, i, lane), formats[c->from].format);
    const bool negative = x.negative;
    x = scale == 128 ? real_nan() : real_scaled(x, narrows ? -scale : scale);
    x.negative = negative && (narrows || x.kind != REAL_NAN);
    const uint64_t bits = narrows ? small_bits(wave, x, c->to, c->has_noise ? &noise : NULL)
                                  : real_bits(x, formats[c->to].format, REAL_NEAREST);
    put_bits(out, start + i * width, width, bits);
    noise = (uint32_t)((uint64_t)noise * 2) ^ 197 * (noise >> 31);
  }
}

static bool run_conversion(isa_wave_t *wave, const isa_inst_t *inst)
{
  const conversion_t c = conversion_of(inst->op);
  const unsigned rows = inst->row->dst;
  isa_row_t *d = destination(wave, inst, rows);
  for (unsigned lane = 0; d && lane < ISA_LANES; ++lane) {
    uint32_t out[32];
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    for (unsigned i = 0; i < rows; ++i)
      out[i] = d[i][lane];
    convert_lane(wave, inst, &c, lane, out);
    for (unsigned i = 0; i < rows; ++i)
      d[i][lane] = out[i];
  }
  return true;
}

/* --- bits and lanes --- */

static bool run_bitop3(isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_half = inst->op == ISA_v_bitop3_b16;
  isa_row_t *d = destination(wave, inst, 1);
  for (unsigned lane = 0; d && lane < ISA_LANES; ++lane) {
    uint32_t out = d[0][lane];
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    for (unsigned bit = 0; bit < (is_half ? 16 : 32); ++bit) {
      unsigned entry = 0;
      for (unsigned n = 0; n < 3; ++n) {
        const unsigned from = bit + (is_half && inst->vop.op_sel >> n & 1 ? 16 : 0);
        entry = entry * 2 + (dword(wave, inst, n, 0, lane) >> from & 1);
      }
      put_bits(&out, bit + (is_half && inst->vop.op_sel & 8 ? 16 : 0), 1,
               (uint64_t)(inst->simm >> entry & 1));
    }
    d[0][lane] = out;
  }
  return true;
}

/* Each lane of a pair gets what the other has, as it was before. */
static bool run_swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned row = inst->op == ISA_v_permlane16_swap_b32 ? 16 : 32;
  const bool fetches = inst->vop.op_sel & 1, bounds = inst->vop.op_sel & 2;
  const uint64_t exec = isa_exec(wave);
  isa_row_t source, result;
  memcpy(source, wave->v[inst->src[0].index], sizeof source);
  memcpy(result, wave->v[inst->dst.index], sizeof result);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    const bool is_odd = lane / row % 2;
    const unsigned other = is_odd ? lane - row : lane + row;
    const bool is_there = exec >> other & 1 || fetches;
    if (!(exec >> lane & 1) || !(is_there || bounds))
      continue;
    const uint32_t value = !is_there ? 0 : is_odd ? source[other] : result[other];
    wave->v[is_odd ? inst->dst.index : inst->src[0].index][lane] = value;
  }
  return true;
}

bool isa_reference_gfx950(isa_wave_t *wave, const isa_inst_t *inst)
{
  switch (inst->op) {
  case ISA_v_bitop3_b16:
  case ISA_v_bitop3_b32:
    return run_bitop3(wave, inst);
  case ISA_v_permlane16_swap_b32:
  case ISA_v_permlane32_swap_b32:
    return run_swap(wave, inst);
  default:
    return !strncmp(isa_op_name(inst->op), "v_cvt_scalef32_", 15) && run_conversion(wave, inst);
  }
}

/* --- LDS --- */

/* Sixteen lanes read a matrix, row after row, as many lanes a row as its 16 elements need; each
 * gets the column of its number. */
bool isa_reference_transpose(isa_wave_t *wave, const isa_inst_t *inst)
{
  const char *name = isa_op_name(inst->op), *width = strrchr(name, 'b') + 1;
  const unsigned bits = !strcmp(width, "16") ? 16 : (unsigned)(*width - '0');
  const unsigned bytes = 4 * inst->row->dst, count = 8 * bytes / bits;
  uint64_t elements[ISA_LANES][16] = {{0}}; /* of a lane; none of an inactive one */
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    uint32_t address = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1);
    uint32_t words[4] = {0};
    place_t place;
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    if (!isa_reference_lds(wave, lane, address + (uint32_t)inst->mem.offset, bytes, 'L', &place))
      return false;
    for (unsigned i = 0; i < bytes; i += 4)
      words[i / 4] = (uint32_t)isa_reference_get(&place, i, 4);
    for (unsigned i = 0; i < count; ++i)
      for (unsigned bit = 0; bit < bits; ++bit)
        elements[lane][i] |= (uint64_t)(words[(i * bits + bit) / 32] >> (i * bits + bit) % 32 & 1)
                             << bit;
  }
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    uint32_t words[4] = {0};
    const unsigned column = lane % 16, lanes_a_row = 16 / count;
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    for (unsigned row = 0; row < count; ++row) {
      const unsigned from = lane / 16 * 16 + row * lanes_a_row + column / count;
      put_bits(words, row * bits, bits, elements[from][column % count]);
    }
    for (unsigned i = 0; i < bytes / 4; ++i)
      isa_reference_set(wave, &inst->dst, i, lane, words[i]);
  }
  return true;
}
