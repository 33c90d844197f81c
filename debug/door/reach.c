#include "debug/door/reach.h"

#include "debug/door/format.h"

#include "base/error.h"
#include "base/whole.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- What can be seen of any process ---- */

/* The first bytes of a file of /proc; "": it cannot be read. */
static void read_text(pid_t process, const char *name, char *text, size_t size)
{
  char path[64];
  if (process)
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, name);
  else
    (void)snprintf(path, sizeof(path), "/proc/%s", name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? read_whole(file, text, size - 1) : 0;
  text[got > 0 ? got : 0] = '\0';
  if (file >= 0)
    (void)close(file);
}

/* The words behind "NAME:" in /proc/PID/status; NULL: there is no such line. */
static const char *status_line(const char *status, const char *name)
{
  const char *at = strstr(status, name);
  return at && (at == status || at[-1] == '\n') ? at + strlen(name) : NULL;
}

int32_t reach_own_number(pid_t process)
{
  char status[4096];
  read_text(process, "status", status, sizeof(status));
  const char *numbers = status_line(status, "NSpid:");
  if (!numbers)
    return 0;
  const char *last = numbers;
  for (const char *at = numbers; *at && *at != '\n'; ++at)
    if (*at == '\t' || *at == ' ')
      last = at;
  return (int32_t)strtol(last, NULL, 10);
}

/* Namespaces themselves are not shown; how they count their users is. */
static bool same_user_namespace(pid_t process)
{
  char own[1024], other[1024];
  read_text(getpid(), "uid_map", own, sizeof(own));
  read_text(process, "uid_map", other, sizeof(other));
  return !strcmp(own, other);
}

static reach_facts_t facts_of(pid_t process)
{
  reach_facts_t facts = {.user = -1, .own = geteuid()};
  char path[64], text[4096];
  struct stat file;
  read_text(process, "status", text, sizeof(text));
  const char *users = status_line(text, "Uid:");
  if (users)
    facts.user = strtol(users, NULL, 10);
  (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
  facts.hidden = users && stat(path, &file) == 0 && file.st_uid != facts.user;
  facts.other_namespace = users && !same_user_namespace(process);
  read_text(0, "sys/kernel/yama/ptrace_scope", text, sizeof(text));
  facts.yama = atoi(text);
  return facts;
}

/* ---- Why not ---- */

void reach_why(const reach_facts_t *facts, char text[REACH_WHY])
{
  static const char *const scopes[] = {
      "",
      "; ptrace_scope is 1: only a process that started it, or with CAP_SYS_PTRACE",
      "; ptrace_scope is 2: only with CAP_SYS_PTRACE",
      "; ptrace_scope is 3: nobody, until the machine is started again",
  };
  size_t used = 0;
  text[0] = '\0';
  if (facts->user >= 0 && facts->user != facts->own)
    used = (size_t)snprintf(text, REACH_WHY, "; it is user %lld's, this is user %lld",
                            (long long)facts->user, (long long)facts->own);
  used += (size_t)snprintf(
      text + used, REACH_WHY - used, "%s%s%s",
      facts->hidden ? "; it has made itself unreadable (PR_SET_DUMPABLE), or gained rights" : "",
      facts->other_namespace ? "; it is in another user namespace" : "",
      facts->yama > 0 && facts->yama <= 3 ? scopes[facts->yama] : "");
}

static rawhal_status_t forbidden(pid_t process, int why, rawhal_error_t *error)
{
  char text[REACH_WHY];
  const reach_facts_t facts = facts_of(process);
  reach_why(&facts, text);
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "process %d may not be looked at, as it may not be traced: %s%s", process,
                     strerror(why), text);
}

/* ---- Reaching ---- */

rawhal_status_t reach_process(pid_t process, int *pidfd, rawhal_error_t *error)
{
  *pidfd = process > 0 ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
  if (*pidfd >= 0)
    return RAWHAL_OK;
  if (process <= 0 || errno == ESRCH || errno == EINVAL)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no process %d", process);
  return rawhal_fail(error, RAWHAL_RUNTIME, "process %d: %s", process, strerror(errno));
}

rawhal_status_t reach_descriptor(pid_t process, int pidfd, int number, int *fd,
                                 rawhal_error_t *error)
{
  *fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
  if (*fd >= 0)
    return RAWHAL_OK;
  if (errno == EPERM)
    return forbidden(process, errno, error);
  return rawhal_fail(error, errno == EBADF || errno == ESRCH ? RAWHAL_NOT_FOUND : RAWHAL_RUNTIME,
                     "descriptor %d of process %d: %s", number, process, strerror(errno));
}

/* What a descriptor is by the name that the kernel has for it: 1 a door's memory, 0 not; -1, with
 * errno: not to be seen. */
static int is_door(int folder, const char *name)
{
  static const char wanted[] = "/memfd:" DOOR_NAME " (deleted)";
  char target[sizeof(wanted) + 1];
  const ssize_t length = readlinkat(folder, name, target, sizeof(target));
  return length < 0 ? -1 : length == sizeof(wanted) - 1 && !memcmp(target, wanted, (size_t)length);
}

static bool is_refusal(int why)
{
  return why == EACCES || why == EPERM;
}

/* The number of the index-th; -1, and `*refused`: whether there are any that cannot be seen: a
 * process of the same user in another namespace lists them. */
static int find_door(DIR *folder, size_t index, int *refused)
{
  *refused = 0;
  for (const struct dirent *each; (each = readdir(folder));) {
    const int found = is_door(dirfd(folder), each->d_name);
    if (found < 0 && is_refusal(errno))
      *refused = errno;
    if (found > 0 && index-- == 0)
      return atoi(each->d_name);
  }
  return -1;
}

rawhal_status_t reach_memory(pid_t process, int pidfd, size_t index, int *fd, rawhal_error_t *error)
{
  char path[64];
  int refused;
  (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)process);
  DIR *folder = opendir(path);
  *fd = -1;
  if (!folder && is_refusal(errno))
    return forbidden(process, errno, error);
  if (!folder)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "process %d: %s", process, strerror(errno));
  const int number = find_door(folder, index, &refused);
  (void)closedir(folder);
  if (number < 0 && refused)
    return forbidden(process, refused, error);
  struct pollfd end = {.fd = pidfd, .events = POLLIN};
  if (number < 0 && poll(&end, 1, 0) > 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "process %d has ended", process);
  if (number < 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "process %d shows nothing: it uses no rawhal now, is not run by `rawhal "
                       "exec`, or has RAWHAL_DOOR=off",
                       process);
  return reach_descriptor(process, pidfd, number, fd, error);
}
