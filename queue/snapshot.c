#include "queue/snapshot.h"

#include "queue/list.h"
#include "queue/scene.h"

#include "base/error.h"

#include <stdio.h>

typedef enum wanted { THIS_QUEUE, ONE_AT_WORK, ANY_QUEUE, WANTED } wanted_t;

typedef struct snapshot {
  const rawhal_queue_t *queue;
  const char *why;
  wanted_t wanted;
  dump_t dump;
} snapshot_t;

static bool is_wanted(rawhal_queue_t *queue, const snapshot_t *snapshot)
{
  return snapshot->wanted == ANY_QUEUE || queue == snapshot->queue ||
         (snapshot->wanted == ONE_AT_WORK &&
          ring_finished(&queue->ring) < ring_last_ticket(&queue->ring));
}

/* The caller holds drain_lock and, where `code` says so, the code. */
static void gather(rawhal_queue_t *queue, const char *why, bool code, dump_t *dump)
{
  const queue_witness_t *witness = queue->device->witness;
  rawhal_fault_t fault = {.size = sizeof(fault), .queue_id = queue->id};
  if (witness->waves)
    witness->waves(queue->hsa_queue, &fault);
  (void)snprintf(fault.device_text, sizeof(fault.device_text), "%s", why);
  scene_explain(queue, &fault, NULL, false, code, dump);
}

static bool take(rawhal_queue_t *queue, void *data)
{
  snapshot_t *snapshot = data;
  const queue_witness_t *witness = queue->device->witness;
  if (queue->closing || !witness || !is_wanted(queue, snapshot))
    return false;
  const bool code = witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  if (atomic_load(&queue->health) == QUEUE_ALIVE)
    gather(queue, snapshot->why, code, &snapshot->dump);
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  scene_gather_others(queue, &snapshot->dump, true);
  return true;
}

rawhal_status_t queues_dump(const dump_settings_t *cores, const rawhal_queue_t *queue,
                            const char *why, int descriptor, char said[DUMP_SAID],
                            rawhal_error_t *error)
{
  snapshot_t snapshot = {.queue = queue, .why = why};
  *said = '\0';
  if (!dump_begin(&snapshot.dump, cores, descriptor))
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "no core file is wanted");
  while (snapshot.wanted < WANTED && !queue_list_find(take, &snapshot))
    ++snapshot.wanted;
  if (dump_end(&snapshot.dump, said, DUMP_SAID))
    return RAWHAL_OK;
  if (snapshot.wanted == WANTED)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no queue whose state could be written");
  return rawhal_fail(error, RAWHAL_RUNTIME, "%s", *said ? said : "the queue has just died");
}
