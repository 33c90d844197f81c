/* MUBUF and MTBUF: loads, stores and atomics through a buffer descriptor. */
#include "softgpu/isa/base/format.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/move.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/operand.h"

/* What is out of range. GFX10 has a field for it (RDNA 2 ISA document, OOB_SELECT), whose values
 * these are; on GFX9 it follows from the instruction. */
typedef enum bounds {
  BOUNDS_STRUCTURED, /* an index beyond the records, or an offset beyond the stride */
  BOUNDS_INDEX,      /* an index beyond the records */
  BOUNDS_NONE,       /* all, of a buffer without records */
  BOUNDS_RAW,        /* bytes beyond the records; of swizzled ones as BOUNDS_STRUCTURED */
  BOUNDS_BY_INDEXING
} bounds_t;

/* A buffer descriptor, MI200 ISA document table 37, RDNA 2 ISA document table 38. */
typedef struct descriptor {
  uint64_t base;
  uint32_t stride, records, element_bytes, index_stride;
  bool swizzled, adds_lane;
  uint8_t bounds; /* bounds_t */
} descriptor_t;

static descriptor_t read_descriptor(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  descriptor_t d = {
      .base = s[0] | (uint64_t)(s[1] & 0xffff) << 32,
      .stride = s[1] >> 16 & 0x3fff,
      .records = s[2],
      .swizzled = s[1] >> 31,
      .adds_lane = s[3] >> 23 & 1,
      .element_bytes = 2u << (s[3] >> 19 & 3),
      .index_stride = 8u << (s[3] >> 21 & 3),
      .bounds = BOUNDS_BY_INDEXING,
  };
  if (isa_chip(inst->chip)->unified_formats) {
    const unsigned swizzle = isa_chip(inst->chip)->fewer_formats ? s[1] >> 30 : s[1] >> 31;
    d.swizzled = swizzle && (inst->mem.idxen || d.adds_lane); /* what has an index */
    d.element_bytes = 2u << swizzle;
    d.bounds = s[3] >> 28 & 3;
  } else if (d.adds_lane) /* the data format field extends the stride */
    d.stride |= (s[3] >> 15 & 15) << 14;
  return d;
}

/* Offset of an element from the descriptor's base, without soffset. */
static uint64_t buffer_offset(const descriptor_t *d, uint32_t index, uint64_t offset)
{
  if (!d->swizzled)
    return (uint64_t)index * d->stride + offset;
  uint64_t index_high = index / d->index_stride, index_low = index % d->index_stride;
  uint64_t offset_high = offset / d->element_bytes, offset_low = offset % d->element_bytes;
  return (index_high * d->stride + offset_high * d->element_bytes) * d->index_stride +
         index_low * d->element_bytes + offset_low;
}

/* The descriptor ROCr sets up for scratch: swizzled by lane, a dword at a time. */
static bool is_scratch(const isa_wave_t *wave, const descriptor_t *d, uint64_t address)
{
  return d->swizzled && d->adds_lane && d->element_bytes == 4 && d->index_stride == ISA_LANES &&
         wave->private_bytes &&
         address - wave->dispatch->scratch_base < wave->dispatch->scratch_bytes;
}

typedef struct buffer_access {
  descriptor_t d;
  uint32_t soffset;
  const isa_row_t *vaddr;
  isa_range_t *range;
  bool is_whole; /* in range wholly or not at all, as elements of typed buffers are */
  bool is_indexed;
} buffer_access_t;

/* How many of `bytes` from `start` on are below `end`. */
static uint32_t bytes_below(uint64_t end, uint64_t start, uint32_t bytes)
{
  if (start >= end)
    return 0;
  return end - start < bytes ? (uint32_t)(end - start) : bytes;
}

/* How many of the bytes at `offset` of a record are in range, of what that comes to with the
 * scalar offset from `start` on. Without a choice, num_records counts records when a buffer with a
 * stride is indexed, else bytes. */
static uint32_t bytes_in_range(const buffer_access_t *access, uint32_t index, uint64_t offset,
                               uint64_t start, uint32_t bytes)
{
  const descriptor_t *d = &access->d;
  const bool is_structured =
      d->bounds == BOUNDS_STRUCTURED || (d->bounds == BOUNDS_RAW && d->swizzled && d->stride);
  if (is_structured)
    return index >= d->records ? 0 : bytes_below(d->stride, offset, bytes);
  switch (d->bounds) {
  case BOUNDS_INDEX:
    return index >= d->records ? 0 : bytes;
  case BOUNDS_NONE:
    return d->records ? bytes : 0;
  case BOUNDS_RAW:
    return bytes_below(d->records, offset + access->soffset, bytes);
  default:
    if (d->stride && access->is_indexed)
      return index >= d->records || (d->swizzled && offset >= d->stride) ? 0 : bytes;
    return bytes_below(d->records, start, bytes);
  }
}

