/* Scratch memory, whose dwords are interleaved by lane. */
#include "softgpu/isa/memory/reach.h"

uint8_t *isa_scratch_at(isa_wave_t *wave, unsigned lane, uint64_t base, uint64_t offset,
                        uint32_t bytes)
{
  /* Callees and spills move `base` by whole swizzled dwords of all lanes: what counts is where the
   * access ends up in the wave's slice. */
  uint64_t start = base - wave->scratch;
  uint64_t private_offset = start / 4 / ISA_LANES * 4 + offset;
  if (start % (4 * ISA_LANES) || start >= (uint64_t)wave->private_bytes * ISA_LANES ||
      private_offset >= wave->private_bytes || bytes > wave->private_bytes - private_offset) {
    isa_wave_fault(wave, SOFTGPU_FAULT_SCRATCH, lane, private_offset, bytes);
    return NULL;
  }
  uint64_t at = wave->scratch + (private_offset / 4 * ISA_LANES + lane) * 4 + private_offset % 4;
  return (uint8_t *)(uintptr_t)at;
}
