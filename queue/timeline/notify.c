/* Descriptors, and the process's thread, which sees to it that they are written to. */
#include "queue/timeline/internal.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- The thread ---- */

static bool has_work(void)
{
  if (timelines.notices)
    return true;
  for (const rawhal_semaphore_t *each = timelines.semaphores; each; each = each->next)
    if (point_passing(each))
      return true;
  return false;
}

static void *serve(void *data)
{
  const uint64_t me = (uint64_t)(uintptr_t)data;
  timelines_lock();
  while (timelines.threads == me) {
    timelines_settle();
    if (has_work())
      timelines_sleep(RAWHAL_FOREVER);
    else
      (void)clock_wait(&timelines.changed, &timelines.lock, UINT64_MAX);
  }
  timelines_unlock();
  return NULL;
}

rawhal_status_t timelines_thread(const queue_device_t *device, rawhal_error_t *error)
{
  rawhal_status_t status = timelines_bell(device, error);
  if (status != RAWHAL_OK || timelines.started)
    return status;
  if (thread_start(&timelines.thread, serve, (void *)(uintptr_t)timelines.threads) != 0)
    return rawhal_fail(error, RAWHAL_RUNTIME, "no thread for semaphores");
  timelines.started = true;
  return RAWHAL_OK;
}

/* ---- Descriptors ---- */

/* One whose count is full stays as it is: it is readable. */
static void tell(int descriptor)
{
  static const uint64_t one = 1;
  struct pollfd room = {.fd = descriptor, .events = POLLOUT};
  if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT) {
    ssize_t written;
    do
      written = write(descriptor, &one, sizeof(one));
    while (written < 0 && errno == EINTR);
  }
}

static void notice_free(timeline_notice_t *notice)
{
  WITHOUT_CANCELLATION();
  (void)close(notice->descriptor);
  allocate_free(notice->allocator, notice);
}

void notices_serve(void)
{
  WITHOUT_CANCELLATION();
  for (timeline_notice_t **at = &timelines.notices, *notice; (notice = *at);) {
    const rawhal_queue_t *queue = notice->wait.queue;
    if (wait_state(&notice->wait) == WAIT_PENDING && !(queue && queue->timeline.leaving)) {
      at = &notice->next;
      continue;
    }
    *at = notice->next;
    tell(notice->descriptor);
    notice_free(notice);
  }
}

/* An eventfd is told by its name only. */
static rawhal_status_t check_descriptor(int descriptor, rawhal_error_t *error)
{
  char path[64], target[64];
  (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof(target) - 1);
  if (length < 0 && errno != ENOENT && fcntl(descriptor, F_GETFD) >= 0)
    return RAWHAL_OK; /* there is no /proc here */
  target[length < 0 ? 0 : length] = '\0';
  if (strcmp(target, "anon_inode:[eventfd]") == 0)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "descriptor %d is no eventfd", descriptor);
}

static rawhal_status_t notice_make(const queue_device_t *device, const rawhal_wait_t *wait,
                                   int descriptor, timeline_notice_t **notice,
                                   rawhal_error_t *error)
{
  rawhal_status_t status = check_descriptor(descriptor, error);
  if (status != RAWHAL_OK)
    return status;
  timeline_notice_t *made = allocate_zeroed(device->allocator, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a descriptor");
  made->allocator = device->allocator;
  made->wait = *wait;
  made->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (made->descriptor < 0) {
    int code = errno;
    allocate_free(device->allocator, made);
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "duplicating descriptor %d: %s", descriptor,
                       strerror(code));
  }
  *notice = made;
  return RAWHAL_OK;
}

static rawhal_status_t notify(const queue_device_t *device, const rawhal_wait_t *wait,
                              int descriptor, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  timeline_notice_t *notice = NULL;
  rawhal_status_t status = notice_make(device, wait, descriptor, &notice, error);
  if (status != RAWHAL_OK)
    return status;
  timelines_open();
  timelines_lock();
  status = timelines_thread(device, error);
  if (status == RAWHAL_OK) {
    notice->next = timelines.notices;
    timelines.notices = notice;
    timelines_settle();
    timelines_wake();
  }
  timelines_unlock();
  if (status != RAWHAL_OK)
    notice_free(notice);
  return status;
}

rawhal_status_t rawhal_semaphore_notify(rawhal_semaphore_t *semaphore, uint64_t value, int eventfd,
                                        rawhal_error_t *error)
{
  rawhal_status_t status = semaphore_check(semaphore, error);
  if (status != RAWHAL_OK)
    return status;
  return notify(semaphore->device, &(rawhal_wait_t){semaphore, value, NULL, 0}, eventfd, error);
}

rawhal_status_t rawhal_queue_notify(rawhal_queue_t *queue, rawhal_ticket_t ticket, int eventfd,
                                    rawhal_error_t *error)
{
  rawhal_status_t status = queue_check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  if (atomic_load(&queue->health) == QUEUE_FORKED)
    return queue_check(queue, error);
  return notify(queue->device, &(rawhal_wait_t){NULL, 0, queue, ticket}, eventfd, error);
}
