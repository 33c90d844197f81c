#include "tests/limit/shim.h"

#include "queue/gate/gate.h"
#include "queue/limit/admit.h"
#include "queue/limit/complete.h"
#include "queue/limit/dead.h"
#include "queue/limit/limiter.h"
#include "queue/limit/memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(limit_grant_t) <= sizeof(shim_grant_t), "a grant fits");

static void no_wait(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  (void)context, (void)word, (void)seen, (void)until;
}

static void no_wake(void *context, _Atomic uint32_t *word)
{
  (void)context, (void)word;
}

rawhal_status_t shim_open(const rawhal_limit_config_t *config, uint64_t (*now)(void *),
                          void *context, rawhal_limiter_t **limiter, rawhal_error_t *error)
{
  static limit_clock_t clocks[4096]; /* they must outlive their limiters */
  static size_t used;
  if (!now)
    return limiter_open(config, "device", NULL, NULL, limiter, error);
  limit_clock_t *clock = &clocks[used++ % 4096];
  *clock = (limit_clock_t){context, now, no_wait, no_wake};
  return limiter_open(config, "device", clock, NULL, limiter, error);
}

static uint64_t shared_now(void *context)
{
  return __atomic_load_n((uint64_t *)context, __ATOMIC_SEQ_CST);
}

