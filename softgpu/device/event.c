/* Events as the kernel driver gives them: raising one wakes every thread that waits for it at that
 * moment; only when none does, it stays signaled. An auto-reset event is cleared by the waiters it
 * woke, a manual-reset one by hsaKmtResetEvent().
 *
 * One difference: an auto-reset event that was raised since a thread last returned from a wait also
 * wakes that thread, whichever other was woken by it. The runtime looks at a signal's value and
 * then waits for its event, which signals of several queues share. A thread that is held up between
 * the two would wait for ever if another one took the event meanwhile. (Drivers from 1.14 on leave
 * that to the runtime, which says how old the event was when it looked: the functions with _Ext.)
 */
#include "softgpu/device/event.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "softgpu/device/opened.h"
#include "softgpu/device/thread.h"
#include "softgpu/exports.h"

enum { WAIT_INLINE = 64 };                      /* events one wait handles without allocating */
enum { SHORT_PAYLOADS = 256 };                  /* that may be the low bits of a number */
static const uint32_t INFINITE_MS = 0xFFFFFFFE; /* and above */

typedef struct slot {
  HsaEvent *event; /* NULL when free */
  bool manual_reset, signaled;
  uint64_t raised; /* when last; 0 is never */
  uint64_t age;    /* how often, and 1 for having been made */
} slot_t;

typedef struct waiter {
  struct waiter *next;
  pthread_cond_t wake;
  const uint32_t *ids;
  bool *raised; /* one per id; stays true once the event was raised during the wait */
  uint32_t count;
} waiter_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot_t slots[SOFTGPU_EVENT_COUNT];
static uint32_t next_id = 1;
static uint64_t mailboxes; /* one 64-bit word per event, visible to kernels */
static waiter_t *waiters;
static uint64_t raises; /* of all events, ever: the time that `raised` and `looked` are in */
static _Thread_local uint64_t looked; /* when this thread's last wait returned */

void softgpu_events_begin(uint64_t words)
{
  pthread_mutex_lock(&lock);
  mailboxes = words;
  next_id = 1;
  pthread_mutex_unlock(&lock);
}

void softgpu_events_end(void)
{
  pthread_mutex_lock(&lock);
  for (uint32_t id = 1; id < SOFTGPU_EVENT_COUNT; ++id) {
    free(slots[id].event);
    slots[id] = (slot_t){0};
  }
  pthread_mutex_unlock(&lock);
}

/* The slot an event of the runtime names, 0 when it names none. Caller holds the lock. */
static uint32_t event_id(const HsaEvent *event)
{
  if (!event || event->EventId == 0 || event->EventId >= SOFTGPU_EVENT_COUNT)
    return 0;
  return slots[event->EventId].event == event ? event->EventId : 0;
}

/* Caller holds the lock. */
static void slot_raise(uint32_t id)
{
  bool waited_for = false;
  for (waiter_t *waiter = waiters; waiter; waiter = waiter->next) {
    for (uint32_t i = 0; i < waiter->count; ++i) {
      if (waiter->ids[i] == id) {
        waiter->raised[i] = waited_for = true;
        pthread_cond_signal(&waiter->wake);
      }
    }
  }
  slots[id].signaled = slots[id].manual_reset || !waited_for;
  slots[id].raised = ++raises;
  ++slots[id].age;
}

void softgpu_event_raise(uint32_t id)
{
  if (id == 0 || id >= SOFTGPU_EVENT_COUNT)
    return;
  pthread_mutex_lock(&lock);
  if (slots[id].event)
    slot_raise(id);
  pthread_mutex_unlock(&lock);
}

