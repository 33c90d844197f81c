/* How much scratch the runtime takes of the device for a queue. Internal; header only. */
#ifndef RAWHAL_QUEUE_LIMIT_SCRATCH_H
#define RAWHAL_QUEUE_LIMIT_SCRATCH_H

#include <hsa/amd_hsa_queue.h>
#include <stdint.h>

enum {
  SCRATCH_WAVES = 32, /* for which a compute unit has scratch: KFD's max_slots_scratch_cu */
  SCRATCH_GRANULE = 1024,
  SCRATCH_LANES = 64, /* of a wave */
};

/* For how many waves at once. */
static inline uint64_t scratch_waves(const amd_queue_t *queue)
{
  return SCRATCH_WAVES * ((uint64_t)queue->max_cu_id + 1);
}

/* As soon as a dispatch asks for so much a lane: for as many waves as the device can run (ROCr,
 * AqlQueue::DynamicScratchHandler). The most that was asked for stays the queue's. */
static inline uint64_t scratch_bytes(uint64_t waves, uint32_t lane_bytes)
{
  uint64_t wave = (uint64_t)lane_bytes * SCRATCH_LANES;
  return (wave + SCRATCH_GRANULE - 1) / SCRATCH_GRANULE * SCRATCH_GRANULE * waves;
}

#endif
