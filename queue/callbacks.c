#include "queue/transfer.h"
#include "queue/wait.h"

#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"

static const uint64_t look_again_ns = 5000000; /* for what finished out of order */

/* Of a service thread: its queue was destroyed by the callback it is in. */
static _Thread_local bool queue_gone;

/* ---- The heap. The caller holds the lock, or no other thread is left ---- */

static bool comes_before(const callback_t *a, const callback_t *b)
{
  return a->ticket != b->ticket ? a->ticket < b->ticket : a->order < b->order;
}

static void heap_push(queue_callbacks_t *callbacks, const callback_t *callback)
{
  callback_t *heap = callbacks->heap;
  size_t at = callbacks->count++;
  for (; at > 0 && comes_before(callback, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = *callback;
}

static callback_t heap_pop(queue_callbacks_t *callbacks)
{
  callback_t *heap = callbacks->heap;
  callback_t first = heap[0];
  size_t count = --callbacks->count, at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    child += child + 1 < count && comes_before(&heap[child + 1], &heap[child]);
    if (!comes_before(&heap[child], &heap[count]))
      break;
    heap[at] = heap[child];
  }
  heap[at] = heap[count];
  return first;
}

/* ---- The service thread ---- */

static void ring(rawhal_queue_t *queue)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  queue->device->hsa->hsa_signal_store_screlease(callbacks->bell, ++callbacks->rings);
}

static void wake(rawhal_queue_t *queue)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  pthread_mutex_lock(&callbacks->lock);
  if (callbacks->started)
    ring(queue);
  pthread_mutex_unlock(&callbacks->lock);
}

void callbacks_notice(rawhal_queue_t *queue)
{
  if (atomic_load(&queue->callbacks.follows))
    wake(queue);
}

void callbacks_skip(rawhal_queue_t *queue)
{
  if (queue->callbacks.watches)
    wake(queue);
}

/* What the slot's signal falls below when the ticket has finished. Of one that was not submitted
 * yet: when the first of its packets has. False: the slot is another's, for the ticket has
 * finished; or look again. */
static bool slot_falls_below(const queue_slot_t *slot, uint64_t ticket, int64_t *bound)
{
  /* Acquire: a packet that has signalled was published after its ticket. So this value, with the
   * ticket still missing, is from before, and the ticket's packets are going to fall below it. */
  int64_t value = queue_slot_value(slot);
  uint64_t holder = atomic_load_explicit(&slot->ticket, memory_order_acquire);
  *bound = value;
  if (holder != ticket)
    return holder < ticket;
  *bound = atomic_load_explicit(&slot->target, memory_order_acquire) + 1;
  return atomic_load_explicit(&slot->ticket, memory_order_acquire) == ticket;
}

/* Sleeps until the bell is no longer at `rings` or the signal of the ticket has fallen; true: that
 * long. When another thread sleeps on that one already, it rings the bell when it wakes. */
static bool service_sleep(rawhal_queue_t *queue, uint64_t ticket, int64_t rings, uint64_t ns)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  queue_slot_t *slot = ticket ? queue_slot(queue, ticket) : NULL;
  hsa_signal_t signals[2] = {callbacks->bell, slot ? slot->signal : (hsa_signal_t){0}};
  hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_NE, HSA_SIGNAL_CONDITION_LT};
  hsa_signal_value_t values[2] = {rings, 0}, value;
  int64_t bound = 0;
  if (slot && !slot_falls_below(slot, ticket, &bound))
    return false;
  values[1] = bound;
  atomic_store(&callbacks->follows,
               slot != NULL); /* before the thread that has the slot may leave it */
  bool claimed = slot && queue_slot_claim(queue, slot);
  if (claimed)
    atomic_store(&callbacks->follows, false);
  uint64_t ticks = ns == UINT64_MAX ? ns : deadline_ticks(ns, queue->device->timestamp_hz);
  uint32_t which = queue->device->hsa->hsa_amd_signal_wait_any(
      claimed ? 2 : 1, signals, conditions, values, ticks, HSA_WAIT_STATE_BLOCKED, &value);
  if (claimed)
    queue_slot_leave(queue, slot);
  return which == UINT32_MAX;
}

/* Charges what has finished, and answers for which ticket to wait then, and for how long: for the
 * one that a callback `wanted`; else for the last, so that not each ticket wakes the thread. That
 * one may wait for what others will do once they know what has finished before it: when it was
 * waited for long enough (`late`), for the oldest. Where all have finished that is the next. A
 * queue that has died is not watched. */
static uint64_t watch(rawhal_queue_t *queue, uint64_t wanted, bool late, uint64_t *ns)
{
  if (queue_check(queue, NULL) != RAWHAL_OK)
    return wanted;
  queue_drain(queue);
  int64_t target;
  uint64_t oldest = ring_finished(&queue->ring) + 1, last = ring_last_ticket(&queue->ring);
  if (!wanted &&
      (late || last <= oldest || queue_progress(queue, last, &target, NULL) != QUEUE_RUNNING))
    return oldest;
  uint64_t ticket = wanted ? wanted : last;
  if (ticket > oldest)
    *ns = look_again_ns;
  return ticket;
}

