/* What has ended, how ever it did: by the device's times where it tells them. */
#include "queue/limit/complete.h"

#include "queue/limit/caps.h"
#include "queue/limit/charge.h"
#include "queue/limit/lease.h"
#include "queue/limit/node.h"
#include "queue/limit/publish.h"

#include <string.h>

/* The least delay between the end of a dispatch and our seeing it is taken for none. It may grow by
 * 100 ppm, in case the clocks drift. What was paid before the device's clock was known was reckoned
 * in the host's. */
static void learn_clock_offset(rawhal_limiter_t *limiter, uint64_t now, uint64_t end)
{
  int64_t offset = (int64_t)(now - end);
  uint64_t age = now - limiter->clock_offset_at;
  interval_set_t *paid = &limiter->paid;
  if (limiter->clock_offset_at == 0) {
    limiter_charge(limiter, now);
    if (paid->count && offset > 0 && paid->kept[0].start < (uint64_t)offset)
      paid->count = 0; /* before the device's clock began */
    for (uint32_t i = 0; i < paid->count; ++i) {
      paid->kept[i].start -= (uint64_t)offset;
      paid->kept[i].end -= (uint64_t)offset;
    }
  }
  if (limiter->clock_offset_at == 0 || offset < limiter->clock_offset + (int64_t)(age / 10000)) {
    limiter->clock_offset = offset;
    limiter->clock_offset_at = now;
  }
}

static void add_pending(rawhal_limiter_t *limiter, uint64_t now, uint64_t start, uint64_t end)
{
  if (limiter->pending_count + INTERVALS_PIECES > LIMIT_PENDING)
    limiter_charge(limiter, now);
  interval_t *pieces = &limiter->pending[limiter->pending_count];
  if (interval_set_append(&limiter->paid, start, end)) {
    pieces->start = start;
    pieces->end = end;
    ++limiter->pending_count;
    limiter->pending_ns += end - start;
    return;
  }
  /* What is in flight began at that time of the device or later. */
  const uint64_t since = limiter->paid.count < INTERVALS_KEPT ? 0 : limiter_busy_since(limiter);
  const uint64_t oldest = since ? since - (uint64_t)limiter->clock_offset : INTERVALS_NO_OLDER;
  uint32_t count = interval_set_add(&limiter->paid, (interval_t){start, end}, oldest, pieces);
  for (uint32_t i = 0; i < count; ++i)
    limiter->pending_ns += pieces[i].end - pieces[i].start;
  uint32_t last = limiter->pending_count;
  limiter->pending_count += count;
  /* One dispatch right after the other: one piece. */
  if (count && last && limiter->pending[last - 1].end == limiter->pending[last].start) {
    limiter->pending[last - 1].end = limiter->pending[last].end;
    memmove(&limiter->pending[last], &limiter->pending[last + 1],
            (count - 1) * sizeof(*limiter->pending));
    --limiter->pending_count;
  }
}

/* Submissions whose end is known, together: what each counter is told is added up first. */
typedef struct completed {
  flight_t flight;
  uint64_t submissions, estimated_ns, error_ns, untimed;
  uint64_t last_ns; /* of the one that came last */
} completed_t;

static void add_completed(completed_t *all, const limit_grant_t *grant, uint64_t ns)
{
  const flight_t flight = caps_granted(grant);
#pragma GCC unroll 6
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    all->flight.of[kind] += flight.of[kind];
  ++all->submissions;
  all->last_ns = ns;
}

/* From what of a dispatch's time is to be paid, when it is as it was lately. */
static void learn(rawhal_limiter_t *limiter, const limit_grant_t *grant, uint64_t ns,
                  completed_t *all)
{
  if (limiter->charged_part != LIMIT_WHOLE)
    ns = (uint64_t)((unsigned __int128)ns * limiter->charged_part / LIMIT_WHOLE);
  uint64_t each = grant->units > 1 ? ns / grant->units : ns;
  if (grant->key)
    estimate_learn(&limiter->estimates, grant->key, each);
  for (int i = 0; grant->probe && i < LIMIT_UNKNOWN_KEYS; ++i) {
    uint64_t key = node_load(&limiter->probe_keys[i]);
    if (key && key != grant->key)
      estimate_learn(&limiter->estimates, key, each);
  }
  if (grant->probe)
    return;
  all->estimated_ns += grant->estimate_ns;
  all->error_ns += ns > grant->estimate_ns ? ns - grant->estimate_ns : grant->estimate_ns - ns;
}

/* What grants held and no longer hold, however they ended: after they were charged, because a
 * thread that admits without the lock looks at what is owed and at what is in flight. Their
 * estimates the process has in flight until the next charge. */
static void settle(limit_lease_t *lease, const flight_t *ended)
{
  flight_t of_process = *ended;
  of_process.of[FLIGHT_NS] = 0;
  flight_end(&lease->limiter->flight, &of_process);
  flight_end(&lease->flight, ended);
}

/* Ran then, in the device's ns. Returns since when the lease's next can have been running, by the
 * host's clock: lease_runs_since(). */
static uint64_t ran(limit_lease_t *lease, uint64_t now, uint64_t start, uint64_t end)
{
  rawhal_limiter_t *limiter = lease->limiter;
  uint64_t host = end + (uint64_t)limiter->clock_offset, ns = end - start;
  limiter->pending_wall_ns += ns;
  node_charge(&lease->node, now, start + (uint64_t)limiter->clock_offset, ns);
  add_pending(limiter, now, start, end);
  return host < now ? host : now;
}

