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
/* Charges what has finished. True: something has. */
bool flight_harvest(proxy_t *proxy);
/* Charges what has not, up to then: the device has let go of it. */
void flight_end_all(proxy_t *proxy, uint64_t at);
/* The oldest dispatch that has not ended, and whether its own signal is ours: else it is that of a
 * barrier behind it. False: all have. The caller holds `harvest`. */
bool flight_oldest(proxy_t *proxy, uint64_t *ticket, bool *ours);
/* By the program's signal, that the last dispatch has ended, and when it ran: a barrier would leave
 * its own times there. False: it is the device that has to judge whether it is a signal at all, or
 * words are not written. */
bool flight_tell_last(proxy_t *proxy, hsa_signal_t signal);

#endif
