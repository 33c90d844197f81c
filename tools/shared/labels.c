#include "tools/shared/labels.h"

#include <string.h>

#include "base/escape.h"

enum { MOST = 4096 };

typedef struct labelled {
  uint64_t queue_id;
  unsigned door;
  unsigned size;
  char text[RAWHAL_LABEL_BYTES];
} labelled_t;

static labelled_t *find(const labels_t *labels, unsigned door, uint64_t queue_id)
{
  labelled_t *all = labels->items;
  for (size_t i = 0; i < labels->count; ++i)
    if (all[i].queue_id == queue_id && all[i].door == door)
      return &all[i];
  return NULL;
}

void labels_learn(labels_t *labels, unsigned door, const rawhal_event_t *event)
{
  if ((event->type != RAWHAL_EVENT_QUEUE_CREATE && event->type != RAWHAL_EVENT_LABEL) ||
      !event->queue_id)
    return;
  const labelled_t none = {.queue_id = event->queue_id, .door = door};
  labelled_t *found = find(labels, door, event->queue_id);
  if (!found && event->text.size && labels->count < MOST)
    found = list_add(labels, &none, sizeof(none));
  if (!found)
    return;
  found->size = (unsigned)escape_cut(event->text, sizeof(found->text));
  if (found->size)
    memcpy(found->text, event->text.data, found->size);
}

rawhal_string_t labels_find(const labels_t *labels, unsigned door, uint64_t queue_id)
{
  const labelled_t *found = find(labels, door, queue_id);
  return found ? (rawhal_string_t){found->text, found->size} : (rawhal_string_t){0};
}
