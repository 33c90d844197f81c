/* Threads that wait.
 *
 * One of them sleeps in the runtime, on what all of them wait for and on a bell; the others sleep
 * on a condition. When it wakes all look again, and one that has to go on sleeps in its place. So
 * no thread is needed that does nothing else, and none spins: the runtime has all but one spin that
 * sleep on the same signal. */
#include "queue/timeline/internal.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"

#include <inttypes.h>

enum { SLEEP_SIGNALS = 64 };
static const uint64_t look_again_ns = 5000000; /* for what is more than that */

/* What the thread that sleeps sleeps on. */
typedef struct sleeper {
  const hsa_table_t *hsa;
  uint64_t hz;
  hsa_signal_t bell;
  int64_t rings;
  struct sleeper_queue {
    rawhal_queue_t *queue;
    uint64_t ticket;
    queue_slot_t *slot; /* NULL: another thread sleeps on it already, and rings when it wakes */
    int64_t target;
  } of[SLEEP_SIGNALS];
  uint32_t count;
  bool more, over, follows; /* something is left out; has finished; another sleeps on it */
} sleeper_t;

static void sleep_on(sleeper_t *sleeper, rawhal_queue_t *queue, uint64_t ticket)
{
  int64_t target;
  if (queue->timeline.leaving)
    return;
  if (queue_progress(queue, ticket, &target, NULL) != QUEUE_RUNNING) {
    sleeper->over = true;
    return;
  }
  for (uint32_t i = 0; i < sleeper->count; ++i)
    if (sleeper->of[i].queue == queue && sleeper->of[i].ticket == ticket)
      return;
  if (sleeper->count == SLEEP_SIGNALS) {
    sleeper->more = true;
    return;
  }
  queue_slot_t *slot = queue_slot(queue, ticket);
  bool claimed = queue_slot_claim(queue, slot);
  sleeper->follows = sleeper->follows || !claimed;
  sleeper->of[sleeper->count++] =
      (struct sleeper_queue){queue, ticket, claimed ? slot : NULL, target};
}

/* The first that is to be signalled of this value or more: they come in ascending order. */
static void sleep_on_value(sleeper_t *sleeper, const rawhal_semaphore_t *semaphore, uint64_t value)
{
  const timepoint_t *point = semaphore->first;
  while (point && (point->value < value || !point->signaller))
    point = point->next;
  if (point)
    sleep_on(sleeper, point->signaller->queue, point->signaller->ticket);
}

static void sleep_on_wait(sleeper_t *sleeper, const rawhal_wait_t *wait)
{
  if (wait_state(wait) != WAIT_PENDING)
    return;
  if (wait->semaphore)
    sleep_on_value(sleeper, wait->semaphore, wait->value);
  else
    sleep_on(sleeper, wait->queue, wait->ticket);
}

static void sleep_on_all(sleeper_t *sleeper)
{
  atomic_store(&timelines.follows, true); /* before a thread that has a slot may leave it */
  for (const host_wait_t *each = timelines.waiting; each; each = each->next)
    for (size_t i = 0; i < each->count; ++i)
      sleep_on_wait(sleeper, &each->waits[i]);
  for (const timeline_notice_t *notice = timelines.notices; notice; notice = notice->next)
    sleep_on_wait(sleeper, &notice->wait);
  for (const rawhal_semaphore_t *each = timelines.semaphores; timelines.started && each;
       each = each->next) {
    const timepoint_t *passing = point_passing(each);
    if (passing)
      sleep_on(sleeper, passing->signaller->queue, passing->signaller->ticket);
  }
  atomic_store(&timelines.follows, sleeper->follows);
}

/* Without the lock. */
static void sleep_in_runtime(const sleeper_t *sleeper, uint64_t deadline)
{
  hsa_signal_t signals[SLEEP_SIGNALS + 1] = {sleeper->bell};
  hsa_signal_condition_t conditions[SLEEP_SIGNALS + 1] = {HSA_SIGNAL_CONDITION_NE};
  hsa_signal_value_t values[SLEEP_SIGNALS + 1] = {sleeper->rings}, value;
  uint32_t count = 1;
  uint64_t now = clock_now();
  for (uint32_t i = 0; i < sleeper->count; ++i) {
    if (!sleeper->of[i].slot)
      continue;
    signals[count] = sleeper->of[i].slot->signal;
    conditions[count] = HSA_SIGNAL_CONDITION_LT;
    values[count++] = sleeper->of[i].target + 1;
  }
  uint64_t ns = deadline == RAWHAL_FOREVER ? UINT64_MAX : deadline > now ? deadline - now : 0;
  if (sleeper->more && ns > look_again_ns)
    ns = look_again_ns;
  (void)sleeper->hsa->hsa_amd_signal_wait_any(
      count, signals, conditions, values, ns == UINT64_MAX ? ns : deadline_ticks(ns, sleeper->hz),
      HSA_WAIT_STATE_BLOCKED, &value);
}

