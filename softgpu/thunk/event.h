/* Events: what host threads block on while the device works. */
#ifndef SOFTGPU_THUNK_EVENT_H
#define SOFTGPU_THUNK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

bool softgpu_events_open(void);
void softgpu_events_close(void);

/* Signals the event, as an interrupt of the device does. Unknown ids are ignored. */
void softgpu_event_raise(uint32_t id);

/* Signals the memory-fault event, for accesses that have no queue to report them. */
void softgpu_event_memory_fault(uint32_t node, uint64_t address, bool read_only);

#endif
