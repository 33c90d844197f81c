/* What happens when the device stops a queue: the cause is written down once, every submission in
 * flight keeps the count it had reached, and all waiting threads are woken. */
#include "queue/list.h"
#include "queue/scene.h"
#include "queue/timeline/timeline.h"
#include "queue/transfer.h"
#include "queue/wait.h"

#include "base/error.h"
#include "base/sized.h"
#include "debug/cause_text.h"
#include "debug/runtime.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* 0: the device is done with it, or has not begun. */
static uint64_t id_of(const rawhal_queue_t *queue)
{
  return queue->hsa_queue ? queue->hsa_queue->id : 0;
}

/* What a queue died of. */
typedef struct death {
  rawhal_status_t status;
  int32_t hsa_status;
  rawhal_fault_kind_t kind;
  const char *what;            /* the runtime's words, or ours */
  const char *waits;           /* for what its barrier waits; NULL: it stands at none */
  const rawhal_fault_t *known; /* of the device at large; NULL: it is the queue's own */
} death_t;

/* The device's own words when it has some, and then the runtime's only as a name. */
static void message_write(rawhal_queue_t *queue, const death_t *death)
{
  const rawhal_fault_t *fault = &queue->fault;
  const char *who = *fault->kernel ? "kernel " : "the queue", *text = fault->device_text;
  char named[256] = "", cause[sizeof(fault->causes[0].text) + 32] = "";
  const cause_phrase_t labels = cause_labels(fault);
  if (*text)
    snprintf(named, sizeof(named), " (%.*s)", (int)strcspn(death->what, ":"), death->what);
  /* What only says the kind in other words the device has said. */
  if (fault->cause_count && fault->causes[0].argument != RAWHAL_NO_ARGUMENT)
    snprintf(cause, sizeof(cause), "; likely cause: %s", fault->causes[0].text);
  queue->cause.status =
      rawhal_fail(&queue->cause, death->status, "%s%s%s failed: %s%s%s", who, fault->kernel,
                  labels.text, *text ? text : death->what, named, cause);
  queue->cause.hsa_status = death->hsa_status;
}

/* The caller holds drain_lock: what it reads of kernels stays loaded, see queues_run(). */
static void cause_write(rawhal_queue_t *queue, const death_t *death, bool code, dump_t *dump)
{
  const queue_witness_t *witness = queue->device->witness;
  rawhal_fault_t *fault = &queue->fault;
  *fault = death->known ? *death->known : (rawhal_fault_t){.kind = death->kind};
  fault->size = sizeof(*fault);
  fault->hsa_status = death->hsa_status;
  fault->queue_id = id_of(queue);
  memcpy(fault->queue_label, queue->label, sizeof(fault->queue_label));
  if (witness && witness->device)
    (void)witness->device(queue->hsa_queue, fault);
  scene_explain(queue, fault, death->waits, !death->known, code, dump);
  message_write(queue, death);
}

bool queue_doom(rawhal_queue_t *queue)
{
  int alive = QUEUE_ALIVE;
  if (!atomic_compare_exchange_strong(&queue->health, &alive, QUEUE_DYING))
    return false;
  atomic_store(&queue->in_death, true);
  return true;
}

void queue_await_death(const rawhal_queue_t *queue)
{
  while (atomic_load(&queue->health) == QUEUE_DYING || atomic_load(&queue->in_death))
    sched_yield();
}

/* The cause has been written. */
static void death_end(rawhal_queue_t *queue)
{
  atomic_store(&queue->died_at, clock_now());
  for (uint32_t i = 0; i < queue->ring.tickets; ++i) {
    queue_slot_t *slot = &queue->slots[i];
    slot->final = queue->device->hsa->hsa_signal_exchange_scacq_screl(slot->signal, QUEUE_POISON);
  }
  transfers_release(queue);
  atomic_store(&queue->health, QUEUE_DEAD);
  timeline_died();
}

/* The queue whose death this thread tells of, with its cause: for whoever is told, it is dead. */
static _Thread_local const rawhal_queue_t *told_of;

static void tell(const rawhal_queue_t *queue, const char *said)
{
  void (*died)(const char *line) = queue->device->died;
  told_of = queue;
  tell_event((rawhal_event_t){.type = RAWHAL_EVENT_FAULT,
                              .queue_id = queue->id,
                              .ticket = queue->fault.ticket,
                              .packet = queue->fault.packet,
                              .kind = queue->fault.kind,
                              .address = queue->fault.address,
                              .text = rawhal_string(queue->cause.message),
                              .fault = &queue->fault});
  if (*said)
    tell_event((rawhal_event_t){
        .type = RAWHAL_EVENT_DUMP, .queue_id = queue->id, .text = rawhal_string(said)});
  if (died && *said)
    died(said);
  if (died)
    died(queue->cause.message);
  told_of = NULL;
}

