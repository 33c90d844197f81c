/* rawhal events -- PROGRAM. */
#include "tools/events/events.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/shared/program.h"

/* With ",now" its door keeps events from the first on. */
static bool set_door(void)
{
  const char *mode = getenv("RAWHAL_DOOR");
  char text[64];
  if (mode && strchr(mode, ','))
    return true;
  (void)snprintf(text, sizeof(text), "%.40s,now", mode && *mode ? mode : "events");
  return setenv("RAWHAL_DOOR", text, 1) == 0;
}

/* What a terminal sends is sent to both, and the program decides. A reader that goes away is no
 * reason to leave it. The program has the signals as this process had them. Returns errno. */
static int start(char **argv, pid_t *program)
{
  static const int signals[] = {SIGINT, SIGQUIT, SIGPIPE};
  posix_spawnattr_t attributes;
  sigset_t reset;
  (void)sigemptyset(&reset);
  for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); ++i)
    if (signal(signals[i], SIG_IGN) != SIG_IGN)
      (void)sigaddset(&reset, signals[i]);
  int why = posix_spawnattr_init(&attributes);
  if (why)
    return why;
  (void)posix_spawnattr_setsigdefault(&attributes, &reset);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  why = posix_spawnp(program, *argv, NULL, &attributes, argv, environ);
  (void)posix_spawnattr_destroy(&attributes);
  return why;
}

static bool has_ended(pid_t program)
{
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Whether there may be a door soon. */
static bool is_worth_waiting(rawhal_status_t status)
{
  return status == RAWHAL_OK || status == RAWHAL_NOT_FOUND || status == RAWHAL_WOULD_BLOCK;
}

/* False: it ended without one, or may not be looked at. */
static bool await_door(pid_t program, unsigned of, doors_t *doors, rawhal_error_t *error)
{
  const struct timespec nap = {.tv_nsec = 1000000};
  for (bool ended = false;;) {
    if (doors_open_below(doors, program, of, error))
      return true;
    if (ended || !is_worth_waiting(error->status))
      return false;
    (void)nanosleep(&nap, NULL);
    ended = has_ended(program);
  }
}

static bool watch(events_output_t *output, pid_t program, rawhal_error_t *error)
{
  const events_request_t *request = output->request;
  doors_t doors;
  bool done = !request->save || events_file_open(&output->file, request->save, program, error);
  done = done && await_door(program, request->of, &doors, error);
  if (done) {
    done = events_watch(output, &doors, true, error);
    doors_close(&doors);
  }
  rawhal_error_t second;
  return events_file_close(&output->file, done ? error : &second) && done;
}

int events_run(events_output_t *output, char **argv)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  pid_t program;
  int status = 0;
  if (!set_door()) {
    (void)tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for the environment");
    return tool_fail("events", &error);
  }
  const int why = start(argv, &program);
  if (why)
    return program_refuse("events", *argv, why);
  if (!watch(output, program, &error))
    (void)tool_fail("events", &error);
  while (waitpid(program, &status, 0) < 0 && errno == EINTR)
    continue;
  (void)fflush(stdout);
  return program_end_like(status);
}
