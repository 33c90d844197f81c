/* Where the reference engine's buffer instructions access memory: descriptors, bounds and swizzled
 * elements. */
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

/* Whether a descriptor's bits from 19 on are those of scratch memory. GFX9: elements of a dword,
 * groups of 64 lanes, whose numbers are added. GFX10: elements are dwords, groups the wave. */
static bool is_by_lane(const isa_inst_t *inst, uint32_t word)
{
  return isa_chip(inst->chip)->unified_formats ? (word >> 21 & 7) == (ISA_LANES == 64 ? 7 : 6)
                                               : (word >> 19 & 0x1f) == 0x1d;
}

/* Bytes of an element that is swizzled, or 0 for none. GFX10: a bit says it, of dwords; GFX11 has a
 * field. */
static unsigned swizzled_bytes(const isa_inst_t *inst, const uint32_t *s)
{
  if (isa_chip(inst->chip)->fewer_formats)
    return s[1] >> 30 ? 2u << (s[1] >> 30) : 0;
  return s[1] >> 31 ? 4 : 0;
}

/* Whether a buffer is the wave's scratch memory: swizzled by lane, a dword at a time. */
bool isa_reference_is_private(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  const uint64_t start = (s[0] | (uint64_t)(s[1] & 0xffff) << 32) +
                         isa_reference_scalar(wave, &inst->mem.soffset, 1, 32);
  return swizzled_bytes(inst, s) == 4 && is_by_lane(inst, s[3]) && wave->private_bytes &&
         start - wave->dispatch->scratch_base < wave->dispatch->scratch_bytes;
}

/* GFX10 swizzles what has an index, which is the instruction's or the lane. */
bool isa_reference_is_swizzled(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  return swizzled_bytes(inst, s) &&
         (!isa_chip(inst->chip)->unified_formats || inst->mem.idxen || (s[3] >> 23 & 1));
}

/* A buffer's access of GFX10. `offset` is what instruction and register say. */
typedef struct access10 {
  uint64_t index, offset, soffset, stride;
  bool is_swizzled;
} access10_t;

/* RDNA2 ISA document, "Range checking"; that only the last way counts the scalar offset was
 * measured on later chips (rocjitsu's tests). */
static bool is_within(const uint32_t *s, const access10_t *a, unsigned bytes)
{
  const uint64_t records = s[2], end = a->offset + bytes;
  switch (s[3] >> 28 & 3) {
  case 0:
    return a->index < records && end <= a->stride;
  case 1:
    return a->index < records;
  case 2:
    return records != 0;
  default:
    return a->is_swizzled && a->stride ? a->index < records && end <= a->stride
                                       : end + a->soffset <= records;
  }
}

/* As find_component(). */
static bool find_component10(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                             unsigned lane, unsigned first, place_t *place)
{
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  const uint64_t base = s[0] | (uint64_t)(s[1] & 0xffff) << 32, group = 8u << (s[3] >> 21 & 3),
                 element = swizzled_bytes(inst, s);
  access10_t a = {.index = s[3] >> 23 & 1 ? lane : 0,
                  .soffset = isa_reference_scalar(wave, &inst->mem.soffset, 1, 32),
                  .stride = s[1] >> 16 & 0x3fff,
                  .is_swizzled = isa_reference_is_swizzled(wave, inst)};
  uint32_t low = (uint32_t)inst->mem.offset;
  unsigned row = 0;
  if (inst->mem.idxen)
    a.index = isa_reference_rows(wave, &inst->mem.vaddr, row++, lane, 1);
  if (inst->mem.offen)
    low += (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, row, lane, 1);
  a.offset = (uint64_t)low + first;
  if (isa_reference_is_private(wave, inst))
    return isa_reference_find_scratch(wave, lane, base + a.soffset, a.offset, t->bytes, place);
  uint64_t linear = a.index * a.stride + a.offset;
  if (a.is_swizzled)
    linear = (a.index / group * a.stride + a.offset / element * element) * group +
             a.index % group * element + a.offset % element;
  *place = (place_t){.bytes = t->bytes};
  return !is_within(s, &a, t->bytes) ||
         isa_reference_find_memory(wave, lane, base + a.soffset + linear, t, place);
}

