/* While the process ends: the threads that forward what is held back have ended, as the runtime
 * ends without telling them. What is left of the program may still wait for what it has submitted,
 * as its destructors and exit handlers do; then the thread that waits forwards, still as the
 * limiter admits. */
#include "front/copying.h"
#include "front/flight.h"
#include "front/forward.h"
#include "front/proxies.h"
#include "front/queues.h"
#include "front/service.h"

static bool ending(void)
{
  return __builtin_expect(atomic_load_explicit(&service_ended, memory_order_relaxed), 0) &&
         !front_orphaned();
}

/* A thread that has the lock forwards. */
static void forward(proxy_t *proxy, notice_t *notice)
{
  if (pthread_mutex_trylock(&proxy->lock))
    return;
  (void)flight_harvest(proxy);
  if (proxy->held)
    proxy_forward(proxy);
  proxy_release(proxy, notice);
}

void ending_forward(void)
{
  if (!ending())
    return;
  proxies_each(forward);
  copying_forward();
}

#define LOAD(name)                                                                                 \
  static hsa_signal_value_t name(hsa_signal_t signal)                                              \
  {                                                                                                \
    ending_forward();                                                                              \
    return front.hsa.name(signal);                                                                 \
  }

LOAD(signal_load_relaxed)
LOAD(signal_load_scacquire)

static bool holds(hsa_signal_condition_t condition, hsa_signal_value_t value,
                  hsa_signal_value_t other)
{
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ:
    return value == other;
  case HSA_SIGNAL_CONDITION_NE:
    return value != other;
  case HSA_SIGNAL_CONDITION_LT:
    return value < other;
  default:
    return value >= other;
  }
}

typedef __typeof__(hsa_signal_wait_scacquire) wait_t;

/* A little at a time, for as long as anything is held back. */
static hsa_signal_value_t wait_by(wait_t *wait, hsa_signal_t signal,
                                  hsa_signal_condition_t condition, hsa_signal_value_t other,
                                  uint64_t ticks, hsa_wait_state_t state)
{
  const uint64_t step = front.timestamp_hz / 1000;
  ending_forward(); /* a thread that wakes now and then to look asks for no time */
  while (ending() && ticks > step && proxies_hold(NULL)) {
    const hsa_signal_value_t value = wait(signal, condition, other, step, state);
    if (holds(condition, value, other))
      return value;
    ticks -= ticks == UINT64_MAX ? 0 : step;
    ending_forward();
  }
  return wait(signal, condition, other, ticks, state);
}

#define WAIT(name)                                                                                 \
  static hsa_signal_value_t name(hsa_signal_t signal, hsa_signal_condition_t condition,            \
                                 hsa_signal_value_t other, uint64_t ticks, hsa_wait_state_t state) \
  {                                                                                                \
    return wait_by(front.hsa.name, signal, condition, other, ticks, state);                        \
  }

WAIT(signal_wait_relaxed)
WAIT(signal_wait_scacquire)

void ending_hooks(front_calls_t *hooks)
{
  hooks->signal_load_relaxed = signal_load_relaxed;
  hooks->signal_load_scacquire = signal_load_scacquire;
  hooks->signal_wait_relaxed = signal_wait_relaxed;
  hooks->signal_wait_scacquire = signal_wait_scacquire;
}
