/* Labels of queues by their ids, as a process tells them. */
#ifndef TOOLS_SHARED_LABELS_H
#define TOOLS_SHARED_LABELS_H

#include <rawhal/events.h>

#include "base/list.h"

/* Zero-initialise; freed by list_free(). Bounded: of more queues that have labels at a time, the
 * first ones' are known. */
typedef list_t labels_t;

/* What QUEUE_CREATE, LABEL or QUEUE_DESTROY says; of others nothing. `door`: door_kind_t; each has
 * its own ids. */
void labels_learn(labels_t *labels, unsigned door, const rawhal_event_t *event);
/* Empty: it has none. Valid until the next labels_learn(). */
rawhal_string_t labels_find(const labels_t *labels, unsigned door, uint64_t queue_id);

/* " 'LABEL'" behind what has it, on standard output; nothing if it is empty. */
void label_print(rawhal_string_t label);

#endif
