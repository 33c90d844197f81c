/* rawhal top --log: one line for each refusal. */
#include "base/list.h"
#include "tools/top/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/shared/escape.h"

enum { POLL_NS = 200000000 };

static const uint64_t second_ns = 1000000000u;

static uint64_t now_of(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

/* A time of CLOCK_MONOTONIC as UTC with milliseconds. */
static void print_time(uint64_t at)
{
  uint64_t now = now_of(CLOCK_MONOTONIC), age = now > at ? now - at : 0;
  uint64_t wall = now_of(CLOCK_REALTIME);
  wall = wall > age ? wall - age : 0;
  time_t seconds = (time_t)(wall / second_ns);
  struct tm parts;
  char text[32] = "";
  if (gmtime_r(&seconds, &parts))
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  printf("time=%s.%03uZ", text, (unsigned)(wall / 1000000 % 1000));
}

/* As a JSON string: it comes from another tenant. */
static void print_quoted(const char *key, const char *text)
{
  printf(" %s=\"", key);
  escape_json(stdout, rawhal_string(text));
  putchar('"');
}

/* As rawhal limits takes it: "1GiB". */
static void print_amount(const char *key, rawhal_limit_t limit, uint64_t value)
{
  char text[32];
  rawhal_limit_format(limit, value, text, sizeof(text));
  printf(" %s=%s", key, text);
}

static void print_denial(const rawhal_limit_denial_t *denial, uint64_t missed)
{
  print_time(denial->at_ns);
  print_quoted("device", denial->device);
  print_quoted("tenant", denial->tenant);
  printf(" pid=%" PRIu64 " limit=%s", denial->pid, rawhal_limit_info(denial->limit)->name);
  if (denial->asked != RAWHAL_UNLIMITED)
    print_amount("asked", denial->limit, denial->asked);
  print_amount("used", denial->limit, denial->used);
  print_amount("allowed", denial->limit, denial->allowed);
  if (missed)
    printf(" missed=%" PRIu64, missed);
  putchar('\n');
}

/* The numbers seen last, by slot. */
typedef struct seen {
  uint64_t *numbers;
  size_t count;
} seen_t;

static uint64_t *number_of(seen_t *seen, uint32_t slot)
{
  const size_t before = seen->count;
  if (!array_reserve(NULL, &seen->numbers, &seen->count, (size_t)slot + 1, sizeof(uint64_t)))
    return NULL;
  for (size_t i = before; i < seen->count; ++i)
    seen->numbers[i] = 0;
  return &seen->numbers[slot];
}

static int by_time(const void *a, const void *b)
{
  uint64_t x = ((const rawhal_limit_denial_t *)a)->at_ns;
  uint64_t y = ((const rawhal_limit_denial_t *)b)->at_ns;
  return (x > y) - (x < y);
}

/* What came before the first look does not count as missed. False: out of memory. */
static bool print_new(rawhal_limit_denial_t *denials, size_t count, const char *tenant,
                      seen_t *seen, bool first)
{
  qsort(denials, count, sizeof(*denials), by_time);
  for (size_t i = 0; i < count; ++i) {
    uint64_t *last = number_of(seen, denials[i].slot);
    if (!last)
      return false;
    uint64_t number = denials[i].number;
    if (number == *last)
      continue;
    /* A smaller number is a region's that began afresh. */
    uint64_t missed = !first && number > *last ? number - *last - 1 : 0;
    *last = number;
    if (!tenant || strcmp(denials[i].tenant, tenant) == 0)
      print_denial(&denials[i], missed);
  }
  return true;
}

bool top_follow_denials(const rawhal_limit_view_t *view, bool once, const char *tenant)
{
  const struct timespec pause = {.tv_nsec = POLL_NS};
  rawhal_limit_denial_t *denials = NULL;
  seen_t seen = {0};
  size_t room = 0;
  bool done, first = true;
  do {
    size_t count = rawhal_limit_view_denials(view, NULL, sizeof(*denials), 0);
    done = array_reserve(NULL, &denials, &room, count + 16, sizeof(*denials));
    count = done ? rawhal_limit_view_denials(view, denials, sizeof(*denials), room) : 0;
    done = done && print_new(denials, count < room ? count : room, tenant, &seen, first);
    first = false;
  } while (done && !fflush(stdout) && !ferror(stdout) && !once && nanosleep(&pause, NULL) == 0);
  free(denials);
  free(seen.numbers);
  return done;
}
