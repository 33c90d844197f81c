/* Messages and text output. */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>

int tool_fail(const char *command, const rawhal_error_t *error)
{
  fprintf(stderr, "rawhal %s: %s: %s", command, rawhal_status_name(error->status), error->message);
  if (error->offset != RAWHAL_NO_OFFSET)
    fprintf(stderr, " (at offset %llu)", (unsigned long long)error->offset);
  if (error->hsa_status)
    fprintf(stderr, " (HSA status 0x%x)", (unsigned)error->hsa_status);
  fputc('\n', stderr);
  return TOOL_FAILED;
}

int tool_usage(const char *command, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "rawhal %s: ", command);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\nTry 'rawhal %s --help'.\n", command);
  va_end(args);
  return TOOL_USAGE;
}

int tool_print_text(rawhal_string_t text)
{
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    putchar(c < 0x20 || c == 0x7f ? '?' : c);
  }
  return (int)text.size;
}
