/* What is on the device, and what it is charged. */
#include "front/proxy.h"

#include <hsa/hsa_ext_amd.h>

static hsa_signal_t signal_at(const proxy_t *proxy, uint64_t ticket)
{
  return proxy->signals[ticket % PROXY_SIGNALS];
}

static flight_batch_t *batch_at(proxy_t *proxy, uint64_t number)
{
  return &proxy->batches[number % PROXY_SIGNALS];
}

bool flight_has_room(const proxy_t *proxy, uint32_t dispatches)
{
  return proxy->tickets + dispatches - atomic_load(&proxy->free_tickets) <= PROXY_SIGNALS;
}

hsa_signal_t flight_signal(proxy_t *proxy, uint64_t ticket)
{
  hsa_signal_t *signal = &proxy->signals[ticket % PROXY_SIGNALS];
  if (signal->handle) {
    front.hsa.silent_store_relaxed(*signal, 1);
    return *signal;
  }
  /* Nobody sleeps on it: without an interrupt it is made and signalled at less cost. */
  if (front.hsa.amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, signal) !=
      HSA_STATUS_SUCCESS)
    signal->handle = 0;
  return *signal;
}

void flight_begin(proxy_t *proxy, const flight_batch_t *batch)
{
  uint64_t number = atomic_load_explicit(&proxy->begun, memory_order_relaxed);
  *batch_at(proxy, number) = *batch;
  proxy->tickets = batch->first + batch->count;
  atomic_store(&proxy->begun, number + 1);
}

static bool is_done(const proxy_t *proxy, const flight_batch_t *batch)
{
  /* The last first: it mostly is. */
  for (uint32_t i = batch->count; i-- > 0;)
    if (front.hsa.signal_load_scacquire(signal_at(proxy, batch->first + i)) > 0)
      return false;
  return true;
}

/* When each ran, by the device's clock; zeros where it is not known. */
typedef struct batch_times {
  hsa_amd_profiling_dispatch_time_t of[PROXY_BATCH];
} batch_times_t;

static void read_times(const proxy_t *proxy, const flight_batch_t *batch, batch_times_t *times)
{
  for (uint32_t i = 0; i < batch->count; ++i) {
    hsa_amd_profiling_dispatch_time_t *time = &times->of[i];
    const hsa_signal_t signal = signal_at(proxy, batch->first + i);
    if (front.hsa.get_dispatch_time(proxy->device->agent, signal, time) != HSA_STATUS_SUCCESS ||
        time->end < time->start || time->start == 0)
      time->start = time->end = 0;
  }
}

/* From the first's start to the last's end; 0 where it is not known. */
static void charge(proxy_t *proxy, const flight_batch_t *batch, const batch_times_t *times)
{
  uint64_t start = UINT64_MAX, end = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    if (!times->of[i].start) {
      start = end = 0;
      break;
    }
    start = times->of[i].start < start ? times->of[i].start : start;
    end = times->of[i].end > end ? times->of[i].end : end;
  }
  limit_complete(proxy->lease, &batch->grant, batch->ours & 1 ? front_ns(start) : 0, front_ns(end));
}

/* A dispatch with the program's signal has ended when the barrier behind it begins. */
static void show(proxy_t *proxy, const flight_batch_t *batch, const batch_times_t *times)
{
  uint64_t before = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    const bool measured = batch->ours >> i & 1;
    const hsa_amd_profiling_dispatch_time_t *time = &times->of[i];
    watch_note_t *note = &proxy->flying[(batch->first + i) % PROXY_SIGNALS];
    uint64_t start = front_ns(time->start), end = front_ns(measured ? time->end : time->start);
    if (!measured)
      start = before > note->submitted ? before : note->submitted;
    watch_ended(proxy->index, note, start < end ? start : end, end, measured);
    before = end;
  }
}

/* Not by the device's word: it died. */
static void drop(proxy_t *proxy, const flight_batch_t *batch)
{
  for (uint32_t i = 0; i < batch->count; ++i)
    watch_ended(proxy->index, &proxy->flying[(batch->first + i) % PROXY_SIGNALS], 0, 0, false);
}

static void finish(proxy_t *proxy, const flight_batch_t *batch)
{
  atomic_store(&proxy->free_tickets, batch->first + batch->count);
  atomic_fetch_add(&proxy->finished, 1);
}

static bool harvest(proxy_t *proxy)
{
  bool any = false;
  while (proxy_in_flight(proxy)) {
    flight_batch_t *batch = batch_at(proxy, atomic_load(&proxy->finished));
    if (!is_done(proxy, batch))
      break;
    batch_times_t times;
    read_times(proxy, batch, &times);
    charge(proxy, batch, &times);
    if (front.watched)
      show(proxy, batch, &times);
    finish(proxy, batch);
    any = true;
  }
  return any;
}

bool flight_harvest(proxy_t *proxy)
{
  if (!proxy_in_flight(proxy))
    return false;
  pthread_mutex_lock(&proxy->harvest);
  bool any = harvest(proxy);
  pthread_mutex_unlock(&proxy->harvest);
  return any;
}

uint64_t flight_left(proxy_t *proxy, uint64_t now)
{
  uint64_t left = 0;
  pthread_mutex_lock(&proxy->harvest);
  if (proxy_in_flight(proxy)) {
    const flight_batch_t *batch = batch_at(proxy, atomic_load(&proxy->finished));
    uint64_t since = batch->grant.admitted_at; /* 0: from a lease, without a look at the clock */
    uint64_t ran = since && now > since ? now - since : 0;
    uint64_t estimate = batch->grant.estimate_ns;
    left = estimate > ran + ran / 8 ? estimate - ran : ran / 8;
  }
  pthread_mutex_unlock(&proxy->harvest);
  return left;
}

void flight_end_all(proxy_t *proxy, uint64_t at)
{
  pthread_mutex_lock(&proxy->harvest);
  (void)harvest(proxy);
  while (proxy_in_flight(proxy)) {
    flight_batch_t *batch = batch_at(proxy, atomic_load(&proxy->finished));
    limit_end(proxy->lease, &batch->grant, at);
    if (front.watched)
      drop(proxy, batch);
    finish(proxy, batch);
  }
  pthread_mutex_unlock(&proxy->harvest);
}