/* Where `plan` accesses a lane's bytes from `first` on. False for a fault.
 *
 * The register's and the instruction's offset are added in 32 bits: LLVM takes an addition that may
 * wrap apart into both, for chips before gfx1250, and AMD's simulator has it so from gfx950
 * hardware. No other sum wraps: of a lane at 0xffffffff no dword is in range (AMDGPUUsage: each
 * dword is checked for itself with saturating arithmetic; atomics and elements of typed buffers are
 * all or nothing). */
static bool resolve(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                    const buffer_access_t *access, isa_lanes_t *lanes, unsigned lane,
                    unsigned first)
{
  const descriptor_t *d = &access->d;
  uint32_t index = inst->mem.idxen ? access->vaddr[0][lane] : 0, low = (uint32_t)inst->mem.offset;
  if (inst->mem.offen)
    low += access->vaddr[inst->mem.idxen][lane];
  if (d->adds_lane && (!inst->mem.idxen || d->bounds == BOUNDS_BY_INDEXING))
    index += lane; /* from GFX10 on one or the other */
  if (is_scratch(wave, d, d->base + access->soffset)) {
    lanes->swizzled |= 1ull << lane;
    lanes->at[lane] = isa_scratch_at(wave, lane, d->base + access->soffset, low, plan->bytes);
    return lanes->at[lane] != NULL;
  }
  const uint64_t offset = (uint64_t)low + first;
  const uint64_t start = buffer_offset(d, index, offset) + access->soffset;
  uint32_t bytes = bytes_in_range(access, index, offset, start, plan->bytes);
  if (bytes < plan->bytes) {
    bytes = plan->kind == ISA_ATOMIC || access->is_whole ? 0 : bytes / 4 * 4;
    lanes->absent |= 1ull << lane;
    lanes->dwords[lane] = (uint8_t)(bytes / 4);
    if (!bytes)
      return true;
  }
  if (!isa_reach(wave, access->range, lane, d->base + start, bytes, plan->kind))
    return false;
  lanes->at[lane] = isa_range_host(access->range, d->base + start);
  return true;
}

static buffer_access_t access_of(isa_wave_t *wave, const isa_inst_t *inst, bool is_whole)
{
  return (buffer_access_t){
      .d = read_descriptor(wave, inst),
      .soffset = isa_read32(wave, &inst->mem.soffset),
      .vaddr = inst->mem.vaddr.kind ? isa_rows(wave, &inst->mem.vaddr) : NULL,
      .range = isa_range_of(wave, inst),
      .is_whole = is_whole,
      .is_indexed = inst->mem.idxen,
  };
}

/* Swizzling puts each dword of a lane elsewhere, but in scratch memory, where resolve() knows. */
static bool is_split(const isa_wave_t *wave, const buffer_access_t *access, unsigned bytes)
{
  return bytes > 4 && access->d.swizzled &&
         !is_scratch(wave, &access->d, access->d.base + access->soffset);
}

/* What is split: as many instructions of one dword, whose addresses
 * are all known before registers change. */
static bool run_components(isa_wave_t *wave, const isa_inst_t *inst, const buffer_access_t *access)
{
  static const isa_access_t load = {.kind = ISA_LOAD, .bytes = 4};
  static const isa_access_t store = {.kind = ISA_STORE, .bytes = 4};
  const isa_access_t *plan = inst->plan, *part = plan->kind == ISA_LOAD ? &load : &store;
  const unsigned count = plan->bytes / 4u;
  isa_inst_t parts[4];
  isa_lanes_t lanes[4];
  for (unsigned i = 0; i < count; ++i) {
    parts[i] = *inst;
    parts[i].plan = part;
    parts[i].dst.index = (uint16_t)(inst->dst.index + i);
    parts[i].mem.data[0].index = (uint16_t)(inst->mem.data[0].index + i);
    lanes[i] = (isa_lanes_t){0};
  }
  ISA_EACH_LANE(lane, isa_exec(wave))
    for (unsigned i = 0; i < count; ++i)
      if (!resolve(wave, inst, part, access, &lanes[i], lane, 4 * i))
        return false;
  /* A lane after the other: where stores overlap, the last lane's stay. */
  ISA_EACH_LANE(lane, isa_exec(wave))
    for (unsigned i = 0; i < count; ++i) {
      lanes[i].active = 1ull << lane;
      isa_lanes_run(wave, &parts[i], &lanes[i]);
    }
  return true;
}

/* What most buffers are: bytes by an offset, all of them within the buffer and in the range that
 * the instruction used before. False when they are not, and nothing is done. */
