/* What the subcommands share: messages, text, arrays. */
#include "tools/shared/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/escape.h"
#include "tools/shared/progress.h"

static void print_error(const char *text)
{
  (void)escape_text(stderr, rawhal_string(text), SIZE_MAX);
}

int tool_fail(const char *command, const rawhal_error_t *error)
{
  progress_clear();
  fprintf(stderr, "rawhal %s: %s: ", command, rawhal_status_name(error->status));
  print_error(error->message);
  if (error->offset != RAWHAL_NO_OFFSET)
    fprintf(stderr, " (at offset %llu)", (unsigned long long)error->offset);
  if (error->hsa_status)
    fprintf(stderr, " (HSA status 0x%x)", (unsigned)error->hsa_status);
  fputc('\n', stderr);
  return TOOL_FAILED;
}

int tool_usage(const char *command, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  fprintf(stderr, "rawhal %s: ", command);
  print_error(text);
  fprintf(stderr, "\nTry 'rawhal %s --help'.\n", command);
  return TOOL_USAGE;
}

bool tool_refuse(rawhal_error_t *error, rawhal_status_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  *error = (rawhal_error_t){.status = status, .offset = RAWHAL_NO_OFFSET};
  vsnprintf(error->message, sizeof(error->message), format, args);
  va_end(args);
  return false;
}

bool tool_parse_number(const char *text, uint64_t top, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 0);
  return !errno && end != text && !*end && !strchr(text, '-') && *value <= top;
}

int tool_print_text(rawhal_string_t text)
{
  size_t columns = escape_text(stdout, text, SIZE_MAX);
  return columns < INT_MAX ? (int)columns : INT_MAX;
}

int tool_print_string(const char *text)
{
  return tool_print_text(rawhal_string(text));
}

void tool_print_column(const char *text, int width)
{
  size_t columns = escape_text(stdout, rawhal_string(text), (size_t)width);
  printf("%*s", width - (int)columns, "");
}

int tool_compare_text(rawhal_string_t a, rawhal_string_t b)
{
  size_t both = a.size < b.size ? a.size : b.size;
  int order = both ? memcmp(a.data, b.data, both) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}
