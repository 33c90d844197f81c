/* MUBUF: loads, stores and atomics through a buffer descriptor. */
#include "softgpu/isa/access.h"
#include "softgpu/isa/opcodes.h"
#include "softgpu/isa/scalar.h"
#include "softgpu/isa/vmem.h"

/* A buffer descriptor, MI200 ISA document table 37. */
typedef struct descriptor {
  uint64_t base;
  uint32_t stride, records, element_bytes, index_stride;
  bool swizzled, adds_lane;
} descriptor_t;

static descriptor_t read_descriptor(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = &wave->s[inst->saddr.index];
  descriptor_t d = {
      .base = s[0] | (uint64_t)(s[1] & 0xffff) << 32,
      .stride = s[1] >> 16 & 0x3fff,
      .records = s[2],
      .swizzled = s[1] >> 31,
      .adds_lane = s[3] >> 23 & 1,
      .element_bytes = 2u << (s[3] >> 19 & 3),
      .index_stride = 8u << (s[3] >> 21 & 3),
  };
  if (d.adds_lane) /* the data format field extends the stride */
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
} buffer_access_t;

/* How many of `bytes` from `start` on are in range. num_records counts records when a buffer with a
 * stride is indexed, else bytes. */
static uint32_t bytes_in_range(const descriptor_t *d, bool is_indexed, uint32_t index,
                               uint64_t offset, uint64_t start, uint32_t bytes)
{
  if (d->stride && is_indexed)
    return index >= d->records || (d->swizzled && offset >= d->stride) ? 0 : bytes;
  if (start >= d->records)
    return 0;
  return d->records - start < bytes ? d->records - (uint32_t)start : bytes;
}

/* Where `plan` accesses a lane's bytes from `first` on. False for a fault.
 *
 * The register's and the instruction's offset are added in 32 bits: LLVM takes an addition that may
 * wrap apart into both, for chips before gfx1250, and AMD's simulator has it so from gfx950
 * hardware. No other sum wraps: of a lane at 0xffffffff no dword is in range (AMDGPUUsage: each
 * dword is checked for itself with saturating arithmetic; atomics are all or nothing). */
static bool resolve(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                    const buffer_access_t *access, isa_lanes_t *lanes, unsigned lane,
                    unsigned first)
{
  const descriptor_t *d = &access->d;
  uint32_t index = inst->idxen ? access->vaddr[0][lane] : 0, low = (uint32_t)inst->offset;
  if (inst->offen)
    low += access->vaddr[inst->idxen][lane];
  if (d->adds_lane)
    index += lane;
  if (is_scratch(wave, d, d->base + access->soffset)) {
    lanes->swizzled |= 1ull << lane;
    lanes->at[lane] = isa_scratch_at(wave, lane, d->base + access->soffset, low, plan->bytes);
    return lanes->at[lane] != NULL;
  }
  const uint64_t offset = (uint64_t)low + first;
  const uint64_t start = buffer_offset(d, index, offset) + access->soffset;
  uint32_t bytes = bytes_in_range(d, inst->idxen, index, offset, start, plan->bytes);
  if (bytes < plan->bytes) {
    bytes = plan->kind == ISA_ATOMIC ? 0 : bytes / 4 * 4;
    lanes->absent |= 1ull << lane;
    lanes->dwords[lane] = (uint8_t)(bytes / 4);
    if (!bytes)
      return true;
  }
  if (!isa_reach(wave, access->range, lane, d->base + start, bytes, isa_writes_memory(plan)))
    return false;
  lanes->at[lane] = isa_range_host(access->range, d->base + start);
  return true;
}

/* Swizzling puts each dword of a lane elsewhere: as many instructions of one dword, whose addresses
 * are all known before registers change. */
static bool run_components(isa_wave_t *wave, const isa_inst_t *inst, const buffer_access_t *access)
{
  static const isa_access_t load = {"load_dword", ISA_LOAD, 4, 0, 0};
  static const isa_access_t store = {"store_dword", ISA_STORE, 4, 0, 0};
  const isa_access_t *plan = inst->plan, *part = plan->kind == ISA_LOAD ? &load : &store;
  const unsigned count = plan->bytes / 4u;
  isa_inst_t parts[4];
  isa_lanes_t lanes[4];
  for (unsigned i = 0; i < count; i++) {
    parts[i] = *inst;
    parts[i].plan = part;
    parts[i].dst.index = (uint16_t)(inst->dst.index + i);
    parts[i].data[0].index = (uint16_t)(inst->data[0].index + i);
    lanes[i] = (isa_lanes_t){0};
  }
  for (uint64_t left = isa_exec(wave); left; left &= left - 1)
    for (unsigned i = 0; i < count; i++)
      if (!resolve(wave, inst, part, access, &lanes[i], (unsigned)__builtin_ctzll(left), 4 * i))
        return false;
  /* A lane after the other: where stores overlap, the last lane's stay. */
  for (uint64_t left = isa_exec(wave); left; left &= left - 1)
    for (unsigned i = 0; i < count; i++) {
      lanes[i].active = left & -left;
      isa_lanes_run(wave, &parts[i], &lanes[i]);
    }
  return true;
}

static bool run_buffer(isa_wave_t *wave, const isa_inst_t *inst)
{
  buffer_access_t access = {
      .d = read_descriptor(wave, inst),
      .soffset = isa_read32(wave, &inst->soffset),
      .vaddr = inst->vaddr.kind ? isa_rows(wave, &inst->vaddr) : NULL,
      .range = isa_range_of(wave, inst),
  };
  const isa_access_t *plan = inst->plan;
  const bool has_components =
      plan->bytes > 4 && (plan->kind == ISA_LOAD || plan->kind == ISA_STORE);
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  isa_range_refresh(access.range);
  if (has_components && access.d.swizzled &&
      !is_scratch(wave, &access.d, access.d.base + access.soffset))
    return run_components(wave, inst, &access);
  for (uint64_t left = lanes.active; left; left &= left - 1)
    if (!resolve(wave, inst, plan, &access, &lanes, (unsigned)__builtin_ctzll(left), 0))
      return false;
  return inst->lds ? isa_lanes_load_lds(wave, inst, &lanes) : isa_lanes_run(wave, inst, &lanes);
}

static bool run_cache(isa_wave_t *wave, const isa_inst_t *inst)
{
  (void)wave;
  (void)inst;
  return true;
}

static bool can_load_lds(const isa_access_t *plan)
{
  return plan->kind == ISA_LOAD && plan->bytes <= 4 && plan->form < ISA_FORM_D16_ZERO;
}

bool isa_buffer_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const struct isa_opcode *row = inst->row;
  const isa_access_t *plan = isa_access_find(isa_op_name(inst->op) + strlen("buffer_"));
  if (!plan || (inst->lds && !can_load_lds(plan)) ||
      !isa_vector_allocated(&inst->dst, inst->lds ? 0 : row->dst, limits) ||
      !isa_vector_allocated(&inst->data[0], row->src[0], limits) ||
      !isa_vector_allocated(&inst->vaddr, (unsigned)inst->offen + inst->idxen, limits) ||
      !isa_scalar_prepare(&inst->saddr, 4, limits) ||
      !isa_scalar_prepare(&inst->soffset, 1, limits))
    return false;
  inst->plan = plan;
  inst->run = plan->kind == ISA_CACHE ? run_cache : run_buffer;
  return true;
}
