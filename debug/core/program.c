#include "debug/core/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "debug/core/errno_text.h"
#include "debug/core/late.h"

/* ---- Begin ---- */

/* What the program that failed has blocked and ignores is its business alone. */
static int set_attributes(posix_spawnattr_t *attributes, short flags)
{
  sigset_t none, defaults;
  (void)sigemptyset(&none);
  (void)sigemptyset(&defaults);
  (void)sigaddset(&defaults, SIGPIPE);
  (void)sigaddset(&defaults, SIGXFSZ);
  (void)posix_spawnattr_setsigmask(attributes, &none);
  (void)posix_spawnattr_setsigdefault(attributes, &defaults);
  return posix_spawnattr_setflags(attributes,
                                  (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

int program_spawn(const char *const *words, char *const *environment,
                  const posix_spawn_file_actions_t *actions, short flags, pid_t *child)
{
  posix_spawnattr_t attributes;
  int why = posix_spawnattr_init(&attributes);
  if (why)
    return why;
  why = set_attributes(&attributes, flags);
  why = why ? why
            : posix_spawn(child, words[0], actions, &attributes, (char *const *)(uintptr_t)words,
                          environment);
  (void)posix_spawnattr_destroy(&attributes);
  return why;
}

static int spawn(const char *const *words, int standard_input, pid_t *child)
{
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why)
    return why;
  why = posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  why = why ? why : program_spawn(words, environ, &actions, 0, child);
  (void)posix_spawn_file_actions_destroy(&actions);
  return why;
}

rawhal_status_t program_start(const char *const *words, int *input, pid_t *child,
                              rawhal_error_t *error)
{
  int ends[2];
  *input = -1;
  if (pipe2(ends, O_CLOEXEC))
    return rawhal_fail(error, RAWHAL_RUNTIME, "no pipe: %s", errno_text(errno));
  const int why = spawn(words, ends[0], child);
  (void)close(ends[0]);
  if (!why) {
    *input = ends[1];
    return RAWHAL_OK;
  }
  (void)close(ends[1]);
  return rawhal_fail(error, RAWHAL_RUNTIME, "'%.200s' cannot be started: %s", words[0],
                     errno_text(why));
}

/* ---- End ---- */

bool program_wait(pid_t child, uint64_t deadline, int *status, pid_t *ended)
{
  struct pollfd poll_it = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
  int options = deadline ? WNOHANG : 0;
  if (poll_it.fd >= 0) {
    const long found = TEMP_FAILURE_RETRY(poll(&poll_it, 1, late_left(deadline)));
    (void)close(poll_it.fd);
    options = found > 0 ? 0 : WNOHANG;
  }
  *ended = (pid_t)TEMP_FAILURE_RETRY(waitpid(child, status, options | __WALL));
  return *ended != 0;
}

rawhal_status_t program_end(pid_t child, uint64_t deadline, rawhal_error_t *error)
{
  int status = 0;
  pid_t ended;
  if (!program_wait(child, deadline, &status, &ended))
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "the program that takes it has not ended");
  if (ended < 0 || (WIFEXITED(status) && !WEXITSTATUS(status)))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_RUNTIME, "the program that takes it ended with %s %d",
                     WIFEXITED(status) ? "status" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
