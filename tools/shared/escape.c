#include "tools/shared/escape.h"

static void put(void *out, const char *piece, size_t size)
{
  fwrite(piece, 1, size, out);
}

size_t escape_text(FILE *out, rawhal_string_t text, size_t most)
{
  return escape(text, ESCAPE_TEXT, most, put, out);
}

void escape_json(FILE *out, rawhal_string_t text)
{
  (void)escape(text, ESCAPE_JSON, SIZE_MAX, put, out);
}
