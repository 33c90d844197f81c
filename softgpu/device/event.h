/* Events: what host threads block on while the device works. All functions are thread-safe. */
#ifndef SOFTGPU_DEVICE_EVENT_H
#define SOFTGPU_DEVICE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/device/hsakmt.h"

enum { SOFTGPU_EVENT_COUNT = 4096 }; /* event 0 is "none" */

/* `mailboxes` is the device's address of a 64-bit word per event, which kernels may store to. */
void softgpu_events_begin(uint64_t mailboxes);
/* Frees all events there are. */
void softgpu_events_end(void);

/* The event stays the device's; the runtime reads its data. */
HSAKMT_STATUS softgpu_event_make(const HsaEventDescriptor *descriptor, bool manual_reset,
                                 bool signaled, HsaEvent **event);
/* These are false when it is not an event of this device. Threads that wait for one that is freed
 * wake up. */
bool softgpu_event_free(HsaEvent *event);
bool softgpu_event_set(const HsaEvent *event);
bool softgpu_event_reset(const HsaEvent *event);

/* Waits for one of `count` > 0 events, or for all. `ages` may be NULL; else it says how old the
 * caller knows each to be, 0 for "nothing", and then how old it is. */
HSAKMT_STATUS softgpu_events_wait(HsaEvent **events, uint32_t count, bool all,
                                  uint32_t milliseconds, uint64_t *ages);

/* Signals the event, as an interrupt of the device does. Unknown ids are ignored. */
void softgpu_event_raise(uint32_t id);
/* An interrupt of a kernel's, with the event's number. Of it older device libraries give the low 8
 * bits alone: then whichever of those has its number in its mailbox is meant, as to the driver. */
void softgpu_event_interrupt(uint32_t payload);

/* Signals the memory-fault event, for accesses that have no queue to report them. */
void softgpu_event_memory_fault(uint32_t node, uint64_t address, bool read_only);

#endif
