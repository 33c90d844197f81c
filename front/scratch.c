/* Where ROCr can take scratch back from a queue it lets it keep gigabytes, and up to a quarter of
 * that as alternate scratch, for dispatches of fewer waves: of each size, and nothing tells which.
 * So that it is little it is told the limit that other runtimes have, for each device
 * (hsa_amd_agent_set_async_scratch_limit()). It refuses where it cannot. */
#include "front/scratch.h"

#include <hsa/amd_hsa_queue.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- What the runtime is told ---- */

static void tell_most(const front_device_t *device)
{
  uint64_t total, used;
  if (!device->timed)
    return;
  rawhal_limiter_memory(device->limiter, &total, &used);
  if (total != RAWHAL_UNLIMITED)
    (void)front.hsa.scratch_limit(device->agent, (size_t)scratch_most());
}

void scratch_begin_all(void)
{
  scratch_open();
  if (!front.hsa.scratch_limit || scratch_most() == UINT64_MAX)
    return;
  for (uint32_t i = 0; i < front.device_count; ++i)
    tell_most(&front.devices[i]);
}

void scratch_begin_of(const front_device_t *device, const hsa_queue_t *queue,
                      scratch_queue_t *scratch)
{
  const scratch_chip_t chip = {device->engines, device->processor};
  scratch_begin(scratch, device->limiter, device->agent, queue, false, &chip);
}

/* ---- Queues without a proxy ---- */

struct scratch_watched {
  const amd_queue_t *queue;
  scratch_queue_t scratch;
  scratch_watched_t *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static scratch_watched_t *all;

static void watch(scratch_watched_t *watched)
{
  pthread_mutex_lock(&lock);
  watched->next = all;
  all = watched;
  pthread_mutex_unlock(&lock);
}

/* The runtime writes there what it has given the queue, and takes it away again after a dispatch
 * that it was lent to. */
static void look(scratch_watched_t *watched)
{
  scratch_found(&watched->scratch,
                __atomic_load_n(&watched->queue->scratch_wave64_lane_byte_size, __ATOMIC_RELAXED));
}

bool scratch_watch(const front_device_t *device, const hsa_queue_t *queue, uint32_t private_bytes)
{
  scratch_watched_t *watched = calloc(1, sizeof(*watched));
  if (!watched)
    return false;
  watched->queue = (const amd_queue_t *)(const void *)queue;
  scratch_begin_of(device, queue, &watched->scratch);
  const uint32_t wished = private_bytes == UINT32_MAX ? 0 : private_bytes; /* of nobody's wish */
  if (scratch_grow(&watched->scratch, wished, NULL) != RAWHAL_OK) {
    free(watched);
    return false;
  }
  watch(watched);
  return true;
}

scratch_watched_t *scratch_unwatch(const hsa_queue_t *queue)
{
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  scratch_watched_t **at = &all;
  while (*at && &(*at)->queue->hsa_queue != queue)
    at = &(*at)->next;
  scratch_watched_t *watched = *at;
  if (watched) {
    look(watched);
    *at = watched->next;
  }
  pthread_mutex_unlock(&lock);
  return watched;
}

void scratch_settle(scratch_watched_t *watched, bool destroyed)
{
  if (!watched)
    return;
  if (!destroyed) {
    watch(watched);
    return;
  }
  scratch_keep(&watched->scratch);
  free(watched);
}

void scratch_look(void)
{
  if (front_orphaned())
    return;
  pthread_mutex_lock(&lock);
  for (scratch_watched_t *watched = all; watched; watched = watched->next)
    look(watched);
  pthread_mutex_unlock(&lock);
}

void scratch_end(void)
{
  while (all) {
    scratch_watched_t *watched = all;
    all = watched->next;
    scratch_settle(watched, true);
  }
  scratch_forget();
}

void scratch_orphan(void)
{
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
  all = NULL;
  scratch_abandon();
}
