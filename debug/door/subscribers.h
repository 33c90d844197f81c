/* The program's own functions that want to hear of events. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_SUBSCRIBERS_H
#define RAWHAL_DEBUG_DOOR_SUBSCRIBERS_H

#include "debug/events.h"

#include <stdbool.h>

/* What any of them wants. */
extern uint64_t subscribers_types;

static inline bool subscribers_any(void)
{
  return __atomic_load_n(&subscribers_types, __ATOMIC_RELAXED) != 0;
}

static inline bool subscribers_want(rawhal_event_type_t type)
{
  return __atomic_load_n(&subscribers_types, __ATOMIC_RELAXED) & RAWHAL_EVENT_BIT(type);
}

/* Calls those that want it. */
void subscribers_tell(const rawhal_event_t *event);

#endif
