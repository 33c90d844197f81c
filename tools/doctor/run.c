/* A check of rawhal doctor in a process of its own. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/whole.h"
#include "tools/doctor/doctor.h"
#include "tools/shared/tool.h"

static_assert(sizeof(doctor_row_t) <= 4096, "written to a pipe in one piece");

void doctor_say(const doctor_t *doctor, doctor_state_t state, const char *fix, const char *format,
                ...)
{
  doctor_row_t row = {.state = state};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(row.found, sizeof(row.found), format, arguments);
  va_end(arguments);
  snprintf(row.check, sizeof(row.check), "%s", doctor->check);
  snprintf(row.fix, sizeof(row.fix), "%s", fix ? fix : "");
  doctor->take(doctor->context, &row);
}

/* ---- The child ---- */

static void send_row(void *context, const doctor_row_t *row)
{
  const int *pipe_end = context;
  if (!write_whole(*pipe_end, row, sizeof(*row)))
    _exit(TOOL_FAILED); /* there is no listener */
}

/* A group of its own: what the check starts ends with it. What libraries print is not part of the
 * answer. */
static _Noreturn void be_child(const doctor_t *doctor, doctor_check_fn *check, int pipe_end)
{
  doctor_t mine = *doctor;
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* interrupting the command leaves nothing that hangs */
  for (int stream = STDIN_FILENO; nowhere >= 0 && stream <= STDERR_FILENO; ++stream)
    (void)dup2(nowhere, stream);
  (void)signal(SIGPIPE, SIG_DFL);
  mine.take = send_row;
  mine.context = &pipe_end;
  check(&mine);
  _exit(TOOL_OK);
}

/* ---- The parent ---- */

static int64_t now_ms(void)
{
  return (int64_t)(clock_now() / 1000000);
}

static bool keep_row(doctor_rows_t *rows, const doctor_row_t *row)
{
  if (!array_reserve(NULL, &rows->rows, &rows->room, rows->count + 1, sizeof(*row)))
    return false;
  rows->rows[rows->count++] = *row;
  return true;
}

/* Rows until the child has closed its end. False: the time is over. */
static bool receive(int pipe_end, int64_t deadline, doctor_rows_t *rows, bool *memory)
{
  for (;;) {
    struct pollfd wait = {.fd = pipe_end, .events = POLLIN};
    const int64_t left = deadline - now_ms();
    if (left <= 0)
      return false;
    const int ready = poll(&wait, 1, (int)left);
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0)
      continue;
    doctor_row_t row;
    if (read_whole(pipe_end, &row, sizeof(row)) != sizeof(row))
      return true;
    row.check[sizeof(row.check) - 1] = row.found[sizeof(row.found) - 1] = 0;
    row.fix[sizeof(row.fix) - 1] = 0;
    *memory &= keep_row(rows, &row);
  }
}

/* The child's status; false when it does not end: a driver can hold a process that was killed. */
static bool wait_for(pid_t child, int64_t deadline, int *status)
{
  const struct timespec moment = {.tv_nsec = 2000000};
  for (;;) {
    const pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child)
      return true;
    if (ended < 0 || now_ms() >= deadline)
      return false;
    (void)nanosleep(&moment, NULL);
  }
}

static bool say_lost(const doctor_t *doctor, doctor_rows_t *rows, const char *how)
{
  static const char fix[] = "look for amdgpu in the kernel log (dmesg), and try "
                            "RAWHAL_DEVICE=softgpu, which needs no driver";
  doctor_row_t row = {.state = DOCTOR_PROBLEM};
  snprintf(row.check, sizeof(row.check), "%s", doctor->check);
  snprintf(row.found, sizeof(row.found), "%s", how);
  snprintf(row.fix, sizeof(row.fix), "%s", fix);
  return keep_row(rows, &row);
}

/* -1 would be every process of the machine, and 0 the command's own group. */
static void kill_group(pid_t leader, bool leader_too)
{
  if (leader <= 1)
    return;
  (void)kill(-leader, SIGKILL);
  if (leader_too)
    (void)kill(leader, SIGKILL); /* before it had its group */
}

/* Ends the child, and says so when it did not end by itself. */
static bool finish(const doctor_t *doctor, pid_t child, bool in_time, int64_t deadline,
                   unsigned seconds, doctor_rows_t *rows)
{
  enum { GRACE_MS = 2000 };
  int status = 0;
  char how[96];
  if (in_time && wait_for(child, deadline, &status)) {
    kill_group(child, false); /* what it may have left */
    if (WIFEXITED(status) && WEXITSTATUS(status) == TOOL_OK)
      return true;
    if (WIFEXITED(status))
      snprintf(how, sizeof(how), "the check ended early, with status %d", WEXITSTATUS(status));
    else
      snprintf(how, sizeof(how), "the check was ended by signal %d (%s)", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    return say_lost(doctor, rows, how);
  }
  kill_group(child, true);
  (void)wait_for(child, now_ms() + GRACE_MS, &status);
  snprintf(how, sizeof(how), "the check did not end within %u second%s", seconds,
           seconds == 1 ? "" : "s");
  return say_lost(doctor, rows, how);
}

bool doctor_run(const doctor_t *doctor, doctor_check_fn *check, unsigned seconds,
                doctor_rows_t *rows)
{
  int ends[2];
  bool memory = true;
  if (pipe2(ends, O_CLOEXEC))
    return false;
  (void)signal(SIGCHLD, SIG_DFL); /* whoever started this may ignore it: then nobody can wait */
  const int64_t deadline = now_ms() + (int64_t)seconds * 1000;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_child(doctor, check, ends[1]);
  }
  close(ends[1]);
  if (child > 0) {
    const bool in_time = receive(ends[0], deadline, rows, &memory);
    memory &= finish(doctor, child, in_time, deadline, seconds, rows);
  }
  close(ends[0]);
  return child > 0 && memory;
}

/* ---- A child that is attached to ---- */

int doctor_try_to_attach(void)
{
  int ends[2], problem = 0;
  char byte;
  if (pipe2(ends, O_CLOEXEC))
    return errno;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); /* until there is no writer any more */
  }
  close(ends[0]);
  if (child < 0 || ptrace(PTRACE_SEIZE, child, NULL, NULL))
    problem = errno;
  close(ends[1]);
  if (child > 0)
    (void)waitpid(child, NULL, 0);
  return problem;
}
