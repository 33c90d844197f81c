/* What is on the device, and what it is charged. */
#include "front/flight.h"

#include "front/direct.h"
#include "front/door.h"
#include "front/host_view.h"
#include "front/proxy.h"

#include <hsa/hsa_ext_amd.h>
#include <string.h>

enum {
  FLIGHT_AT_ONCE = 32, /* batches that are charged together */
  FLIGHT_AHEAD = 16,   /* the device wrote into signals: their lines are asked for before */
};

static hsa_signal_t signal_at(const proxy_t *proxy, uint64_t ticket)
{
  return proxy->signals[ticket % PROXY_SIGNALS];
}

static flight_batch_t *batch_at(proxy_t *proxy, uint64_t number)
{
  return &proxy->batches[number % PROXY_SIGNALS];
}

/* Of what was behind a barrier: the last that came before it. */
static hsa_signal_t marker_of(const proxy_t *proxy, const flight_batch_t *batch)
{
  return signal_at(proxy, batch->first - 1);
}

static bool is_done(const proxy_t *proxy, const flight_batch_t *batch)
{
  /* The last first: it mostly is. */
  for (uint32_t i = batch->count; i-- > 0;)
    if (direct_value(signal_at(proxy, batch->first + i)) > 0)
      return false;
  return true;
}

/* ---- Times ---- */

static gate_span_t by_runtime(const proxy_t *proxy, uint64_t ticket)
{
  hsa_amd_profiling_dispatch_time_t time = {0};
  return front.hsa.get_dispatch_time(proxy->device->agent, signal_at(proxy, ticket), &time) ==
                 HSA_STATUS_SUCCESS
             ? (gate_span_t){time.start, time.end}
             : (gate_span_t){0};
}

/* As its signal has it, which keeps what was in it before. In ticks; where the device's word is not
 * read, in the runtime's. */
static gate_span_t ticks_of(const proxy_t *proxy, uint64_t ticket)
{
  if (!front.direct)
    return by_runtime(proxy, ticket);
  const amd_signal_t *signal = direct_signal(signal_at(proxy, ticket));
  return (gate_span_t){signal->start_ts, signal->end_ts};
}

/* From the first's start to the last's end. */
static gate_span_t span_of(const proxy_t *proxy, const flight_batch_t *batch)
{
  gate_span_t span = GATE_SPAN_OF_NONE;
  for (uint32_t i = 0; i < batch->count; ++i) {
    const gate_span_t one = ticks_of(proxy, batch->first + i);
    gate_span_add(&span, one.start, one.end);
  }
  return batch->marked && !(batch->ours & 1)
             ? gate_span(ticks_of(proxy, batch->first - 1).end, span.end)
             : span;
}

/* From the device's ticks to ns, by what the runtime says of two of them: asked for each it costs
 * more than all the rest of a launch. */
typedef struct flight_clock {
  bool known;
  uint64_t tick, ns;
  double ns_each;
} flight_clock_t;

static flight_clock_t clock_between(const proxy_t *proxy, const flight_batch_t *first,
                                    const flight_batch_t *last)
{
  if (!front.direct)
    return (flight_clock_t){true, 0, 0, 1e9 / (double)front.timestamp_hz};
  const uint64_t start_ticket = first->first - first->marked;
  const uint64_t end_ticket = last->first + last->count - 1;
  const uint64_t start = ticks_of(proxy, start_ticket).start;
  const uint64_t end = ticks_of(proxy, end_ticket).end;
  const uint64_t start_ns = gate_ns(by_runtime(proxy, start_ticket).start, front.timestamp_hz);
  const uint64_t end_ns = gate_ns(by_runtime(proxy, end_ticket).end, front.timestamp_hz);
  if (!start || !start_ns || end_ns < start_ns || end < start)
    return (flight_clock_t){0};
  double each = end > start ? (double)(end_ns - start_ns) / (double)(end - start) : 0;
  return (flight_clock_t){true, start, start_ns, each};
}

/* 0 stays what it is: not known. */
static uint64_t ns_at(const flight_clock_t *clock, uint64_t tick)
{
  if (!clock->known || !tick)
    return 0;
  if (!front.direct)
    return gate_ns(tick, front.timestamp_hz);
  return clock->ns + (uint64_t)(int64_t)((double)(int64_t)(tick - clock->tick) * clock->ns_each);
}

/* A dispatch with the program's signal has ended when the barrier after it begins. */
static void show(proxy_t *proxy, const flight_batch_t *batch, const flight_clock_t *clock)
{
  uint64_t before = 0;
  for (uint32_t i = 0; i < batch->count && !batch->commands; ++i) {
    const bool measured = batch->ours >> i & 1;
    const gate_span_t ran = ticks_of(proxy, batch->first + i), time = gate_span(ran.start, ran.end);
    watch_note_t *note = &proxy->flying[(batch->first + i) % PROXY_SIGNALS];
    uint64_t start = ns_at(clock, time.start);
    uint64_t end = ns_at(clock, measured ? time.end : time.start);
    if (!measured)
      start = before > note->submitted ? before : note->submitted;
    watch_ended(proxy->index, note, start < end ? start : end, end, measured);
    before = end;
  }
}

