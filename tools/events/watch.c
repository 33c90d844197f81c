/* rawhal events: what processes tell, as it comes. */
#include "tools/events/events.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A look that finds nothing waits twice as long as the one before: the ring has room for a
 * thousandth of a second of what the fastest program does, and for hours of others. */
enum { LEAST_NAP_MS = 1, MOST_NAP_MS = 8, NAPS_BETWEEN_SEARCHES = 16 };

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
  (void)signal;
  interrupted = 1;
}

/* ---- What exists ---- */

typedef struct listed {
  rawhal_event_t event;
  events_source_t source;
  char text[256];
} listed_t;

typedef struct watch {
  events_output_t *output;
  doors_t *doors;
  list_t listed; /* listed_t of the door that is looked at */
  bool starved;
  struct door {
    events_source_t source;
    rawhal_event_t event; /* that comes next, if there is one */
    bool has_event;
    uint64_t lost; /* in front of it */
    list_t known;  /* listed_t of what was there, as long as it may be told again */
    uint64_t known_until;
  } door[DOORS_MOST];
} watch_t;

static bool keep(void *context, const rawhal_event_t *event)
{
  watch_t *watch = context;
  listed_t *listed = list_add(&watch->listed, NULL, sizeof(*listed));
  watch->starved |= !listed;
  if (!listed)
    return false;
  const size_t size =
      event->text.size < sizeof(listed->text) ? event->text.size : sizeof(listed->text);
  listed->event = *event;
  if (size)
    memcpy(listed->text, event->text.data, size);
  listed->event.text.size = size;
  return true;
}

static int by_time(const void *a, const void *b)
{
  const uint64_t one = ((const listed_t *)a)->event.time, other = ((const listed_t *)b)->event.time;
  return (one > other) - (one < other);
}

/* Of one door, in the order in which it came. */
static bool list_door(watch_t *watch, size_t index)
{
  struct door *door = &watch->door[index];
  uint64_t unlisted;
  watch->listed = (list_t){0};
  door->source.exists = true;
  observer_list(watch->doors->list[index], keep, watch, &unlisted);
  door->known_until = clock_now();
  listed_t *all = watch->listed.items;
  if (all)
    qsort(all, watch->listed.count, sizeof(*all), by_time);
  for (size_t i = 0; i < watch->listed.count; ++i) {
    all[i].event.text.data = all[i].text; /* where it is now */
    events_put(watch->output, &door->source, &all[i].event);
  }
  events_put_lost(watch->output, &door->source, unlisted);
  door->source.exists = false;
  door->known = watch->listed;
  return !watch->starved;
}

/* What came while the list was read stands there and is told, too. */
static bool is_known(struct door *door, const rawhal_event_t *event)
{
  const listed_t *all = door->known.items;
  if (!all)
    return false;
  if (event->time > door->known_until) {
    list_free(&door->known);
    door->known = (list_t){0};
    return false;
  }
  for (size_t i = 0; i < door->known.count; ++i)
    if (all[i].event.type == event->type && all[i].event.id == event->id &&
        all[i].event.queue_id == event->queue_id &&
        all[i].event.kernel_object == event->kernel_object)
      return true;
  return false;
}

/* ---- What happens ---- */

/* Of the events that come next, the earliest. False: there are none now. */
static bool put_next(watch_t *watch)
{
  struct door *first = NULL;
  for (size_t i = 0; i < watch->doors->count; ++i) {
    struct door *door = &watch->door[i];
    if (!door->has_event)
      door->has_event = observer_next(watch->doors->list[i], &door->event, &door->lost);
    if (door->has_event && (!first || door->event.time < first->event.time))
      first = door;
    else if (!door->has_event && door->lost) {
      events_put_lost(watch->output, &door->source, door->lost);
      door->lost = 0;
    }
  }
  if (!first)
    return false;
  events_put_lost(watch->output, &first->source, first->lost);
  first->lost = 0;
  first->has_event = false;
  if (!is_known(first, &first->event))
    events_put(watch->output, &first->source, &first->event);
  return true;
}

typedef struct learner {
  events_output_t *output;
  unsigned door;
} learner_t;

/* Kernels and labels whose events were lost still stand in the list. */
static bool learn(void *context, const rawhal_event_t *event)
{
  const learner_t *learner = context;
  kernels_learn(&learner->output->kernels, event);
  labels_learn(&learner->output->labels, learner->door, event);
  return true;
}

/* Those from `from` on. Kernels are wanted for their names. */
static bool begin_doors(watch_t *watch, size_t from, bool whole)
{
  for (size_t i = from; i < watch->doors->count; ++i) {
    observer_t *observer = watch->doors->list[i];
    watch->door[i] = (struct door){
        .source = {.door = observer_kind(observer), .opened = observer_opened(observer)}};
    if (!watch->output->request->list)
      observer_want(observer, RAWHAL_EVENTS_ALL);
    if (whole) {
      uint64_t unlisted;
      learner_t learner = {watch->output, observer_kind(observer)};
      observer_rewind(observer);
      observer_list(observer, learn, &learner, &unlisted);
    } else if (!list_door(watch, i)) {
      return false;
    }
  }
  return true;
}

static bool flush(events_output_t *output)
{
  if (output->file.out && fflush(output->file.out) != 0 && !output->file.problem)
    return false;
  return !fflush(stdout) && !ferror(stdout);
}

/* False: no memory. */
static bool follow(watch_t *watch, bool whole)
{
  rawhal_error_t none;
  unsigned naps = 0;
  for (int nap = LEAST_NAP_MS, alive = 1; !interrupted;) {
    bool any = false;
    while (!interrupted && put_next(watch))
      any = true;
    if (!flush(watch->output) || !alive)
      return true;
    const size_t before = watch->doors->count;
    if (before < DOORS_MOST && (whole || naps++ % NAPS_BETWEEN_SEARCHES == 0) &&
        doors_look(watch->doors, &none) && !begin_doors(watch, before, whole))
      return false;
    nap = any ? LEAST_NAP_MS : nap < MOST_NAP_MS ? 2 * nap : MOST_NAP_MS;
    alive = observer_wait(watch->doors->list[0], nap);
  }
  return true;
}

bool events_watch(events_output_t *output, doors_t *doors, bool whole, rawhal_error_t *error)
{
  watch_t watch = {.output = output, .doors = doors};
  const struct sigaction action = {.sa_handler = interrupt};
  if (!whole) { /* else they are the program's, which says when it is over */
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
  }
  bool done = begin_doors(&watch, 0, whole);
  if (done && !output->request->list)
    done = follow(&watch, whole);
  for (size_t i = 0; i < DOORS_MOST; ++i)
    list_free(&watch.door[i].known);
  return done || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what exists");
}
