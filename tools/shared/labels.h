/* Labels of queues by their ids, as a process tells them. */
#ifndef TOOLS_SHARED_LABELS_H
#define TOOLS_SHARED_LABELS_H

#include <rawhal/events.h>

#include "base/list.h"

/* Zero-initialise; freed by list_free(). Bounded: of a process with more, the first ones have
 * labels. */
typedef list_t labels_t;

/* What QUEUE_CREATE or LABEL says; of others nothing. `door`: door_kind_t; each has its own ids. */
void labels_learn(labels_t *labels, unsigned door, const rawhal_event_t *event);
/* Empty: it has none. Valid until the next labels_learn(). */
rawhal_string_t labels_find(const labels_t *labels, unsigned door, uint64_t queue_id);

#endif
