#include "base/file_signals.h"

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

void file_signals_block(file_signals_t *signals)
{
  sigset_t blocked;
  bool any = false;
  (void)sigemptyset(&blocked);
  (void)sigemptyset(&signals->pending);
  for (int i = 0; i < OURS; ++i)
    (void)sigaddset(&blocked, ours[i]);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, &signals->before);
  for (int i = 0; i < OURS; ++i)
    any |= sigismember(&signals->before, ours[i]);
  if (any) /* else none can be */
    (void)sigpending(&signals->pending);
}

void file_signals_restore(const file_signals_t *signals)
{
  const int code = errno;
  take_back(&signals->pending);
  (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
  errno = code;
}

bool write_without_signals(int fd, const void *bytes, size_t size)
{
  file_signals_t signals;
  WITHOUT_CANCELLATION();
  file_signals_block(&signals);
  const bool whole = write_whole(fd, bytes, size);
  file_signals_restore(&signals);
  return whole;
}
