#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(rawhal_error_t *error, rawhal_status_t status, uint64_t offset, const char *format,
                 va_list args)
{
  if (!error)
    return;
  char text[sizeof(error->message)]; /* the arguments may point into the record */
  int length = vsnprintf(text, sizeof(text), format, args);
  if (length >= (int)sizeof(text))
    memcpy(text + sizeof(text) - 4, "...", 4);
  for (char *c = text; *c; ++c) /* names come from hostile files; a message is one line of text */
    if ((unsigned char)*c < 0x20 || *c == 0x7f)
      *c = '?';
  *error = (rawhal_error_t){.status = status, .offset = offset};
  memcpy(error->message, text, sizeof(text));
}

rawhal_status_t rawhal_fail(rawhal_error_t *error, rawhal_status_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fill(error, status, RAWHAL_NO_OFFSET, format, args);
  va_end(args);
  return status;
}

rawhal_status_t rawhal_fail_at(rawhal_error_t *error, rawhal_status_t status, uint64_t offset,
                               const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fill(error, status, offset, format, args);
  va_end(args);
  return status;
}

rawhal_status_t rawhal_fail_of(rawhal_error_t *error, rawhal_status_t status, const char *format,
                               ...)
{
  if (!error || status == RAWHAL_OK)
    return status;
  const rawhal_error_t said = *error;
  char words[sizeof(error->message)];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(words, sizeof(words), format, args);
  va_end(args);
  status = rawhal_fail_at(error, status, said.offset, "%s: %s", words, said.message);
  error->hsa_status = said.hsa_status;
  return status;
}

rawhal_status_t file_failure(int code)
{
  return code == ENOENT || code == ENOTDIR ? RAWHAL_NOT_FOUND
         : code == EEXIST                  ? RAWHAL_INVALID_ARGUMENT
                                           : RAWHAL_RUNTIME;
}