/* Not by the device's word: it died. */
static void drop(proxy_t *proxy, const flight_batch_t *batch)
{
  for (uint32_t i = 0; i < batch->count && !batch->commands; ++i)
    watch_ended(proxy->index, &proxy->flying[(batch->first + i) % PROXY_SIGNALS], 0, 0, false);
}

/* For the next dispatch that uses them: at a launch their lines would have to be waited for once
 * more. */
static void set_again(const proxy_t *proxy, const flight_batch_t *batch)
{
  for (uint32_t i = 0; i < batch->count; ++i)
    direct_set_value(signal_at(proxy, batch->first + i), 1);
  if (batch->marked)
    direct_set_value(marker_of(proxy, batch), 1);
}

/* Of a queue that died: nothing more goes on it. */
static void finish(proxy_t *proxy, const flight_batch_t *batch)
{
  atomic_store(&proxy->free_tickets, batch->first + batch->count);
  atomic_fetch_add(&proxy->finished, 1);
}

/* True: there may be more. */
static bool harvest_some(proxy_t *proxy, bool *any)
{
  const uint64_t first = atomic_load(&proxy->finished), begun = atomic_load(&proxy->begun);
  limit_completion_t all[FLIGHT_AT_ONCE];
  uint32_t count = 0, known = 0;
  const flight_batch_t *from = NULL, *to = NULL; /* of those that are known */
  while (count < FLIGHT_AT_ONCE && first + count != begun &&
         is_done(proxy, batch_at(proxy, first + count))) {
    const flight_batch_t *batch = batch_at(proxy, first + count);
    proxy_expect(direct_signal(signal_at(proxy, batch->first + FLIGHT_AHEAD)));
    const gate_span_t span = span_of(proxy, batch);
    all[count++] = (limit_completion_t){&batch->grant, span.start, span.end};
    if (!span.start)
      continue;
    from = known++ ? from : batch;
    to = batch;
  }
  if (count == 0)
    return false;
  const flight_clock_t clock = known ? clock_between(proxy, from, to) : (flight_clock_t){0};
  for (uint32_t i = 0; i < count; ++i) {
    const flight_batch_t *batch = batch_at(proxy, first + i);
    all[i].start = batch->ours & 1 || batch->marked ? ns_at(&clock, all[i].start) : 0;
    all[i].end = ns_at(&clock, all[i].end);
  }
  limit_complete_all(proxy->gate.lease, all, count);
  for (uint32_t i = 0; i < count && front.watched; ++i)
    show(proxy, batch_at(proxy, first + i), &clock);
  for (uint32_t i = 0; i < count && tell_wants(RAWHAL_EVENT_COMPLETE); ++i)
    front_door_ended(proxy, batch_at(proxy, first + i)->first + 1);
  for (uint32_t i = 0; i < count; ++i)
    set_again(proxy, batch_at(proxy, first + i));
  const flight_batch_t *last = batch_at(proxy, first + count - 1);
  atomic_store(&proxy->free_tickets, last->first + last->count);
  atomic_store(&proxy->finished, first + count);
  *any = true;
  return count == FLIGHT_AT_ONCE;
}

static bool harvest(proxy_t *proxy)
{
  bool any = false;
  while (harvest_some(proxy, &any))
    continue;
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

bool flight_oldest(proxy_t *proxy, uint64_t *ticket, bool *ours)
{
  if (!proxy_in_flight(proxy))
    return false;
  const flight_batch_t *batch = batch_at(proxy, atomic_load(&proxy->finished));
  uint32_t i = 0;
  while (i + 1 < batch->count && direct_value(signal_at(proxy, batch->first + i)) <= 0)
    ++i;
  *ticket = batch->first + i;
  *ours = batch->ours >> i & 1;
  return true;
}

void flight_end_all(proxy_t *proxy, uint64_t at)
{
  pthread_mutex_lock(&proxy->harvest);
  (void)harvest(proxy);
  bool ours;
  proxy->loses = flight_oldest(proxy, &proxy->lost, &ours);
  while (proxy_in_flight(proxy)) {
    flight_batch_t *batch = batch_at(proxy, atomic_load(&proxy->finished));
    const bool had_begun = !batch->marked || direct_value(marker_of(proxy, batch)) <= 0;
    gate_end(&proxy->gate, &batch->grant, had_begun, at);
    if (front.watched)
      drop(proxy, batch);
    finish(proxy, batch);
  }
  pthread_mutex_unlock(&proxy->harvest);
}

bool flight_tell_last(proxy_t *proxy, hsa_signal_t signal)
{
  amd_signal_t there;
  if (!front.direct || atomic_load(&proxy->died_at) ||
      !host_read(signal.handle, &there, sizeof(there)) || there.kind != AMD_SIGNAL_KIND_USER)
    return false;
  const amd_signal_t *ran = direct_signal(signal_at(proxy, proxy->tickets - 1));
  direct_signal(signal)->start_ts = ran->start_ts;
  direct_signal(signal)->end_ts = ran->end_ts;
  /* softgpu's counts of instructions; proxy_of_doorbell() may look at any time. */
  __atomic_store_n(&direct_signal(signal)->reserved2, ran->reserved2, __ATOMIC_RELAXED);
  memcpy(direct_signal(signal)->reserved3, ran->reserved3, sizeof(ran->reserved3));
  front.hsa.signal_subtract(signal, 1);
  return true;
}
