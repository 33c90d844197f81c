#include "tools/exec/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/exec/guard_tree.h"
#include "tools/shared/escape.h"
#include "tools/shared/program.h"
#include "tools/shared/tool.h"

/* Between looks: a part of the time since something new was seen, within bounds, and many times
 * what a look takes of a processor. */
enum { LEAST_US = 2000, MOST_US = 250000, IDLE_PART = 8, WORK_PART = 33 };

typedef struct guard {
  check_mode_t mode;
  pid_t program;
  tree_t tree;
  int64_t changed_us, pause_us;
  bool reported, escaped, hidden;
} guard_t;

bool check_mode_of(const char *word, check_mode_t *mode)
{
  static const char *const words[] = {[CHECK_OFF] = "off",
                                      [CHECK_WARN] = "warn",
                                      [CHECK_REPORT] = "report",
                                      [CHECK_REFUSE] = "refuse"};
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i)
    if (strcmp(words[i], word) == 0) {
      *mode = (check_mode_t)i;
      return true;
    }
  return false;
}

/* ---- What is found ---- */

static void print_process(pid_t pid, const char *what)
{
  char path[64], name[32] = "";
  snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
  FILE *file = fopen(path, "re");
  if (file) {
    if (!fgets(name, sizeof(name), file))
      *name = '\0';
    fclose(file);
  }
  name[strcspn(name, "\n")] = '\0';
  fprintf(stderr, "rawhal exec: process %d (", (int)pid);
  (void)escape_text(stderr, rawhal_string(name), SIZE_MAX);
  fprintf(stderr, ") %s\n", what);
}

/* To one process, never to all of them. */
static void send(pid_t pid, int signal)
{
  if (pid > 1)
    (void)kill(pid, signal);
}

static void on_found(void *context, pid_t pid, tree_sight_t sight)
{
  guard_t *guard = context;
  if (sight == TREE_HIDDEN) {
    if (!guard->hidden)
      print_process(pid, "belongs to another user: whether limits apply to it cannot be checked");
    guard->hidden = true;
    return;
  }
  const bool end = guard->mode == CHECK_REFUSE;
  if (guard->mode != CHECK_WARN || !guard->reported)
    print_process(pid, end ? "uses a device, but its runtime has not loaded librawhal-front.so: "
                             "limits would not apply to it, so it was killed"
                           : "uses a device, but its runtime has not loaded librawhal-front.so: "
                             "limits do not apply to it");
  guard->reported = true;
  guard->escaped |= end;
  if (end)
    send(pid, SIGKILL);
}

