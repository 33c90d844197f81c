#include "hsaco/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* One line of /proc/self/maps after the other: "start-end rwxp ...", both in hexadecimal, in order
 * of addresses (proc(5)). Only the beginning of a line matters; names behind it may be long. */
enum { LINE = 64 };

struct lines {
  int file;
  char bytes[4096];
  size_t at, end;
};

static int next_byte(struct lines *lines)
{
  if (lines->at == lines->end) {
    ssize_t got;
    do
      got = read(lines->file, lines->bytes, sizeof(lines->bytes));
    while (got < 0 && errno == EINTR);
    if (got <= 0)
      return -1;
    lines->at = 0;
    lines->end = (size_t)got;
  }
  return (unsigned char)lines->bytes[lines->at++];
}

/* Its first LINE - 1 bytes. */
static bool next_line(struct lines *lines, char *line)
{
  size_t size = 0;
  int byte = next_byte(lines);
  if (byte < 0)
    return false;
  for (; byte >= 0 && byte != '\n'; byte = next_byte(lines))
    if (size < LINE - 1)
      line[size++] = (char)byte;
  line[size] = 0;
  return true;
}

/* Without the locale's and errno's part in strtoull(). */
static uint64_t hexadecimal(const char **text)
{
  static const char digits[] = "0123456789abcdef";
  uint64_t value = 0;
  for (const char *digit; **text && (digit = strchr(digits, **text)); ++*text)
    value = value << 4 | (uint64_t)(digit - digits);
  return value;
}

rawhal_status_t mapped_readable(const void *pointer, size_t *readable, rawhal_error_t *error)
{
  *readable = 0;
  struct lines lines = {.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  if (lines.file < 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "/proc/self/maps, to learn what can be read: %s",
                       strerror(errno));
  const uint64_t wanted = (uintptr_t)pointer;
  uint64_t reached = wanted;
  for (char line[LINE]; next_line(&lines, line);) {
    const char *text = line;
    uint64_t start = hexadecimal(&text);
    text += *text == '-';
    uint64_t end = hexadecimal(&text);
    if (end <= reached)
      continue;
    if (start > reached || strncmp(text, " r", 2) != 0)
      break;
    reached = end;
  }
  close(lines.file);
  *readable = (size_t)(reached - wanted);
  if (!*readable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "nothing that can be read is at %p",
                       pointer);
  return RAWHAL_OK;
}
