/* Scratch of queues, as the runtime keeps it.
 *
 * ROCr's ScratchCache never gives back by itself: when a queue asks for more, or ends, what it had
 * stays for the next that asks for exactly as much. So each size that a queue ever had is charged:
 * to the queue while it lives, and then as kept, until a queue takes it over or the runtime ends.
 * The runtime's queues have each size for a part of that time, so it never has more of them. */
#include "front/scratch.h"

#include "base/error.h"
#include "queue/limit/scratch.h"

#include <stdlib.h>
#include <string.h>

struct scratch_block {
  front_device_t *device;
  uint64_t bytes;
  scratch_block_t *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static scratch_block_t *kept; /* of queues that have ended */
static uint64_t most = SCRATCH_KEPT;

/* As ROCr's Flag::Refresh(). A runtime that does not know the first may be told of it all the same,
 * and less than by default is not believed. */
static void read_most(void)
{
  const char *single = getenv("HSA_SCRATCH_SINGLE_LIMIT");
  const char *never = getenv("HSA_NO_SCRATCH_RECLAIM");
  const uint64_t limit = single ? strtoul(single, NULL, 10) : SCRATCH_KEPT;
  most = limit > SCRATCH_KEPT ? limit : SCRATCH_KEPT;
  if (never && strcmp(never, "1") == 0)
    most = UINT64_MAX;
}

/* Where ROCr can take scratch back from a queue it lets it keep gigabytes, which is told to it for
 * each device (HSA_SCRATCH_SINGLE_LIMIT_ASYNC). It refuses where it cannot. */
static void tell_most(const front_device_t *device)
{
  uint64_t total, used;
  if (!device->timed)
    return;
  rawhal_limiter_memory(device->limiter, &total, &used);
  if (total != RAWHAL_UNLIMITED)
    (void)front.hsa.scratch_limit(device->agent, (size_t)most);
}

void scratch_open(void)
{
  read_most();
  for (uint32_t i = 0; front.hsa.scratch_limit && most != UINT64_MAX && i < front.device_count; ++i)
    tell_most(&front.devices[i]);
}

uint64_t scratch_most(void)
{
  return most;
}

/* Beyond the most the runtime lends a dispatch memory, for fewer waves where that is short, and
 * takes it back after it. */
static uint64_t bytes_of(const proxy_t *proxy, uint32_t lane_bytes)
{
  const uint64_t bytes = scratch_bytes(scratch_waves(proxy->face), lane_bytes);
  return bytes < most ? bytes : most;
}

static scratch_block_t *take_kept(const front_device_t *device, uint64_t bytes)
{
  pthread_mutex_lock(&lock);
  scratch_block_t **at = &kept;
  while (*at && ((*at)->device != device || (*at)->bytes != bytes))
    at = &(*at)->next;
  scratch_block_t *block = *at;
  if (block)
    *at = block->next;
  pthread_mutex_unlock(&lock);
  return block;
}

static rawhal_status_t reserve(front_device_t *device, uint64_t bytes, scratch_block_t **made,
                               rawhal_error_t *error)
{
  scratch_block_t *block = malloc(sizeof(*block));
  if (!block)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to remember a queue's scratch in");
  *block = (scratch_block_t){.device = device, .bytes = bytes};
  rawhal_status_t status = limit_memory_reserve(device->limiter, LEDGER_SCRATCH, bytes, error);
  if (status == RAWHAL_OK)
    *made = block;
  else
    free(block);
  return status;
}

rawhal_status_t scratch_grow(proxy_t *proxy, uint32_t lane_bytes, rawhal_error_t *error)
{
  const uint64_t bytes = bytes_of(proxy, lane_bytes);
  if (lane_bytes <= proxy->lane_bytes)
    return RAWHAL_OK;
  if (bytes != bytes_of(proxy, proxy->lane_bytes)) {
    scratch_block_t *block = take_kept(proxy->device, bytes);
    rawhal_status_t status = block ? RAWHAL_OK : reserve(proxy->device, bytes, &block, error);
    if (status != RAWHAL_OK)
      return status;
    block->next = proxy->scratch;
    proxy->scratch = block;
  }
  proxy->lane_bytes = lane_bytes;
  return RAWHAL_OK;
}

void scratch_keep(proxy_t *proxy)
{
  pthread_mutex_lock(&lock);
  while (proxy->scratch) {
    scratch_block_t *block = proxy->scratch;
    proxy->scratch = block->next;
    block->next = kept;
    kept = block;
  }
  pthread_mutex_unlock(&lock);
  proxy->lane_bytes = 0;
}

void scratch_forget(void)
{
  while (kept) {
    scratch_block_t *block = kept;
    kept = block->next;
    limit_memory_release(block->device->limiter, LEDGER_SCRATCH, block->bytes);
    free(block);
  }
}

void scratch_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
  kept = NULL;
}