/* False when the ticket has neither finished nor failed. */
static bool outcome(rawhal_queue_t *queue, uint64_t ticket, rawhal_error_t *result)
{
  int64_t target;
  *result = (rawhal_error_t){.status = RAWHAL_OK, .offset = RAWHAL_NO_OFFSET};
  queue_progress_t progress = queue_progress(queue, ticket, &target, result);
  if (progress == QUEUE_FINISHED && (queue->gate.lease || transfers_to_deliver(queue)))
    queue_drain(queue);
  if (progress == QUEUE_FINISHED)
    (void)!queue_check_result(queue, ticket, result);
  return progress != QUEUE_RUNNING;
}

static void *serve(void *data)
{
  rawhal_queue_t *queue = data;
  queue_callbacks_t *callbacks = &queue->callbacks;
  bool late = false;
  pthread_mutex_lock(&callbacks->lock);
  while (!callbacks->closing) {
    rawhal_error_t result;
    uint64_t ns = UINT64_MAX;
    int64_t rings = callbacks->rings;
    uint64_t ticket = callbacks->count ? callbacks->heap[0].ticket : 0;
    if (ticket && outcome(queue, ticket, &result)) {
      callback_t callback = heap_pop(callbacks);
      pthread_mutex_unlock(&callbacks->lock);
      callback.function(callback.context, callback.ticket, &result);
      if (queue_gone || atomic_load(&queue->health) == QUEUE_FORKED)
        return NULL;
    } else {
      pthread_mutex_unlock(&callbacks->lock);
      if (callbacks->watches)
        ticket = watch(queue, ticket, late, &ns);
      late = service_sleep(queue, ticket, rings, ns);
    }
    pthread_mutex_lock(&callbacks->lock);
  }
  pthread_mutex_unlock(&callbacks->lock);
  return NULL;
}

/* The caller holds the lock. */
static rawhal_status_t service_start(rawhal_queue_t *queue, rawhal_error_t *error)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  const hsa_table_t *hsa = queue->device->hsa;
  if (callbacks->started)
    return RAWHAL_OK;
  if (!callbacks->bell.handle) {
    hsa_status_t result = hsa->hsa_signal_create(0, 0, NULL, &callbacks->bell);
    if (result != HSA_STATUS_SUCCESS) {
      callbacks->bell.handle = 0;
      return hsa_fail(hsa, result, error, "creating a signal for callbacks");
    }
  }
  if (thread_start(&callbacks->thread, serve, queue))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no thread for callbacks");
  callbacks->started = true;
  return RAWHAL_OK;
}

rawhal_status_t callbacks_watch(rawhal_queue_t *queue, rawhal_error_t *error)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  pthread_mutex_lock(&callbacks->lock);
  callbacks->watches = true;
  rawhal_status_t status = service_start(queue, error);
  pthread_mutex_unlock(&callbacks->lock);
  return status;
}

bool callbacks_are_here(rawhal_queue_t *queue)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  pthread_mutex_lock(&callbacks->lock);
  const bool here = callbacks->started && pthread_equal(pthread_self(), callbacks->thread);
  pthread_mutex_unlock(&callbacks->lock);
  return here;
}

/* The caller holds the lock. */
static rawhal_status_t add(rawhal_queue_t *queue, callback_t *callback, rawhal_error_t *error)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  if (callbacks->closing)
    return rawhal_fail(error, RAWHAL_DEVICE_LOST, "the queue is being destroyed");
  if (!array_reserve(queue->device->allocator, &callbacks->heap, &callbacks->capacity,
                     callbacks->count + 1, sizeof(*callbacks->heap)))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a callback");
  rawhal_status_t status = service_start(queue, error);
  if (status != RAWHAL_OK)
    return status;
  callback->order = ++callbacks->registered;
  heap_push(callbacks, callback);
  if (callbacks->heap[0].order == callback->order) /* else it waits for an earlier one already */
    ring(queue);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_on_complete(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                         rawhal_completion_fn *function, void *context,
                                         rawhal_error_t *error)
{
  rawhal_status_t status = queue_check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  if (!function)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "function is NULL");
  if (atomic_load(&queue->health) == QUEUE_FORKED)
    return queue_check(queue, error);
  callback_t callback = {.ticket = ticket, .function = function, .context = context};
  pthread_mutex_lock(&queue->callbacks.lock);
  status = add(queue, &callback, error);
  pthread_mutex_unlock(&queue->callbacks.lock);
  return status;
}

/* ---- The end ---- */

void callbacks_stop(rawhal_queue_t *queue)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  pthread_mutex_lock(&callbacks->lock);
  callbacks->closing = true;
  bool started = callbacks->started;
  if (started)
    ring(queue);
  pthread_mutex_unlock(&callbacks->lock);
  if (!started)
    return;
  if (pthread_equal(pthread_self(), callbacks->thread)) {
    queue_gone = true;
    (void)pthread_detach(callbacks->thread);
  } else {
    (void)pthread_join(callbacks->thread, NULL);
  }
}

void callbacks_finish(rawhal_queue_t *queue)
{
  queue_callbacks_t *callbacks = &queue->callbacks;
  if (callbacks->count)
    queue_abandon(queue);
  while (callbacks->count) {
    rawhal_error_t result;
    callback_t callback = heap_pop(callbacks);
    (void)outcome(queue, callback.ticket, &result);
    callback.function(callback.context, callback.ticket, &result);
  }
  if (callbacks->bell.handle)
    (void)queue->device->hsa->hsa_signal_destroy(callbacks->bell);
  allocate_free(queue->device->allocator, callbacks->heap);
  pthread_mutex_destroy(&callbacks->lock);
}
