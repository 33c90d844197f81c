#include "softgpu/isa/memory/reach.h"

/* Managed memory is in ranges that may go on in each other, and the program may unmap pages of what
 * it lets devices use: what counts is whether the bytes are there, with the rest of their page. */
static bool range_piece(isa_wave_t *wave, isa_range_t *range, const softgpu_allocation_t *found,
                        uint64_t address, uint32_t bytes, bool store)
{
  const uint64_t page = 4096, rest = found->size - (address - found->base);
  uint64_t first = address, last = address + bytes;
  if (!(found->flags & SOFTGPU_MEMORY_USER))
    return false;
  if (bytes > rest) {
    softgpu_allocation_t other;
    if (found->shift != 0 || !softgpu_memory_find(found->base + found->size, &other) ||
        !(other.flags & SOFTGPU_MEMORY_USER))
      return false;
  } else {
    first = (first & ~(page - 1)) > found->base ? first & ~(page - 1) : found->base;
    last += rest - bytes < -last % page ? rest - bytes : -last % page;
  }
  const void *host = softgpu_memory_reach(wave->dispatch->node, first, last - first, store);
  if (!host)
    return false;
  range->base = first;
  range->size = last - first;
  range->shift = (uintptr_t)host - first;
  range->flags = store ? found->flags : found->flags & ~(uint32_t)SOFTGPU_MEMORY_WRITE;
  return true;
}

/* What of an access counts. */
typedef struct access {
  uint64_t first;
  uint32_t bytes;
} access_t;

/* Whether what counts of dwords that are not all within one allocation is. */
static bool find_dwords(access_t *access, unsigned kind, softgpu_allocation_t *found)
{
  const bool is_load = !isa_kind_writes(kind) && access->bytes % 4 == 0 && access->bytes;
  const bool may_be_wider = is_load || (kind == ISA_ATOMIC && access->bytes == 4);
  softgpu_allocation_t in;
  if (!may_be_wider || access->first % 4 || !softgpu_memory_next(access->first, &in) ||
      in.base > access->first + 3)
    return false;
  const uint32_t before = in.base > access->first ? (uint32_t)(in.base - access->first) : 0;
  const uint32_t bytes = access->bytes - before;
  const uint64_t left = in.size - (access->first + before - in.base);
  if (left + 3 < bytes)
    return false;
  *access = (access_t){access->first + before, left < bytes ? (uint32_t)left : bytes};
  *found = in;
  return true;
}

/* Of memory whose writes are noted no range is kept until all of it has been written: each access
 * comes by here. */
static bool note_access(isa_wave_t *wave, isa_range_t *range, const softgpu_allocation_t *found,
                        const access_t *access, unsigned kind)
{
  const uint64_t offset = access->first - found->base;
  const bool reads = kind != ISA_STORE && kind != ISA_STORE_LDS;
  if (!softgpu_written_is_all(found->written))
    range->size = 0; /* which it may be already: of what was freed */
  if (reads && wave->dispatch->checks & SOFTGPU_CHECK_MEMORY &&
      !softgpu_written_has(found->written, offset, access->bytes))
    return false;
  if (isa_kind_writes(kind))
    softgpu_written_add(found->written, offset, access->bytes);
  return true;
}

/* Of an allocation with parts that were freed no range is kept: which are depends on the packet. */
static bool is_freed(const isa_wave_t *wave, isa_range_t *range, const access_t *access)
{
  const softgpu_dispatch_t *dispatch = wave->dispatch;
  if (!softgpu_freed_near(range->base, range->size))
    return false;
  range->size = 0;
  return softgpu_freed_find(access->first, access->bytes, dispatch->queue, dispatch->dispatch_id,
                            NULL);
}

bool isa_range_find(isa_wave_t *wave, isa_range_t *range, unsigned lane, uint64_t address,
                    uint32_t bytes, unsigned kind)
{
  const bool store = isa_kind_writes(kind);
  access_t access = {address, bytes};
  softgpu_allocation_t found;
  range->generation = softgpu_memory_generation();
  const bool is_found = softgpu_memory_find(address, &found);
  const bool is_whole = (is_found && bytes <= found.size - (address - found.base)) ||
                        find_dwords(&access, kind, &found);
  if (!is_whole && !(is_found && range_piece(wave, range, &found, address, bytes, store)))
    return isa_wave_fault(wave, SOFTGPU_FAULT_MEMORY, lane, address, bytes);
  if (!softgpu_memory_allows(&found, wave->dispatch->node))
    return isa_wave_fault(wave, SOFTGPU_FAULT_FOREIGN, lane, address, bytes);
  if (store && !(found.flags & SOFTGPU_MEMORY_WRITE))
    return isa_wave_fault(wave, SOFTGPU_FAULT_READ_ONLY, lane, address, bytes);
  if (!is_whole)
    return true;
  if (!softgpu_memory_present(&found, found.base, found.size))
    return range_piece(wave, range, &found, access.first, access.bytes, store) ||
           isa_wave_fault(wave, SOFTGPU_FAULT_MEMORY, lane, address, bytes);
  range->base = found.base;
  range->size = found.size;
  range->shift = found.shift;
  range->flags = found.flags;
  if (wave->dispatch->checks & SOFTGPU_CHECK_FREED && is_freed(wave, range, &access))
    return isa_wave_fault(wave, SOFTGPU_FAULT_MEMORY, lane, address, bytes);
  return !found.written || note_access(wave, range, &found, &access, kind) ||
         isa_wave_fault(wave, SOFTGPU_FAULT_MEMORY_UNWRITTEN, lane, address, bytes);
}

uint32_t isa_scalar_bytes(uint64_t address, uint32_t bytes)
{
  const uint64_t block = address & -address;
  softgpu_allocation_t found, behind;
  if (!softgpu_memory_find(address, &found))
    return bytes;
  const uint64_t left = (found.size - (address - found.base) + 3) & ~3ull;
  const bool is_padded = left < bytes && left > bytes / 2 && bytes - left < block;
  return is_padded && !softgpu_memory_find(found.base + found.size, &behind) ? (uint32_t)left
                                                                             : bytes;
}

bool isa_lds_outside(isa_wave_t *wave, unsigned lane, uint64_t address, uint32_t bytes)
{
  return !(wave->dispatch->checks & SOFTGPU_CHECK_LDS) ||
         isa_wave_fault(wave, SOFTGPU_FAULT_LDS, lane, address, bytes);
}
