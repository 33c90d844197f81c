/* Which dispatches are recorded, and when: see softgpu/prober.h.
 *
 *     prober   from a dispatch to its records; rules.h says which
 *     kernels  what is planned
 *     image    code objects as they are loaded
 *     run      one dispatch's memory
 *     file     what is written
 *
 * All of it happens on the thread of the dispatch's queue, before it begins and before it is known
 * to have ended: who sees that it has finds its records in the file. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"
#include "queue/limit/parse.h"
#include "softgpu/probes/run.h"

enum { PATH_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over kernels, and what follows */
static const softgpu_prober_device_t *device;            /* that was opened first */
static rule_t *rules;
static bool is_open, has_ended; /* the file: it is there; it takes nothing any more */
static char path[PATH_BYTES];
static uint64_t bound;
static pid_t process; /* that has opened the file */

static uint64_t items_of(const softgpu_prober_dispatch_t *dispatch)
{
  uint64_t items = dispatch->grid[0];
  return checked_mul_u64(items, dispatch->grid[1], &items) &&
                 checked_mul_u64(items, dispatch->grid[2], &items)
             ? items
             : UINT64_MAX;
}

/* With `lock`. Whether it is to be recorded. */
static bool judge(kernel_t *kernel, const softgpu_prober_dispatch_t *dispatch)
{
  const rule_t *rule = kernel->rule;
  const uint64_t items = items_of(dispatch);
  if ((rule->queue != RULE_ANY && dispatch->queue != rule->queue) || items < rule->least ||
      items > rule->most)
    return false;
  const uint64_t before = kernel->seen++;
  return before >= rule->skip && (before - rule->skip) % rule->each == 0 &&
         kernel->taken < rule->first && !has_ended && !kernel->is_refused;
}

static void *begin(const softgpu_prober_dispatch_t *dispatch, softgpu_prober_wish_t *wish)
{
  run_t *run = NULL;
  pthread_mutex_lock(&lock);
  kernel_t *kernel = is_open ? kernels_take(device, rules, dispatch) : NULL;
  if (kernel && kernel->rule) {
    run = judge(kernel, dispatch) ? run_make(device, dispatch, kernel) : NULL;
    kernel->taken += run != NULL;
    *(run ? &kernel->rule->probed : &kernel->rule->kept) += 1;
  }
  if (run)
    *wish = run_wish(run);
  else if (kernel)
    kernels_give_back(kernel);
  pthread_mutex_unlock(&lock);
  return run;
}

/* A bound that was reached, a disk that is full. What was written stays. With `lock`. */
static void tell_end(const rawhal_error_t *error)
{
  char text[512];
  (void)snprintf(text, sizeof(text), "probe: the file ends here: %.400s", error->message);
  device->report(text);
  has_ended = true;
}

static void end(void *context, bool completed)
{
  run_t *run = context;
  rawhal_error_t error;
  uint64_t lost = 0;
  rule_t *rule = run->kernel->rule;
  pthread_mutex_lock(&lock);
  bool kept = !has_ended;
  if (kept && file_write(device, run, completed, &lost, &error) != RAWHAL_OK) {
    tell_end(&error);
    kept = false;
  }
  rule->lost += kept ? lost : 0;
  rule->probed -= !kept; /* it is not in the file */
  rule->kept += !kept;
  kernels_give_back(run->kernel);
  pthread_mutex_unlock(&lock);
  run_free(run);
}

static bool open_file(const softgpu_prober_device_t *opened, char *why, size_t size)
{
  rawhal_error_t error = {.message = "another device of this process has the file"};
  pthread_mutex_lock(&lock);
  if (!device) {
    device = opened;
    process = getpid();
    is_open = file_open(path, bound, &error) == RAWHAL_OK;
  }
  const bool good = is_open && device == opened;
  pthread_mutex_unlock(&lock);
  if (!good)
    (void)snprintf(why, size, "%s", error.message);
  return good;
}

/* The process ends: dispatches may run still. A child of it has nothing here. */
__attribute__((destructor)) static void finish(void)
{
  rawhal_error_t error;
  if (getpid() != process)
    return;
  pthread_mutex_lock(&lock);
  for (const rule_t *rule = is_open ? rules : NULL; rule; rule = rule->next) {
    char line[512];
    (void)snprintf(line, sizeof(line),
                   "probe: %.200s: %llu dispatches probed, %llu not, %llu records lost", rule->text,
                   (unsigned long long)rule->probed, (unsigned long long)rule->kept,
                   (unsigned long long)rule->lost);
    device->report(line);
  }
  if (is_open && file_close(&error) != RAWHAL_OK && !has_ended)
    tell_end(&error);
  is_open = false;
  has_ended = true;
  pthread_mutex_unlock(&lock);
}

static bool refuse(char *why, size_t size, const char *text)
{
  (void)snprintf(why, size, "%s", text);
  return false;
}

static bool configure(const char *lines, const char *file, const char *bytes, char *why,
                      size_t size)
{
  rawhal_error_t error;
  if (!file || !*file)
    return refuse(why, size, "SOFTGPU_PROBE_FILE must be set, too");
  if (strlen(file) >= sizeof(path))
    return refuse(why, size, "the name of SOFTGPU_PROBE_FILE is too long");
  memcpy(path, file, strlen(file) + 1);
  if (bytes && *bytes && limit_parse(bytes, RAWHAL_UNIT_BYTES, 0, &bound, &error) != RAWHAL_OK)
    return refuse(why, size, error.message);
  bound = bytes && *bytes && !bound ? 1 : bound < INT64_MAX ? bound : INT64_MAX; /* 0: no room */
  if (rules_open(lines, &rules, &error) != RAWHAL_OK)
    return refuse(why, size, error.message);
  return true;
}

__attribute__((visibility("default"))) softgpu_prober_fn softgpu_prober;

const softgpu_prober_t *softgpu_prober(const char *lines, const char *file, const char *bytes,
                                       char *why, size_t size)
{
  static const softgpu_prober_t prober = {open_file, begin, end};
  pthread_mutex_lock(&lock);
  const bool good = rules || configure(lines, file, bytes, why, size);
  pthread_mutex_unlock(&lock);
  return good ? &prober : NULL;
}
