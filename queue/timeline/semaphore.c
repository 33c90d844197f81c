/* Semaphores as the host sees them. */
#include "queue/timeline/internal.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/thread.h"
#include "debug/cause_text.h"
#include "debug/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

timelines_t timelines = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork() ---- */

/* What there is belongs to the parent: the child begins anew. */
static void fork_child(void)
{
  timelines = (timelines_t){.forks = timelines.forks + 1, .threads = timelines.threads + 1};
  (void)pthread_mutex_init(&timelines.lock, NULL);
  (void)condition_init(&timelines.changed);
}

static void open_once(void)
{
  (void)condition_init(&timelines.changed);
  (void)pthread_atfork(timelines_lock, timelines_unlock, fork_child);
}

void timelines_open(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, open_once);
}

rawhal_status_t semaphore_check(const rawhal_semaphore_t *semaphore, rawhal_error_t *error)
{
  if (!semaphore)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "semaphore is NULL");
  if (__builtin_expect(semaphore->forks == timelines.forks, 1))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_DEVICE_LOST,
                     "the semaphore belongs to the parent of this process: after fork() a child "
                     "cannot use the device of its parent");
}

/* ---- From the first to the last ---- */

rawhal_status_t semaphore_create(const queue_device_t *device, uint64_t value,
                                 rawhal_semaphore_t **semaphore, rawhal_error_t *error)
{
  rawhal_semaphore_t *made = allocate_zeroed(device->allocator, 1, sizeof(*made));
  *semaphore = made;
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a semaphore");
  device->hold();
  timelines_open();
  made->device = device;
  made->value = value;
  timelines_lock();
  made->forks = timelines.forks;
  made->number = ++timelines.numbers;
  made->next = timelines.semaphores;
  if (made->next)
    made->next->previous = made;
  timelines.semaphores = made;
  timelines.hsa = device->hsa;
  timelines.hz = device->timestamp_hz;
  timelines.allocator = device->allocator;
  timelines_unlock();
  return RAWHAL_OK;
}

void semaphore_free(rawhal_semaphore_t *semaphore)
{
  const queue_device_t *device = semaphore->device;
  allocate_free(device->allocator, semaphore);
  device->release();
}

/* What nobody uses any more. */
static void spares_free(void)
{
  for (timepoint_t *point; (point = timelines.spare_points);) {
    timelines.spare_points = point->next;
    (void)timelines.hsa->hsa_signal_destroy(point->signal);
    allocate_free(timelines.allocator, point);
  }
  for (timeline_step_t *step; (step = timelines.spare_steps);) {
    timelines.spare_steps = step->next;
    allocate_free(timelines.allocator, step);
  }
  if (timelines.bell.handle && !timelines.waiting)
    (void)timelines.hsa->hsa_signal_destroy(timelines.bell);
  if (!timelines.waiting)
    timelines.bell.handle = 0;
}

void timelines_trim(void)
{
  bool idle = !timelines.semaphores && !timelines.notices, ends = idle && timelines.started;
  pthread_t thread = timelines.thread;
  if (ends) {
    ++timelines.threads;
    timelines.started = false;
    timelines_wake();
    timelines_unlock();
    (void)pthread_join(thread, NULL);
    timelines_lock();
  }
  if (!timelines.semaphores && !timelines.notices && !timelines.queues && !timelines.sleeping &&
      !timelines.started)
    spares_free();
  timelines_unlock();
}

static void free_points(rawhal_semaphore_t *semaphore)
{
  for (timepoint_t *point; (point = semaphore->exported);) {
    semaphore->exported = point->next;
    point->exported = false;
    point_put(point);
  }
}

void rawhal_semaphore_destroy(rawhal_semaphore_t *semaphore)
{
  WITHOUT_CANCELLATION();
  if (!semaphore || semaphore_check(semaphore, NULL) != RAWHAL_OK)
    return; /* the parent uses all of it */
  rawhal_error_t cause;
  (void)!rawhal_fail(&cause, RAWHAL_DEVICE_LOST, "it was destroyed before it had");
  timelines_lock();
  timelines_settle();
  semaphore_fail_now(semaphore, &cause);
  free_points(semaphore);
  *(semaphore->previous ? &semaphore->previous->next : &timelines.semaphores) = semaphore->next;
  if (semaphore->next)
    semaphore->next->previous = semaphore->previous;
  semaphore->destroyed = true;
  const bool used = semaphore->uses > 0;
  timelines_changed();
  timelines_trim();
  if (!used)
    semaphore_free(semaphore);
}

void semaphore_keep(rawhal_semaphore_t *semaphore)
{
  if (!semaphore || semaphore_check(semaphore, NULL) != RAWHAL_OK)
    return;
  timelines_lock();
  ++semaphore->uses;
  timelines_unlock();
}

void semaphore_let(rawhal_semaphore_t *semaphore)
{
  if (!semaphore || semaphore_check(semaphore, NULL) != RAWHAL_OK)
    return;
  timelines_lock();
  const bool last = --semaphore->uses == 0 && semaphore->destroyed;
  timelines_unlock();
  if (last)
    semaphore_free(semaphore);
}

/* ---- Names ---- */

