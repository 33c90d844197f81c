#include "debug/door/reach.h"

#include "debug/door/format.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Why not ---- */

static int yama(void)
{
  int scope = 0;
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (!file)
    return 0;
  if (fscanf(file, "%d", &scope) != 1)
    scope = 0;
  (void)fclose(file);
  return scope;
}

static bool same_user_namespace(pid_t process)
{
  char path[64];
  struct stat own, other;
  snprintf(path, sizeof(path), "/proc/%d/ns/user", process);
  return stat("/proc/self/ns/user", &own) || stat(path, &other) || own.st_ino == other.st_ino;
}

/* What can be seen of it, the likeliest last: a process that may not be looked at belongs to root
 * in /proc. */
static rawhal_status_t forbidden(pid_t process, int why, rawhal_error_t *error)
{
  static const char *const scopes[] = {
      "",
      "; ptrace_scope is 1: only a parent, or with CAP_SYS_PTRACE",
      "; ptrace_scope is 2: only with CAP_SYS_PTRACE",
      "; ptrace_scope is 3: nobody, until the machine is started again",
  };
  char path[64], whose[64] = "";
  struct stat status;
  const int scope = yama();
  snprintf(path, sizeof(path), "/proc/%d", process);
  if (stat(path, &status) == 0 && status.st_uid != geteuid())
    snprintf(whose, sizeof(whose), "; it is another user's, or has made itself unreadable");
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "process %d may not be looked at, as it may not be traced: %s%s%s%s", process,
                     strerror(why), whose,
                     same_user_namespace(process) ? "" : "; it is in another user namespace",
                     scope > 0 && scope <= 3 ? scopes[scope] : "");
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

/* Whether its descriptor is a door's memory, by the name that the kernel has for it. */
static bool is_door(int folder, const char *name)
{
  static const char wanted[] = "/memfd:" DOOR_NAME " (deleted)";
  char target[sizeof(wanted) + 1];
  const ssize_t length = readlinkat(folder, name, target, sizeof(target));
  return length == sizeof(wanted) - 1 && !memcmp(target, wanted, sizeof(wanted) - 1);
}

rawhal_status_t reach_memory(pid_t process, int pidfd, size_t index, int *fd, rawhal_error_t *error)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/fd", process);
  DIR *folder = opendir(path);
  *fd = -1;
  if (!folder && (errno == EACCES || errno == EPERM))
    return forbidden(process, errno, error);
  if (!folder)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "process %d: %s", process, strerror(errno));
  int number = -1;
  for (const struct dirent *each; number < 0 && (each = readdir(folder));)
    if (is_door(dirfd(folder), each->d_name) && index-- == 0)
      number = atoi(each->d_name);
  (void)closedir(folder);
  if (number < 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "process %d shows nothing: it uses no rawhal now, is not run by `rawhal "
                       "exec`, or has RAWHAL_DOOR=off",
                       process);
  return reach_descriptor(process, pidfd, number, fd, error);
}
