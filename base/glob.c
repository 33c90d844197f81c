#include "base/glob.h"

#include <string.h>

/* ---- [...] ---- */

typedef struct range {
  unsigned char first, last;
} range_t;

static const struct {
  char name[8]; /* not NUL-terminated if it has so many */
  range_t ranges[5];
  size_t count;
} classes[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
    {"blank", {{' ', ' '}, {'\t', '\t'}}, 2},
    {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}, 2},
    {"digit", {{'0', '9'}}, 1},
    {"graph", {{'!', '~'}}, 1},
    {"lower", {{'a', 'z'}}, 1},
    {"print", {{' ', '~'}}, 1},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
    {"space", {{' ', ' '}, {'\t', '\r'}}, 2},
    {"upper", {{'A', 'Z'}}, 1},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
};

/* [:NAME:] at `at`, whose "[:" was seen. 0: it is none; else its bytes. */
static size_t class_at(rawhal_string_t pattern, size_t at, unsigned char byte, bool *has)
{
  for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); ++i) {
    const size_t size = strnlen(classes[i].name, sizeof(classes[i].name));
    if (pattern.size - at < size + 4 || memcmp(pattern.data + at + 2, classes[i].name, size) != 0 ||
        memcmp(pattern.data + at + 2 + size, ":]", 2) != 0)
      continue;
    for (size_t k = 0; k < classes[i].count; ++k)
      *has |= byte >= classes[i].ranges[k].first && byte <= classes[i].ranges[k].last;
    return size + 4;
  }
  return 0;
}

/* One byte of a set, which \ may be before. False: the pattern ends. */
static bool set_byte(rawhal_string_t pattern, size_t *at, unsigned char *byte)
{
  *at += *at < pattern.size && pattern.data[*at] == '\\';
  if (*at >= pattern.size)
    return false;
  *byte = (unsigned char)pattern.data[(*at)++];
  return true;
}

/* The set that begins at `*at`, behind which that is then. False: there is no ], it is no set; nor,
 * unless a class was in between, is any from there on, which `*no_sets` remembers: looking for the
 * end of each would take the square of the pattern's length. */
static bool set_fits(rawhal_string_t pattern, size_t *at, unsigned char byte, bool *fits,
                     size_t *no_sets)
{
  size_t next = *at + 1, none_from = *at;
  if (*at >= *no_sets)
    return false;
  const bool other =
      next < pattern.size && (pattern.data[next] == '!' || pattern.data[next] == '^');
  next += other;
  bool has = false;
  for (bool first = true; next < pattern.size; first = false) {
    if (pattern.data[next] == ']' && !first) {
      *at = next + 1;
      *fits = has != other;
      return true;
    }
    if (pattern.size - next > 1 && pattern.data[next] == '[' && pattern.data[next + 1] == ':') {
      const size_t size = class_at(pattern, next, byte, &has);
      if (size) {
        next += size;
        none_from = next;
        continue;
      }
    }
    unsigned char low, high;
    if (!set_byte(pattern, &next, &low))
      break;
    high = low;
    if (pattern.size - next > 1 && pattern.data[next] == '-' && pattern.data[next + 1] != ']') {
      ++next;
      if (!set_byte(pattern, &next, &high))
        break;
    }
    has |= byte >= low && byte <= high;
  }
  *no_sets = none_from;
  return false;
}

/* ---- The whole ---- */

/* Whether what stands at `*at`, no star, is that byte; then `*at` is behind it. */
static bool one_fits(rawhal_string_t pattern, size_t *at, unsigned char byte, size_t *no_sets)
{
  bool fits = false;
  const char kind = pattern.data[*at];
  if (kind == '[' && set_fits(pattern, at, byte, &fits, no_sets))
    return fits;
  if (kind == '?') {
    ++*at;
    return true;
  }
  const size_t escaped = kind == '\\';
  if (*at + escaped >= pattern.size || (unsigned char)pattern.data[*at + escaped] != byte)
    return false;
  *at += escaped + 1;
  return true;
}

/* Where what stands behind a star may begin, at `from` or later. */
static size_t next_start(rawhal_string_t pattern, size_t at, rawhal_string_t text, size_t from)
{
  if (at == pattern.size || strchr("*?[\\", pattern.data[at]))
    return from; /* NUL, too, which strchr() finds */
  const char *found = memchr(text.data + from, pattern.data[at], text.size - from);
  return found ? (size_t)(found - text.data) : text.size;
}

/* What fits before the last star that was met need not be looked at again: whatever fits later
 * could only be less. */
bool glob_fits(rawhal_string_t pattern, rawhal_string_t text)
{
  size_t at = 0, in_text = 0, star = SIZE_MAX, from = 0, no_sets = SIZE_MAX;
  while (in_text < text.size) {
    if (at < pattern.size && pattern.data[at] == '*') {
      star = ++at;
      in_text = from = next_start(pattern, star, text, in_text);
      continue;
    }
    if (at < pattern.size && one_fits(pattern, &at, (unsigned char)text.data[in_text], &no_sets)) {
      ++in_text;
      continue;
    }
    if (star == SIZE_MAX)
      return false;
    at = star;
    in_text = from = next_start(pattern, star, text, from + 1);
  }
  while (at < pattern.size && pattern.data[at] == '*')
    ++at;
  return at == pattern.size;
}

bool glob_names(rawhal_string_t wanted, rawhal_string_t text)
{
  const bool is_same =
      wanted.size == text.size && (!text.size || !memcmp(wanted.data, text.data, text.size));
  return is_same || glob_fits(wanted, text);
}

bool glob_is_pattern(rawhal_string_t text)
{
  for (size_t i = 0; i < text.size; ++i)
    if (strchr("*?[", text.data[i]) && text.data[i])
      return true;
  return false;
}
