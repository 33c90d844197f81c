#include "front/output.h"

#include "base/numbered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };

/* What has no contents that could be lost: a pipe, a terminal. Leaves errno alone. */
static bool is_stream(const char *path)
{
  struct stat there;
  const int code = errno;
  const bool found = stat(path, &there) == 0;
  errno = code;
  return found && (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode));
}

/* It may have been exchanged for a file since it was looked at. */
static int open_stream(const char *path)
{
  struct stat there;
  int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || (fstat(fd, &there) == 0 && !S_ISREG(there.st_mode)))
    return fd;
  (void)close(fd);
  errno = EEXIST;
  return -1;
}

int output_make(const char *path, mode_t mode)
{
  char candidate[PATH_WITH_NUMBER_BYTES];
  int fd = open(path, NEW, mode);
  if (fd < 0 && errno == EEXIST && is_stream(path))
    return open_stream(path);
  for (unsigned i = 0; i < NUMBERED_ATTEMPTS && fd < 0 && errno == EEXIST; ++i) {
    if (path_with_number(candidate, path, i))
      fd = open(candidate, NEW, mode);
    else
      errno = ENAMETOOLONG;
  }
  return fd;
}

int output_append(const char *path, mode_t mode)
{
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  return is_stream(path) ? open_stream(path) : open(path, flags, mode);
}

/* Whether it can be made shows when it is: of its folder's file system more may be wrong than can
 * be asked for. */
bool output_would_make(const char *path)
{
  int fd = open(path, NEW, 0600);
  if (fd < 0)
    return errno == EEXIST && is_stream(path);
  (void)unlink(path);
  (void)close(fd);
  return true;
}