static int64_t now_us(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void look(guard_t *guard)
{
  const int64_t began = now_us(CLOCK_PROCESS_CPUTIME_ID);
  (void)tree_look(&guard->tree, on_found, guard); /* for want of memory again, later */
  const int64_t least = (now_us(CLOCK_PROCESS_CPUTIME_ID) - began) * WORK_PART;
  const int64_t now = now_us(CLOCK_MONOTONIC);
  if (guard->tree.changed)
    guard->changed_us = now;
  const int64_t idle = (now - guard->changed_us) / IDLE_PART;
  guard->pause_us = idle < LEAST_US ? LEAST_US : idle < MOST_US ? idle : MOST_US;
  if (guard->pause_us < least)
    guard->pause_us = least;
}

/* ---- The program ---- */

static void be_program(char **argv, pid_t parent, int told, const sigset_t *mask,
                       const struct sigaction *on_child)
{
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* who kills this command wants the program killed */
  if (getppid() == parent) {
    (void)sigaction(SIGCHLD, on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(*argv, argv);
    const int why = errno;
    if (write(told, &why, sizeof(why)) != sizeof(why))
      _exit(EXIT_FAILURE); /* nobody listens any more */
  }
  _exit(EXIT_FAILURE);
}

/* -1, with errno: there is no program. */
static pid_t start(char **argv, const sigset_t *mask, const struct sigaction *on_child)
{
  int ends[2], why = 0;
  if (pipe2(ends, O_CLOEXEC))
    return -1;
  const pid_t parent = getpid(), child = fork();
  if (child == 0)
    be_program(argv, parent, ends[1], mask, on_child);
  if (child < 0)
    why = errno;
  (void)close(ends[1]);
  if (child > 0 && read(ends[0], &why, sizeof(why)) == sizeof(why))
    (void)waitpid(child, NULL, 0);
  (void)close(ends[0]);
  errno = why;
  return why ? -1 : child;
}

/* As close_range, which is of glibc 2.34 and of Linux 5.9. */
static void close_from(int first)
{
  DIR *open_now = opendir("/proc/self/fd");
  const int own = open_now ? dirfd(open_now) : -1;
  const struct dirent *entry;
  while (open_now && (entry = readdir(open_now))) {
    const int descriptor = atoi(entry->d_name); /* 0 for "." and ".." */
    if (descriptor >= first && descriptor != own)
      (void)close(descriptor);
  }
  if (open_now)
    (void)closedir(open_now);
}

/* Others may wait until the program has closed what it was given. Standard error is kept for what
 * there may be to say. */
static void let_go(bool errors)
{
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = STDIN_FILENO; null >= 0 && stream <= STDERR_FILENO; ++stream)
    if (stream != STDERR_FILENO || errors)
      (void)dup2(null, stream);
  close_from(STDERR_FILENO + 1);
}

/* ---- While it runs ---- */

/* False: the program has ended, and `*status` is how. */
static bool reap(const guard_t *guard, int *status)
{
  pid_t child;
  while ((child = waitpid(-1, status, WNOHANG | WUNTRACED)) > 0) {
    if (child != guard->program)
      continue; /* one that lost its parent */
    if (!WIFSTOPPED(*status))
      return false;
    const int why = WSTOPSIG(*status);
    if (why == SIGTSTP || why == SIGTTIN || why == SIGTTOU) /* a shell knows of this process only */
      (void)raise(SIGSTOP);
  }
  return true;
}

/* What a terminal sends goes to all of its processes; what is sent to this one is meant for the
 * program, as are timers that whoever started it has set. */
static void pass_on(const guard_t *guard, const siginfo_t *info)
{
  const int signal = info->si_signo;
  if (info->si_code == SI_QUEUE)
    (void)sigqueue(guard->program, signal, info->si_value);
  else if (info->si_code <= 0 || signal == SIGCONT || signal == SIGALRM || signal == SIGVTALRM ||
           signal == SIGPROF)
    send(guard->program, signal);
}

static struct timespec pause_of(int64_t us)
{
  return (struct timespec){us / 1000000, us % 1000000 * 1000};
}

static int stand_by(guard_t *guard, const sigset_t *all)
{
  int status = 0;
  int64_t next = now_us(CLOCK_MONOTONIC);
  for (;;) {
    const int64_t left = next - now_us(CLOCK_MONOTONIC);
    if (left <= 0) {
      look(guard);
      next = now_us(CLOCK_MONOTONIC) + guard->pause_us;
      continue;
    }
    siginfo_t info;
    const struct timespec pause = pause_of(left);
    const int signal = sigtimedwait(all, &info, &pause);
    if (signal == SIGCHLD && !reap(guard, &status))
      return status;
    if (signal > 0 && signal != SIGCHLD)
      pass_on(guard, &info);
  }
}

/* What it has left running must hold to the limits, too: whoever waits for the program does not
 * wait for that. */
static void stay_behind(guard_t *guard)
{
  (void)tree_look(&guard->tree, on_found, guard);
  if (guard->tree.count == 0 || fork() != 0)
    return;
  (void)setsid();
  let_go(true);
  while (guard->tree.count) {
    const struct timespec pause = pause_of(guard->pause_us);
    (void)nanosleep(&pause, NULL);
    look(guard);
  }
  _exit(EXIT_SUCCESS);
}

int guard_run(char **argv, check_mode_t mode, int escaped, int *why, rawhal_error_t *error)
{
  guard_t guard = {.mode = mode, .pause_us = LEAST_US};
  struct sigaction on_child;
  sigset_t all, mask;
  *why = 0;
  if (!tree_exclude(&guard.tree)) {
    (void)tool_refuse(error, RAWHAL_UNSUPPORTED,
                      "/proc cannot be read, so whether limits apply cannot be checked; "
                      "--guard=off starts without the check");
    return -1;
  }
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, &mask);
  (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &on_child);
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* daemons, too, stay below this process */
  guard.program = start(argv, &mask, &on_child);
  if (guard.program < 0) {
    *why = errno;
    return -1;
  }
  let_go(false);
  const int status = stand_by(&guard, &all);
  stay_behind(&guard);
  tree_free(&guard.tree);
  return guard.escaped ? escaped : program_end_like(status);
}
