#include "hiplaunch/device/stream.h"

#include <stdlib.h>

#include "hiplaunch/device/lane.h"

enum { PRIORITY_LOW = 1, PRIORITY_HIGH = -1 };

static bool is_null(const struct ihipStream_t *stream)
{
  return stream == stream->device->streams;
}

static bool is_blocking(const struct ihipStream_t *stream)
{
  return !(stream->flags & hipStreamNonBlocking);
}

static hipError_t make(device_t *device, unsigned flags, int priority, struct ihipStream_t **made)
{
  struct ihipStream_t *stream = calloc(1, sizeof(*stream));
  *made = NULL;
  if (!stream)
    return fail(hipErrorOutOfMemory, "out of host memory");
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  hipError_t status = lane_take(device, priority, false, &stream->lane);
  if (status != hipSuccess)
    free(stream);
  else
    *made = stream;
  return status;
}

hipError_t streams_open(device_t *device)
{
  return make(device, hipStreamDefault, 0, &device->streams);
}

/* Its device is locked when it is found. */
static hipError_t find_locked(hipStream_t handle, struct ihipStream_t **found)
{
  device_t *devices, *device;
  int count;
  *found = NULL;
  hipError_t status = devices_open(&devices, &count);
  if (status == hipSuccess && !handle && !(status = device_current(&device))) {
    pthread_mutex_lock(&device->lock);
    *found = device->streams;
  }
  for (int i = 0; status == hipSuccess && !*found && i < count; ++i) {
    pthread_mutex_lock(&devices[i].lock);
    struct ihipStream_t *stream = devices[i].streams->next;
    while (stream && stream != handle)
      stream = stream->next;
    if (stream)
      *found = stream;
    else
      pthread_mutex_unlock(&devices[i].lock);
  }
  if (status == hipSuccess && !*found)
    return fail(hipErrorInvalidHandle, "%p is not a stream", (void *)handle);
  return status;
}

hipError_t stream_find(hipStream_t handle, struct ihipStream_t **stream)
{
  hipError_t status = find_locked(handle, stream);
  if (status == hipSuccess)
    stream_leave(*stream);
  return status;
}

/* ---- Order ---- */

static bool has_finished(const lane_t *lane, rawhal_ticket_t ticket)
{
  return !ticket || !rawhal_queue_wait(lane->queue, ticket, 0, NULL);
}

static rawhal_status_t flush(lane_t *lane, const rawhal_dependency_t *dependencies, size_t *count,
                             rawhal_error_t *error)
{
  rawhal_ticket_t ticket;
  if (!*count)
    return RAWHAL_OK;
  rawhal_status_t status =
      rawhal_queue_barrier(lane->queue, dependencies, *count, RAWHAL_FOREVER, &ticket, error);
  lane->last = status != RAWHAL_OK ? lane->last : ticket;
  *count = 0;
  return status;
}

static rawhal_status_t order_null(struct ihipStream_t *null, rawhal_error_t *error)
{
  rawhal_dependency_t dependencies[RAWHAL_MAX_DEPENDENCIES] = {0};
  size_t count = 0;
  rawhal_status_t status = RAWHAL_OK;
  for (struct ihipStream_t *stream = null->next; status == RAWHAL_OK && stream;
       stream = stream->next) {
    lane_t *lane = stream->lane;
    if (!is_blocking(stream) || lane->last == lane->seen_by_null)
      continue;
    if (!has_finished(lane, lane->last))
      dependencies[count++] = (rawhal_dependency_t){.queue = lane->queue, .ticket = lane->last};
    if (count == RAWHAL_MAX_DEPENDENCIES)
      status = flush(null->lane, dependencies, &count, error);
  }
  if (status == RAWHAL_OK)
    status = flush(null->lane, dependencies, &count, error);
  for (struct ihipStream_t *stream = null->next; status == RAWHAL_OK && stream;
       stream = stream->next)
    stream->lane->seen_by_null = stream->lane->last;
  return status;
}

static rawhal_status_t order(struct ihipStream_t *stream, rawhal_error_t *error)
{
  lane_t *null = stream->device->streams->lane, *lane = stream->lane;
  if (is_null(stream))
    return order_null(stream, error);
  if (!is_blocking(stream) || lane->null_seen == null->last)
    return RAWHAL_OK;
  rawhal_dependency_t dependency = {.queue = null->queue, .ticket = null->last};
  size_t count = !has_finished(null, null->last);
  rawhal_status_t status = flush(lane, &dependency, &count, error);
  lane->null_seen = status != RAWHAL_OK ? lane->null_seen : null->last;
  return status;
}

/* Whether functions of the program come before what the stream is given next. */
static bool is_held(const struct ihipStream_t *stream)
{
  const struct ihipStream_t *null = stream->device->streams;
  unsigned calls = stream->lane->calls;
  if (is_blocking(stream))
    calls += null->lane->calls;
  for (const struct ihipStream_t *at = null->next; stream == null && at; at = at->next)
    calls += is_blocking(at) ? at->lane->calls : 0;
  return calls;
}

hipError_t stream_enter(hipStream_t handle, struct ihipStream_t **stream)
{
  rawhal_error_t error;
  hipError_t status = find_locked(handle, stream);
  while (status == hipSuccess && is_held(*stream)) {
    device_t *device = (*stream)->device;
    status = calls_wait(device);
    pthread_mutex_unlock(&device->lock);
    if (status == hipSuccess)
      status = find_locked(handle, stream); /* it may have been destroyed, or have a new lane */
  }
  if (status != hipSuccess)
    return status;
  lane_t *lane = (*stream)->lane;
  events_settle(lane);
  if (order(*stream, &error)) {
    stream_leave(*stream);
    return fail_rawhal(&error, "a stream");
  }
  return hipSuccess;
}

