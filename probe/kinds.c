#include <rawhal/probe.h>

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const struct {
  rawhal_probe_kind_t kind;
  const char *name;
} kinds_there_are[] = {
    {RAWHAL_PROBE_WAVES, "waves"},       {RAWHAL_PROBE_BLOCKS, "blocks"},
    {RAWHAL_PROBE_EDGES, "edges"},       {RAWHAL_PROBE_EXEC, "exec"},
    {RAWHAL_PROBE_MEMORY, "memory"},     {RAWHAL_PROBE_VALUES, "values"},
    {RAWHAL_PROBE_BARRIERS, "barriers"},
};
enum { KINDS = sizeof(kinds_there_are) / sizeof(*kinds_there_are) };

const char *rawhal_probe_kind_name(rawhal_probe_kind_t kind)
{
  for (size_t i = 0; i < KINDS; ++i)
    if (kinds_there_are[i].kind == kind)
      return kinds_there_are[i].name;
  return NULL;
}

/* 0: there is none of that name. */
static uint32_t kind_of(const char *name, size_t size)
{
  for (size_t i = 0; i < KINDS; ++i)
    if (strlen(kinds_there_are[i].name) == size && !memcmp(kinds_there_are[i].name, name, size))
      return kinds_there_are[i].kind;
  return 0;
}

static rawhal_status_t refuse(const char *word, size_t size, rawhal_error_t *error)
{
  char known[128] = "";
  size_t used = 0;
  for (size_t i = 0; i < KINDS && used < sizeof(known); ++i)
    used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                             !i              ? ""
                             : i + 1 < KINDS ? ", "
                                             : " or ",
                             kinds_there_are[i].name);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected %s, got '%.*s'", known,
                     size < 60 ? (int)size : 60, word);
}

rawhal_status_t rawhal_probe_kinds_parse(rawhal_string_t text, uint32_t *kinds,
                                         rawhal_error_t *error)
{
  const char *word = text.size ? text.data : "", *end = word + text.size;
  uint32_t found = 0;
  *kinds = 0;
  for (;;) {
    const char *plus = word < end ? memchr(word, '+', (size_t)(end - word)) : NULL;
    const size_t size = (size_t)((plus ? plus : end) - word);
    const uint32_t kind = kind_of(word, size);
    if (!kind)
      return refuse(word, size, error);
    found |= kind;
    if (!plus)
      break;
    word = plus + 1;
  }
  *kinds = found;
  return RAWHAL_OK;
}

/* ---- Values ---- */

static bool skip(rawhal_string_t *text, const char *prefix)
{
  const size_t size = strlen(prefix);
  if (text->size < size || memcmp(text->data, prefix, size) != 0)
    return false;
  text->data += size;
  text->size -= size;
  return true;
}

/* 16: it is none in any base. */
static unsigned digit_of(char byte)
{
  static const char digits[] = "0123456789abcdefABCDEF";
  const char *found = memchr(digits, byte, sizeof(digits) - 1);
  if (!found)
    return 16;
  const unsigned at = (unsigned)(found - digits);
  return at < 16 ? at : at - 6;
}

/* From there on. False: there are none, or too many. */
static bool read_digits(rawhal_string_t *text, unsigned base, uint32_t most, uint32_t *number)
{
  const size_t before = text->size;
  uint64_t sum = 0;
  for (; text->size; ++text->data, --text->size) {
    const unsigned digit = digit_of(*text->data);
    if (digit >= base)
      break;
    sum = sum * base + digit;
    if (sum > most)
      return false;
  }
  *number = (uint32_t)sum;
  return text->size != before;
}

static bool read_offset(rawhal_string_t *text, uint32_t *offset)
{
  const unsigned base = skip(text, "0x") || skip(text, "0X") ? 16 : 10;
  return read_digits(text, base, UINT32_MAX - 1, offset);
}

rawhal_status_t rawhal_probe_value_parse(rawhal_string_t text, rawhal_probe_value_t *value,
                                         rawhal_error_t *error)
{
  enum { MOST_REGISTER = 511 };
  rawhal_string_t rest = text;
  rawhal_probe_value_t read = {.is_vector = skip(&rest, "v")};
  *value = (rawhal_probe_value_t){0};
  if ((!read.is_vector && !skip(&rest, "s")) ||
      !read_digits(&rest, 10, MOST_REGISTER, &read.number) || !skip(&rest, "@") ||
      !read_offset(&rest, &read.offset) || rest.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "expected REGISTER@OFFSET, as v3@0x40, got '%.*s'",
                       text.size < 60 ? (int)text.size : 60, text.size ? text.data : "");
  *value = read;
  return RAWHAL_OK;
}
