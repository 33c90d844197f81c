#include <stdio.h>
#include <stdlib.h>

#include "hiplaunch/device/lane.h"

/* ---- What kernels print ---- */

static void print(void *context, rawhal_services_stream_t stream, const char *text, size_t size)
{
  (void)context;
  fwrite(text, 1, size, stream == RAWHAL_SERVICES_STDERR ? stderr : stdout);
}

/* ---- Lanes ---- */

static rawhal_status_t open_queue(lane_t *lane, bool services, rawhal_error_t *error)
{
  static const rawhal_queue_priority_t priorities[] = {
      RAWHAL_QUEUE_PRIORITY_HIGH, RAWHAL_QUEUE_PRIORITY_DEFAULT, RAWHAL_QUEUE_PRIORITY_LOW};
  rawhal_status_t status = RAWHAL_OK;
  if (services)
    status =
        rawhal_services_create(lane->device->device, &(rawhal_services_options_t){.output = print},
                               &lane->services, error);
  const rawhal_queue_options_t options = {
      .submissions = LANE_SUBMISSIONS,
      .priority = priorities[lane->priority + 1],
      .services = rawhal_services_queue(lane->services),
  };
  if (status == RAWHAL_OK)
    status = rawhal_queue_create(lane->device->device, &options, &lane->queue, error);
  if (status != RAWHAL_OK)
    rawhal_services_destroy(lane->services);
  return status;
}

hipError_t lane_take(device_t *device, int priority, bool services, lane_t **taken)
{
  rawhal_error_t error;
  rawhal_queue_info_t info = {.size = sizeof(info)};
  for (lane_t *lane = device->lanes; lane; lane = lane->next) {
    if (lane->busy || lane->priority != priority || services != (lane->services != NULL))
      continue;
    rawhal_queue_info(lane->queue, &info);
    if (info.status)
      continue;
    lane->busy = true;
    *taken = lane;
    return hipSuccess;
  }
  *taken = NULL;
  lane_t *lane = calloc(1, sizeof(*lane));
  if (!lane)
    return fail(hipErrorOutOfMemory, "out of host memory");
  lane->device = device;
  lane->priority = priority;
  lane->busy = true;
  lane->untimed_end = &lane->untimed;
  if (open_queue(lane, services, &error)) {
    free(lane);
    return fail_rawhal(&error, "a queue for a stream");
  }
  lane->next = device->lanes;
  device->lanes = lane;
  *taken = lane;
  return hipSuccess;
}

/* ---- Waiting ---- */

hipError_t lane_wait(lane_t *lane, rawhal_ticket_t ticket, uint64_t deadline)
{
  rawhal_error_t error;
  if (!ticket)
    return hipSuccess;
  switch (rawhal_queue_wait(lane->queue, ticket, deadline, &error)) {
  case RAWHAL_OK:
    return hipSuccess;
  case RAWHAL_WOULD_BLOCK:
    return hipErrorNotReady;
  default:
    return fail_rawhal(&error, NULL);
  }
}

/* Lanes are only ever added, at the front: a list that was read once stays good. */
static lane_t *lanes_of(device_t *device)
{
  pthread_mutex_lock(&device->lock);
  lane_t *lanes = device->lanes;
  pthread_mutex_unlock(&device->lock);
  return lanes;
}

hipError_t lane_finish(lane_t *lane, uint64_t deadline)
{
  device_t *device = lane->device;
  pthread_mutex_lock(&device->lock);
  rawhal_ticket_t last = lane->last;
  pthread_mutex_unlock(&device->lock);
  hipError_t status = lane_wait(lane, last, deadline);
  if (status != hipSuccess)
    return status;
  pthread_mutex_lock(&device->lock);
  while (status == hipSuccess && lane->calls)
    status = deadline ? calls_wait(device) : hipErrorNotReady;
  pthread_mutex_unlock(&device->lock);
  return status;
}

void device_settle(device_t *device)
{
  for (lane_t *lane = lanes_of(device); lane; lane = lane->next)
    if (lane_finish(lane, RAWHAL_FOREVER))
      continue; /* the thread that submitted it is told */
}

void devices_settle(void)
{
  device_t *devices;
  int count = devices_opened(&devices);
  for (int i = 0; i < count; ++i)
    device_settle(&devices[i]);
}

hipError_t hipDeviceSynchronize(void)
{
  device_t *device;
  hipError_t status = device_current(&device), first = hipSuccess;
  if (status != hipSuccess)
    return status;
  for (lane_t *lane = lanes_of(device); lane; lane = lane->next) {
    status = lane_finish(lane, RAWHAL_FOREVER);
    first = first ? first : status;
  }
  return first;
}
