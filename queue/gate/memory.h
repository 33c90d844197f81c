/* What of a device's memory something takes, and what is left: as much for librawhal as behind the
 * front. Internal. */
#ifndef RAWHAL_QUEUE_GATE_MEMORY_H
#define RAWHAL_QUEUE_GATE_MEMORY_H

#include "queue/limit/admission.h"

#include <hsa/hsa_ext_amd.h>
#include <stddef.h>

/* Of each queue, besides ring and kernargs: the driver's buffer for ends of pipe, which is on the
 * device (ROCT-Thunk-Interface, src/queues.c). */
enum { MEMORY_OF_QUEUE = 4096 };

/* In the pieces in which the device gives it out; `granule` 0: not known. */
static inline uint64_t memory_granules(uint64_t granule, uint64_t bytes)
{
  const uint64_t each = granule ? granule : 1;
  return bytes > UINT64_MAX - each ? bytes : (bytes + each - 1) / each * each;
}

/* Of an allocation that the runtime tells of, if the device has it. */
static inline uint64_t memory_on_device(const hsa_amd_pointer_info_t *info, hsa_agent_t agent)
{
  return info->type == HSA_EXT_POINTER_TYPE_HSA && info->agentOwner.handle == agent.handle
             ? info->sizeInBytes
             : 0;
}

/* Of what the device has left, which is within the quota. `*total`: of the device; becomes the
 * quota where that is less. */
uint64_t memory_left(const rawhal_limiter_t *limiter, uint64_t left, uint64_t *total);

/* Of a loaded code object, by the program headers of a 64-bit ELF file: from address 0 to the end
 * of the last segment, which is one allocation (ROCr's executable.cpp, LoadSegmentsV2(), which is
 * what LOAD_SIZE tells afterwards). 0: it has no segments, or is no such file. */
uint64_t memory_of_code(const void *elf, size_t size);

#endif
