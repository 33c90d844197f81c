#include "base/escape.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 16 }; /* the longest escape: a surrogate pair, "\ud83d\ude00" */

/* ---- UTF-8 ---- */

/* The sequence at `at` (RFC 3629: no overlong forms, no surrogates): its bytes; 0 if there is none,
 * and the code is the byte. */
static size_t decode(const unsigned char *at, size_t left, uint32_t *code)
{
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
  *code = *at;
  if (length < 2)
    return length;
  uint32_t value = *at & (0xffu >> (length + 1));
  bool fits = *at <= 0xf4 && left >= length;
  for (size_t i = 1; fits && i < length; ++i) {
    fits = (at[i] & 0xc0) == 0x80;
    value = value << 6 | (at[i] & 0x3f);
  }
  if (!fits || value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    return 0;
  *code = value;
  return length;
}

/* Controls; marks of direction and of formatting; what shows nothing, or ends a line (Unicode's
 * categories Cc, Cf, Zl, Zp, and Default_Ignorable_Code_Point). */
static bool hides(uint32_t code)
{
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x0, 0x1f},         {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
      {0x600, 0x605},      {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
      {0x890, 0x891},      {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
      {0x180b, 0x180f},    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
      {0x3164, 0x3164},    {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
      {0xffa0, 0xffa0},    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
      {0x110cd, 0x110cd},  {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
      {0xe0000, 0x10ffff}, /* tags, variation selectors; private use, which no two fonts share */
  };
  for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges) && code >= ranges[i].first; ++i)
    if (code <= ranges[i].last)
      return true;
  return false;
}

/* ---- Pieces ---- */

/* One step through a text: `*size` bytes of it, and what stands for them when that is not
 * themselves. */
typedef const char *step_fn(const unsigned char *at, size_t left, size_t *size, char piece[PIECE]);

static const char *step_text(const unsigned char *at, size_t left, size_t *size, char piece[PIECE])
{
  uint32_t code;
  *size = decode(at, left, &code);
  if (*size && code != '\\' && !hides(code))
    return NULL;
  if (!*size || code < 0x80)
    snprintf(piece, PIECE, code == '\\' ? "\\\\" : "\\x%02x", *at);
  else
    snprintf(piece, PIECE, "\\u{%x}", (unsigned)code);
  *size += !*size;
  return piece;
}

static const char *step_json(const unsigned char *at, size_t left, size_t *size, char piece[PIECE])
{
  uint32_t code;
  *size = decode(at, left, &code);
  bool quoted = *size && (code == '"' || code == '\\');
  if (*size && !quoted && !hides(code))
    return NULL;
  if (quoted)
    snprintf(piece, PIECE, "\\%c", (int)code);
  else if (code < 0x10000)
    snprintf(piece, PIECE, "\\u%04x", (unsigned)code);
  else
    snprintf(piece, PIECE, "\\u%04x\\u%04x", 0xd800u + ((code - 0x10000) >> 10),
             0xdc00u + (code & 0x3ff));
  *size += !*size;
  return piece;
}

static bool is_plain(unsigned char c)
{
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

size_t escape(rawhal_string_t text, escape_form_t form, size_t most, escape_put_fn *put,
              void *context)
{
  step_fn *const step = form == ESCAPE_JSON ? step_json : step_text;
  const unsigned char *at = (const unsigned char *)text.data;
  size_t left = text.size, columns = 0, size;
  char piece[PIECE];
  while (left && columns < most) {
    for (size = 0; size < left && size < most - columns && is_plain(at[size]);)
      ++size;
    if (size) { /* almost always the whole */
      put(context, (const char *)at, size);
      columns += size;
    } else {
      const char *shown = step(at, left, &size, piece);
      size_t width = shown ? strlen(shown) : 1;
      if (width > most - columns)
        break;
      put(context, shown ? shown : (const char *)at, shown ? width : size);
      columns += width;
    }
    at += size;
    left -= size;
  }
  return columns;
}

size_t escape_cut(rawhal_string_t text, size_t most)
{
  if (text.size <= most)
    return text.size;
  const unsigned char *at = (const unsigned char *)text.data;
  uint32_t code;
  for (size_t back = 1; back < 4 && back <= most; ++back)
    if (at[most - back] >= 0xc2)
      return decode(at + most - back, text.size - most + back, &code) > back ? most - back : most;
  return most;
}
