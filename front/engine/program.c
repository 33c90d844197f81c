#include "front/engine/program.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "debug/core/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The environment ---- */

static list_t variables; /* char *; the last is NULL */

rawhal_status_t engine_programs_open(rawhal_error_t *error)
{
  static const char ours[] = "RAWHAL_PROBE"; /* and what begins so */
  char *copy = NULL;
  bool whole = true;
  for (char **at = environ; whole && at && *at; ++at)
    if (strncmp(*at, ours, sizeof(ours) - 1) != 0)
      whole = (copy = strdup(*at)) && list_add(&variables, &copy, sizeof(copy));
  char *const end = NULL;
  if (whole && list_add(&variables, &end, sizeof(end)))
    return RAWHAL_OK;
  engine_programs_close();
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the engine's environment");
}

void engine_programs_close(void)
{
  char **all = variables.items;
  for (size_t i = 0; i < variables.count; ++i)
    free(all[i]);
  list_free(&variables);
  variables = (list_t){0};
}

/* ---- Running ---- */

/* Of glibc from 2.34 on; a front that is built there still starts where an older one is. */
static int close_from(posix_spawn_file_actions_t *actions, int first)
{
  int (*add)(posix_spawn_file_actions_t *, int);
  *(void **)&add = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
  return add ? add(actions, first) : ENOSYS;
}

#define ENGINE_FILE_BLOCKS "524288" /* 256 MiB, in a shell's blocks of 512 bytes */

static int add_descriptors(posix_spawn_file_actions_t *actions, const char *log)
{
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  int why = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  why =
      why ? why
          : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, log, flags, S_IRUSR | S_IWUSR);
  why = why ? why : posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  return why ? why : close_from(actions, STDERR_FILENO + 1);
}

/* A shell takes the limits before it becomes the program: set on a process that runs already, they
 * would not be those of what it has started by then. */
static int start(const engine_program_t *program, pid_t *child)
{
  static const char *const limited = "ulimit -c 0; ulimit -f " ENGINE_FILE_BLOCKS " 2>/dev/null; "
                                     "exec \"$0\" \"$1\"";
  const char *const words[] = {"/bin/sh", "-c", limited, program->path, program->argument, NULL};
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why)
    return why;
  why = add_descriptors(&actions, program->log);
  why = why ? why : program_spawn(words, variables.items, &actions, POSIX_SPAWN_SETPGROUP, child);
  (void)posix_spawn_file_actions_destroy(&actions);
  return why;
}

/* False: it was ended. It and all that it has started are a group, which is there while it is. */
static bool wait_for(const engine_program_t *program, pid_t child, int *status, pid_t *ended)
{
  static const uint64_t look = CLOCK_SECOND / 50;
  const uint64_t until = clock_now() + program->limit;
  for (uint64_t now; (now = clock_now()) < until && !(program->stop && program->stop());) {
    if (program_wait(child, now + look < until ? now + look : until, status, ended))
      return true;
    if (clock_now() < now + look / 2)
      clock_nap(look / 2); /* there are no pidfds */
  }
  if (child > 1)
    (void)kill(-child, SIGKILL);
  (void)program_wait(child, 0, status, ended);
  return false;
}

rawhal_status_t engine_program_run(const engine_program_t *program, rawhal_error_t *error)
{
  pid_t child = 0, ended = 0;
  int status = 0;
  const int why = start(program, &child);
  if (why)
    return rawhal_fail(error, RAWHAL_RUNTIME, "'%.200s' cannot be started by /bin/sh: %s",
                       program->path, strerror(why));
  if (!wait_for(program, child, &status, &ended))
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "'%.200s' was ended after %.1f s", program->path,
                       (double)program->limit / CLOCK_SECOND);
  if (ended < 0 || (WIFEXITED(status) && !WEXITSTATUS(status)))
    return RAWHAL_OK;
  if (WIFEXITED(status) && WEXITSTATUS(status) == ENGINE_DECLINES)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "'%.200s' declines it", program->path);
  return rawhal_fail(error, RAWHAL_RUNTIME, "'%.200s' ended with %s %d", program->path,
                     WIFEXITED(status) ? "status" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
