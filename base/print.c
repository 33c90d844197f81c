#include "base/print.h"

#include <stdarg.h>
#include <stdio.h>

print_t print_into(char *text, size_t size)
{
  if (text && size)
    text[0] = '\0';
  return (print_t){.text = text, .size = text ? size : 0};
}

void print(print_t *to, const char *format, ...)
{
  size_t room = to->length < to->size ? to->size - to->length : 0;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(room ? to->text + to->length : NULL, room, format, arguments);
  va_end(arguments);
  if (length > 0)
    to->length += (size_t)length;
}
