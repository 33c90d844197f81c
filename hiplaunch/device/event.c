#include <search.h>
#include <stdlib.h>

#include "hiplaunch/device/stream.h"

/* An event is a ticket of a lane, and the time at which that was passed. A queue keeps times only
 * so long, so they are taken before their place is needed. */
struct ihipEvent_t {
  struct ihipEvent_t *next; /* of those of the lane without a time yet */
  unsigned flags;
  lane_t *lane; /* NULL: never recorded */
  rawhal_ticket_t ticket;
  bool waiting, timed; /* in the lane's list; `time` is known */
  uint64_t time;       /* ns */
};

static void unlink_event(struct ihipEvent_t *event)
{
  lane_t *lane = event->lane;
  if (!event->waiting)
    return;
  struct ihipEvent_t **at = &lane->untimed;
  while (*at != event)
    at = &(*at)->next;
  *at = event->next;
  if (!*at)
    lane->untimed_end = at;
  event->waiting = false;
}

static void take_time(struct ihipEvent_t *event)
{
  uint64_t start;
  event->timed =
      !rawhal_queue_timing(event->lane->queue, event->ticket, &start, &event->time, NULL);
}

/* A submission takes the place of the one LANE_SUBMISSIONS before it, and an order's barriers may
 * come in between. */
void events_settle(lane_t *lane)
{
  enum { MARGIN = LANE_SUBMISSIONS / 4 };
  struct ihipEvent_t *event = lane->untimed;
  while (event && lane->last - event->ticket >= LANE_SUBMISSIONS - MARGIN) {
    if (!rawhal_queue_wait(lane->queue, event->ticket, RAWHAL_FOREVER, NULL))
      take_time(event);
    unlink_event(event);
    event = lane->untimed;
  }
}

/* ---- Which there are: handles of others, and of what was destroyed, are refused ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live; /* a tree of tsearch()'s, of the events themselves */

static int compare(const void *a, const void *b)
{
  return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static bool is_live(hipEvent_t event)
{
  pthread_mutex_lock(&lock);
  bool found = event && tfind(event, &live, compare);
  pthread_mutex_unlock(&lock);
  return found;
}

static hipError_t refuse(hipEvent_t event)
{
  return event ? fail(hipErrorInvalidHandle, "%p is not an event", (void *)event)
               : fail(hipErrorInvalidHandle, "event is NULL");
}

/* ---- Making and ending ---- */

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
  if (!event)
    return fail(hipErrorInvalidValue, "event is NULL");
  *event = calloc(1, sizeof(**event));
  pthread_mutex_lock(&lock);
  bool added = *event && tsearch(*event, &live, compare);
  pthread_mutex_unlock(&lock);
  if (!added) {
    free(*event);
    *event = NULL;
    return fail(hipErrorOutOfMemory, "out of host memory");
  }
  (*event)->flags = flags;
  return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
  return hipEventCreateWithFlags(event, hipEventDefault);
}

static void forget(struct ihipEvent_t *event)
{
  if (!event->lane)
    return;
  pthread_mutex_t *of_device = &event->lane->device->lock;
  pthread_mutex_lock(of_device);
  unlink_event(event);
  pthread_mutex_unlock(of_device);
  event->lane = NULL;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
  pthread_mutex_lock(&lock);
  bool found = event && tdelete(event, &live, compare);
  pthread_mutex_unlock(&lock);
  if (!found)
    return refuse(event);
  forget(event);
  free(event);
  return hipSuccess;
}

/* ---- Recording and waiting ---- */

hipError_t hipEventRecord(hipEvent_t event, hipStream_t handle)
{
  struct ihipStream_t *stream;
  rawhal_error_t error;
  if (!is_live(event))
    return refuse(event);
  forget(event);
  hipError_t status = stream_enter(handle, &stream);
  if (status != hipSuccess)
    return status;
  lane_t *lane = stream->lane;
  if (rawhal_queue_barrier(lane->queue, NULL, 0, RAWHAL_FOREVER, &event->ticket, &error)) {
    stream_leave(stream);
    return fail_rawhal(&error, "an event");
  }
  lane->last = event->ticket;
  event->lane = lane;
  event->timed = false;
  event->waiting = !(event->flags & hipEventDisableTiming);
  if (event->waiting) {
    event->next = NULL;
    *lane->untimed_end = event;
    lane->untimed_end = &event->next;
  }
  stream_leave(stream);
  return hipSuccess;
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags)
{
  return flags ? fail(hipErrorNotSupported, "recording an event with flags 0x%x", flags)
               : hipEventRecord(event, stream);
}

hipError_t hipEventQuery(hipEvent_t event)
{
  if (!is_live(event))
    return refuse(event);
  return event->lane ? lane_wait(event->lane, event->ticket, 0) : hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
  if (!is_live(event))
    return refuse(event);
  return event->lane ? lane_wait(event->lane, event->ticket, RAWHAL_FOREVER) : hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags)
{
  struct ihipStream_t *stream;
  rawhal_error_t error;
  if (!event)
    return fail(hipErrorInvalidValue, "event is NULL");
  if (!is_live(event))
    return refuse(event);
  if (flags)
    return fail(hipErrorInvalidValue, "unknown flags 0x%x", flags);
  hipError_t status = stream_enter(handle, &stream);
  if (status != hipSuccess || !event->lane) {
    if (status == hipSuccess)
      stream_leave(stream);
    return status;
  }
  lane_t *lane = stream->lane;
  const rawhal_dependency_t dependency = {.queue = event->lane->queue, .ticket = event->ticket};
  bool needed = event->lane != lane;
  rawhal_status_t failed = RAWHAL_OK;
  rawhal_ticket_t ticket = lane->last;
  if (needed)
    failed = rawhal_queue_barrier(lane->queue, &dependency, 1, RAWHAL_FOREVER, &ticket, &error);
  lane->last = failed != RAWHAL_OK ? lane->last : ticket;
  stream_leave(stream);
  return failed != RAWHAL_OK ? fail_rawhal(&error, "waiting for an event") : hipSuccess;
}

/* ---- Times ---- */

static hipError_t time_of(struct ihipEvent_t *event, uint64_t *time)
{
  hipError_t status = lane_wait(event->lane, event->ticket, 0);
  if (status != hipSuccess)
    return status;
  pthread_mutex_t *of_device = &event->lane->device->lock;
  pthread_mutex_lock(of_device);
  if (event->waiting) {
    take_time(event);
    unlink_event(event);
  }
  bool known = event->timed;
  *time = event->time;
  pthread_mutex_unlock(of_device);
  return known ? hipSuccess : fail(hipErrorUnknown, "the queue no longer knows an event's time");
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
  uint64_t from, to;
  if (!milliseconds)
    return fail(hipErrorInvalidValue, "milliseconds is NULL");
  if (!is_live(start) || !is_live(stop) || !start->lane || !stop->lane ||
      (start->flags | stop->flags) & hipEventDisableTiming)
    return fail(hipErrorInvalidHandle,
                "an event that was not recorded, or was made without timing");
  hipError_t status = time_of(start, &from);
  if (status == hipSuccess)
    status = time_of(stop, &to);
  if (status == hipSuccess)
    *milliseconds = (float)((double)(int64_t)(to - from) * 1e-6);
  return status;
}
