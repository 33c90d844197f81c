#include "softgpu/debug/watch.h"

#include "softgpu/debug/live.h"
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/run/width.h"

static const uint32_t bits[KFD_WATCHES] = {1 << 7, 1 << 12, 1 << 13, 1 << 14};

static bool has_lanes(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_buffer = inst->encoding == ISA_MUBUF && inst->row && inst->row->sdst;
  return !wave->vskip && isa_access_of(inst->op) &&
         (is_buffer || inst->encoding == ISA_FLAT || inst->encoding == ISA_GLOBAL ||
          inst->encoding == ISA_SCRATCH);
}

static bool is_of_interest(char kind, uint32_t mode)
{
  switch (mode) {
  case KFD_WATCH_READ:
    return kind == 'L';
  case KFD_WATCH_NONREAD:
    return kind != 'L';
  case KFD_WATCH_ATOMIC:
    return kind == 'A';
  default:
    return true;
  }
}

static bool touches(const place_t *place, const live_watch_t *watch)
{
  const uint64_t address = atomic_load(&watch->address), mask = atomic_load(&watch->mask);
  for (unsigned i = 0; i < place->bytes; ++i)
    if (place->at[i] && !(((uintptr_t)place->at[i] ^ address) & mask))
      return true;
  return false;
}

static uint32_t hits_of(const place_t *place, char kind, const live_watch_t *watches)
{
  uint32_t hits = 0;
  for (unsigned i = 0; i < KFD_WATCHES; ++i)
    if (atomic_load(&watches[i].is_set) && is_of_interest(kind, atomic_load(&watches[i].mode)) &&
        touches(place, &watches[i]))
      hits |= bits[i];
  return hits;
}

uint32_t watch_hits(isa_program_t *program, isa_wave_t *wave)
{
  const isa_chunk_t *chunk;
  const isa_inst_t *inst = isa_program_at(program, wave->pc, &chunk);
  uint32_t hits = 0;
  if (!inst || !has_lanes(wave, inst) || !isa_width_of(wave)->reference.allows(wave, inst))
    return 0;
  const transfer_t transfer = isa_width_of(wave)->reference.transfer(inst->op);
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    place_t place;
    if (isa_width_of(wave)->reference.place(wave, inst, lane, &transfer, &place))
      hits |= hits_of(&place, transfer.kind, live.watches[wave->dispatch->node]);
  }
  return hits;
}