static bool run_whole(isa_wave_t *wave, const isa_inst_t *inst, const buffer_access_t *access)
{
  static const isa_row_t zeros;
  const isa_access_t *plan = inst->plan;
  const descriptor_t *d = &access->d;
  const isa_range_t *range = access->range;
  const bool is_store = plan->kind == ISA_STORE;
  const uint64_t start = d->base + access->soffset - range->base;
  if ((plan->kind != ISA_LOAD && !is_store) || plan->bytes < 4 || inst->mem.lds ||
      inst->mem.idxen || d->swizzled || d->adds_lane || d->bounds < BOUNDS_RAW ||
      access->soffset >= d->records || start >= range->size ||
      (is_store && !(range->flags & SOFTGPU_MEMORY_WRITE)))
    return false;
  const isa_mover_t *mover = isa_mover();
  const uint64_t in_buffer = d->records - access->soffset, in_range = range->size - start;
  const uint64_t size = in_buffer < in_range ? in_buffer : in_range;
  uint8_t *base = isa_range_host(range, range->base + start);
  const isa_moves_t *moves =
      mover->look(wave, inst, inst->mem.offen ? access->vaddr[0] : zeros, plan->bytes);
  if (!isa_moves_are_within(moves, (uint32_t)inst->mem.offset, size))
    return false;
  base += inst->mem.offset;
  if (is_store)
    mover->store(wave, isa_rows(wave, &inst->mem.data[0]), plan->bytes / 4u, base, moves);
  else
    mover->load(wave, isa_rows(wave, &inst->dst), plan->bytes / 4u, base, moves);
  return true;
}

static bool run_each(isa_wave_t *wave, const isa_inst_t *inst, const buffer_access_t *access)
{
  const isa_access_t *plan = inst->plan;
  const bool has_components = plan->kind == ISA_LOAD || plan->kind == ISA_STORE;
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  if (has_components && is_split(wave, access, plan->bytes))
    return inst->mem.lds ? isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0)
                         : run_components(wave, inst, access);
  ISA_EACH_LANE(lane, lanes.active)
    if (!resolve(wave, inst, plan, access, &lanes, lane, 0))
      return false;
  if (plan->kind == ISA_STORE_LDS)
    return isa_lanes_store_lds(wave, inst, &lanes);
  return inst->mem.lds ? isa_lanes_load_lds(wave, inst, &lanes) : isa_lanes_run(wave, inst, &lanes);
}

ISA_GOES_ON(run_buffer)
static bool run_buffer(isa_wave_t *wave, const isa_inst_t *inst)
{
  const buffer_access_t access = access_of(wave, inst, false);
  isa_range_refresh(access.range);
  return run_whole(wave, inst, &access) || run_each(wave, inst, &access);
}

/* --- typed buffers --- */

/* An element's dwords, in up to four pieces where the buffer is swizzled. */
typedef struct elements {
  isa_access_t plan;
  unsigned pieces;
  isa_lanes_t lanes[4];
} elements_t;

static bool find_elements(isa_wave_t *wave, const isa_inst_t *inst, const buffer_access_t *access,
                          elements_t *elements)
{
  const unsigned bytes = elements->plan.bytes;
  const bool splits = is_split(wave, access, bytes);
  elements->pieces = splits ? bytes / 4 : 1;
  elements->plan.bytes = (uint8_t)(splits ? 4 : bytes);
  ISA_EACH_LANE(lane, isa_exec(wave))
    for (unsigned i = 0; i < elements->pieces; ++i)
      if (!resolve(wave, inst, &elements->plan, access, &elements->lanes[i], lane, 4 * i))
        return false;
  for (unsigned i = 1; i < elements->pieces; ++i)
    elements->lanes[0].absent |= elements->lanes[i].absent;
  return true;
}

/* What a component of the register is: typed instructions have all that the element has, in order;
 * those that take the format from the descriptor have what it says there. */
static uint32_t selected(const isa_inst_t *inst, const isa_format_t *format, uint32_t descriptor,
                         const uint32_t element[4], unsigned i, bool is_half)
{
  const unsigned select = inst->encoding == ISA_MTBUF ? 4 + i : descriptor >> 3 * i & 7;
  if (select == 1)
    return isa_format_one(format, is_half);
  return select < 4 || select - 4 >= format->components
             ? 0
             : isa_format_load(format, select - 4, element, is_half);
}

static void put_components(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *typed,
                           unsigned lane, const uint32_t values[4])
{
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  const uint32_t kept = isa_half_kept(wave, inst);
  if (!typed->is_half) {
    for (unsigned i = 0; i < typed->components; ++i)
      dst[i][lane] = values[i];
    return;
  }
  for (unsigned i = 0; i < typed->components; ++i) {
    const bool is_high = typed->is_high || i % 2;
    uint32_t *out = &dst[i / 2][lane], before = *out;
    if (!(i % 2)) /* the other half, unless the instruction has a value for it */
      before &= kept;
    *out = is_high ? (before & 0xffff) | values[i] << 16 : (before & 0xffff0000) | values[i];
  }
}

