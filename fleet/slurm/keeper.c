#include "fleet/slurm/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_FD = 3, LINE_FD = 4, FIELD_STATE = 3, FIELD_START_TIME = 22 };

/* From the third field of /proc/PID/stat on. 0: there is no such process, or it has ended. */
static uint64_t start_time_of(int pid)
{
  char path[32], text[1024];
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
  if (fd >= 0)
    close(fd);
  if (size <= 0)
    return 0;
  text[size] = '\0';
  const char *at = strrchr(text, ')'); /* the name before it may hold anything */
  for (int field = FIELD_STATE; at && field <= FIELD_START_TIME; ++field) {
    at = strchr(at + 1, ' ');
    if (at && field == FIELD_STATE && (at[1] == 'Z' || at[1] == 'X'))
      return 0;
  }
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void make_way(int from, int to)
{
  if (from != to && dup2(from, to) < 0)
    _exit(1);
}

/* In a child of a program with threads: system calls alone. */
static void keep(int fd, int line)
{
  static const char no_killing[] = "-1000";
  sigset_t none;
  const int kept = fcntl(fd, F_DUPFD, LINE_FD + 1), told = fcntl(line, F_DUPFD, LINE_FD + 1);
  const int nothing = open("/dev/null", O_RDWR);
  if (kept < 0 || told < 0 || nothing < 0)
    _exit(1);
  for (int i = 0; i < KEPT_FD; ++i)
    make_way(nothing, i);
  make_way(kept, KEPT_FD);
  make_way(told, LINE_FD);
  (void)close_range(LINE_FD + 1, ~0u, 0);
  (void)prctl(PR_SET_NAME, "rawhal-region");
  for (int number = 1; number < NSIG; ++number)
    (void)signal(number, SIG_DFL);
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) { /* where it may not be spared, the jobs still have the region */
    if (write(score, no_killing, sizeof(no_killing) - 1) < 0)
      errno = 0;
    close(score);
  }
  const int pid = getpid();
  char settled;
  if (chdir("/") || write(LINE_FD, &pid, sizeof(pid)) != (ssize_t)sizeof(pid) ||
      TEMP_FAILURE_RETRY(read(LINE_FD, &settled, 1)) != 1)
    _exit(1);
  close(LINE_FD);
  for (;;)
    pause();
}

bool keeper_start(int fd, keeper_t *keeper, int *line)
{
  int ends[2], status;
  *line = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return false;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0)
      keep(fd, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  const bool told =
      child > 0 && read(ends[0], &keeper->pid, sizeof(keeper->pid)) == (ssize_t)sizeof(keeper->pid);
  if (child > 0)
    (void)TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
  if (!told) {
    close(ends[0]);
    errno = child < 0 ? errno : ECHILD;
    return false;
  }
  *line = ends[0];
  keeper->fd = KEPT_FD;
  keeper->start_time = start_time_of(keeper->pid);
  return true;
}

void keeper_settle(int line, bool kept)
{
  if (kept && send(line, "", 1, MSG_NOSIGNAL) < 0)
    errno = 0; /* it is gone, which the next job finds */
  close(line);
}

bool keeper_is_alive(const keeper_t *keeper)
{
  return keeper->pid > 1 && keeper->start_time && start_time_of(keeper->pid) == keeper->start_time;
}

void keeper_end(const keeper_t *keeper)
{
  if (keeper_is_alive(keeper))
    (void)kill(keeper->pid, SIGKILL);
}