const char *semaphore_name(const rawhal_semaphore_t *semaphore, char name[SEMAPHORE_NAME_BYTES])
{
  const cause_phrase_t label = cause_quoted(label_text(semaphore->label));
  snprintf(name, SEMAPHORE_NAME_BYTES, "semaphore %" PRIu64 "%s%.64s", semaphore->number,
           *label.text ? " " : "", label.text);
  return name;
}

void rawhal_semaphore_label(rawhal_semaphore_t *semaphore, const char *label)
{
  if (semaphore_check(semaphore, NULL) != RAWHAL_OK)
    return;
  timelines_lock();
  label_copy(semaphore->label, rawhal_string(label));
  timelines_unlock();
}

bool timeline_say(uint64_t signal, print_t *to)
{
  bool found = false;
  if (pthread_mutex_trylock(&timelines.lock) != 0)
    return false;
  for (const rawhal_semaphore_t *each = timelines.semaphores; each && !found; each = each->next)
    for (const timepoint_t *point = each->first; point && !found; point = point->next)
      if (point->signal.handle == signal) {
        char name[SEMAPHORE_NAME_BYTES];
        print(to, "%" PRIu64 " of %s", point->value, semaphore_name(each, name));
        found = true;
      }
  timelines_unlock();
  return found;
}

/* ---- Values ---- */

rawhal_status_t rawhal_semaphore_value(rawhal_semaphore_t *semaphore, uint64_t *value,
                                       rawhal_error_t *error)
{
  if (value)
    *value = 0;
  rawhal_status_t status = semaphore_check(semaphore, error);
  if (status != RAWHAL_OK)
    return status;
  if (!value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  timelines_lock();
  timelines_settle();
  *value = semaphore->value;
  if (semaphore->fails_at)
    status = semaphore_cause(semaphore, error);
  timelines_unlock();
  return status;
}

/* The caller holds the lock. */
static rawhal_status_t signal_now(rawhal_semaphore_t *semaphore, uint64_t value,
                                  rawhal_error_t *error)
{
  timelines_settle();
  rawhal_status_t status = signal_check(semaphore, value, error);
  if (status == RAWHAL_OK)
    semaphore_raise(semaphore, value);
  return status;
}

rawhal_status_t rawhal_semaphore_signal(rawhal_semaphore_t *semaphore, uint64_t value,
                                        rawhal_error_t *error)
{
  rawhal_status_t status = semaphore_check(semaphore, error);
  if (status != RAWHAL_OK)
    return status;
  timelines_lock();
  status = signal_now(semaphore, value, error);
  if (status == RAWHAL_OK)
    timelines_changed();
  timelines_unlock();
  return status;
}

rawhal_status_t rawhal_semaphore_fail(rawhal_semaphore_t *semaphore, const rawhal_error_t *cause,
                                      rawhal_error_t *error)
{
  rawhal_status_t status = semaphore_check(semaphore, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_error_t taken = {.status = RAWHAL_DEVICE_LOST, .offset = RAWHAL_NO_OFFSET};
  if (cause && cause->status != RAWHAL_OK)
    taken = *cause;
  else
    (void)!rawhal_fail(&taken, RAWHAL_DEVICE_LOST, "the program has given it up");
  taken.message[sizeof(taken.message) - 1] = '\0';
  timelines_lock();
  timelines_settle();
  semaphore_fail_now(semaphore, &taken);
  timelines_changed();
  timelines_unlock();
  return RAWHAL_OK;
}

/* ---- HSA signals ---- */

/* The caller holds the lock. One that is over already may be in the other list. */
static rawhal_status_t export_point(rawhal_semaphore_t *semaphore, uint64_t value,
                                    timepoint_t **point, rawhal_error_t *error)
{
  timelines_settle();
  for (*point = semaphore->exported; *point; *point = (*point)->next)
    if ((*point)->value == value)
      return RAWHAL_OK;
  bool over = value <= semaphore->value, failed = semaphore_fails(semaphore, value);
  rawhal_status_t status = point_make(semaphore, value, point, error);
  if (status != RAWHAL_OK)
    return status;
  bool before = (*point)->exported;
  (*point)->exported = true;
  if (over || failed) {
    point_release(*point);
    point_end(*point, failed);
  } else if (point_passing(semaphore)) {
    status = timelines_thread(semaphore->device, error);
    timelines_wake();
  }
  if (status != RAWHAL_OK) {
    (*point)->exported = before;
    if (!before)
      point_put(*point);
  }
  return status;
}

rawhal_status_t rawhal_semaphore_export(rawhal_semaphore_t *semaphore, uint64_t value,
                                        uint64_t *hsa_signal, rawhal_error_t *error)
{
  if (hsa_signal)
    *hsa_signal = 0;
  rawhal_status_t status = semaphore_check(semaphore, error);
  if (status != RAWHAL_OK)
    return status;
  if (!hsa_signal)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "hsa_signal is NULL");
  timepoint_t *point;
  timelines_lock();
  status = export_point(semaphore, value, &point, error);
  if (status == RAWHAL_OK)
    *hsa_signal = point->signal.handle;
  timelines_unlock();
  return status;
}
