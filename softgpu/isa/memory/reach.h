/* What a wave may reach: device memory, LDS, its scratch memory. Both engines ask here. Internal to
 * softgpu. */
#ifndef SOFTGPU_ISA_MEMORY_REACH_H
#define SOFTGPU_ISA_MEMORY_REACH_H

#include <string.h>

#include "softgpu/device/freed.h"
#include "softgpu/device/memory.h"
#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/describe/memory.h"

/* The slow way into the range cache. False when [address, +bytes) is not in one live allocation
 * that allows the access, an isa_access_kind_t, to the wave's device; the fault is described.
 *
 * An allocation's bounds are exact. LLVM loads aligned dwords, and exchanges one, where the program
 * has a smaller element (AtomicExpandPass; loads of constants): of these, up to three bytes on
 * either side of the allocation do not count, and the range does not hold them. */
bool isa_range_find(isa_wave_t *wave, isa_range_t *range, unsigned lane, uint64_t address,
                    uint32_t bytes, unsigned kind);

/* How many bytes of a scalar load count, and are in an allocation if the program is right; of the
 * rest the registers get 0. LLVM loads 3 dwords as 4, 5 or more as 8 or 16, where the address is
 * known to be aligned so that what is behind them is in the same aligned block as their last, of
 * which the scalar cache, whose lines have 64 bytes, fetches all or nothing. So an end within the
 * second half is padding, unless the address is aligned too little; where less is there, a shorter
 * load would have done. Vector loads, of which there are those of 3 dwords, are as long as the
 * program's. */
uint32_t isa_scalar_bytes(uint64_t address, uint32_t bytes);

/* Whether an access of this kind writes to memory. */
static inline bool isa_kind_writes(unsigned kind)
{
  return kind >= ISA_STORE;
}

/* Ranges are kept per instruction, so that each buffer of a kernel keeps its own. */
static inline isa_range_t *isa_range_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return &wave->thread->ranges[inst->range];
}

static inline bool isa_range_holds(const isa_range_t *range, uint64_t address, uint64_t bytes,
                                   bool store)
{
  uint64_t offset = address - range->base;
  return offset < range->size && bytes <= range->size - offset &&
         (!store || range->flags & SOFTGPU_MEMORY_WRITE);
}

/* True when device memory [address, +bytes) may be accessed by `lane`; see isa_range_find(). */
static inline bool isa_reach(isa_wave_t *wave, isa_range_t *range, unsigned lane, uint64_t address,
                             uint32_t bytes, unsigned kind)
{
  return isa_range_holds(range, address, bytes, isa_kind_writes(kind)) ||
         isa_range_find(wave, range, lane, address, bytes, kind);
}

/* Where the host has what is in the range. */
static inline uint8_t *isa_range_host(const isa_range_t *range, uint64_t address)
{
  return (uint8_t *)(uintptr_t)(address + range->shift);
}

/* Forgets a range that another thread may have freed since. Once per instruction. */
static inline void isa_range_refresh(isa_range_t *range)
{
  if (range->generation != softgpu_memory_generation())
    range->size = 0;
}

/* Aligned dwords and quadwords are read and written whole, with the ordering that loads and stores
 * have on x86 anyway; waves on other threads may poll them. */
static inline uint32_t isa_load32(const uint8_t *at)
{
  uint32_t value;
  if (((uintptr_t)at & 3) == 0)
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
  memcpy(&value, at, sizeof value);
  return value;
}

static inline void isa_store32(uint8_t *at, uint32_t value)
{
  if (((uintptr_t)at & 3) == 0)
    __atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELEASE);
  else
    memcpy(at, &value, sizeof value);
}

static inline uint64_t isa_load64(const uint8_t *at)
{
  uint64_t value;
  if (((uintptr_t)at & 7) == 0)
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
  memcpy(&value, at, sizeof value);
  return value;
}

static inline void isa_store64(uint8_t *at, uint64_t value)
{
  if (((uintptr_t)at & 7) == 0)
    __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
  else
    memcpy(at, &value, sizeof value);
}

/* Whether [address, +bytes) lies in LDS. */
static inline bool isa_lds_holds(const isa_wave_t *wave, uint64_t address, uint32_t bytes)
{
  return address < wave->lds_bytes && bytes <= wave->lds_bytes - address;
}

/* For what does not: out of range by the ISA documents, so reads give 0 and writes are dropped,
 * each dword for itself. False, and a described fault, when the dispatch asked for the check. */
bool isa_lds_outside(isa_wave_t *wave, unsigned lane, uint64_t address, uint32_t bytes);

/* Where a lane's bytes are for the device: in LDS, whose place in the host's memory means nothing
 * to users, their offset. */
static inline uint64_t isa_device_address(const isa_wave_t *wave, const uint8_t *at)
{
  const uint64_t offset = (uintptr_t)at - (uintptr_t)wave->lds;
  return offset < wave->lds_bytes ? offset : (uintptr_t)at;
}

/* Host pointer of a lane's byte `offset` in the wave's scratch slice, whose dwords are interleaved
 * by lane; NULL and a described fault when [offset, +bytes) leaves the private segment.
 * `base` is the address of lane 0's byte 0. */
uint8_t *isa_scratch_at(isa_wave_t *wave, unsigned lane, uint64_t base, uint64_t offset,
                        uint32_t bytes);

#endif
