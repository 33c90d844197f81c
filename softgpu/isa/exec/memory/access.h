/* Per-lane pointers, and moving data between them and registers. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_ACCESS_H
#define SOFTGPU_ISA_EXEC_MEMORY_ACCESS_H

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/memory/reach.h"

/* Host pointers of the lanes of one instruction. What a lane has out of range reads 0 and is not
 * stored: all of it, or of loads and stores the dwords at the end. */
typedef struct isa_lanes {
  uint64_t active;   /* lanes that take part */
  uint64_t absent;   /* of those, lanes that have only `dwords` in range, often none */
  uint64_t swizzled; /* of those, lanes whose dwords lie 256 bytes apart (scratch) */
  uint8_t dwords[ISA_LANES];
  uint8_t *at[ISA_LANES];
} isa_lanes_t;

/* What a D16 load keeps of the register it loads a half of. LLVM's d16PreservesUnusedBits(), and
 * the CDNA ISA documents: memory with error correction writes whole registers, the rest zero. */
static inline uint32_t isa_half_kept(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return wave->dispatch->sram_ecc && !isa_chip(inst->chip)->keeps_halves ? 0 : UINT32_MAX;
}

/* A dword that begins at the end of LDS, where that is no multiple of 4, as it may be where it ends
 * as the dispatch says: it may be loaded or exchanged, as it may in memory (isa_range_find()). The
 * host has the rest of it. NULL for all others. */
__attribute__((cold)) uint8_t *isa_lds_last_dword(const isa_wave_t *wave, uint64_t address,
                                                  uint32_t bytes);

/* The host's pointer to an element of LDS, naturally aligned; NULL where it is out of range. False
 * for a fault. */
static inline bool isa_lds_element(isa_wave_t *wave, unsigned lane, uint32_t address,
                                   uint32_t bytes, uint8_t **at)
{
  *at = NULL;
  if (!isa_lds_holds(wave, address, bytes))
    return isa_lds_outside(wave, lane, address, bytes);
  if (address % bytes)
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, address, bytes);
  *at = wave->lds + address;
  return true;
}

/* Where a lane's load or store, or its atomic, is in LDS, or that it is not. False for a fault. */
bool isa_lanes_put_lds(isa_wave_t *wave, const isa_access_t *plan, isa_lanes_t *lanes,
                       unsigned lane, uint64_t address);

/* A lane's bytes, at most 16, from its memory and to it. */
void isa_lane_read(const isa_lanes_t *lanes, unsigned lane, uint32_t words[4], unsigned bytes);
void isa_lane_write(const isa_lanes_t *lanes, unsigned lane, const uint32_t words[4],
                    unsigned bytes);

/* Moves what the plan says between registers and the lanes' memory. */
bool isa_lanes_run(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes);

/* Where lane 0's part of what a load puts into LDS begins: m0[15:0] + the instruction's offset
 * (MI200 ISA document, "Memory Buffer Load to LDS"). gfx950's 160 KiB of LDS take 18 bits. */
static inline uint32_t isa_lds_base(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return (wave->s[ISA_M0] & isa_chip(inst->chip)->lds_base) + (uint32_t)inst->mem.offset;
}

/* How far apart the lanes' parts are: a dword, or what gfx950 loads of more. */
static inline uint32_t isa_lds_stride(const isa_access_t *plan)
{
  return plan->bytes > 4 ? plan->bytes : 4;
}

/* Loads from each lane's memory into LDS, where it lands later: lds_load.h. */
bool isa_lanes_load_lds(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes);

/* The other way, of a dword: from LDS to each lane's memory. */
bool isa_lanes_store_lds(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes);

/* With ISA_ATOMIC_ADD_F of 32 bits: denormals are flushed on the way in, or out. */
enum { ISA_ATOMIC_FLUSH_IN = 1 << 6, ISA_ATOMIC_FLUSH_OUT = 1 << 7 };

/* LDS obeys the wave's mode; memory flushes on MI200 and keeps on MI300 (LLVM's SIISelLowering and
 * FeatureMemoryAtomicFAddF32DenormalSupport). 64 bits are never flushed. */
static inline unsigned isa_atomic_in_lds(unsigned atomic, unsigned bytes, uint32_t mode)
{
  if (atomic != ISA_ATOMIC_ADD_F || bytes != 4)
    return atomic;
  return atomic | (mode & 0x10 ? 0u : ISA_ATOMIC_FLUSH_IN) |
         (mode & 0x20 ? 0u : ISA_ATOMIC_FLUSH_OUT);
}

static inline unsigned isa_atomic_in_memory(unsigned atomic, unsigned bytes, unsigned chip)
{
  const bool flushes = atomic == ISA_ATOMIC_ADD_F && bytes == 4 && isa_chip(chip)->flushes_atomics;
  return flushes ? atomic | ISA_ATOMIC_FLUSH_IN | ISA_ATOMIC_FLUSH_OUT : atomic;
}

/* The new value of an element. `data` is the operand; `compare` the value compared with, of
 * MSKOR the mask. */
uint32_t isa_atomic32(unsigned atomic, uint32_t old, uint32_t data, uint32_t compare);
uint64_t isa_atomic64(unsigned atomic, uint64_t old, uint64_t data, uint64_t compare);

/* Performs one in memory that other threads may touch; returns the old value. */
uint32_t isa_atomic_memory32(uint8_t *at, unsigned atomic, uint32_t data, uint32_t compare);
uint64_t isa_atomic_memory64(uint8_t *at, unsigned atomic, uint64_t data, uint64_t compare);

#endif