static uint32_t component_of(const isa_row_t *data, const isa_access_t *typed, unsigned lane,
                             unsigned i)
{
  if (!typed->is_half)
    return data[i][lane];
  return data[i / 2][lane] >> (typed->is_high || i % 2 ? 16 : 0) & 0xffff;
}

static void load_element(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *typed,
                         const isa_format_t *format, const elements_t *elements, unsigned lane)
{
  const uint32_t descriptor = wave->s[inst->mem.saddr.index + 3];
  uint32_t element[4] = {0}, values[4];
  const bool is_there = !(elements->lanes[0].absent >> lane & 1) && format->bytes;
  for (unsigned i = 0; is_there && i < elements->pieces; ++i) {
    uint32_t words[4] = {0};
    isa_lane_read(&elements->lanes[i], lane, words, elements->plan.bytes);
    memcpy(&element[i], words, (elements->plan.bytes + 3u) / 4 * 4);
  }
  for (unsigned i = 0; i < typed->components; ++i)
    values[i] = selected(inst, format, descriptor, element, i, typed->is_half);
  put_components(wave, inst, typed, lane, values);
}

/* Components of whole bytes that the instruction has not stay; of smaller ones they become 0. */
static void store_element(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *typed,
                          const isa_format_t *format, const elements_t *elements, unsigned lane)
{
  const isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  uint32_t element[4] = {0};
  if (elements->lanes[0].absent >> lane & 1 || !format->bytes)
    return;
  unsigned bits = 0;
  for (unsigned i = 0; i < typed->components && i < format->components; ++i) {
    isa_format_store(format, i, component_of(data, typed, lane, i), typed->is_half, element);
    bits += format->bits[i];
  }
  unsigned bytes = format->bits[0] % 8 ? format->bytes : bits / 8;
  for (unsigned i = 0; i < elements->pieces && bytes; ++i) {
    const unsigned part = bytes < elements->plan.bytes ? bytes : elements->plan.bytes;
    uint32_t words[4] = {0};
    memcpy(words, &element[i], (part + 3) / 4 * 4);
    isa_lane_write(&elements->lanes[i], lane, words, part);
    bytes -= part;
  }
}

static bool run_typed(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t word = wave->s[inst->mem.saddr.index + 3];
  const bool is_named = inst->encoding == ISA_MTBUF;
  const isa_access_t *typed = inst->plan;
  const bool is_store = typed->kind == ISA_STORE;
  isa_format_t format;
  const isa_chip_t *chip = isa_chip(inst->chip);
  if (chip->unified_formats
          ? !isa_format_find_unified(is_named ? inst->mem.format
                                              : word >> 12 & (chip->fewer_formats ? 63 : 127),
                                     chip->fewer_formats, &format)
          : !isa_format_find(is_named ? inst->mem.format & 15 : word >> 15 & 15,
                             is_named ? inst->mem.format >> 4 : word >> 12 & 7, &format))
    return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  const buffer_access_t access = access_of(wave, inst, true);
  elements_t elements = {.plan = {.kind = typed->kind, .bytes = format.bytes}};
  isa_range_refresh(access.range);
  if (format.bytes && !find_elements(wave, inst, &access, &elements))
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave))
    (is_store ? store_element : load_element)(wave, inst, typed, &format, &elements, lane);
  return true;
}

/* --- all of them --- */

static bool can_use_lds(const isa_access_t *plan, unsigned chip)
{
  if (plan->kind == ISA_STORE_LDS)
    return true;
  const bool fits = plan->bytes <= 4 || (isa_chip(chip)->wide_lds_loads && plan->bytes >= 12);
  return plan->kind == ISA_LOAD && fits && plan->form < ISA_FORM_D16_ZERO;
}

bool isa_buffer_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *plan = isa_access_of(inst->op);
  const bool typed = plan && plan->components;
  if (!plan || (inst->mem.tfe && row->sdst) ||
      (inst->mem.lds && (typed || !can_use_lds(plan, inst->chip))) ||
      !isa_operand_prepare(&inst->dst, inst->mem.lds ? 0 : row->dst, limits) ||
      !isa_operand_prepare(&inst->mem.data[0], row->src[0], limits) ||
      !isa_operand_prepare(&inst->mem.vaddr, (unsigned)inst->mem.offen + inst->mem.idxen, limits) ||
      !isa_operand_prepare(&inst->mem.saddr, 4, limits) ||
      !isa_operand_prepare(&inst->mem.soffset, 1, limits))
    return false;
  inst->plan = plan;
  inst->is_alone = inst->mem.lds;
  if (typed)
    inst->run = run_typed;
  else if (plan->kind == ISA_CACHE)
    inst->run = isa_run_nothing;
  else
    ISA_RUNS(inst, run_buffer);
  return true;
}