void limiter_charge_running(rawhal_limiter_t *limiter, limit_lease_t *lease, uint64_t now,
                            uint64_t until)
{
  uint64_t since = node_load(&lease->busy_since);
  if (since == 0 || until <= since)
    return;
  const uint64_t offset = (uint64_t)limiter->clock_offset;
  lease_runs_since(lease, ran(lease, now, since - offset, until - offset));
  limiter_charge(limiter, now);
}

/* Of which nothing is left to be charged but what is pending. */
static void ended(limit_lease_t *lease, const completed_t *all, uint64_t now)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const struct {
    region_counter_t counter;
    uint64_t add;
  } rows[] = {{COUNTER_LAUNCHES, all->flight.of[FLIGHT_DISPATCHES]},
              {COUNTER_BATCHES, all->submissions},
              {COUNTER_ESTIMATED_NS, all->estimated_ns},
              {COUNTER_ESTIMATE_ERROR_NS, all->error_ns},
              {COUNTER_NO_TIMESTAMPS, all->untimed}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    if (rows[i].add)
      limiter_count(limiter, rows[i].counter, rows[i].add);
  bool last = lease_in_flight(lease) <= all->flight.of[FLIGHT_DISPATCHES];
  bool charged = last || limiter->pending_ns >= LIMIT_CHARGE_NS;
  if (charged)
    limiter_charge(limiter, now);
  settle(lease, &all->flight);
  if (lease_in_flight(lease) == 0) {
    limiter_return_credit(limiter, lease);
    /* A process that had work until now is taken to have more for as long as that took, within
     * bounds: see peers.h. */
    const uint64_t ns = all->last_ns < LIMIT_IDLE_NS ? all->last_ns : LIMIT_IDLE_NS;
    atomic_store_explicit(&limiter->me->hot.active_until,
                          now + (ns < LIMIT_GRACE_NS ? LIMIT_GRACE_NS : ns), memory_order_relaxed);
  }
  if (charged) { /* others, and waiting threads, see it when it is no longer in flight */
    limiter_publish_open(limiter, now);
    limiter_signal(limiter);
  }
}

/* When it ran, as far as that is known, in the device's ns. */
static interval_t time_of(rawhal_limiter_t *limiter, const limit_completion_t *one, uint64_t now,
                          uint64_t busy_since, completed_t *all)
{
  const limit_grant_t *grant = one->grant;
  uint64_t start = one->start, end = one->end;
  if (end && end > start) {
    learn_clock_offset(limiter, now, end);
    uint64_t since = busy_since - (uint64_t)limiter->clock_offset;
    if (start == 0)
      start = since && since < end ? since : end - 1;
    return (interval_t){start, end};
  }
  ++all->untimed;
  uint64_t since = grant->admitted_at ? grant->admitted_at : busy_since;
  end = now - (uint64_t)limiter->clock_offset;
  start = since && since < now ? end - (now - since) : end - 1;
  return (interval_t){start, end};
}

void limit_complete_all(limit_lease_t *lease, const limit_completion_t *which, size_t count)
{
  rawhal_limiter_t *limiter = lease->limiter;
  completed_t all = {0};
  if (count == 0)
    return;
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter), since = node_load(&lease->busy_since);
  for (size_t i = 0; i < count; ++i) {
    const limit_grant_t *grant = which[i].grant;
    interval_t time = time_of(limiter, &which[i], now, since, &all);
    learn(limiter, grant, time.end - time.start, &all);
    limiter->pending_estimate_ns += grant->estimate_ns;
    uint64_t next = ran(lease, now, time.start, time.end);
    since = next > since ? next : since;
    add_completed(&all, grant, time.end - time.start);
  }
  lease_runs_since(lease, since);
  ended(lease, &all, now);
  pthread_mutex_unlock(&limiter->lock);
}

void limit_complete(limit_lease_t *lease, const limit_grant_t *grant, uint64_t start, uint64_t end)
{
  limit_complete_all(lease, &(limit_completion_t){grant, start, end}, 1);
}

void limit_end(limit_lease_t *lease, const limit_grant_t *grant, uint64_t at)
{
  rawhal_limiter_t *limiter = lease->limiter;
  completed_t all = {0};
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter), since = node_load(&lease->busy_since);
  at = at < now ? at : now;
  add_completed(&all, grant, since && at > since ? at - since : 0);
  limiter->pending_estimate_ns += grant->estimate_ns;
  limiter_charge_running(limiter, lease, now, at);
  ended(lease, &all, now);
  pthread_mutex_unlock(&limiter->lock);
}

void limit_cancel(limit_lease_t *lease, const limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->lock);
  completed_t all = {0};
  add_completed(&all, grant, 0);
  limiter->pending_estimate_ns += grant->estimate_ns;
  settle(lease, &all.flight);
  node_rate_return(&limiter->tenant->node, node_load(&lease->rate), grant->launches);
  if (lease_in_flight(lease) == 0)
    limiter_return_credit(limiter, lease);
  uint64_t now = limiter_now(limiter);
  if (!limiter_owes(limiter)) { /* its time was never estimated: nothing is charged */
    limiter_publish_open(limiter, now);
    limiter_signal(limiter);
  }
  limiter_charge(limiter, now);
  pthread_mutex_unlock(&limiter->lock);
}
