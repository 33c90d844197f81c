#include "hsaco/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"

/* One line of /proc/self/maps after the other, in order of addresses (proc(5)). Only the beginning
 * of a line matters; names after it may be long. */
enum { LINE = 128 };

typedef struct lines {
  int file;
  char bytes[4096];
  size_t at, end;
} lines_t;

static int next_byte(lines_t *lines)
{
  if (lines->at == lines->end) {
    ssize_t got = TEMP_FAILURE_RETRY(read(lines->file, lines->bytes, sizeof(lines->bytes)));
    if (got <= 0)
      return -1;
    lines->at = 0;
    lines->end = (size_t)got;
  }
  return (unsigned char)lines->bytes[lines->at++];
}

/* Its first LINE - 1 bytes. */
static bool next_line(lines_t *lines, char *line)
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

/* "start-end perms offset major:minor inode", all but the last in hexadecimal. */
static mapped_range_t parse(const char *text)
{
  mapped_range_t range = {.start = hexadecimal(&text)};
  text += *text == '-';
  range.end = hexadecimal(&text);
  range.readable = strncmp(text, " r", 2) == 0;
  text += strcspn(text + (*text == ' '), " ") + (*text == ' ');
  text += *text == ' ';
  (void)hexadecimal(&text);
  text += *text == ' ';
  unsigned major = (unsigned)hexadecimal(&text);
  text += *text == ':';
  range.device = makedev(major, (unsigned)hexadecimal(&text));
  text += *text == ' ';
  for (; *text >= '0' && *text <= '9'; ++text)
    range.inode = range.inode * 10 + (uint64_t)(*text - '0');
  return range;
}

rawhal_status_t mapped_walk(mapped_visit *visit, void *context, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  lines_t lines = {.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  if (lines.file < 0)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "cannot read /proc/self/maps: %s", strerror(errno));
  for (char line[LINE]; next_line(&lines, line);) {
    mapped_range_t range = parse(line);
    if (!visit(context, &range))
      break;
  }
  close(lines.file);
  return RAWHAL_OK;
}

static bool reach(void *context, const mapped_range_t *range)
{
  uint64_t *reached = context;
  if (range->end <= *reached)
    return true;
  if (range->start > *reached || !range->readable)
    return false;
  *reached = range->end;
  return true;
}

rawhal_status_t mapped_readable(const void *pointer, size_t *readable, rawhal_error_t *error)
{
  uint64_t reached = (uintptr_t)pointer;
  *readable = 0;
  rawhal_status_t status = mapped_walk(reach, &reached, error);
  if (status != RAWHAL_OK)
    return status;
  *readable = (size_t)(reached - (uintptr_t)pointer);
  if (!*readable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no readable memory at %p",
                       pointer);
  return RAWHAL_OK;
}