static void shared_wait(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  uint64_t *now = context, at = shared_now(now);
  (void)word, (void)seen;
  until = until - at < 2000000000u ? until : at + 1000000; /* an event would have come */
  while (at < until &&
         !__atomic_compare_exchange_n(now, &at, until, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
}

static void die_waiting(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  (void)context, (void)word, (void)seen, (void)until;
  raise(SIGKILL);
}

rawhal_status_t shim_open_shared(const rawhal_limit_config_t *config, uint64_t *now, bool die,
                                 rawhal_limiter_t **limiter, rawhal_error_t *error)
{
  static limit_clock_t clocks[64];
  static size_t used;
  limit_clock_t *clock = &clocks[used++ % 64];
  *clock = (limit_clock_t){now, shared_now, die ? die_waiting : shared_wait, no_wake};
  return limiter_open(config, "device", clock, NULL, limiter, error);
}

void shim_learn(rawhal_limiter_t *limiter, uint64_t kernel, uint64_t workgroups, uint64_t ns)
{
  estimate_learn(&limiter->estimates, gate_key(kernel, workgroups), ns);
}

rawhal_status_t shim_lease(rawhal_limiter_t *limiter, void (*reap)(void *), void *context,
                           uint64_t share, limit_lease_t **lease, rawhal_error_t *error)
{
  limit_queue_t queue = {context, reap, NULL};
  return limit_lease_create(limiter, &queue, share, lease, error);
}

void shim_lease_destroy(limit_lease_t *lease)
{
  limit_lease_destroy(lease);
}

rawhal_status_t shim_admit(limit_lease_t *lease, const shim_cost_t *asked, uint64_t deadline,
                           shim_grant_t *result, rawhal_error_t *error)
{
  limit_cost_t cost = {0};
  limit_grant_t grant;
  limit_shape_t shape = {gate_key(asked->kernel, asked->workgroups), asked->workgroups,
                         asked->workgroups, asked->kernarg_bytes, 1};
  for (uint32_t i = 0; i < asked->launches; ++i)
    limit_cost_add(&cost, &shape, estimate_find(lease->estimates, shape.key));
  rawhal_status_t status = limit_admit(lease, &cost, deadline, &grant, error);
  memcpy(result, &grant, sizeof(grant));
  return status;
}

bool shim_attempt(limit_lease_t *lease, const shim_cost_t *asked, shim_grant_t *result)
{
  limit_cost_t cost = {0};
  limit_grant_t grant;
  refusal_t refusal;
  limit_shape_t shape = {gate_key(asked->kernel, asked->workgroups), asked->workgroups,
                         asked->workgroups, asked->kernarg_bytes, 1};
  for (uint32_t i = 0; i < asked->launches; ++i)
    limit_cost_add(&cost, &shape, estimate_find(lease->estimates, shape.key));
  uint64_t now = limiter_now(lease->limiter);
  bool taken = lease_attempt(lease, &cost, now, false, &grant, &refusal);
  if (taken)
    memcpy(result, &grant, sizeof(grant));
  return taken;
}

static const flight_t one_place = {{[FLIGHT_DISPATCHES] = 1}};

bool shim_take_place(rawhal_limiter_t *limiter)
{
  return !caps_reserve(limiter, &one_place);
}

void shim_leave_place(rawhal_limiter_t *limiter)
{
  flight_undo(&limiter->flight, &one_place);
}

void shim_complete(limit_lease_t *lease, const shim_grant_t *grant, uint64_t start, uint64_t end)
{
  limit_grant_t mine;
  memcpy(&mine, grant, sizeof(mine));
  limit_complete(lease, &mine, start, end);
}

void shim_complete_all(limit_lease_t *lease, const shim_completion_t *which, size_t count)
{
  limit_grant_t *grants = calloc(count, sizeof(*grants));
  limit_completion_t *all = calloc(count, sizeof(*all));
  for (size_t i = 0; grants && all && i < count; ++i) {
    memcpy(&grants[i], &which[i].grant, sizeof(*grants));
    all[i] = (limit_completion_t){&grants[i], which[i].start, which[i].end};
  }
  if (grants && all)
    limit_complete_all(lease, all, count);
  free(all);
  free(grants);
}

void shim_end(limit_lease_t *lease, const shim_grant_t *grant, uint64_t at)
{
  limit_grant_t mine;
  memcpy(&mine, grant, sizeof(mine));
  limit_end(lease, &mine, at);
}

void shim_become_another(rawhal_limiter_t *limiter)
{
  for (limit_lease_t *lease = limiter->leases, *next; lease; lease = next) {
    next = lease->next;
    free(lease);
  }
  region_close(&limiter->region);
  free(limiter);
}

void shim_kill(rawhal_limiter_t *limiter)
{
  /* All are this process, which is there and has the region mapped: the number is another's now. */
  atomic_store(&limiter->me->start_time, 1);
  shim_become_another(limiter);
}

void shim_cancel(limit_lease_t *lease, const shim_grant_t *grant)
{
  limit_grant_t mine;
  memcpy(&mine, grant, sizeof(mine));
  limit_cancel(lease, &mine);
}

uint64_t shim_retry_at(const limit_lease_t *lease)
{
  return limit_retry_at(lease);
}

bool shim_admit_ahead(limit_lease_t *lease, uint64_t kernel, shim_grant_t *result)
{
  limit_grant_t grant;
  limit_shape_t shape = {.key = gate_key(kernel, 64), .launches = 1};
  bool admitted = limit_admit_ahead(lease, &shape, &grant);
  memcpy(result, &grant, sizeof(grant));
  return admitted;
}

uint64_t shim_expects_at(const limit_lease_t *lease)
{
  return limit_expects_at(lease);
}

bool shim_has_flight(const limit_lease_t *lease)
{
  return limit_has_flight(lease);
}

void shim_events(const rawhal_limiter_t *limiter, uint32_t events[2])
{
  events[0] = atomic_load(&limiter->tenant->node.event);
  events[1] = atomic_load(&limiter->device->node.event);
}

void shim_lock(rawhal_limiter_t *limiter)
{
  pthread_mutex_lock(&limiter->lock);
}

void shim_unlock(rawhal_limiter_t *limiter)
{
  pthread_mutex_unlock(&limiter->lock);
}

uint64_t shim_open_ns(const rawhal_limiter_t *limiter)
{
  return load_ns(hot_load(&limiter->me->hot));
}

void shim_counted(const rawhal_limiter_t *limiter, shim_counted_t *counted)
{
  static const region_counter_t which[] = {COUNTER_LAUNCHES, COUNTER_BATCHES, COUNTER_GPU_NS,
                                           COUNTER_BUSY_NS, COUNTER_NO_TIMESTAMPS};
  uint64_t *const into[] = {&counted->launches, &counted->submissions, &counted->gpu_ns,
                            &counted->busy_ns, &counted->untimed};
  for (size_t i = 0; i < sizeof(which) / sizeof(*which); ++i)
    *into[i] = atomic_load(&limiter->me->counters[which[i]]);
  counted->paid_until = atomic_load(&limiter->tenant->node.tat);
  counted->in_flight = flight_now(&limiter->flight, FLIGHT_DISPATCHES);
  counted->estimated_in_flight_ns = flight_now(&limiter->flight, FLIGHT_NS);
}

uint64_t shim_charged_ns(const rawhal_limiter_t *limiter)
{
  return atomic_load(&limiter->me->counters[COUNTER_GPU_NS]) -
         atomic_load(&limiter->me->counters[COUNTER_REFUND_NS]);
}

uint64_t shim_credit_launches(const limit_lease_t *lease)
{
  return credit_amount(atomic_load(&lease->credit), CREDIT_LAUNCHES);
}

uint64_t shim_credit_ns(const limit_lease_t *lease)
{
  return credit_amount(atomic_load(&lease->credit), CREDIT_NS);
}

_Static_assert((int)SHIM_CREDIT_KINDS == (int)CREDIT_KINDS, "as many kinds");

uint64_t shim_credit_most(int kind)
{
  return credit_most((credit_kind_t)kind);
}

bool shim_credit_spend(const uint64_t *have, const uint64_t *asked, uint64_t *left)
{
  _Atomic uint64_t word = 0;
  uint64_t wanted = 0;
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind) {
    word += credit_word(kind, have[kind]);
    wanted += credit_word(kind, asked[kind]);
  }
  bool spent = credit_spend(&word, wanted);
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    left[kind] = credit_amount(word, kind);
  return spent;
}

/* ---- Memory ---- */

_Static_assert((int)SHIM_CLASSES == (int)LEDGER_CLASSES, "as many classes");

rawhal_status_t shim_reserve(rawhal_limiter_t *limiter, int class, uint64_t bytes,
                             rawhal_error_t *error)
{
  return limit_memory_reserve(limiter, (ledger_class_t) class, bytes, error);
}

void shim_release(rawhal_limiter_t *limiter, int class, uint64_t bytes)
{
  limit_memory_release(limiter, (ledger_class_t) class, bytes);
}

bool shim_reclaim(rawhal_limiter_t *limiter)
{
  return limiter_reclaim(limiter);
}

void shim_totals(const rawhal_limiter_t *limiter, uint64_t *total, uint64_t *sum)
{
  region_data_t *data = limiter->region.data;
  *total = ledger_total(limiter->tenant) * REGION_UNIT_BYTES;
  *sum = 0;
  for (uint32_t slot = 0; slot < region_member_count(data); ++slot)
    if (region_state(atomic_load(&data->members[slot].hot.state)) != REGION_FREE &&
        atomic_load(&data->members[slot].tenant) == limiter->tenant_index)
      *sum += ledger_used(&data->members[slot].ledger) * REGION_UNIT_BYTES;
}

void shim_bury(void *region)
{
  region_data_t *data = region;
  for (uint32_t slot = 0; slot < region_member_count(data); ++slot)
    if (atomic_load(&data->members[slot].start_time))
      atomic_store(&data->members[slot].start_time, 1);
}

void shim_join_again(rawhal_limiter_t *limiter, uint32_t times)
{
  region_data_t *data = limiter->region.data;
  for (uint32_t slot = region_member_count(data); times && slot < REGION_MEMBERS; ++slot, --times) {
    memcpy(&data->members[slot], limiter->me, sizeof(*limiter->me));
    atomic_store(&data->header.members, slot + 1);
  }
}

unsigned shim_live_members(const rawhal_limiter_t *limiter)
{
  unsigned live = 0;
  for (uint32_t slot = 0; slot < region_member_count(limiter->region.data); ++slot)
    live +=
        region_state(atomic_load(&limiter->region.data->members[slot].hot.state)) != REGION_FREE;
  return live;
}

void shim_published(const rawhal_limiter_t *limiter, uint64_t *load, uint64_t *running_since)
{
  *load = hot_load(&limiter->me->hot);
  *running_since = atomic_load(&limiter->me->hot.running_since);
}

void shim_set_running_since(rawhal_limiter_t *limiter, uint64_t since)
{
  atomic_store(&limiter->me->hot.running_since, since);
}

uint32_t shim_slot(const rawhal_limiter_t *limiter)
{
  return limiter->slot;
}

void shim_on_step(void (*hook)(int step))
{
  ledger_step = hook;
}

size_t shim_region_bytes(void)
{
  return sizeof(region_data_t);
}

size_t shim_region_bytes_before(uint32_t slot)
{
  return offsetof(region_data_t, members) + slot * sizeof(region_member_t);
}

void shim_region_part(shim_part_t part, uint32_t index, size_t *from, size_t *size)
{
  const size_t starts[] = {[SHIM_HEADER] = offsetof(region_data_t, header),
                           [SHIM_DEVICE] = offsetof(region_data_t, devices),
                           [SHIM_TENANT] = offsetof(region_data_t, tenants),
                           [SHIM_MEMBER] = offsetof(region_data_t, members)};
  const size_t sizes[] = {[SHIM_HEADER] = sizeof(region_header_t),
                          [SHIM_DEVICE] = sizeof(region_device_t),
                          [SHIM_TENANT] = sizeof(region_tenant_t),
                          [SHIM_MEMBER] = sizeof(region_member_t)};
  *size = sizes[part];
  *from = starts[part] + index * sizes[part];
}

size_t shim_region_burst_asked(uint32_t slot)
{
  size_t from, size;
  shim_region_part(SHIM_MEMBER, slot, &from, &size);
  return from + offsetof(region_member_t, asks.of) + ASK_BURST * sizeof(uint64_t);
}

bool shim_has_left(const rawhal_limiter_t *limiter)
{
  return limiter->damage.left;
}

void shim_watch_damage(rawhal_limiter_t *limiter, void (*told)(void *context, const char *text),
                       void *context)
{
  limit_watch_damage(limiter, told, context);
}
