#include "queue/watchdog.h"

#include "queue/limit/parse.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the word is the name of one. */
static bool read_action(const char *word, size_t size, watchdog_action_t *action)
{
  static const char *const names[WATCHDOG_ACTIONS] = {"report", "dump", "fail", "device", "abort"};
  for (int i = 0; i < WATCHDOG_ACTIONS; ++i)
    if (strlen(names[i]) == size && !memcmp(names[i], word, size)) {
      *action = (watchdog_action_t)i;
      return true;
    }
  return false;
}

static bool begins(const char *word, const char *with)
{
  return !strncmp(word, with, strlen(with));
}

/* "fail", "kernel:fail" or "wait:fail". */
static bool read_word(const char *word, size_t size, watchdog_settings_t *settings)
{
  const bool kernel = begins(word, "kernel:"), wait = begins(word, "wait:");
  const size_t named = kernel ? strlen("kernel:") : wait ? strlen("wait:") : 0;
  watchdog_action_t action;
  if (size < named || !read_action(word + named, size - named, &action))
    return false;
  if (!wait)
    settings->kernels = action;
  if (!kernel)
    settings->waits = action;
  return true;
}

static bool read_settings(const char *text, watchdog_settings_t *settings)
{
  char duration[32];
  size_t size = strcspn(text, ",");
  snprintf(duration, sizeof(duration), "%.*s", (int)size, text);
  bool understood =
      size < sizeof(duration) &&
      limit_parse(duration, RAWHAL_UNIT_DURATION, 0, &settings->limit, NULL) == RAWHAL_OK &&
      settings->limit;
  for (const char *word = text + size; understood && *word == ','; word += size) {
    size = strcspn(++word, ",");
    understood = read_word(word, size, settings);
  }
  return understood;
}

rawhal_status_t watchdog_read(watchdog_settings_t *settings, rawhal_error_t *error)
{
  const char *text = secure_getenv("RAWHAL_WATCHDOG");
  *settings = (watchdog_settings_t){0};
  if (!text || !*text || !strcmp(text, "off") || read_settings(text, settings))
    return RAWHAL_OK;
  *settings = (watchdog_settings_t){0};
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "RAWHAL_WATCHDOG: expected off, or a duration such as 10s, and behind commas "
                     "report, dump, fail, device or abort, each also as kernel:fail or wait:fail, "
                     "got '%.40s'",
                     text);
}

/* Eight looks a limit: a hang is told after one and an eighth at the latest. */
uint64_t watchdog_pause(uint64_t limit)
{
  return clock_clamp(limit / 8, CLOCK_SECOND / 1000, CLOCK_SECOND);
}

/* A thread that sleeps for a pause may wake somewhat later. */
uint64_t watchdog_passed(uint64_t before, uint64_t now, uint64_t pause)
{
  return clock_clamp(now - before, 0, 2 * pause);
}

static void *watch(void *context)
{
  watchdog_t *watchdog = context;
  const uint64_t pause = watchdog_pause(watchdog->settings.limit);
  uint64_t now = 0, before = clock_now();
  pthread_mutex_lock(&watchdog->lock);
  while (!watchdog->stops) {
    (void)clock_wait(&watchdog->wake, &watchdog->lock, clock_now() + pause);
    if (watchdog->stops)
      break;
    pthread_mutex_unlock(&watchdog->lock);
    const uint64_t seen = clock_now();
    now += watchdog_passed(before, seen, pause);
    before = seen;
    watchdog->look(&watchdog->settings, now);
    pthread_mutex_lock(&watchdog->lock);
  }
  pthread_mutex_unlock(&watchdog->lock);
  return NULL;
}

rawhal_status_t watchdog_start(watchdog_t *watchdog, const watchdog_settings_t *settings,
                               watchdog_look_fn *look, rawhal_error_t *error)
{
  if (!settings->limit)
    return RAWHAL_OK;
  watchdog->settings = *settings;
  watchdog->look = look;
  watchdog->stops = false;
  watchdog->runs =
      !condition_init(&watchdog->wake) && !thread_start(&watchdog->thread, watch, watchdog);
  return watchdog->runs ? RAWHAL_OK
                        : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no thread for the watchdog");
}

void watchdog_stop(watchdog_t *watchdog)
{
  if (!watchdog->runs)
    return;
  pthread_mutex_lock(&watchdog->lock);
  watchdog->stops = true;
  pthread_cond_signal(&watchdog->wake);
  pthread_mutex_unlock(&watchdog->lock);
  if (pthread_equal(watchdog->thread, pthread_self()))
    return; /* what it has told has ended the process */
  (void)pthread_join(watchdog->thread, NULL);
  pthread_cond_destroy(&watchdog->wake);
  watchdog->runs = false;
}