/* Of a queue that is doomed; without any lock, as it writes files and calls the program. */
static void queue_die(rawhal_queue_t *queue, const death_t *death)
{
  const queue_witness_t *witness = queue->device->witness;
  char said[DUMP_SAID] = "";
  dump_t dump;
  const bool dumps = witness && witness->cores && dump_begin(&dump, witness->cores, -1);
  const bool code = witness && witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  cause_write(queue, death, code, dumps ? &dump : NULL);
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  if (dumps) {
    scene_gather_others(queue, &dump, false);
    (void)dump_end(&dump, said, sizeof(said));
  }
  tell(queue, said);
  death_end(queue);
  queue_settle(queue, atomic_load(&queue->died_at)); /* whichever thread looks next */
  atomic_store(&queue->in_death, false);             /* and from here on it may be gone */
}

void queue_abandon(rawhal_queue_t *queue)
{
  if (!queue_doom(queue))
    return;
  queue->cause.status = rawhal_fail(&queue->cause, RAWHAL_DEVICE_LOST,
                                    "the queue was destroyed before the ticket had finished");
  queue->fault = (rawhal_fault_t){
      .size = sizeof(queue->fault), .kind = RAWHAL_FAULT_DESTROYED, .queue_id = id_of(queue)};
  cause_find(&(debug_scene_t){0}, &queue->fault);
  death_end(queue);
  atomic_store(&queue->in_death, false);
}

void queue_error_callback(hsa_status_t status, hsa_queue_t *hsa_queue, void *data)
{
  (void)hsa_queue;
  rawhal_queue_t *queue = data;
  if (queue_doom(queue))
    queue_die(queue, &(death_t){.status = RAWHAL_FAULT,
                                .hsa_status = (int32_t)status,
                                .kind = debug_kind_of_status((int32_t)status),
                                .what = hsa_status_text(queue->device->hsa, status)});
}

void queue_fail_hang(rawhal_queue_t *queue, const char *waits, const char *what)
{
  static const rawhal_fault_t no_kernel = {.kind = RAWHAL_FAULT_TIME_LIMIT};
  queue_die(queue, &(death_t){.status = RAWHAL_FAULT,
                              .kind = RAWHAL_FAULT_TIME_LIMIT,
                              .what = what,
                              .waits = waits,
                              .known = waits ? &no_kernel : NULL});
}

rawhal_status_t rawhal_queue_report(rawhal_queue_t *queue, int32_t hsa_status,
                                    rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    queue_error_callback((hsa_status_t)hsa_status, queue->hsa_queue, queue);
  return status;
}

typedef struct agent_failure {
  hsa_agent_t agent;
  rawhal_queue_t *doomed; /* by next_doomed */
} agent_failure_t;

static bool doom_one(rawhal_queue_t *queue, void *data)
{
  agent_failure_t *failure = data;
  if (queue->device->agent.handle == failure->agent.handle && !queue->closing &&
      queue_doom(queue)) {
    queue->next_doomed = failure->doomed;
    failure->doomed = queue;
  }
  return false;
}

void queue_fail_agent(hsa_agent_t agent, rawhal_status_t status, const rawhal_fault_t *fault,
                      const char *what)
{
  agent_failure_t failure = {.agent = agent};
  const death_t death = {
      .status = status, .hsa_status = fault->hsa_status, .what = what, .known = fault};
  (void)queue_list_find(doom_one, &failure);
  for (rawhal_queue_t *queue = failure.doomed, *next; queue; queue = next) {
    next = queue->next_doomed; /* a dead one may be destroyed */
    queue_die(queue, &death);
  }
}

rawhal_status_t rawhal_queue_fault(rawhal_queue_t *queue, rawhal_fault_t *fault,
                                   rawhal_error_t *error)
{
  if (!queue || !fault)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", queue ? "fault" : "queue");
  const bool alive = queue_check(queue, NULL) == RAWHAL_OK;
  sized_give(fault, offsetof(rawhal_fault_t, label), alive ? &(rawhal_fault_t){0} : &queue->fault,
             sizeof(queue->fault));
  return alive ? rawhal_fail(error, RAWHAL_NOT_FOUND, "the queue is alive") : RAWHAL_OK;
}

rawhal_status_t queue_check_dead(rawhal_queue_t *queue, rawhal_error_t *error)
{
  int health = atomic_load_explicit(&queue->health, memory_order_acquire);
  while (health == QUEUE_DYING && told_of != queue) { /* another thread writes the cause */
    sched_yield();
    health = atomic_load_explicit(&queue->health, memory_order_acquire);
  }
  if (error)
    *error = queue->cause;
  return queue->cause.status;
}
