#include "queue/gate/scratch.h"
#include "queue/limit/memory.h"

#include "base/allocate.h"
#include "base/error.h"

#include <hsa/amd_hsa_queue.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  WAVES = 32, /* for which a compute unit has scratch: KFD's max_slots_scratch_cu */
  LANES = 64, /* of a wave */
  GRANULE = 1024,
  GRANULE_GFX11 = 256, /* since ROCr 5.3, which is the first that knows such a device */
};

struct scratch_block {
  uint64_t device, owner, bytes;
  scratch_block_t *next;
};

enum { KEPT = 146800640 }; /* bytes: ROCr's DEFAULT_SCRATCH_SINGLE_LIMIT */

static uint64_t most = KEPT;

/* As ROCr's Flag::Refresh(). A runtime that does not know the first may be told of it all the
 * same, and less than by default is not believed. */
void scratch_open(void)
{
  const char *single = getenv("HSA_SCRATCH_SINGLE_LIMIT");
  const char *never = getenv("HSA_NO_SCRATCH_RECLAIM");
  const uint64_t limit = single ? strtoul(single, NULL, 10) : 0;
  most = limit > KEPT ? limit : KEPT;
  if (never && strcmp(never, "1") == 0)
    most = UINT64_MAX;
}

uint64_t scratch_most(void)
{
  return most;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is kept, and of all queues */
static scratch_block_t *kept;

/* "gfx90a" and "gfx1030" are of 9 and 10: the last two digits are not the generation's. */
static uint32_t granule_of(const char *processor)
{
  const size_t length = processor ? strlen(processor) : 0;
  const bool later =
      length == sizeof("gfx1100") - 1 && memcmp(processor, "gfx1", 4) == 0 && processor[4] != '0';
  return later ? GRANULE_GFX11 : GRANULE;
}

void scratch_begin(scratch_queue_t *queue, rawhal_limiter_t *limiter, hsa_agent_t agent,
                   const hsa_queue_t *real, bool owned, const scratch_chip_t *chip)
{
  const uint64_t compute_units = (uint64_t)((const amd_queue_t *)(const void *)real)->max_cu_id + 1;
  const uint64_t engines = chip->engines ? chip->engines : 1;
  *queue = (scratch_queue_t){.limiter = limiter,
                             .device = agent.handle,
                             .owner = owned ? (uintptr_t)real : 0,
                             .slots = (compute_units + engines - 1) / engines * engines * WAVES,
                             .granule = granule_of(chip->processor)};
}

static uint64_t bytes_of(const scratch_queue_t *queue, uint32_t lane_bytes)
{
  const uint64_t wave = (uint64_t)lane_bytes * LANES, granule = queue->granule;
  uint64_t bytes;
  if (__builtin_mul_overflow((wave + granule - 1) / granule * granule, queue->slots, &bytes))
    bytes = UINT64_MAX;
  return bytes < most ? bytes : most;
}

static scratch_block_t *take_kept(const scratch_queue_t *queue, uint64_t bytes)
{
  scratch_block_t **at = &kept;
  while (*at && ((*at)->device != queue->device || (*at)->bytes != bytes ||
                 ((*at)->owner && (*at)->owner != queue->owner)))
    at = &(*at)->next;
  scratch_block_t *block = *at;
  if (block)
    *at = block->next;
  return block;
}

/* `there`: the runtime has it already. */
static rawhal_status_t reserve(const scratch_queue_t *queue, uint64_t bytes, bool there,
                               scratch_block_t **made, rawhal_error_t *error)
{
  scratch_block_t *block = allocate(NULL, sizeof(*block));
  if (!block)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to record a queue's scratch");
  rawhal_status_t status = RAWHAL_OK;
  if (!there)
    status = limit_memory_reserve(queue->limiter, LEDGER_SCRATCH, bytes, error);
  else if (!limit_memory_charge(queue->limiter, LEDGER_SCRATCH, bytes))
    status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "that is more scratch than any device has");
  if (status == RAWHAL_OK)
    *made = block;
  else
    allocate_free(NULL, block);
  return status;
}

static rawhal_status_t grow(scratch_queue_t *queue, uint32_t lane_bytes, bool there,
                            rawhal_error_t *error)
{
  const uint64_t bytes = bytes_of(queue, lane_bytes);
  if (scratch_is_reserved(queue, lane_bytes))
    return RAWHAL_OK;
  if (bytes != bytes_of(queue, atomic_load(&queue->lane_bytes))) {
    scratch_block_t *block = take_kept(queue, bytes);
    rawhal_status_t status = block ? RAWHAL_OK : reserve(queue, bytes, there, &block, error);
    if (status != RAWHAL_OK)
      return status;
    *block = (scratch_block_t){queue->device, queue->owner, bytes, queue->blocks};
    queue->blocks = block;
  }
  atomic_store(&queue->lane_bytes, lane_bytes);
  return RAWHAL_OK;
}

rawhal_status_t scratch_grow(scratch_queue_t *queue, uint32_t lane_bytes, rawhal_error_t *error)
{
  pthread_mutex_lock(&lock);
  rawhal_status_t status = grow(queue, lane_bytes, false, error);
  pthread_mutex_unlock(&lock);
  return status;
}

void scratch_found(scratch_queue_t *queue, uint32_t lane_bytes)
{
  pthread_mutex_lock(&lock);
  (void)grow(queue, lane_bytes, true, NULL); /* for want of host memory it is found next time */
  pthread_mutex_unlock(&lock);
}

void scratch_keep(scratch_queue_t *queue)
{
  pthread_mutex_lock(&lock);
  while (queue->blocks) {
    scratch_block_t *block = queue->blocks;
    queue->blocks = block->next;
    block->next = kept;
    kept = block;
  }
  pthread_mutex_unlock(&lock);
  atomic_store(&queue->lane_bytes, 0);
}

void scratch_resume(rawhal_limiter_t *limiter, uint64_t device)
{
  pthread_mutex_lock(&lock);
  for (const scratch_block_t *block = kept; block; block = block->next)
    if (block->device == device)
      (void)limit_memory_charge(limiter, LEDGER_SCRATCH, block->bytes);
  pthread_mutex_unlock(&lock);
}

void scratch_forget(void)
{
  pthread_mutex_lock(&lock);
  while (kept) {
    scratch_block_t *block = kept;
    kept = block->next;
    allocate_free(NULL, block);
  }
  pthread_mutex_unlock(&lock);
}

void scratch_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
  kept = NULL;
}
