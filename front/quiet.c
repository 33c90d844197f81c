#include "front/quiet.h"

#include "base/cancel.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static const int ours[] = {SIGPIPE, SIGXFSZ};
enum { OURS = sizeof(ours) / sizeof(*ours) };

/* Takes back what the write sent to this thread; what had been there before, blocked by the
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

static ssize_t write_some(int fd, const void *bytes, size_t size)
{
  sigset_t quiet, before, pending;
  bool blocked = false;
  (void)sigemptyset(&quiet);
  (void)sigemptyset(&pending);
  for (int i = 0; i < OURS; ++i)
    (void)sigaddset(&quiet, ours[i]);
  (void)pthread_sigmask(SIG_BLOCK, &quiet, &before);
  for (int i = 0; i < OURS; ++i)
    blocked |= sigismember(&before, ours[i]);
  if (blocked) /* else none can be */
    (void)sigpending(&pending);
  const ssize_t written = write(fd, bytes, size);
  const int code = errno;
  if (written < 0 && (code == EPIPE || code == EFBIG))
    take_back(&pending);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = code;
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