void stream_leave(struct ihipStream_t *stream)
{
  pthread_mutex_unlock(&stream->device->lock);
}

/* Once in a stream's life. What its old lane was given comes first; others may give it more
 * meanwhile. */
hipError_t stream_need_services(struct ihipStream_t *stream)
{
  lane_t *old = stream->lane, *lane;
  rawhal_ticket_t last = 0;
  while (!old->services && (last != old->last || old->calls)) {
    last = old->last;
    stream_leave(stream);
    hipError_t status = lane_finish(old, RAWHAL_FOREVER);
    pthread_mutex_lock(&stream->device->lock);
    if (status != hipSuccess)
      return status;
    old = stream->lane;
  }
  if (old->services)
    return hipSuccess;
  hipError_t status = lane_take(stream->device, stream->priority, true, &lane);
  if (status != hipSuccess)
    return status;
  old->busy = false;
  stream->lane = lane;
  for (lane_t *other = stream->device->lanes; is_null(stream) && other; other = other->next)
    other->null_seen = 0; /* counted in the old lane's tickets */
  return hipSuccess;
}

/* ---- Making and ending ---- */

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  if (least)
    *least = PRIORITY_LOW;
  if (greatest)
    *greatest = PRIORITY_HIGH;
  return hipSuccess;
}

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
  device_t *device;
  if (!stream)
    return fail(hipErrorInvalidValue, "stream is NULL");
  if (flags & ~(unsigned)hipStreamNonBlocking)
    return fail(hipErrorInvalidValue, "unknown flags 0x%x", flags);
  *stream = NULL;
  hipError_t status = device_current(&device);
  if (status != hipSuccess)
    return status;
  priority = priority > PRIORITY_LOW    ? PRIORITY_LOW
             : priority < PRIORITY_HIGH ? PRIORITY_HIGH
                                        : priority;
  pthread_mutex_lock(&device->lock);
  status = make(device, flags, priority, stream);
  if (status == hipSuccess) {
    (*stream)->next = device->streams->next;
    device->streams->next = *stream;
  }
  pthread_mutex_unlock(&device->lock);
  return status;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
  return hipStreamCreateWithPriority(stream, flags, 0);
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
  return hipStreamCreateWithPriority(stream, hipStreamDefault, 0);
}

/* Its lane finishes what it was given; the next stream that has it comes after that. */
hipError_t hipStreamDestroy(hipStream_t handle)
{
  struct ihipStream_t *stream;
  if (!handle)
    return fail(hipErrorInvalidHandle, "the null stream cannot be destroyed");
  hipError_t status = find_locked(handle, &stream);
  if (status != hipSuccess)
    return status;
  lane_t *lane = stream->lane;
  struct ihipStream_t **at = &stream->device->streams;
  while (*at != stream)
    at = &(*at)->next;
  *at = stream->next;
  stream_leave(stream);
  free(stream);
  status = lane_finish(lane, RAWHAL_FOREVER);
  pthread_mutex_lock(&lane->device->lock);
  lane->busy = false;
  pthread_mutex_unlock(&lane->device->lock);
  return status;
}

/* ---- What a stream is ---- */

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags)
{
  struct ihipStream_t *stream;
  if (!flags)
    return fail(hipErrorInvalidValue, "flags is NULL");
  hipError_t status = stream_find(handle, &stream);
  *flags = status ? 0 : stream->flags;
  return status;
}

hipError_t hipStreamGetPriority(hipStream_t handle, int *priority)
{
  struct ihipStream_t *stream;
  if (!priority)
    return fail(hipErrorInvalidValue, "priority is NULL");
  hipError_t status = stream_find(handle, &stream);
  *priority = status ? 0 : stream->priority;
  return status;
}

hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device)
{
  struct ihipStream_t *stream;
  if (!device)
    return fail(hipErrorInvalidValue, "device is NULL");
  hipError_t status = stream_find(handle, &stream);
  *device = status ? 0 : stream->device->ordinal;
  return status;
}

/* Graphs are not served: nothing can be captured. */
hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *capture)
{
  struct ihipStream_t *stream;
  if (!capture)
    return fail(hipErrorInvalidValue, "capture is NULL");
  *capture = hipStreamCaptureStatusNone;
  return stream_find(handle, &stream);
}

/* ---- Waiting ---- */

/* Of the null stream, one lane after the other: `*before` is the one that was waited for last. */
static lane_t *next_lane(hipStream_t handle, const lane_t *before, hipError_t *status)
{
  struct ihipStream_t *stream;
  lane_t *lane = NULL;
  *status = find_locked(handle, &stream);
  if (*status)
    return NULL;
  if (!before) {
    lane = stream->lane;
  } else if (!handle) {
    const struct ihipStream_t *at = stream;
    while (at && at->lane != before)
      at = at->next;
    for (at = at ? at->next : NULL; at && !lane; at = at->next)
      lane = is_blocking(at) ? at->lane : NULL;
  }
  stream_leave(stream);
  return lane;
}

static hipError_t wait_until(hipStream_t handle, uint64_t deadline)
{
  hipError_t status;
  lane_t *lane = NULL;
  while ((lane = next_lane(handle, lane, &status))) {
    status = lane_finish(lane, deadline);
    if (status != hipSuccess)
      return status;
  }
  return status;
}

hipError_t stream_wait(hipStream_t handle)
{
  return wait_until(handle, RAWHAL_FOREVER);
}

hipError_t hipStreamSynchronize(hipStream_t handle)
{
  return wait_until(handle, RAWHAL_FOREVER);
}

hipError_t hipStreamQuery(hipStream_t handle)
{
  return wait_until(handle, 0);
}