void softgpu_event_interrupt(uint32_t payload)
{
  softgpu_event_raise(payload);
  if (payload >= SHORT_PAYLOADS)
    return;
  pthread_mutex_lock(&lock);
  for (uint32_t id = payload + SHORT_PAYLOADS; id < SOFTGPU_EVENT_COUNT; id += SHORT_PAYLOADS) {
    uint64_t *mailbox = slots[id].event ? (uint64_t *)mailboxes + id : NULL;
    if (mailbox && __atomic_load_n(mailbox, __ATOMIC_ACQUIRE) == id) {
      __atomic_store_n(mailbox, 0, __ATOMIC_RELAXED);
      slot_raise(id);
    }
  }
  pthread_mutex_unlock(&lock);
}

void softgpu_event_memory_fault(uint32_t node, uint64_t address, bool read_only)
{
  pthread_mutex_lock(&lock);
  for (uint32_t id = 1; id < SOFTGPU_EVENT_COUNT; ++id) {
    HsaEvent *event = slots[id].event;
    if (!event || event->EventData.EventType != HSA_EVENTTYPE_MEMORY)
      continue;
    HsaMemoryAccessFault *fault = &event->EventData.EventData.MemoryAccessFault;
    *fault = (HsaMemoryAccessFault){.NodeId = node, .VirtualAddress = address};
    fault->Failure.NotPresent = !read_only;
    fault->Failure.ReadOnly = read_only;
    fault->Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS;
    slot_raise(id);
  }
  pthread_mutex_unlock(&lock);
}

/* The id of a free slot, 0 when there is none. Caller holds the lock. */
static uint32_t slot_find(void)
{
  uint32_t id = 0;
  for (uint32_t tried = 1; tried < SOFTGPU_EVENT_COUNT && id == 0; ++tried) {
    if (!slots[next_id].event)
      id = next_id;
    next_id = next_id % (SOFTGPU_EVENT_COUNT - 1) + 1;
  }
  return id;
}

HSAKMT_STATUS softgpu_event_make(const HsaEventDescriptor *descriptor, bool manual_reset,
                                 bool signaled, HsaEvent **event)
{
  HsaEvent *made = calloc(1, sizeof(*made));
  if (!made)
    return HSAKMT_STATUS_NO_MEMORY;
  pthread_mutex_lock(&lock);
  uint32_t id = slot_find();
  if (id != 0) {
    made->EventId = id;
    made->EventData.EventType = descriptor->EventType;
    made->EventData.EventData.SyncVar = descriptor->SyncVar;
    made->EventData.HWData1 = id;
    made->EventData.HWData2 = mailboxes + id * sizeof(uint64_t);
    made->EventData.HWData3 = id;
    slots[id] =
        (slot_t){.event = made, .manual_reset = manual_reset, .signaled = signaled, .age = 1};
  }
  pthread_mutex_unlock(&lock);
  if (id == 0) {
    free(made);
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  }
  *event = made;
  return HSAKMT_STATUS_SUCCESS;
}

bool softgpu_event_free(HsaEvent *event)
{
  pthread_mutex_lock(&lock);
  uint32_t id = event_id(event);
  if (id != 0) {
    slot_raise(id); /* no thread may wait for ever for what is gone */
    slots[id] = (slot_t){0};
    free(event);
  }
  pthread_mutex_unlock(&lock);
  return id != 0;
}

bool softgpu_event_set(const HsaEvent *event)
{
  pthread_mutex_lock(&lock);
  uint32_t id = event_id(event);
  if (id != 0)
    slot_raise(id);
  pthread_mutex_unlock(&lock);
  return id != 0;
}

bool softgpu_event_reset(const HsaEvent *event)
{
  pthread_mutex_lock(&lock);
  uint32_t id = event_id(event);
  if (id != 0) {
    slots[id].signaled = false;
    slots[id].raised = 0;
  }
  pthread_mutex_unlock(&lock);
  return id != 0;
}

static bool wait_satisfied(const waiter_t *waiter, bool all)
{
  uint32_t raised = 0;
  for (uint32_t i = 0; i < waiter->count; ++i)
    raised += waiter->raised[i];
  return all ? raised == waiter->count : raised > 0;
}

