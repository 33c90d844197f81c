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

/* A folder, a device of blocks or the like: who names it has not meant a file beside it. Then errno
 * says so. */
static bool is_no_file(const char *path)
{
  struct stat there;
  const int code = errno;
  const bool is_other = stat(path, &there) == 0 && !S_ISREG(there.st_mode);
  errno = !is_other ? code : S_ISDIR(there.st_mode) ? EISDIR : ENOTSUP;
  return is_other;
}

int output_make(const char *path, mode_t mode)
{
  char candidate[PATH_WITH_NUMBER_BYTES];
  int fd = open(path, NEW, mode);
  if (fd < 0 && errno == EEXIST && is_stream(path))
    return open_stream(path);
  if (fd < 0 && errno == EEXIST && is_no_file(path))
    return fd;
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
static bool would_make(const char *path, bool streams)
{
  int fd = open(path, NEW, 0600);
  if (fd < 0 && errno == EEXIST && streams && is_stream(path))
    return true;
  if (fd < 0 && errno == EEXIST)
    (void)is_no_file(path); /* then errno says so */
  if (fd < 0)
    return false;
  (void)unlink(path);
  (void)close(fd);
  return true;
}

bool output_would_make(const char *path)
{
  return would_make(path, true);
}

bool output_would_make_file(const char *path)
{
  return would_make(path, false) || errno == EEXIST;
}
