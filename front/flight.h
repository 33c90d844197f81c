/* What is on the device, and what it is charged when it has ended. Internal. */
#ifndef RAWHAL_FRONT_FLIGHT_H
#define RAWHAL_FRONT_FLIGHT_H

#include "front/proxy.h"

static inline uint64_t proxy_in_flight(const proxy_t *proxy)
{
  return atomic_load(&proxy->begun) - atomic_load(&proxy->finished);
}
/* How long the oldest that is on the device may still take, by estimate and by how long it has run
 * already. */
uint64_t flight_left(proxy_t *proxy, uint64_t now);
/* Is there room for a batch of that many? The caller holds the lock. */
static inline bool flight_has_room(const proxy_t *proxy, uint32_t dispatches)
{
  return proxy->tickets + dispatches - atomic_load(&proxy->free_tickets) <= PROXY_SIGNALS;
}
/* The signal of the next ticket, set to 1; 0: it cannot be made. The caller holds the lock. */
hsa_signal_t flight_signal(proxy_t *proxy, uint64_t ticket);
/* Where the next batch is described, in its place. The caller holds the lock. */
static inline flight_batch_t *flight_next(proxy_t *proxy)
{
  return &proxy->batches[atomic_load_explicit(&proxy->begun, memory_order_relaxed) % PROXY_SIGNALS];
}
/* It was put into the device's ring, or is about to be. The caller holds the lock. */
static inline void flight_begin(proxy_t *proxy)
{
  const flight_batch_t *batch = flight_next(proxy);
  proxy->tickets = batch->first + batch->count;
  atomic_store_explicit(&proxy->begun,
                        atomic_load_explicit(&proxy->begun, memory_order_relaxed) + 1,
                        memory_order_release);
}
/* Charges what has finished. True: something has. */
bool flight_harvest(proxy_t *proxy);
/* Charges what has not, up to then: the device has let go of it. */
void flight_end_all(proxy_t *proxy, uint64_t at);
/* By the program's signal, that the last dispatch has ended, and when it ran: a barrier would leave
 * its own times there. False: it is the device that has to judge whether it is a signal at all, or
 * words are not written. */
bool flight_tell_last(proxy_t *proxy, hsa_signal_t signal);

#endif
