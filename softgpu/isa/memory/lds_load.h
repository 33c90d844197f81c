/* Loads from memory into LDS (buffer_load_* lds, global_load_lds_*) that are on their way. Internal
 * to softgpu.
 *
 * The chip puts what such a load brings into LDS some time between issuing it and the end of the
 * s_waitcnt vmcnt that waits for it. Here that is as late as it can be: it lands when its wave goes
 * on after that s_waitcnt, which is after the other waves had their turn, or at the wave's end.
 * There are kernels that rely on memory being slow: they load the next tile over one that other
 * waves have yet to read. And a kernel that forgets to wait, or waits after the barrier, shows it
 * in its results, as it would where memory is busy. SOFTGPU_CHECK_RACES names both. */
#ifndef SOFTGPU_ISA_MEMORY_LDS_LOAD_H
#define SOFTGPU_ISA_MEMORY_LDS_LOAD_H

#include "softgpu/isa/base/wave.h"

/* One instruction. Lane i's dwords go to LDS at base + i * stride, of 32 bits. */
typedef struct isa_lds_load {
  uint32_t base, stride;
  uint8_t dwords[ISA_LANES_MOST]; /* of words that are within LDS; of lanes that are off none */
  uint32_t words[ISA_LANES_MOST][4];
  /* Filled in by isa_lds_load(). */
  struct isa_lds_load *next;
  uint64_t number; /* of the wave's vector memory instructions */
  uint64_t pc;
  uint32_t epoch; /* of the group's LDS when it was issued, for the checks; 0 without */
} isa_lds_load_t;

/* Takes what `inst`, which the wave runs, has loaded. False for a fault, which checks may give. */
bool isa_lds_load(isa_wave_t *wave, const isa_inst_t *inst, const isa_lds_load_t *load);

/* What s_waitcnt vmcnt(count) does: the wave gives way if it has to wait for a load into LDS. */
void isa_lds_loads_await(isa_wave_t *wave, unsigned count);

/* Puts into LDS what the wave's vector memory instructions up to `last` loaded. False for a
 * fault. */
bool isa_lds_loads_land(isa_wave_t *wave, uint64_t last);

/* Forgets those of a wave that does not go on. */
void isa_lds_loads_drop(isa_wave_t *wave);

#endif
