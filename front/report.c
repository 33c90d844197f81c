#include "front/report.h"

#include "front/front.h"
#include "front/output.h"

#include "base/cancel.h"
#include "base/file_signals.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -1: nowhere. `*opened`: to be closed. */
static int destination(bool *opened)
{
  const char *named = secure_getenv("RAWHAL_FRONT_REPORT");
  *opened = false;
  if (!named)
    return STDERR_FILENO;
  char *end;
  errno = 0;
  long number = strtol(named, &end, 10);
  if (*named && !*end && !errno && number >= 0 && number <= 1 << 20)
    return (int)number;
  int fd = *named ? output_append(named, 0600) : -1;
  *opened = fd >= 0;
  return fd;
}

void front_report_text(const char *text, size_t size)
{
  bool opened;
  WITHOUT_CANCELLATION();
  int fd = destination(&opened);
  if (fd < 0)
    return;
  (void)write_without_signals(fd, text, size); /* if this fails there is no one else to tell */
  if (opened)
    (void)close(fd);
}

void front_report(const char *format, ...)
{
  char line[1024] = "rawhal: ";
  const size_t begin = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(line + begin, sizeof(line) - begin - 1, format, arguments);
  va_end(arguments);
  if (size >= 0) {
    size_t length = strlen(line);
    for (size_t i = 0; i < length; ++i) /* names are whatever a file says */
      if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
        line[i] = '?';
    line[length++] = '\n';
    front_report_text(line, length);
  }
}
