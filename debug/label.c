#include "debug/label.h"

#include "base/escape.h"

#include <string.h>

void label_copy(char label[RAWHAL_LABEL_BYTES], rawhal_string_t text)
{
  text.size = text.size ? strnlen(text.data, text.size) : 0;
  const size_t size = escape_cut(text, RAWHAL_LABEL_BYTES - 1);
  memset(label, 0, RAWHAL_LABEL_BYTES);
  if (size)
    memcpy(label, text.data, size);
}

rawhal_string_t label_text(const char label[RAWHAL_LABEL_BYTES])
{
  return (rawhal_string_t){label, strnlen(label, RAWHAL_LABEL_BYTES)};
}
