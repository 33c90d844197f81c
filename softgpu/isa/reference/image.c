/* The reference engine's image instructions: a lane at a time. What can be used is the engine
 * proper's to say: isa_image_check(). */
#include <string.h>

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/image.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

static bool has(const isa_inst_t *inst, const char *part)
{
  return strstr(isa_op_name(inst->op), part) != NULL;
}

static uint32_t bits(const isa_wave_t *wave, const isa_inst_t *inst, unsigned word, unsigned first,
                     unsigned count)
{
  return wave->s[inst->mem.saddr.index + word] >> first & ((1u << count) - 1);
}

/* Letters of the coordinates, by the descriptor's type. */
static const char *letters(const isa_wave_t *wave, const isa_inst_t *inst)
{
  static const char *const names[16] = {
      [8] = "x", [9] = "xy", [10] = "xyz", [12] = "xl", [13] = "xyl"};
  return names[bits(wave, inst, 3, 28, 4)];
}

/* What the instruction's address says of a letter; 0 where it says nothing. */
static uint32_t coordinate(isa_wave_t *wave, const isa_inst_t *inst, char letter, unsigned lane)
{
  const bool declares = inst->mem.image.da, is_short = inst->mem.image.a16;
  unsigned n = 0;
  for (const char *at = letters(wave, inst); *at && *at != letter; ++at)
    n += *at != 'l' || declares;
  if (letter == 'l' && (!declares || !strchr(letters(wave, inst), 'l')))
    return 0;
  const uint64_t row = isa_reference_rows(wave, &inst->mem.vaddr, is_short ? n / 2 : n, lane, 1);
  return (uint32_t)(is_short ? row >> n % 2 * 16 & 0xffff : row);
}

/* Where the texel is: all NULL beyond the image. False for a fault. */
static bool find(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l, unsigned lane,
                 place_t *place)
{
  const uint32_t width = bits(wave, inst, 2, 0, 14) + 1, pitch = bits(wave, inst, 4, 13, 16) + 1;
  const uint32_t last = bits(wave, inst, 4, 0, 13), base = bits(wave, inst, 5, 0, 13);
  uint32_t height = 1, at[3] = {coordinate(wave, inst, 'x', lane), 0, 0};
  bool is_inside = at[0] < width, is_deep = false;
  *place = (place_t){.bytes = l->total / 8};
  for (const char *letter = letters(wave, inst) + 1; *letter; ++letter) {
    const uint32_t c = coordinate(wave, inst, *letter, lane);
    switch (*letter) {
    case 'y':
      height = bits(wave, inst, 2, 14, 14) + 1;
      at[1] = c;
      is_inside &= c < height;
      break;
    case 'z':
      is_deep = true;
      at[2] = c;
      is_inside &= c <= last;
      break;
    default:
      is_inside &= (uint64_t)base + c <= last;
    }
  }
  if (!is_deep)
    at[2] = base + coordinate(wave, inst, 'l', lane);
  if (has(inst, "_mip") && coordinate(wave, inst, 0, lane) != 0)
    is_inside = false;
  if (!is_inside)
    return true;
  const uint64_t start =
      ((uint64_t)bits(wave, inst, 1, 0, 8) << 32 | wave->s[inst->mem.saddr.index]) << 8;
  const uint64_t offset =
      isa_reference_texel(bits(wave, inst, 3, 20, 5), is_deep, place->bytes, pitch, height, at);
  const char kind = has(inst, "load") ? 'L' : has(inst, "store") ? 'S' : 'A';
  uint8_t *host = isa_reference_reach(wave, lane, start + offset, place->bytes, kind);
  for (unsigned i = 0; host && i < place->bytes; ++i)
    place->at[i] = host + i;
  place->is_shared = true;
  return host != NULL;
}

/* Components in turn, as many as dmask names, two in a register where they are halves. */
static void set(isa_wave_t *wave, const isa_inst_t *inst, unsigned nth, unsigned lane,
                uint32_t value)
{
  if (!inst->mem.image.d16) {
    isa_reference_set(wave, &inst->dst, nth, lane, value);
    return;
  }
  uint32_t old = (uint32_t)isa_reference_rows(wave, &inst->dst, nth / 2, lane, 1);
  if (nth % 2 == 0 && wave->dispatch->sram_ecc)
    old = 0;
  isa_reference_set(wave, &inst->dst, nth / 2, lane,
                    nth % 2 ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | (value & 0xffff));
}

void isa_reference_image_put(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                             const uint32_t values[4])
{
  unsigned nth = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (inst->mem.image.dmask >> i & 1)
      set(wave, inst, nth++, lane, values[i]);
  if (!nth)
    isa_reference_set(wave, &inst->dst, 0, lane, 0);
}

static uint32_t value_of(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l,
                         const place_t *place, unsigned i)
{
  const bool is_half = inst->mem.image.d16;
  const unsigned select = bits(wave, inst, 3, 3 * i, 3);
  if (select == 1)
    return isa_reference_is_integer(l) ? 1 : is_half ? 0x3c00 : 0x3f800000;
  if (select < 4 || select - 4 >= l->count)
    return 0;
  return isa_reference_loaded(l, select - 4, place, is_half);
}

/* Dwords of a texel that is not converted. */
static uint32_t packed(const isa_inst_t *inst, const place_t *place, unsigned i)
{
  if (4 * i >= place->bytes)
    return 0;
  const unsigned bytes = place->bytes < 4 ? place->bytes : 4;
  const uint64_t raw = isa_reference_get(place, 4 * i, bytes);
  if (has(inst, "sgn") && bytes < 4 && raw >> (8 * bytes - 1))
    return (uint32_t)raw | UINT32_MAX << 8 * bytes;
  return (uint32_t)raw;
}

