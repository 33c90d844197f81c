/* What surrounds the death of a queue: its dispatches, in flight and ended lately, which its rings
 * still hold, and the device's memory. From these come the causes of a fault. Internal. */
#ifndef RAWHAL_QUEUE_SCENE_H
#define RAWHAL_QUEUE_SCENE_H

#include "queue/internal.h"

/* Completes a fault of which `kind`, and what the device has told, stand: dispatch, kernel, address
 * in the object, causes. `waits`: for what a barrier waits at which it hangs; NULL: it is at none.
 * `own`: it is of this queue, not of its device at large. The caller holds drain_lock, and
 * code_hold() where that succeeded, as `code` says. `dump` gets all that is then known; NULL: it is
 * not wanted. */
void scene_explain(rawhal_queue_t *queue, rawhal_fault_t *fault, const char *waits, bool own,
                   bool code, dump_t *dump);

/* Adds all queues but one to its dump. `listed`: the caller holds the list; it has no queue's lock.
 */
void scene_gather_others(const rawhal_queue_t *but, dump_t *dump, bool listed);

/* Copies a packet in flight, PACKET_BYTES. False: it is being written. A ticket is published before
 * its packets and images are, which the header, or the device's reading, then tells; `taken`: it is
 * known that the device had it. */
bool scene_packet(const rawhal_queue_t *queue, uint64_t index, bool taken, void *packet);

#endif
