#include "base/quiet.h"

#include "base/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const int ours[] = {SIGPIPE, SIGXFSZ};
enum { OURS = sizeof(ours) / sizeof(*ours) };

/* Takes back what was sent to this thread meanwhile; what had been there before, blocked by the
 * program, stays. */
static void take_back(const sigset_t *pending)
{
  const struct timespec at_once = {0};
  sigset_t sent;
  (void)sigemptyset(&sent);
  for (int i = 0; i < OURS; ++i)
    if (!sigismember(pending, ours[i]))
      (void)sigaddset(&sent, ours[i]);
  while (sigtimedwait(&sent, NULL, &at_once) < 0 && errno == EINTR)
    continue;
}

void quiet_begin(quiet_t *quiet)
{
  sigset_t blocked;
  bool any = false;
  (void)sigemptyset(&blocked);
  (void)sigemptyset(&quiet->pending);
  for (int i = 0; i < OURS; ++i)
    (void)sigaddset(&blocked, ours[i]);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, &quiet->before);
  for (int i = 0; i < OURS; ++i)
    any |= sigismember(&quiet->before, ours[i]);
  if (any) /* else none can be */
    (void)sigpending(&quiet->pending);
}

void quiet_end(const quiet_t *quiet)
{
  const int code = errno;
  take_back(&quiet->pending);
  (void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
  errno = code;
}

static ssize_t write_some(int fd, const void *bytes, size_t size)
{
  quiet_t quiet;
  quiet_begin(&quiet);
  const ssize_t written = write(fd, bytes, size);
  quiet_end(&quiet);
  return written;
}

bool quiet_write(int fd, const void *bytes, size_t size)
{
  const char *at = bytes;
  WITHOUT_CANCELLATION();
  while (size) {
    const ssize_t written = write_some(fd, at, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written == 0)
      errno = EIO;
    if (written <= 0)
      return false;
    at += written;
    size -= (size_t)written;
  }
  return true;
}