static void load(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l, const place_t *place,
                 unsigned lane)
{
  uint32_t values[4];
  for (unsigned i = 0; i < 4; ++i)
    values[i] = has(inst, "pck") ? packed(inst, place, i) : value_of(wave, inst, l, place, i);
  isa_reference_image_put(wave, inst, lane, values);
}

static void store(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l, const place_t *place,
                  unsigned lane)
{
  const bool is_half = inst->mem.image.d16;
  uint32_t values[4] = {0};
  uint64_t words[2] = {0};
  unsigned nth = 0, row = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (inst->mem.image.dmask >> i & 1) {
      row = is_half ? nth / 2 : nth;
      values[i] = (uint32_t)isa_reference_rows(wave, &inst->mem.data[0], row, lane, 1);
      if (is_half)
        values[i] = nth % 2 ? values[i] >> 16 : values[i] & 0xffff;
      ++nth;
    }
  if (!nth)
    return;
  if (has(inst, "pck")) {
    for (unsigned i = 0; 4 * i < place->bytes; ++i)
      isa_reference_put(place, 4 * i, place->bytes < 4 ? place->bytes : 4, values[i]);
    return;
  }
  for (unsigned i = 4; i-- > 0;) { /* the first register that selects a component is its */
    const unsigned c = bits(wave, inst, 3, 3 * i, 3) - 4u;
    if (c >= l->count)
      continue;
    const uint64_t mask = ((uint64_t)1 << l->width[c]) - 1;
    uint64_t *word = &words[l->start[c] / 64];
    *word &= ~(mask << l->start[c] % 64);
    *word |= isa_reference_stored(l, c, values[i], is_half) << l->start[c] % 64;
  }
  for (unsigned at = 0; at < place->bytes; at += 4)
    isa_reference_put(place, at, place->bytes < 4 ? place->bytes : 4,
                      words[at / 8] >> at % 8 * 8 & UINT32_MAX);
}

static void exchange(isa_wave_t *wave, const isa_inst_t *inst, const place_t *place, unsigned lane)
{
  const unsigned dwords = place->bytes / 4;
  const uint64_t data = isa_reference_rows(wave, &inst->mem.data[0], 0, lane, dwords);
  uint64_t compare = 0, old = 0;
  if (has(inst, "cmpswap"))
    compare = isa_reference_rows(wave, &inst->mem.data[0], dwords, lane, dwords);
  if (place->at[0])
    old = isa_reference_exchange(inst, place->at[0], place->bytes, data, compare);
  for (unsigned i = 0; inst->mem.glc && i < dwords; ++i)
    isa_reference_set(wave, &inst->mem.data[0], i, lane, (uint32_t)(old >> 32 * i));
}

/* The level's sizes in the order of the coordinates, and how many levels there are. */
static void tell(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const unsigned first = bits(wave, inst, 3, 12, 4), last = bits(wave, inst, 3, 16, 4);
  const uint32_t level = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1) &
                         (inst->mem.image.a16 ? 0xffff : UINT32_MAX);
  const bool is_there = last >= first && level <= last - first;
  const uint32_t depth = bits(wave, inst, 4, 0, 13), base = bits(wave, inst, 5, 0, 13);
  uint32_t told[4] = {0, 0, 0, last >= first ? last - first + 1 : 0};
  const char *names = letters(wave, inst);
  for (unsigned i = 0; is_there && names[i]; ++i) {
    const uint32_t full = names[i] == 'x'   ? bits(wave, inst, 2, 0, 14) + 1
                          : names[i] == 'y' ? bits(wave, inst, 2, 14, 14) + 1
                                            : depth + 1;
    told[i] = full >> first >> level > 1 ? full >> first >> level : 1;
    if (names[i] == 'l')
      told[i] = depth >= base ? depth - base + 1 : 0;
  }
  isa_reference_image_put(wave, inst, lane, told);
}

static layout_t layout_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  layout_t l = {0};
  isa_reference_layout(bits(wave, inst, 1, 20, 6), bits(wave, inst, 1, 26, 4), &l);
  return l;
}

bool isa_reference_image_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  place_t place;
  if (!isa_image_check(wave, inst) || inst->op == ISA_image_get_resinfo)
    return true; /* or no lane's business */
  if (inst->op == ISA_image_sample)
    return isa_reference_sample_passes(wave, inst, lane);
  const layout_t l = layout_of(wave, inst);
  return find(wave, inst, &l, lane, &place);
}

bool isa_reference_image_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                unsigned part, place_t *place)
{
  if (part || !(has(inst, "store") || has(inst, "atomic")) || !isa_image_check(wave, inst))
    return false;
  const layout_t l = layout_of(wave, inst);
  return find(wave, inst, &l, lane, place);
}

bool isa_reference_image(isa_wave_t *wave, const isa_inst_t *inst)
{
  place_t places[ISA_LANES];
  const bool is_told = inst->op == ISA_image_get_resinfo;
  if (!isa_image_check(wave, inst))
    return false;
  if (inst->op == ISA_image_sample)
    return isa_reference_sample(wave, inst);
  const layout_t l = layout_of(wave, inst);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (!is_told && isa_exec(wave) >> lane & 1 && !find(wave, inst, &l, lane, &places[lane]))
      return false;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    if (is_told)
      tell(wave, inst, lane);
    else if (has(inst, "atomic"))
      exchange(wave, inst, &places[lane], lane);
    else if (has(inst, "store"))
      store(wave, inst, &l, &places[lane], lane);
    else
      load(wave, inst, &l, &places[lane], lane);
  }
  return true;
}
