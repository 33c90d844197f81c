#include "queue/limit/clock.h"

#include "base/cancel.h"
#include "base/error.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000u;

static uint64_t real_now(void *context)
{
  (void)context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

static void real_wait(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  (void)context;
  struct timespec at = {.tv_sec = (time_t)(until / second_ns),
                        .tv_nsec = (long)(until % second_ns)};
  /* WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. A time beyond 2^63 ns never comes. */
  struct timespec *limit = until > INT64_MAX ? NULL : &at;
  (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, limit, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void real_wake(void *context, _Atomic uint32_t *word)
{
  (void)context;
  (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

const limit_clock_t limit_clock_real = {NULL, real_now, real_wait, real_wake};

/* The file is of the namespace that children come to, which must be this one's. */
static bool is_our_own(void)
{
  struct stat own, childrens;
  return stat("/proc/self/ns/time", &own) == 0 &&
         stat("/proc/self/ns/time_for_children", &childrens) == 0 && own.st_ino == childrens.st_ino;
}

rawhal_status_t limit_clock_check(rawhal_error_t *error)
{
  char text[256];
  long long seconds = 0, ns = 0;
  WITHOUT_CANCELLATION(); /* callers hold locks */
  const int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  if (fd < 0) /* a kernel without them */
    return RAWHAL_OK;
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char *line = strstr(text, "monotonic");
  const bool known =
      line && sscanf(line, "monotonic %lld %lld", &seconds, &ns) == 2 && is_our_own();
  if (known && seconds == 0 && ns == 0)
    return RAWHAL_OK;
  return rawhal_fail(
      error, RAWHAL_UNSUPPORTED,
      "this process is in a time namespace whose clock is %s that of the machine: it "
      "cannot share a region",
      known ? "ahead of, or behind," : "perhaps not");
}
