#include "queue/limit/publish.h"

#include "queue/limit/node.h"

void limit_signal_node(const limit_clock_t *clock, region_node_t *node)
{
  atomic_fetch_add(&node->event, 1);
  if (atomic_exchange(&node->waiting, 0))
    clock->wake(clock->context, &node->event);
}

void limiter_signal(rawhal_limiter_t *limiter)
{
  limit_signal_node(limiter->clock, &limiter->tenant->node);
  if (node_is_limited(&limiter->device->node))
    limit_signal_node(limiter->clock, &limiter->device->node);
}

uint64_t limiter_busy_since(const rawhal_limiter_t *limiter)
{
  uint64_t since = 0;
  for (const limit_lease_t *lease = limiter->leases; lease; lease = lease->next) {
    uint64_t busy = lease_in_flight(lease) ? node_load(&lease->busy_since) : 0;
    if (busy && (since == 0 || busy < since))
      since = busy;
  }
  return since;
}

/* The same, less what of that time is charged already. */
static uint64_t running_since(const rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t since = limiter_busy_since(limiter);
  if (since == 0 || since > now)
    return since ? now : 0;
  uint64_t paid = interval_set_since(&limiter->paid, since - (uint64_t)limiter->clock_offset);
  return paid < now - since ? since + paid : now;
}

/* The thread that publishes last has looked after the last change. */
void limiter_publish_load(rawhal_limiter_t *limiter)
{
  const uint64_t most = UINT64_MAX >> LOAD_NS_BITS;
  uint64_t published = 0;
  for (bool first = true;; first = false) {
    const uint64_t submissions = flight_now(&limiter->flight, FLIGHT_SUBMISSIONS);
    const uint64_t ns = flight_now(&limiter->flight, FLIGHT_NS);
    const uint64_t load =
        (submissions < most ? submissions : most) << LOAD_NS_BITS | (ns < LOAD_NS ? ns : LOAD_NS);
    if (!first && load == published)
      return;
    published = load;
    atomic_store(&limiter->me->hot.load, published);
  }
}

void limiter_publish_start(rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t nothing = 0;
  (void)atomic_compare_exchange_strong(&limiter->me->hot.running_since, &nothing, now);
}

void limiter_publish_open(rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t since = running_since(limiter, now), published;
  do {
    published = since;
    atomic_store(&limiter->me->hot.running_since, published);
    since = running_since(limiter, now);
  } while (since != published);
  limiter_publish_load(limiter);
}
