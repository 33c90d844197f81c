#include "hsaco/pack_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "hsaco/quick.h"

void pack_reader_init(pack_reader_t *reader, const void *bytes, size_t size, uint64_t origin,
                      const char *what, rawhal_error_t *error)
{
  *reader = (pack_reader_t){
      .unpacker = {.bytes = bytes,
                   .size = size,
                   .max_nesting = PACK_MOST_NESTING,
                   .nesting_failure = RAWHAL_CAP_EXCEEDED},
      .origin = origin,
      .what = what,
      .error = error,
  };
}

uint64_t pack_place(const pack_reader_t *reader)
{
  return reader->origin + reader->offset;
}

bool pack_fail(pack_reader_t *reader, uint64_t place, const char *format, ...)
{
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  reader->status =
      rawhal_fail_at(reader->error, RAWHAL_MALFORMED, place, "%s: %s", reader->what, text);
  return false;
}

enum { STEPS_A_BYTE = 8 }; /* most values have one byte, or many that are skipped */

static bool fail_work(pack_reader_t *reader)
{
  reader->no_work = true;
  reader->status = rawhal_fail_at(reader->error, RAWHAL_CAP_EXCEEDED, pack_place(reader),
                                  "%s: reading it would take more than %d steps for each of its "
                                  "bytes: too many values are nearly empty",
                                  reader->what, WORK_A_BYTE);
  return false;
}

bool pack_enter(pack_reader_t *reader, unpack_header_t kind, const char *name, uint32_t *count)
{
  uint64_t place = pack_place(reader);
  *count = 0;
  if (reader->status)
    return false;
  if (!work_take(reader->work, WORK_TOKEN))
    return fail_work(reader);
  unpack_header_t found = unpack_header(&reader->unpacker, &reader->offset, count);
  if (found == HEADER_CUT)
    return pack_fail(reader, place, "it is truncated where %s starts", name);
  if (found != kind)
    return pack_fail(reader, place, "%s is not a %s", name, kind == HEADER_MAP ? "map" : "list");
  ++reader->depth;
  return true;
}

void pack_leave(pack_reader_t *reader)
{
  --reader->depth;
}

/* Reads a value that takes all of the work that is left at most, as if the bytes ended there. */
static bool read_value(pack_reader_t *reader, unpack_value_t *value, bool *short_of_work)
{
  unpacker_t *unpacker = &reader->unpacker;
  const size_t size = unpacker->size, start = reader->offset;
  const uint64_t affordable = reader->work->left / STEPS_A_BYTE;
  *short_of_work = affordable < size - start;
  if (*short_of_work)
    unpacker->size = start + (size_t)affordable;
  bool read = quick_value(unpacker, SHAPE_ANY, reader->depth, &reader->offset, value) ||
              unpack_value(unpacker, SHAPE_ANY, reader->depth, &reader->offset, value);
  unpacker->size = size;
  return read && work_take(reader->work, STEPS_A_BYTE * (uint64_t)(reader->offset - start));
}

bool pack_value(pack_reader_t *reader, unpack_value_t *value)
{
  const unpacker_t *unpacker = &reader->unpacker;
  bool short_of_work;
  if (reader->status)
    return false;
  if (!work_take(reader->work, WORK_TOKEN))
    return fail_work(reader);
  if (read_value(reader, value, &short_of_work))
    return true;
  if (short_of_work)
    return fail_work(reader);
  reader->status = rawhal_fail_at(reader->error, unpacker->failure, pack_place(reader), "%s: %s",
                                  reader->what, unpacker->why);
  return false;
}

/* One value of a type; `complaint` is what any other is said to be. */
static bool pack_typed(pack_reader_t *reader, unpack_type_t type, const char *name,
                       const char *complaint, unpack_value_t *value)
{
  uint64_t place = pack_place(reader);
  return pack_value(reader, value) &&
         (value->type == type || pack_fail(reader, place, "%s is %s", name, complaint));
}

bool pack_text(pack_reader_t *reader, const char *name, rawhal_string_t *text)
{
  unpack_value_t value;
  if (!pack_typed(reader, VALUE_STRING, name, "not text", &value))
    return false;
  *text = (rawhal_string_t){value.text, value.size};
  return true;
}

bool pack_number(pack_reader_t *reader, const char *name, uint64_t *number)
{
  unpack_value_t value;
  if (!pack_typed(reader, VALUE_UINT, name, "not a number, or negative", &value))
    return false;
  *number = value.number;
  return true;
}

/* The index of a key's text in `keys`, or `key_count`. */
static size_t find_key(const pack_key_t *keys, size_t key_count, const unpack_value_t *key)
{
  size_t i = 0;
  while (i < key_count && (key->type != VALUE_STRING || key->size != strlen(keys[i].name) ||
                           memcmp(key->text, keys[i].name, key->size) != 0))
    ++i;
  return i;
}

bool pack_map(pack_reader_t *reader, const char *name, const pack_key_t *keys, size_t key_count,
              void *context, uint32_t *seen)
{
  uint32_t count;
  *seen = 0;
  if (!pack_enter(reader, HEADER_MAP, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    unpack_value_t key, value;
    uint64_t place = pack_place(reader);
    if (!pack_value(reader, &key))
      return false;
    size_t known = find_key(keys, key_count, &key);
    if (known == key_count) {
      if (!pack_value(reader, &value))
        return false;
      continue;
    }
    if (*seen >> known & 1)
      return pack_fail(reader, place, "%s has the key '%s' twice", name, keys[known].name);
    *seen |= 1u << known;
    if (!keys[known].read(reader, keys[known].name, context))
      return false;
  }
  pack_leave(reader);
  return true;
}
