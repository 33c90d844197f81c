/* When submissions ran. Internal. */
#ifndef RAWHAL_QUEUE_TIMES_H
#define RAWHAL_QUEUE_TIMES_H

#include "queue/internal.h"

/* Of a finished submission, in the device's ticks; what is not known is 0. */
gate_span_t queue_ran(const rawhal_queue_t *queue, const queue_slot_t *slot);

#endif
