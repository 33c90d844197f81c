#include "front/probe/worker.h"

#include "front/probe/file.h"
#include "front/service.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "probe/plan.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake, done; /* of the thread; of who waits for it */
static const uint64_t patience = UINT64_C(10) * CLOCK_SECOND;
static pthread_t thread;
static bool has_thread, stop, ended;

/* Oldest first. */
static probed_t *to_prepare, **last_to_prepare = &to_prepare;
static probed_t *to_dispose;
static probe_run_t *to_finish, **last_to_finish = &to_finish;
static uint64_t given, finished; /* dispatches, ever */

static void take_apart(probed_t *entry)
{
  probed_unprepare(entry);
  objects_release(entry->kernel);
  free(entry->refusal);
  free(entry->key);
  free(entry);
}

/* ---- The thread; the lock is held but for the work itself ---- */

static void refuse(probed_t *entry, const char *why)
{
  entry->refusal = strdup(why);
  atomic_store(&entry->state, PROBED_REFUSED);
}

static void prepare_next(void)
{
  rawhal_error_t error;
  probed_t *entry = to_prepare;
  to_prepare = entry->next;
  if (!to_prepare)
    last_to_prepare = &to_prepare;
  if (stop) { /* nobody has any use for it */
    refuse(entry, "the process ends");
  } else {
    pthread_mutex_unlock(&lock);
    const bool made = probed_prepare(entry, &error) == RAWHAL_OK;
    pthread_mutex_lock(&lock);
    if (made)
      atomic_store(&entry->state, PROBED_READY);
    else
      refuse(entry, error.message);
  }
  (void)pthread_cond_broadcast(&done);
  pthread_mutex_unlock(&lock);
  probed_release(entry);
  pthread_mutex_lock(&lock);
}

static void finish_next(void)
{
  probe_run_t *run = to_finish;
  to_finish = run->next;
  if (!to_finish)
    last_to_finish = &to_finish;
  pthread_mutex_unlock(&lock);
  probe_file_write(run);
  probe_run_free(run);
  pthread_mutex_lock(&lock);
  ++finished;
  (void)pthread_cond_broadcast(&done);
}

static void dispose_next(void)
{
  probed_t *entry = to_dispose;
  to_dispose = entry->next;
  pthread_mutex_unlock(&lock);
  take_apart(entry);
  pthread_mutex_lock(&lock);
}

static void *work(void *context)
{
  (void)context;
  pthread_mutex_lock(&lock);
  for (;;) {
    if (to_prepare)
      prepare_next();
    else if (to_finish)
      finish_next();
    else if (to_dispose)
      dispose_next();
    else if (stop)
      break;
    else
      (void)clock_wait(&wake, &lock, UINT64_MAX);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* The caller holds the lock. False: there is no thread. */
static bool rouse(void)
{
  if (!has_thread && !ended)
    has_thread = service_thread(&thread, &wake, work, NULL, "rawhal-probe");
  if (has_thread)
    (void)pthread_cond_signal(&wake);
  return has_thread && !ended;
}

/* ---- What it is given ---- */

void probe_worker_prepare(probed_t *entry)
{
  WITHOUT_CANCELLATION();
  rawhal_error_t error;
  const bool can_be = entry->rule->engine || plan_check(entry->kernel->facts, &error) == RAWHAL_OK;
  pthread_mutex_lock(&lock);
  if (!can_be) {
    refuse(entry, error.message);
  } else if (rouse()) {
    probed_hold(entry);
    entry->next = NULL;
    *last_to_prepare = entry;
    last_to_prepare = &entry->next;
  } else {
    refuse(entry, "there is no thread for it");
  }
  pthread_mutex_unlock(&lock);
}

void probe_worker_wait(probed_t *entry)
{
  WITHOUT_CANCELLATION();
  const uint64_t until = clock_now() + patience + (entry->rule->engine ? entry->rule->limit : 0);
  pthread_mutex_lock(&lock);
  while (atomic_load(&entry->state) == PROBED_PENDING && !clock_wait(&done, &lock, until))
    continue;
  pthread_mutex_unlock(&lock);
}

void probe_worker_finish(probe_run_t *run)
{
  pthread_mutex_lock(&lock);
  const bool taken = rouse();
  if (taken) {
    run->next = NULL;
    *last_to_finish = run;
    last_to_finish = &run->next;
    ++given;
  }
  pthread_mutex_unlock(&lock);
  if (!taken)
    probe_run_free(run);
}

uint64_t probe_worker_finished(void)
{
  pthread_mutex_lock(&lock);
  const uint64_t count = finished;
  pthread_mutex_unlock(&lock);
  return count;
}

bool probe_worker_wait_finished(uint64_t known)
{
  WITHOUT_CANCELLATION();
  const uint64_t until = clock_now() + patience;
  pthread_mutex_lock(&lock);
  while (finished == known && given != finished && !clock_wait(&done, &lock, until))
    continue;
  const bool more = finished != known;
  pthread_mutex_unlock(&lock);
  return more;
}

void probe_worker_dispose(probed_t *entry)
{
  pthread_mutex_lock(&lock);
  const bool taken = has_thread && !ended;
  if (taken) {
    entry->next = to_dispose;
    to_dispose = entry;
    (void)pthread_cond_signal(&wake);
  }
  pthread_mutex_unlock(&lock);
  if (!taken)
    take_apart(entry);
}

/* ---- The end ---- */

bool probe_worker_is_ending(void)
{
  pthread_mutex_lock(&lock);
  const bool ending = ended;
  pthread_mutex_unlock(&lock);
  return ending;
}

void probe_worker_end(void)
{
  pthread_mutex_lock(&lock);
  const bool had_thread = has_thread && !ended;
  stop = ended = true;
  pthread_mutex_unlock(&lock);
  if (had_thread)
    service_thread_end(thread, &lock, &wake, &stop);
}

rawhal_status_t probe_worker_begin(rawhal_error_t *error)
{
  has_thread = stop = ended = false;
  return condition_init(&done)
             ? rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the thread of probes")
             : RAWHAL_OK;
}

void probe_worker_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  to_prepare = to_dispose = NULL;
  to_finish = NULL;
  last_to_prepare = &to_prepare;
  last_to_finish = &to_finish;
  given = finished = 0;
  has_thread = stop = ended = false;
}
