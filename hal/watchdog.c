/* RAWHAL_WATCHDOG=10s: what has run for so long without an end is reported, once; with
 * ",fail" behind it the queue fails then, too. */
#include "hal/watchdog.h"

#include "hal/log.h"
#include "queue/hang.h"
#include "queue/limit/parse.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake; /* of CLOCK_MONOTONIC */
  pthread_t thread;
  bool runs, stops, fails;
  uint64_t limit; /* ns */
} watchdog = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* "10s", "10s,report" or "10s,fail". */
static rawhal_status_t read_environment(uint64_t *limit, bool *fails, rawhal_error_t *error)
{
  const char *text = secure_getenv("RAWHAL_WATCHDOG");
  *limit = 0;
  if (!text || !*text || !strcmp(text, "off"))
    return RAWHAL_OK;
  char duration[32];
  const char *comma = strchr(text, ',');
  const size_t size = comma ? (size_t)(comma - text) : strlen(text);
  snprintf(duration, sizeof(duration), "%.*s", (int)size, text);
  *fails = comma && !strcmp(comma, ",fail");
  if (size >= sizeof(duration) || (comma && !*fails && strcmp(comma, ",report")) ||
      limit_parse(duration, RAWHAL_UNIT_DURATION, 0, limit, NULL) != RAWHAL_OK || *limit == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_WATCHDOG: expected off, or a duration such as 10s, 10s,report or "
                       "10s,fail, got '%s'",
                       text);
  return RAWHAL_OK;
}

static void tell(void *context, const char *message)
{
  (void)context;
  hal_log(RAWHAL_SEVERITY_ERROR, "%s", message);
}

/* Eight looks a limit: a hang is told after one and an eighth at the latest. */
static void *watch(void *unused)
{
  (void)unused;
  const uint64_t pause = clock_clamp(watchdog.limit / 8, CLOCK_SECOND / 1000, CLOCK_SECOND);
  pthread_mutex_lock(&watchdog.lock);
  while (!watchdog.stops) {
    (void)clock_wait(&watchdog.wake, &watchdog.lock, clock_now() + pause);
    if (watchdog.stops)
      break;
    pthread_mutex_unlock(&watchdog.lock);
    queues_find_hangs(clock_now(), watchdog.limit, watchdog.fails ? NULL : tell, NULL);
    pthread_mutex_lock(&watchdog.lock);
  }
  pthread_mutex_unlock(&watchdog.lock);
  return NULL;
}

rawhal_status_t watchdog_start(rawhal_error_t *error)
{
  rawhal_status_t status = read_environment(&watchdog.limit, &watchdog.fails, error);
  if (status != RAWHAL_OK || !watchdog.limit)
    return status;
  watchdog.stops = false;
  watchdog.runs = !condition_init(&watchdog.wake) && !thread_start(&watchdog.thread, watch, NULL);
  return watchdog.runs ? RAWHAL_OK
                       : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no thread for the watchdog");
}

void watchdog_stop(void)
{
  if (!watchdog.runs)
    return;
  pthread_mutex_lock(&watchdog.lock);
  watchdog.stops = true;
  pthread_cond_signal(&watchdog.wake);
  pthread_mutex_unlock(&watchdog.lock);
  (void)pthread_join(watchdog.thread, NULL);
  pthread_cond_destroy(&watchdog.wake);
  watchdog.runs = false;
}