void timelines_sleep(uint64_t deadline)
{
  if (timelines.sleeping) {
    (void)clock_wait(&timelines.changed, &timelines.lock, deadline);
    return;
  }
  sleeper_t sleeper = {
      .hsa = timelines.hsa, .hz = timelines.hz, .bell = timelines.bell, .rings = timelines.rings};
  timelines.sleeping = true;
  ++timelines.sleeps;
  sleep_on_all(&sleeper);
  timelines_unlock();
  if (!sleeper.over)
    sleep_in_runtime(&sleeper, deadline);
  for (uint32_t i = 0; i < sleeper.count; ++i)
    if (sleeper.of[i].slot) {
      queue_slot_leave(sleeper.of[i].queue, sleeper.of[i].slot);
      callbacks_notice(sleeper.of[i].queue);
    }
  timelines_lock();
  timelines.sleeping = false;
  atomic_store(&timelines.follows, false);
  pthread_cond_broadcast(&timelines.changed);
}

void timelines_wake(void)
{
  pthread_cond_broadcast(&timelines.changed);
  if (timelines.sleeping)
    timelines.hsa->hsa_signal_store_screlease(timelines.bell, ++timelines.rings);
}

void timeline_notice(void)
{
  if (__builtin_expect(!atomic_load_explicit(&timelines.follows, memory_order_seq_cst), 1))
    return;
  timelines_lock();
  timelines_wake();
  timelines_unlock();
}

rawhal_status_t timelines_bell(const queue_device_t *device, rawhal_error_t *error)
{
  timelines.hsa = device->hsa;
  timelines.hz = device->timestamp_hz;
  if (timelines.bell.handle)
    return RAWHAL_OK;
  timelines.rings = 0;
  hsa_status_t result = device->hsa->hsa_signal_create(0, 0, NULL, &timelines.bell);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  timelines.bell.handle = 0;
  return hsa_fail(device->hsa, result, error, "creating a signal for threads that wait");
}

/* ---- What is waited for ---- */

wait_state_t wait_state(const rawhal_wait_t *wait)
{
  int64_t target;
  const rawhal_semaphore_t *semaphore = wait->semaphore;
  if (semaphore)
    return wait->value <= semaphore->value           ? WAIT_OVER
           : semaphore_fails(semaphore, wait->value) ? WAIT_FAILED
                                                     : WAIT_PENDING;
  switch (queue_progress(wait->queue, wait->ticket, &target, NULL)) {
  case QUEUE_FINISHED:
    return WAIT_OVER;
  case QUEUE_FAILED:
    return WAIT_FAILED;
  case QUEUE_RUNNING:
    break;
  }
  return WAIT_PENDING;
}

/* What is to be known: the first that has failed, else the first that is over (`any`) or is not. */
static wait_state_t look(const rawhal_wait_t *waits, size_t count, bool any, size_t *which)
{
  wait_state_t found = any ? WAIT_PENDING : WAIT_OVER;
  *which = count;
  for (size_t i = 0; i < count; ++i) {
    wait_state_t state = wait_state(&waits[i]);
    if (state == WAIT_FAILED || (any && state == WAIT_OVER)) {
      *which = i;
      return state;
    }
    if (!any && state == WAIT_PENDING && found == WAIT_OVER) {
      *which = i;
      found = WAIT_PENDING;
    }
  }
  return found;
}

