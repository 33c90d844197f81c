#include "tools/json.h"

#include <stdlib.h>

json_t *json_text(rawhal_string_t text)
{
  json_t *value = json_stringn(text.size ? text.data : "", text.size);
  if (value)
    return value;
  char *latin = malloc(2 * text.size + 1);
  if (!latin)
    return NULL;
  size_t used = 0;
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c >= 0x80)
      latin[used++] = (char)(0xc0 | c >> 6);
    latin[used++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
  }
  value = json_stringn(latin, used);
  free(latin);
  return value;
}

json_t *json_text_or_null(rawhal_string_t text)
{
  return text.size ? json_text(text) : json_null();
}
