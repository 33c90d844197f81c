#include "queue/limit/caps.h"

#include "queue/limit/denial.h"
#include "queue/limit/lease.h"
#include "queue/limit/levels.h"

#include "base/error.h"

static rawhal_status_t fail_cap(rawhal_limiter_t *limiter, rawhal_limit_t limit, const char *what,
                                uint64_t asked, uint64_t in_flight, rawhal_error_t *error)
{
  uint64_t allowed = limiter_cap(limiter, limit);
  limiter_deny(limiter, limit, asked, in_flight, allowed);
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%llu %s asked for, the limit is %llu",
                     (unsigned long long)asked, what, (unsigned long long)allowed);
}

static rawhal_status_t fail_none(rawhal_limiter_t *limiter, rawhal_limit_t limit,
                                 rawhal_error_t *error)
{
  limiter_deny(limiter, limit, RAWHAL_UNLIMITED, 0, 0);
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%s is 0, which admits nothing",
                     rawhal_limit_info(limit)->name);
}

rawhal_status_t caps_check(limit_lease_t *lease, const limit_cost_t *cost, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const flight_t asked = caps_flight(cost);
  const levels_t levels = levels_of(lease, NULL);
  for (int i = 0; i < CAPS; ++i)
    if (asked.of[caps[i].kind] > limiter_cap(limiter, caps[i].limit))
      return fail_cap(limiter, caps[i].limit, caps[i].what, asked.of[caps[i].kind],
                      flight_now(&limiter->flight, caps[i].kind), error);
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return limit_refuse_grid(lease, cost->largest_grid, error);
  for (int i = 0; i < LEVELS; ++i)
    if ((int)levels.of[i].share != LIMIT_COUNT && node_load(&levels.of[i].node->share) == 0)
      return fail_none(limiter, levels.of[i].share, error);
  if (node_load(&limiter->tenant->node.rate) == 0)
    return fail_none(limiter, RAWHAL_LIMIT_DISPATCH_RATE, error);
  return RAWHAL_OK;
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

void caps_make_room(rawhal_limiter_t *limiter, limit_lease_t *only, const limit_cost_t *cost)
{
  const flight_t asked = caps_flight(cost);
  bool fits = true;
  for (int i = 0; i < CAPS; ++i) {
    uint64_t allowed = limiter_cap(limiter, caps[i].limit), more = asked.of[caps[i].kind];
    fits &= more <= allowed && flight_now(&limiter->flight, caps[i].kind) <= allowed - more;
  }
  for (limit_lease_t *lease = only ? only : limiter->leases; lease && !fits;
       lease = only ? NULL : lease->next)
    limiter_return_credit(limiter, lease);
}
