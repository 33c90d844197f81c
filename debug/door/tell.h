/* Telling what happens: to the program's own functions, <rawhal/events.h>, and to other processes,
 * by the memory of format.h. Internal.
 *
 * Nothing here waits, but for a subscriber's function, and nothing that stands in the shared memory
 * changes what is done, but for which types are wanted. Without a subscriber or an observer
 * tell_wants() is three instructions and nothing else happens. Thread-safe. */
#ifndef RAWHAL_DEBUG_DOOR_TELL_H
#define RAWHAL_DEBUG_DOOR_TELL_H

#include "debug/events.h"

#include <stdbool.h>

/* What stands in the memory for something that exists; 0: it was never told of. */
typedef uint32_t tell_entry_t;
#define TELL_UNLISTED UINT32_MAX /* it was, and stands nowhere */

/* The word of types that somebody may want; never NULL. */
extern uint64_t *tell_types;

static inline bool tell_wants(rawhal_event_type_t type)
{
  uint64_t *types = __atomic_load_n(&tell_types, __ATOMIC_RELAXED);
  return __builtin_expect((__atomic_load_n(types, __ATOMIC_RELAXED) & RAWHAL_EVENT_BIT(type)) != 0,
                          0);
}

/* It happened now: `size` and `time` are set here. Of submissions there are many: ticket.h. */
void tell_event(rawhal_event_t event);
/* Something has come to exist, or has ended, which is told, and listed as long as it exists. */
tell_entry_t tell_came(rawhal_event_t event);
/* What came has another label: what is listed has it, too, and that is told. `came` is the event by
 * which it came; not at the same time as tell_went() of it. */
void tell_named(tell_entry_t entry, rawhal_event_t came, rawhal_string_t label);
/* Of what came; else nothing is done. */
void tell_went(tell_entry_t entry, rawhal_event_t event);
/* The second half of it: what it was part of has ended, and that is told. */
void tell_unlist(tell_entry_t entry);
/* An id for the next of these. */
uint64_t tell_number(void);

#endif
