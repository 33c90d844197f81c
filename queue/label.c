#include "queue/label.h"

#include <string.h>

static queue_label_t *place_of(const rawhal_queue_t *queue, uint64_t packet)
{
  return &queue->labels[packet & (queue->ring.packets - 1)];
}

/* Whoever reads it meanwhile finds another packet than it looks for. */
void label_keep(rawhal_queue_t *queue, uint64_t packet, const char *text)
{
  uint64_t words[LABEL_WORDS] = {0};
  queue_label_t *place = place_of(queue, packet);
  label_copy((char *)words, rawhal_string(text));
  atomic_store_explicit(&queue->labelled, true, memory_order_relaxed);
  atomic_store(&place->packet, UINT64_MAX);
  for (int i = 0; i < LABEL_WORDS; ++i)
    atomic_store(&place->words[i], words[i]);
  atomic_store(&place->packet, packet);
}

void label_find(const rawhal_queue_t *queue, uint64_t packet, char text[RAWHAL_LABEL_BYTES])
{
  uint64_t words[LABEL_WORDS];
  queue_label_t *place = place_of(queue, packet);
  const bool before = atomic_load(&place->packet) == packet;
  for (int i = 0; i < LABEL_WORDS; ++i)
    words[i] = atomic_load(&place->words[i]);
  *text = '\0';
  if (before && atomic_load(&place->packet) == packet)
    memcpy(text, words, RAWHAL_LABEL_BYTES);
}

rawhal_event_t queue_came(const rawhal_queue_t *queue)
{
  return (rawhal_event_t){.type = RAWHAL_EVENT_QUEUE_CREATE,
                          .queue_id = queue->id,
                          .agent = queue->device->agent.handle,
                          .packets = queue->ring.packets,
                          .address = (uint64_t)(uintptr_t)queue->hsa_queue};
}

void rawhal_queue_label(rawhal_queue_t *queue, const char *label)
{
  if (!queue || atomic_load(&queue->health) == QUEUE_FORKED)
    return;
  pthread_mutex_lock(&queue->drain_lock);
  label_copy(queue->label, rawhal_string(label));
  tell_named(queue->told, queue_came(queue), label_text(queue->label));
  pthread_mutex_unlock(&queue->drain_lock);
}
