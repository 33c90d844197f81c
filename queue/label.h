/* Labels of dispatches, kept until their packets' places in the ring are used again. Internal. */
#ifndef RAWHAL_QUEUE_LABEL_H
#define RAWHAL_QUEUE_LABEL_H

#include "debug/label.h"
#include "queue/submit.h"

enum { LABEL_WORDS = RAWHAL_LABEL_BYTES / sizeof(uint64_t) };

/* Of a packet; a packet that has none leaves what is there. */
typedef struct queue_label {
  _Atomic uint64_t packet;
  _Atomic uint64_t words[LABEL_WORDS];
} queue_label_t;

/* Older callers' dispatches end before it. */
static inline bool label_is_given(const batch_t *batch, const rawhal_dispatch_t *dispatch)
{
  return batch->stride >= sizeof(rawhal_dispatch_t) && dispatch->label;
}

/* The event by which it came. */
rawhal_event_t queue_came(const rawhal_queue_t *queue);

/* Before the packet is published. Longer text is truncated. */
void label_keep(rawhal_queue_t *queue, uint64_t packet, const char *text);
/* Of any packet ever, for who keeps labels and then asks. */
static inline bool label_is_any(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->labelled, memory_order_relaxed);
}
/* "" where the packet has none. */
void label_find(const rawhal_queue_t *queue, uint64_t packet, char text[RAWHAL_LABEL_BYTES]);

#endif
