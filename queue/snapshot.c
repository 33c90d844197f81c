#include "queue/snapshot.h"

#include "queue/list.h"
#include "queue/scene.h"

#include "base/error.h"

#include <stdio.h>

typedef struct snapshot {
  int descriptor;
  bool idle; /* a queue that has nothing to do serves, too */
  bool begun;
  dump_t dump;
} snapshot_t;

static bool is_at_work(rawhal_queue_t *queue)
{
  return ring_finished(&queue->ring) < ring_last_ticket(&queue->ring);
}

/* The caller holds drain_lock and, where `code` says so, the code. */
static void gather(rawhal_queue_t *queue, bool code, dump_t *dump)
{
  const queue_witness_t *witness = queue->device->witness;
  rawhal_fault_t fault = {.size = sizeof(fault), .queue_id = queue->id};
  if (witness->waves)
    witness->waves(queue->hsa_queue, &fault);
  (void)snprintf(fault.device_text, sizeof(fault.device_text),
                 "no fault: this is what ran when an observer asked");
  scene_explain(queue, &fault, NULL, false, code, dump);
}

static bool take(rawhal_queue_t *queue, void *data)
{
  snapshot_t *snapshot = data;
  const queue_witness_t *witness = queue->device->witness;
  if (queue->closing || !witness || !witness->cores || (!snapshot->idle && !is_at_work(queue)))
    return false;
  snapshot->begun = dump_begin(&snapshot->dump, witness->cores, snapshot->descriptor);
  if (!snapshot->begun)
    return true;
  const bool code = witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  if (atomic_load(&queue->health) == QUEUE_ALIVE)
    gather(queue, code, &snapshot->dump);
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  scene_gather_others(queue, &snapshot->dump, true);
  return true;
}

rawhal_status_t queues_dump(int descriptor, rawhal_error_t *error)
{
  char said[1200] = "";
  snapshot_t snapshot = {.descriptor = descriptor};
  bool found = queue_list_find(take, &snapshot);
  snapshot.idle = true;
  if (!found)
    found = queue_list_find(take, &snapshot);
  if (!found || !snapshot.begun)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no queue whose state could be written");
  if (dump_end(&snapshot.dump, said, sizeof(said)))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_RUNTIME, "%s", *said ? said : "the queue has just died");
}