/* Takes what is signaled already, or is older than the caller knows it. Caller holds the lock. */
static void wait_collect(waiter_t *waiter, const uint64_t *ages)
{
  for (uint32_t i = 0; i < waiter->count; ++i) {
    slot_t *slot = &slots[waiter->ids[i]];
    waiter->raised[i] = slot->signaled || (!slot->manual_reset && slot->raised > looked) ||
                        (ages && ages[i] != 0 && ages[i] != slot->age);
    if (!slot->manual_reset)
      slot->signaled = false;
  }
}

/* Blocks until the wait is satisfied or `milliseconds` are over. Caller holds the lock. */
static bool wait_block(waiter_t *waiter, bool all, uint32_t milliseconds)
{
  const struct timespec until = softgpu_time_in(milliseconds * 1000000ull);
  SOFTGPU_WITHOUT_CANCELLATION();
  if (!softgpu_condition_init(&waiter->wake))
    return false;
  waiter->next = waiters;
  waiters = waiter;
  int status = 0;
  while (status == 0 && !wait_satisfied(waiter, all)) {
    if (milliseconds >= INFINITE_MS)
      status = pthread_cond_wait(&waiter->wake, &lock);
    else
      status = pthread_cond_timedwait(&waiter->wake, &lock, &until);
  }
  waiter_t **link = &waiters;
  while (*link != waiter)
    link = &(*link)->next;
  *link = waiter->next;
  pthread_cond_destroy(&waiter->wake);
  return wait_satisfied(waiter, all);
}

/* `ages` may be NULL. */
static HSAKMT_STATUS events_wait(HsaEvent **events, waiter_t *waiter, uint32_t *ids, bool all,
                                 uint32_t milliseconds, uint64_t *ages)
{
  pthread_mutex_lock(&lock);
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  for (uint32_t i = 0; i < waiter->count && status == HSAKMT_STATUS_SUCCESS; ++i) {
    ids[i] = event_id(events[i]);
    if (ids[i] == 0)
      status = HSAKMT_STATUS_INVALID_HANDLE;
  }
  if (status == HSAKMT_STATUS_SUCCESS) {
    wait_collect(waiter, ages);
    if (!wait_satisfied(waiter, all) &&
        (milliseconds == 0 || !wait_block(waiter, all, milliseconds)))
      status = HSAKMT_STATUS_WAIT_TIMEOUT;
    looked = raises;
    for (uint32_t i = 0; i < waiter->count && ages; ++i)
      ages[i] = slots[ids[i]].age;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

HSAKMT_STATUS softgpu_events_wait(HsaEvent **events, uint32_t count, bool all,
                                  uint32_t milliseconds, uint64_t *ages)
{
  uint32_t inline_ids[WAIT_INLINE];
  bool inline_raised[WAIT_INLINE];
  uint32_t *ids = inline_ids;
  bool *raised = inline_raised;
  void *memory = NULL;
  if (count > WAIT_INLINE) {
    memory = malloc(count * (sizeof(*ids) + sizeof(*raised)));
    if (!memory)
      return HSAKMT_STATUS_NO_MEMORY;
    ids = memory;
    raised = (bool *)(ids + count);
  }
  waiter_t waiter = {.ids = ids, .raised = raised, .count = count};
  HSAKMT_STATUS status = events_wait(events, &waiter, ids, all, milliseconds, ages);
  free(memory);
  return status;
}

SOFTGPU_EXPORT bool softgpu_event_wait(uint32_t id, uint32_t milliseconds)
{
  bool raised = false;
  waiter_t waiter = {.ids = &id, .raised = &raised, .count = 1};
  if (!softgpu_opened() || id == 0 || id >= SOFTGPU_EVENT_COUNT)
    return false;
  pthread_mutex_lock(&lock);
  bool there = slots[id].event != NULL;
  if (there) {
    wait_collect(&waiter, NULL);
    if (!raised && milliseconds > 0)
      wait_block(&waiter, true, milliseconds);
    looked = raises;
  }
  pthread_mutex_unlock(&lock);
  return there;
}
