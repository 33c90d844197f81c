#include "debug/core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_signals.h"
#include "base/print.h"

typedef struct sink {
  int descriptor;
  bool waits; /* it is no file: its reader may be slow */
  uint64_t deadline;
} sink_t;

/* Milliseconds until the deadline; -1: there is none. */
static int left(const sink_t *sink)
{
  struct timespec now;
  if (!sink->deadline)
    return -1;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  const uint64_t ms = sink->deadline > at ? (sink->deadline - at + 999999) / 1000000 : 0;
  return ms < 1000000 ? (int)ms : 1000000;
}

/* A pipe that has room at all takes this much without waiting: pipe(7), poll(2). */
enum { PIECE = 4096 };

static bool put(void *context, const void *bytes, size_t size)
{
  const sink_t *sink = context;
  const unsigned char *from = bytes;
  if (!sink->waits)
    return write_without_signals(sink->descriptor, bytes, size);
  for (size_t piece; size; size -= piece, from += piece) {
    struct pollfd poll_it = {.fd = sink->descriptor, .events = POLLOUT};
    const long found = TEMP_FAILURE_RETRY(poll(&poll_it, 1, left(sink)));
    piece = size < PIECE ? size : PIECE;
    if (found == 0)
      errno = ETIMEDOUT;
    if (found <= 0 || !write_without_signals(sink->descriptor, from, piece))
      return false;
  }
  return true;
}

rawhal_status_t core_write_descriptor(const core_description_t *description,
                                      const core_options_t *options, int descriptor,
                                      core_written_t *written, rawhal_error_t *error)
{
  struct stat about;
  *written = (core_written_t){0};
  if (fstat(descriptor, &about))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "descriptor %d: errno %d", descriptor,
                       errno);
  sink_t sink = {descriptor, !S_ISREG(about.st_mode), options->deadline};
  return core_write(description, options, put, &sink, written, error);
}

/* ---- Files ---- */

static void print_safe(print_t *to, const char *text)
{
  for (; *text; ++text)
    print(to, "%c", *text == '/' ? '!' : *text); /* as the kernel does: core(5) */
}

static bool expand(const core_process_t *process, const char *pattern, print_t *to)
{
  char host[256] = "";
  for (const char *at = pattern; *at; ++at) {
    if (*at != '%') {
      print(to, "%c", *at);
      continue;
    }
    switch (*++at) {
    case 'p':
      print(to, "%d", process->id);
      break;
    case 'h':
      (void)gethostname(host, sizeof(host) - 1);
      print_safe(to, host);
      break;
    case 'e':
      print_safe(to, process->program ? process->program : "");
      break;
    case 't':
      print(to, "%lld", (long long)time(NULL));
      break;
    case '%':
      print(to, "%%");
      break;
    default:
      return false;
    }
  }
  return to->length > 0 && to->length < to->size;
}

/* The least of the budget and what the process may write. False: nothing. */
static bool bound(core_options_t *options)
{
  static const __rlimit_resource_t limits[] = {RLIMIT_CORE, RLIMIT_FSIZE};
  for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); ++i) {
    struct rlimit limit;
    if (getrlimit(limits[i], &limit) || limit.rlim_cur == RLIM_INFINITY)
      continue;
    if (!limit.rlim_cur)
      return false;
    if (!options->budget || limit.rlim_cur < options->budget)
      options->budget = limit.rlim_cur;
  }
  return true;
}

static rawhal_status_t write_and_name(const core_description_t *description,
                                      const core_options_t *options, int file,
                                      const char *temporary, const char *path,
                                      core_written_t *written, rawhal_error_t *error)
{
  rawhal_status_t status = core_write_descriptor(description, options, file, written, error);
  if (close(file) && status == RAWHAL_OK)
    status = rawhal_fail(error, RAWHAL_RUNTIME, "%.200s: errno %d", path, errno);
  if (status == RAWHAL_OK && rename(temporary, path))
    status = rawhal_fail(error, RAWHAL_RUNTIME, "%.200s: errno %d", path, errno);
  if (status != RAWHAL_OK) {
    (void)unlink(temporary);
    *written = (core_written_t){0};
  }
  return status;
}

/* For its owner alone: it holds what users computed with. */
static int open_new(const char *path)
{
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

rawhal_status_t core_write_file(const core_description_t *description,
                                const core_options_t *options, const char *pattern,
                                char path[CORE_PATH_BYTES], core_written_t *written,
                                rawhal_error_t *error)
{
  char temporary[CORE_PATH_BYTES + 32];
  core_options_t bounded = *options;
  print_t name = print_into(path, CORE_PATH_BYTES);
  *written = (core_written_t){0};
  if (!expand(&description->process, pattern, &name)) {
    path[0] = 0;
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%.200s' is no name for a core file",
                       pattern);
  }
  if (!bound(&bounded))
    return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "RLIMIT_CORE or RLIMIT_FSIZE is 0");
  (void)snprintf(temporary, sizeof(temporary), "%s.%d.part", path, (int)gettid());
  int file = open_new(temporary);
  if (file < 0 && errno == EEXIST && !unlink(temporary)) /* of one that was killed meanwhile */
    file = open_new(temporary);
  if (file < 0)
    return rawhal_fail(error, RAWHAL_RUNTIME, "%.200s: errno %d", temporary, errno);
  return write_and_name(description, &bounded, file, temporary, path, written, error);
}
