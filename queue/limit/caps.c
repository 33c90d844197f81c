#include "queue/limit/caps.h"
#include "queue/limit/node.h"

#include "base/error.h"

static const struct cap {
  rawhal_limit_t limit;
  flight_kind_t kind;
  const char *what;
} caps[] = {
    {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, FLIGHT_DISPATCHES, "dispatches in flight"},
    {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, FLIGHT_WORKGROUPS, "work-groups in flight"},
    {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, FLIGHT_KERNARG_BYTES, "kernarg bytes in flight"},
};

enum { CAPS = sizeof(caps) / sizeof(*caps) };

flight_t caps_flight(const limit_cost_t *cost)
{
  return (flight_t){{[FLIGHT_DISPATCHES] = cost->launches,
                     [FLIGHT_WORKGROUPS] = cost->workgroups,
                     [FLIGHT_KERNARG_BYTES] = cost->kernarg_bytes}};
}

static rawhal_status_t fail_cap(rawhal_limiter_t *limiter, rawhal_limit_t limit, const char *what,
                                uint64_t asked, uint64_t in_flight, rawhal_error_t *error)
{
  uint64_t allowed = limiter_cap(limiter, limit);
  limiter_deny(limiter, limit, asked, in_flight, allowed);
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%llu %s asked for, the limit is %llu",
                     (unsigned long long)asked, what, (unsigned long long)allowed);
}

static rawhal_status_t check_caps(rawhal_limiter_t *limiter, const limit_cost_t *cost,
                                  rawhal_error_t *error)
{
  flight_t asked = caps_flight(cost);
  for (int i = 0; i < CAPS; ++i)
    if (asked.of[caps[i].kind] > limiter_cap(limiter, caps[i].limit))
      return fail_cap(limiter, caps[i].limit, caps[i].what, asked.of[caps[i].kind],
                      flight_now(&limiter->flight, caps[i].kind), error);
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return fail_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS, "work-groups of a dispatch",
                    cost->largest_grid, 0, error);
  return RAWHAL_OK;
}

rawhal_status_t caps_check(rawhal_limiter_t *limiter, const limit_cost_t *cost,
                           rawhal_error_t *error)
{
  const struct {
    rawhal_limit_t limit;
    const _Atomic uint64_t *word;
  } rates[] = {{RAWHAL_LIMIT_PROCESS_SHARE, &limiter->me->node.share},
               {RAWHAL_LIMIT_GPU_SHARE, &limiter->tenant->node.share},
               {RAWHAL_LIMIT_DEVICE_SHARE, &limiter->device->node.share},
               {RAWHAL_LIMIT_DISPATCH_RATE, &limiter->tenant->node.rate}};
  rawhal_status_t status = check_caps(limiter, cost, error);
  for (size_t i = 0; i < sizeof(rates) / sizeof(*rates) && status == RAWHAL_OK; ++i)
    if (node_load(rates[i].word) == 0) {
      limiter_deny(limiter, rates[i].limit, RAWHAL_UNLIMITED, 0, 0);
      status = rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%s is 0, which admits nothing",
                           rawhal_limit_info(rates[i].limit)->name);
    }
  return status;
}

rawhal_status_t limit_refuse_grid(limit_lease_t *lease, uint64_t workgroups, rawhal_error_t *error)
{
  return fail_cap(lease->limiter, RAWHAL_LIMIT_GRID_WORKGROUPS, "work-groups of a dispatch",
                  workgroups, 0, error);
}

const char *caps_reserve(rawhal_limiter_t *limiter, const flight_t *flight)
{
  flight_t reserved = {{0}};
  for (int i = 0; i < CAPS; ++i) {
    flight_kind_t kind = caps[i].kind;
    if (!flight_reserve(&limiter->flight, kind, flight->of[kind], &limiter->caps[caps[i].limit])) {
      flight_undo(&limiter->flight, &reserved);
      return caps[i].what;
    }
    reserved.of[kind] = flight->of[kind];
  }
  return NULL;
}

static bool has_room(const rawhal_limiter_t *limiter, const limit_cost_t *cost)
{
  flight_t asked = caps_flight(cost);
  bool fits = true;
  for (int i = 0; i < CAPS; ++i) {
    uint64_t allowed = limiter_cap(limiter, caps[i].limit), more = asked.of[caps[i].kind];
    fits &= more <= allowed && flight_now(&limiter->flight, caps[i].kind) <= allowed - more;
  }
  return fits;
}

void caps_make_room(rawhal_limiter_t *limiter, const limit_cost_t *cost)
{
  if (has_room(limiter, cost))
    return;
  for (limit_lease_t *lease = limiter->leases; lease; lease = lease->next)
    limiter_return_credit(limiter, lease);
}

void caps_make_room_of(limit_lease_t *lease, const limit_cost_t *cost)
{
  if (!has_room(lease->limiter, cost))
    limiter_return_credit(lease->limiter, lease);
}
