/* Orders of faults, and what the packet processors do about those that concern packets. */
#include "softgpu/cp/inject.h"

#include <string.h>

#include "softgpu/cp/doorbell.h"
#include "softgpu/cp/report.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/opened.h"
#include "softgpu/exports.h"

typedef struct order {
  const void *hsa_queue; /* NULL: any */
  uint64_t wait;         /* opportunities until it is due; 0 when nothing is ordered */
  uint64_t value;
} order_t;

static const char *const names[SOFTGPU_INJECT_COUNT] = {
    [SOFTGPU_INJECT_QUEUE_ERROR] = "queue_error",
    [SOFTGPU_INJECT_STALL] = "stall",
    [SOFTGPU_INJECT_LOST_DOORBELL] = "lost_doorbell",
    [SOFTGPU_INJECT_ALLOCATION_FAILURE] = "allocation_failure",
    [SOFTGPU_INJECT_EVENT_FAILURE] = "event_failure",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static order_t orders[SOFTGPU_INJECT_COUNT];
static _Atomic uint32_t ordered;     /* bit per injection: without it the lock is not taken */
static _Atomic uint64_t stall_until; /* of the whole device, as softgpu_clock_ns() */

static bool order_valid(int injection, const order_t *order)
{
  switch (injection) {
  case SOFTGPU_INJECT_QUEUE_ERROR: /* the runtime takes 1, 512 and 1024 for requests */
    return order->value > 1 && order->value <= UINT32_MAX && order->value != 512 &&
           order->value != 1024;
  case SOFTGPU_INJECT_STALL:
    return order->value <= UINT32_MAX;
  case SOFTGPU_INJECT_LOST_DOORBELL:
    return true;
  default:
    return !order->hsa_queue;
  }
}

SOFTGPU_EXPORT bool softgpu_inject(const char *name, const void *hsa_queue, uint64_t nth,
                                   uint64_t value)
{
  int injection = 0;
  while (injection < SOFTGPU_INJECT_COUNT && (!name || strcmp(names[injection], name) != 0))
    ++injection;
  if (injection == SOFTGPU_INJECT_COUNT || softgpu_forked())
    return false;
  softgpu_queue_t *queue = softgpu_queue_lock(hsa_queue);
  if (queue) {
    hsa_queue = softgpu_aql_queue_of(queue);
    softgpu_queue_unlock(queue);
  }
  order_t order = {.hsa_queue = hsa_queue, .wait = nth, .value = value};
  if (nth > 0 && !order_valid(injection, &order))
    return false;
  pthread_mutex_lock(&lock);
  orders[injection] = order;
  if (nth > 0)
    atomic_fetch_or(&ordered, 1u << injection);
  else
    atomic_fetch_and(&ordered, ~(1u << injection));
  pthread_mutex_unlock(&lock);
  return true;
}

static bool is_ordered(softgpu_injection_t injection)
{
  return atomic_load_explicit(&ordered, memory_order_relaxed) & 1u << injection;
}

/* Counts an opportunity. When the order is due, it is in `due` and done with, unless it says that
 * `repeats` more are due. */
static bool order_take(softgpu_injection_t injection, const void *hsa_queue, bool repeats,
                       order_t *due)
{
  if (!is_ordered(injection))
    return false;
  pthread_mutex_lock(&lock);
  order_t *order = &orders[injection];
  *due = *order;
  bool is_due =
      order->wait > 0 && (!order->hsa_queue || order->hsa_queue == hsa_queue) && --order->wait == 0;
  if (is_due && repeats && order->value > 1) {
    --order->value;
    order->wait = 1;
  } else if (is_due) {
    atomic_fetch_and(&ordered, ~(1u << injection));
  }
  pthread_mutex_unlock(&lock);
  if (is_due)
    softgpu_total_add(&softgpu_totals.injected, 1);
  return is_due;
}

bool softgpu_inject_failure(softgpu_injection_t injection)
{
  order_t due;
  return order_take(injection, NULL, true, &due);
}

/* Whether the program has told the device about the packet at hand, which no doorbell heard so far
 * covers: a doorbell can be lost only by a queue that has not heard it yet. */
static bool doorbell_heard(softgpu_queue_t *queue)
{
  _Atomic uint64_t *doorbell = softgpu_doorbell(queue->doorbell);
  const uint64_t never = UINT64_MAX; /* as the queue was created */
  uint64_t value = atomic_load(doorbell);
  if (queue->doorbell_lost) {
    if (value == never)
      return false;
  } else if (is_ordered(SOFTGPU_INJECT_LOST_DOORBELL)) {
    if ((int64_t)value < (int64_t)queue->next)
      return false; /* published, not rung yet */
    order_t due;
    if (order_take(SOFTGPU_INJECT_LOST_DOORBELL, softgpu_aql_queue_of(queue), false, &due)) {
      /* As if it had not been stored to, so that the next store shows even if it is the same. */
      atomic_store(doorbell, never);
      queue->doorbell_lost = true;
      return false;
    }
  }
  queue->doorbell_lost = false;
  queue->heard = value + 1;
  return true;
}

bool softgpu_inject_packet(softgpu_queue_t *queue, softgpu_step_t *step)
{
  if (queue->inspected > queue->next)
    return true; /* begun, perhaps before its doorbell rang */
  if (queue->next >= queue->heard && !doorbell_heard(queue)) {
    *step = SOFTGPU_STEP_IDLE;
    return false;
  }
  queue->inspected = queue->next + 1;
  const void *hsa_queue = softgpu_aql_queue_of(queue);
  order_t due;
  if (order_take(SOFTGPU_INJECT_QUEUE_ERROR, hsa_queue, false, &due)) {
    *step = softgpu_report(queue, (uint32_t)due.value, 0, NULL, "an injected error");
    return false;
  }
  if (order_take(SOFTGPU_INJECT_STALL, hsa_queue, false, &due)) {
    uint64_t until = softgpu_clock_ns() + due.value * 1000000;
    if (due.hsa_queue)
      queue->stall_until = until;
    else
      atomic_store(&stall_until, until);
    *step = SOFTGPU_STEP_WAITING;
    return false;
  }
  return true;
}

bool softgpu_inject_stalled(const softgpu_queue_t *queue)
{
  uint64_t until = atomic_load_explicit(&stall_until, memory_order_relaxed);
  if (until < queue->stall_until)
    until = queue->stall_until;
  return until != 0 && softgpu_clock_ns() < until;
}
