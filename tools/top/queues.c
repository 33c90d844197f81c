/* rawhal top: queues of the processes, as these show them. */
#include "tools/top/top.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "debug/label.h"
#include "tools/shared/doors.h"

/* In the numbers of another namespace it is another process. */
static bool is_here(const rawhal_limit_row_t *row)
{
  struct stat own;
  return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == row->pid_namespace &&
         row->pid - 1 < INT32_MAX;
}

typedef struct listing {
  list_t *queues;
  const observer_t *observer;
  bool starved;
} listing_t;

static bool count_packet(void *context, uint64_t index, const hsa_kernel_dispatch_packet_t *packet)
{
  (void)index, (void)packet;
  return ++((top_queue_t *)context)->in_flight, true;
}

static bool see(void *context, const rawhal_event_t *event)
{
  listing_t *listing = context;
  observer_queue_t now;
  if (event->type != RAWHAL_EVENT_QUEUE_CREATE)
    return true;
  top_queue_t queue = {.id = event->queue_id, .agent = event->agent};
  label_copy(queue.label, event->text);
  queue.readable = observer_queue(listing->observer, event->address, &now, count_packet, &queue);
  listing->starved = !list_add(listing->queues, &queue, sizeof(queue));
  return !listing->starved;
}

/* What the front has are the same, without labels. */
static observer_t *best_of(const doors_t *doors)
{
  observer_t *best = doors->list[0];
  for (size_t i = 1; i < doors->count; ++i)
    if (observer_kind(doors->list[i]) == DOOR_OF_LIBRARY)
      best = doors->list[i];
  return best;
}

static int by_id(const void *a, const void *b)
{
  const uint64_t one = ((const top_queue_t *)a)->id, other = ((const top_queue_t *)b)->id;
  return (one > other) - (one < other);
}

bool top_read_queues(const rawhal_limit_row_t *row, list_t *queues, bool *shown)
{
  rawhal_error_t why;
  uint64_t unlisted;
  doors_t doors = {0};
  *shown = is_here(row) && doors_open(&doors, (pid_t)row->pid, 0, &why);
  listing_t listing = {.queues = queues};
  if (*shown) {
    observer_t *observer = best_of(&doors);
    listing.observer = observer;
    observer_list(observer, see, &listing, &unlisted);
  }
  doors_close(&doors);
  if (queues->count)
    qsort(queues->items, queues->count, sizeof(top_queue_t), by_id);
  return !listing.starved;
}