static rawhal_status_t check_waits(const rawhal_wait_t *waits, size_t count, rawhal_error_t *error)
{
  if (!waits && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "waits is NULL");
  for (size_t i = 0; i < count; ++i) {
    rawhal_status_t status = waits[i].semaphore
                                 ? semaphore_check(waits[i].semaphore, error)
                                 : queue_check_ticket(waits[i].queue, waits[i].ticket, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

static const queue_device_t *device_of(const rawhal_wait_t *wait)
{
  return wait->semaphore ? wait->semaphore->device : wait->queue->device;
}

/* ---- Waiting ---- */

static void enter(host_wait_t *me)
{
  me->previous = NULL;
  me->next = timelines.waiting;
  if (me->next)
    me->next->previous = me;
  timelines.waiting = me;
  for (size_t i = 0; i < me->count; ++i)
    if (me->waits[i].semaphore)
      ++me->waits[i].semaphore->uses;
  timelines_wake(); /* who sleeps is to sleep on these, too */
}

/* Frees what was destroyed meanwhile, which has kept the runtime open; unlocks. */
static void leave(const host_wait_t *me)
{
  rawhal_semaphore_t *gone = NULL;
  *(me->previous ? &me->previous->next : &timelines.waiting) = me->next;
  if (me->next)
    me->next->previous = me->previous;
  for (size_t i = 0; i < me->count; ++i) {
    rawhal_semaphore_t *semaphore = me->waits[i].semaphore;
    if (semaphore && --semaphore->uses == 0 && semaphore->destroyed) {
      semaphore->next = gone;
      gone = semaphore;
    }
  }
  timelines_trim();
  for (rawhal_semaphore_t *next; gone; gone = next) {
    next = gone->next;
    semaphore_free(gone);
  }
}

static rawhal_status_t not_yet(const rawhal_wait_t *wait, bool late, rawhal_error_t *error)
{
  char name[SEMAPHORE_NAME_BYTES];
  rawhal_status_t status = late ? RAWHAL_TIMED_OUT : RAWHAL_WOULD_BLOCK;
  const char *when = late ? " before the deadline" : "";
  if (!wait)
    return rawhal_fail(error, status, "nothing of what is waited for has happened%s", when);
  if (wait->semaphore)
    return rawhal_fail(error, status, "%s has reached %" PRIu64 ", not %" PRIu64 "%s",
                       semaphore_name(wait->semaphore, name), wait->semaphore->value, wait->value,
                       when);
  return rawhal_fail(error, status, "ticket %" PRIu64 " has not finished%s", wait->ticket, when);
}

/* The outcome, with the lock. A ticket's is its queue's to tell, without. */
static rawhal_status_t conclude(const rawhal_wait_t *waits, size_t count, wait_state_t state,
                                bool any, size_t which, bool late, rawhal_error_t *error)
{
  if (state == WAIT_PENDING)
    return not_yet(any ? NULL : &waits[which], late, error);
  if (state == WAIT_FAILED && which < count && waits[which].semaphore)
    return semaphore_cause(waits[which].semaphore, error);
  return RAWHAL_OK;
}

/* `*one`: only that of `*which` counts. */
static rawhal_status_t wait_in_turn(const rawhal_wait_t *waits, size_t count, bool any,
                                    uint64_t deadline, size_t *which, bool *one,
                                    rawhal_error_t *error)
{
  host_wait_t me = {.waits = waits, .count = count};
  bool entered = false, late = false;
  rawhal_status_t status = RAWHAL_OK;
  wait_state_t state;
  timelines_lock();
  for (;;) {
    timelines_settle();
    state = look(waits, count, any, which);
    if (state != WAIT_PENDING || deadline == 0 || late)
      break;
    if (!entered) {
      status = timelines_bell(device_of(waits), error);
      if (status != RAWHAL_OK)
        break;
      enter(&me);
      entered = true;
    }
    timelines_sleep(deadline);
    late = deadline != RAWHAL_FOREVER && clock_now() >= deadline;
  }
  if (status == RAWHAL_OK)
    status = conclude(waits, count, state, any, *which, late, error);
  *one = any || state == WAIT_FAILED;
  if (entered)
    leave(&me);
  else
    timelines_unlock();
  return status;
}

/* Of tickets that are over the queue says how they ended, and charges them. */
static rawhal_status_t tickets_end(const rawhal_wait_t *waits, size_t count, bool one,
                                   size_t *which, rawhal_error_t *error)
{
  for (size_t i = one ? *which : 0; i < count && (!one || i == *which); ++i) {
    if (waits[i].semaphore)
      continue;
    rawhal_status_t status = rawhal_queue_wait(waits[i].queue, waits[i].ticket, 0, error);
    if (status != RAWHAL_OK) {
      *which = i;
      return status;
    }
  }
  return RAWHAL_OK;
}

static rawhal_status_t wait_for(const rawhal_wait_t *waits, size_t count, bool any,
                                uint64_t deadline, size_t *which, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  size_t found = count;
  bool one = any;
  timelines_open();
  rawhal_status_t status = check_waits(waits, count, error);
  if (status == RAWHAL_OK && any && !count)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is nothing to wait for");
  if (status == RAWHAL_OK)
    status = wait_in_turn(waits, count, any, deadline, &found, &one, error);
  if (status == RAWHAL_OK)
    status = tickets_end(waits, count, one, &found, error);
  if (which)
    *which = found;
  return status;
}

rawhal_status_t rawhal_wait_all(const rawhal_wait_t *waits, size_t count, uint64_t deadline,
                                size_t *which, rawhal_error_t *error)
{
  return wait_for(waits, count, false, deadline, which, error);
}

rawhal_status_t rawhal_wait_any(const rawhal_wait_t *waits, size_t count, uint64_t deadline,
                                size_t *which, rawhal_error_t *error)
{
  return wait_for(waits, count, true, deadline, which, error);
}
