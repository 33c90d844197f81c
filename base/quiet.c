#include "base/quiet.h"

#include "base/cancel.h"
#include "base/whole.h"

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
  (void)TEMP_FAILURE_RETRY(sigtimedwait(&sent, NULL, &at_once));
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

bool quiet_write(int fd, const void *bytes, size_t size)
{
  quiet_t quiet;
  WITHOUT_CANCELLATION();
  quiet_begin(&quiet);
  const bool whole = write_whole(fd, bytes, size);
  quiet_end(&quiet);
  return whole;
}
