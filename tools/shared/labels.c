#include "tools/shared/labels.h"

#include <stdio.h>

#include "debug/label.h"
#include "tools/shared/tool.h"

enum { MOST = 4096 };

typedef struct labelled {
  uint64_t queue_id;
  unsigned door;
  bool ended; /* its place may be another's; until then it is still known, as events may be late */
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

/* NULL: there is no room. */
static labelled_t *find_place(labels_t *labels)
{
  labelled_t *all = labels->items;
  for (size_t i = 0; i < labels->count; ++i)
    if (all[i].ended)
      return &all[i];
  return labels->count < MOST ? list_add(labels, NULL, sizeof(*all)) : NULL;
}

void labels_learn(labels_t *labels, unsigned door, const rawhal_event_t *event)
{
  if ((event->type != RAWHAL_EVENT_QUEUE_CREATE && event->type != RAWHAL_EVENT_LABEL &&
       event->type != RAWHAL_EVENT_QUEUE_DESTROY) ||
      !event->queue_id)
    return;
  const bool ended = event->type == RAWHAL_EVENT_QUEUE_DESTROY;
  labelled_t *found = find(labels, door, event->queue_id);
  if (!found && !ended && event->text.size)
    found = find_place(labels);
  if (!found)
    return;
  found->queue_id = event->queue_id;
  found->door = door;
  found->ended = ended;
  if (!ended)
    label_copy(found->text, event->text);
}

rawhal_string_t labels_find(const labels_t *labels, unsigned door, uint64_t queue_id)
{
  const labelled_t *found = find(labels, door, queue_id);
  return found ? label_text(found->text) : (rawhal_string_t){0};
}

void label_print(rawhal_string_t label)
{
  if (!label.size)
    return;
  fputs(" '", stdout);
  (void)tool_print_text(label);
  putchar('\'');
}