/* Buffers: MI200 ISA document, "Memory Buffer Load and Store", address calculation. `first` is the
 * byte of a larger transfer that `t` begins at. What instruction and register say is added in 32
 * bits, see buffer.c; nothing else wraps. */
static bool find_component(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                           unsigned lane, unsigned first, place_t *place)
{
  if (isa_chip(inst->chip)->unified_formats)
    return find_component10(wave, inst, t, lane, first, place);
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  const uint64_t base = s[0] | (uint64_t)(s[1] & 0xffff) << 32, records = s[2];
  const bool is_swizzled = s[1] >> 31, adds_lane = s[3] >> 23 & 1;
  const uint64_t element = 2u << (s[3] >> 19 & 3), group = 8u << (s[3] >> 21 & 3);
  const uint64_t stride = (s[1] >> 16 & 0x3fff) | (adds_lane ? (s[3] >> 15 & 15) << 14 : 0);
  const uint64_t soffset = isa_reference_scalar(wave, &inst->mem.soffset, 1, 32);
  uint32_t index = 0, low = (uint32_t)inst->mem.offset;
  unsigned row = 0;
  if (inst->mem.idxen)
    index = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, row++, lane, 1);
  if (inst->mem.offen)
    low += (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, row, lane, 1);
  if (adds_lane)
    index += lane;
  const uint64_t start = base + soffset, offset = (uint64_t)low + first;
  if (isa_reference_is_private(wave, inst))
    return isa_reference_find_scratch(wave, lane, start, offset, t->bytes, place);
  uint64_t linear = index * stride + offset;
  if (is_swizzled)
    linear = (index / group * stride + offset / element * element) * group +
             index % group * element + offset % element;
  *place = (place_t){.bytes = t->bytes};
  if (inst->mem.idxen && stride) {
    if (index >= records || (is_swizzled && offset >= stride))
      return true; /* out of range: no place */
  } else if (linear + soffset + t->bytes > records) {
    return true;
  }
  return isa_reference_find_memory(wave, lane, start + linear, t, place);
}

/* Elements of typed buffers are one as well, wherever their dwords are. */
bool isa_reference_element(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                           unsigned lane, place_t *place)
{
  const bool is_swizzled = isa_reference_is_swizzled(wave, inst);
  if (t->bytes <= 4 || !is_swizzled || isa_reference_is_private(wave, inst))
    return find_component(wave, inst, t, lane, 0, place);
  transfer_t part = *t;
  bool is_absent = false;
  part.bytes = 4;
  *place = (place_t){.bytes = t->bytes};
  for (unsigned i = 0; i < t->bytes; i += 4) {
    place_t found;
    if (!find_component(wave, inst, &part, lane, i, &found))
      return false;
    memcpy(&place->at[i], found.at, 4 * sizeof *found.at);
    place->is_shared |= found.is_shared;
    is_absent |= !found.at[0];
  }
  if (is_absent)
    *place = (place_t){.bytes = t->bytes};
  return true;
}

/* Dwords are found, and out of range, each on its own; of an atomic operation both are one. Those
 * of a lane that are all in range and follow each other are one access, as a fault describes it. */
bool isa_reference_find_buffer(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                               unsigned lane, place_t *place)
{
  if (t->kind == 'A' || t->bytes < 4 || isa_reference_is_private(wave, inst))
    return find_component(wave, inst, t, lane, 0, place);
  const bool is_swizzled = isa_reference_is_swizzled(wave, inst);
  if (!is_swizzled && !find_component(wave, inst, t, lane, 0, place))
    return false;
  if (!is_swizzled && place->at[0])
    return true;
  transfer_t part = *t;
  place_t found;
  part.bytes = 4;
  *place = (place_t){.bytes = t->bytes};
  for (unsigned i = 0; i < t->bytes; i += 4) {
    if (!find_component(wave, inst, &part, lane, i, &found))
      return false;
    memcpy(&place->at[i], found.at, 4 * sizeof *found.at);
    place->is_shared |= found.is_shared;
  }
  return true;
}
