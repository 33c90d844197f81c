#include "queue/limit/limits_file.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 65536, MAX_LINES = 512 };

static const char blanks[] = " \t\r";

/* ---- Whose file it is ---- */

static rawhal_status_t refuse(rawhal_error_t *error, const char *path, const char *why)
{
  return rawhal_fail(error, RAWHAL_UNSUPPORTED, "RAWHAL_LIMITS_FILE: %.200s %s", path, why);
}

static rawhal_status_t fail_errno(rawhal_error_t *error, const char *path)
{
  int code = errno;
  char text[128];
  return rawhal_fail(error, file_failure(code), "RAWHAL_LIMITS_FILE: %.200s: %s", path,
                     strerror_r(code, text, sizeof(text)));
}

/* Nothing that this process could have written itself, or its like, is an operator's word. */
static rawhal_status_t check_owner(int fd, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  if (fstat(fd, &facts))
    return fail_errno(error, path);
  if (!S_ISREG(facts.st_mode))
    return refuse(error, path, "is not a regular file");
  if (facts.st_uid != 0 && facts.st_uid == geteuid())
    return refuse(error, path, "belongs to the user of this process, who could change it");
  if (facts.st_mode & (S_IWGRP | S_IWOTH))
    return refuse(error, path, "can be written by others than its owner");
  if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
    return refuse(error, path, "can be written by this process, which could change it");
  if (errno != EACCES && errno != EROFS && errno != EPERM)
    return fail_errno(error, path);
  return facts.st_size <= MAX_FILE ? RAWHAL_OK : refuse(error, path, "has more than 65536 bytes");
}

/* All of it, NUL-terminated. */
static rawhal_status_t read_all(int fd, const char *path, char **text, rawhal_error_t *error)
{
  char *bytes = allocate(NULL, MAX_FILE + 1);
  if (!bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "RAWHAL_LIMITS_FILE: no memory");
  const ssize_t got = read_whole(fd, bytes, MAX_FILE + 1);
  const size_t size = got < 0 ? 0 : (size_t)got;
  rawhal_status_t status = got < 0 ? fail_errno(error, path) : RAWHAL_OK;
  if (status == RAWHAL_OK && size > MAX_FILE)
    status = refuse(error, path, "has more than 65536 bytes");
  if (status == RAWHAL_OK && memchr(bytes, '\0', size))
    status = refuse(error, path, "is not text");
  if (status != RAWHAL_OK) {
    allocate_free(NULL, bytes);
    return status;
  }
  bytes[size] = '\0';
  *text = bytes;
  return RAWHAL_OK;
}

/* ---- What it says ---- */

static char *trim(char *text, char *end)
{
  while (end > text && strchr(blanks, end[-1]))
    --end;
  *end = '\0';
  return text + strspn(text, blanks);
}

static rawhal_status_t add_line(limits_file_t *file, char *text, unsigned number,
                                rawhal_error_t *error)
{
  char *equals = strchr(text, '=');
  if (!equals)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_LIMITS_FILE:%u: '%.100s' is not understood; expected NAME=VALUE",
                       number, text);
  limits_line_t *line = &file->lines[file->count];
  const char *name = trim(text, equals), *nearest = NULL;
  line->value = trim(equals + 1, equals + 1 + strlen(equals + 1));
  line->number = number;
  if (!limit_resolve_name(name, line->variable, &nearest))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_LIMITS_FILE:%u: no limit has the name '%.100s'; the nearest is %s",
                       number, name, nearest);
  const limits_line_t *other = limits_file_find(file, line->variable);
  if (other)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_LIMITS_FILE:%u: %s is already set by line %u", number,
                       line->variable, other->number);
  ++file->count;
  return RAWHAL_OK;
}

static rawhal_status_t read_lines(limits_file_t *file, rawhal_error_t *error)
{
  char *at = file->text;
  for (unsigned number = 1; at; ++number) {
    char *newline = strchr(at, '\n');
    char *text = trim(at, newline ? newline : at + strlen(at));
    at = newline ? newline + 1 : NULL;
    if (!*text || *text == '#')
      continue;
    if (file->count == MAX_LINES)
      return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "RAWHAL_LIMITS_FILE:%u: more than %d limits",
                         number, MAX_LINES);
    rawhal_status_t status = add_line(file, text, number, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

rawhal_status_t limits_file_read(const char *path, limits_file_t *file, rawhal_error_t *error)
{
  *file = (limits_file_t){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return fail_errno(error, path);
  rawhal_status_t status = check_owner(fd, path, error);
  if (status == RAWHAL_OK)
    status = read_all(fd, path, &file->text, error);
  close(fd);
  if (status != RAWHAL_OK)
    return status;
  file->lines = allocate_zeroed(NULL, MAX_LINES, sizeof(*file->lines));
  status = file->lines ? read_lines(file, error)
                       : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "RAWHAL_LIMITS_FILE: no memory");
  if (status != RAWHAL_OK)
    limits_file_free(file);
  return status;
}

void limits_file_free(limits_file_t *file)
{
  allocate_free(NULL, file->lines);
  allocate_free(NULL, file->text);
  *file = (limits_file_t){0};
}

const limits_line_t *limits_file_find(const limits_file_t *file, const char *variable)
{
  for (size_t i = 0; i < file->count; ++i)
    if (!strcmp(file->lines[i].variable, variable))
      return &file->lines[i];
  return NULL;
}
