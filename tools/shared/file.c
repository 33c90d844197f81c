#include "tools/shared/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/list.h"
#include "base/whole.h"
#include "tools/shared/tool.h"

/* ---- Reading ---- */

static const char *kind_name(mode_t mode)
{
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

/* /dev/null, the usual name of a file without bytes. */
static bool is_null_device(const struct stat *facts)
{
  return S_ISCHR(facts->st_mode) && facts->st_rdev == makedev(1, 3);
}

/* Opens what read() answers at once. -1 with the reason in `error`. */
static int open_regular(const char *path, size_t most, struct stat *facts, rawhal_error_t *error)
{
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
  if (file < 0) {
    tool_refuse(error, errno == ENOENT ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                "cannot open '%s': %s", path, strerror(errno));
    return -1;
  }
  bool fits = false;
  if (fstat(file, facts))
    tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot access '%s': %s", path, strerror(errno));
  else if (!S_ISREG(facts->st_mode) && !is_null_device(facts))
    tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "'%s' is not a regular file, but %s", path,
                kind_name(facts->st_mode));
  else if ((uint64_t)facts->st_size > most)
    tool_refuse(error, RAWHAL_CAP_EXCEEDED, "'%s' has %lld bytes, more than %zu", path,
                (long long)facts->st_size, most);
  else
    fits = true;
  if (fits)
    return file;
  close(file);
  return -1;
}

/* To its end, which may be another than it was said to have: a file of /proc says 0. */
static bool read_to_end(int file, const char *path, size_t most, unsigned char **data, size_t *size,
                        size_t wanted, rawhal_error_t *error)
{
  for (size_t room = 0; *size == room; wanted = *size + 1) {
    if (!array_reserve(NULL, data, &room, wanted, 1))
      return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for the %zu bytes of '%s'", wanted,
                         path);
    const ssize_t got = read_whole(file, *data + *size, room - *size);
    if (got < 0)
      return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot read '%s': %s", path,
                         strerror(errno));
    *size += (size_t)got;
    if (*size > most)
      return tool_refuse(error, RAWHAL_CAP_EXCEEDED, "'%s' has more than %zu bytes", path, most);
  }
  return true;
}

bool tool_read_file(const char *path, size_t most, unsigned char **data, size_t *size,
                    rawhal_error_t *error)
{
  struct stat facts;
  *data = NULL;
  *size = 0;
  int file = open_regular(path, most, &facts, error);
  if (file < 0)
    return false;
  size_t wanted = (size_t)facts.st_size + 4096; /* so that the end is seen without growing */
  bool done = read_to_end(file, path, most, data, size, wanted, error);
  close(file);
  return done;
}

/* ---- Streams ---- */

int tool_stream_of(const char *path)
{
  static const char folder[] = "/dev/fd/";
  struct stat facts;
  uint64_t number;
  if (!strcmp(path, "-"))
    return STDIN_FILENO;
  if (strncmp(path, folder, sizeof(folder) - 1) != 0 ||
      !tool_parse_number(path + sizeof(folder) - 1, INT_MAX, &number) ||
      fstat((int)number, &facts) || !(S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)))
    return -1;
  return (int)number;
}

bool tool_read_stream(int stream, const char *path, size_t most, unsigned char **data, size_t *size,
                      rawhal_error_t *error)
{
  const char *name = stream == STDIN_FILENO ? "standard input" : path;
  *data = NULL;
  *size = 0;
  return read_to_end(stream, name, most, data, size, 1 << 16, error);
}

/* ---- Writing ---- */

bool tool_write_file(const char *path, const void *data, size_t size, rawhal_error_t *error)
{
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  int flags = file < 0 ? -1 : fcntl(file, F_GETFL);
  /* Only to open it: a reader may take his time. */
  bool done = flags >= 0 && !fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
  done = done && write_whole(file, data, size);
  int why = errno;
  if (file >= 0 && close(file) && done) {
    why = errno;
    done = false;
  }
  return done || tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot write '%s': %s", path,
                             why == ENXIO ? "no process reads it" : strerror(why));
}
