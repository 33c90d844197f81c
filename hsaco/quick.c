#include "hsaco/quick.h"

#include "hsaco/record.h"

/* Tokens by their first byte (msgpack specification, "Formats"). Those that are not here are
 * unusual: negative numbers, 64-bit numbers, floats, nil, bin, ext, and sizes of 32 bits. */
enum {
  FIXNUM_END = 0x80, /* 0 to 127, itself */
  FIXMAP = 0x80,     /* .. 0x8f: up to 15 pairs */
  FIXARRAY = 0x90,   /* .. 0x9f: up to 15 items */
  FIXSTR = 0xa0,     /* .. 0xbf: up to 31 bytes */
  FALSE = 0xc2,
  TRUE = 0xc3,
  UINT8 = 0xcc,
  UINT16 = 0xcd,
  UINT32 = 0xce,
  STR8 = 0xd9,
  STR16 = 0xda,
  ARRAY16 = 0xdc,
  MAP16 = 0xde,
};

/* What is left of the note. Nothing moves `at` past `end`. */
typedef struct cursor {
  const unsigned char *at, *end;
} cursor_t;

static inline bool has(const cursor_t *cursor, size_t size)
{
  return (size_t)(cursor->end - cursor->at) >= size;
}

/* A big-endian number of 1, 2 or 4 bytes. */
static inline bool take_big(cursor_t *cursor, unsigned size, uint32_t *number)
{
  if (!has(cursor, size))
    return false;
  *number = 0;
  for (unsigned i = 0; i < size; ++i)
    *number = *number << 8 | *cursor->at++;
  return true;
}

static inline bool take_text(cursor_t *cursor, uint32_t size, unpack_value_t *value)
{
  if (!has(cursor, size))
    return false;
  value->type = VALUE_STRING;
  value->text = size ? (const char *)cursor->at : "";
  value->size = size;
  cursor->at += size;
  return true;
}

static inline bool take_number(cursor_t *cursor, unsigned size, unpack_value_t *value)
{
  uint32_t number;
  if (!take_big(cursor, size, &number))
    return false;
  value->type = VALUE_UINT;
  value->number = number;
  return true;
}

static inline bool take_scalar(cursor_t *cursor, unpack_value_t *value)
{
  uint32_t size;
  value->size = 0;
  if (!has(cursor, 1))
    return false;
  unsigned first = *cursor->at++;
  if (first < FIXNUM_END) {
    value->type = VALUE_UINT;
    value->number = first;
    return true;
  }
  if ((first & 0xe0) == FIXSTR)
    return take_text(cursor, first & 0x1f, value);
  switch (first) {
  case FALSE:
  case TRUE:
    value->type = VALUE_BOOL;
    value->number = first == TRUE;
    return true;
  case UINT8:
  case UINT16:
  case UINT32:
    return take_number(cursor, 1u << (first - UINT8), value);
  case STR8:
  case STR16:
    return take_big(cursor, 1u << (first - STR8), &size) && take_text(cursor, size, value);
  default:
    return false;
  }
}

/* Keys are short: none that is known is longer than a fixstr, and longer ones are unusual. */
static inline bool take_key(cursor_t *cursor, rawhal_string_t *key)
{
  if (!has(cursor, 1) || (*cursor->at & 0xe0) != FIXSTR)
    return false;
  *key = (rawhal_string_t){(const char *)cursor->at + 1, *cursor->at & 0x1fu};
  ++cursor->at;
  if (!has(cursor, key->size))
    return false;
  cursor->at += key->size;
  return true;
}

/* The header of a container, short or of 16 bits. */
static inline bool take_header(cursor_t *cursor, unsigned fix, unsigned form16, uint32_t *count)
{
  if (!has(cursor, 1))
    return false;
  unsigned first = *cursor->at++;
  *count = first & 0xf;
  return (first & 0xf0) == fix || (first == form16 && take_big(cursor, 2, count));
}

/* ---- Arguments ---- */

/* A writer gives the keys of each argument in the same order: what stood at this place the last
 * time is the first guess. */
/* Does the key stand here, its header included? Sixteen bytes are compared at once, so as many must
 * be left; no argument's key is longer. */
static inline bool is_here(const metadata_key_t *key, const unsigned char *at)
{
  uint64_t here[2], there[2];
  memcpy(here, at, sizeof(here));
  memcpy(there, &key->header, sizeof(there));
  return (((here[0] ^ there[0]) & key->mask[0]) | ((here[1] ^ there[1]) & key->mask[1])) == 0;
}

static inline bool take_argument_key(cursor_t *cursor, const metadata_key_t **guess,
                                     const metadata_key_t **key)
{
  *key = *guess;
  if (*key && has(cursor, 16) && is_here(*key, cursor->at)) {
    cursor->at += 1 + (*key)->size;
    return true;
  }
  rawhal_string_t text;
  if (!take_key(cursor, &text))
    return false;
  *key = argument_key(text);
  if (*key)
    *guess = *key;
  return true;
}

static inline bool take_argument(unpacker_t *unpacker, cursor_t *cursor)
{
  uint32_t pairs;
  if (!take_header(cursor, FIXMAP, MAP16, &pairs))
    return false;
  begin_argument(unpacker);
  for (; pairs; --pairs) {
    const metadata_key_t *key;
    unpack_value_t value;
    if (!take_argument_key(cursor, &unpacker->guesses[pairs % UNPACK_GUESSES], &key) ||
        !take_scalar(cursor, &value))
      return false;
    take_of_argument(unpacker, key, &value);
  }
  end_argument(unpacker, unpacker->argument);
  ++unpacker->argument_count;
  return unpacker->problem_count == 0;
}

/* ---- Kernels ---- */

static bool take_arguments(unpacker_t *unpacker, cursor_t *cursor, unpack_value_t *value)
{
  uint32_t count;
  if (unpacker->arguments || !take_header(cursor, FIXARRAY, ARRAY16, &count) ||
      begin_arguments(unpacker, count))
    return false;
  for (; count; --count)
    if (!take_argument(unpacker, cursor))
      return false;
  *value = (unpack_value_t){.type = VALUE_CONTAINER, .shape = SHAPE_ARGUMENTS};
  return true;
}

static bool take_numbers(unpacker_t *unpacker, cursor_t *cursor, unpack_value_t *value)
{
  uint32_t count;
  if (!take_header(cursor, FIXARRAY, ARRAY16, &count))
    return false;
  begin_numbers(unpacker);
  for (; count; --count) {
    unpack_value_t item;
    if (!take_scalar(cursor, &item))
      return false;
    add_number(unpacker, &item);
  }
  *value = (unpack_value_t){.type = VALUE_CONTAINER, .shape = SHAPE_NUMBERS};
  return true;
}

static bool take_value(unpacker_t *unpacker, cursor_t *cursor, const metadata_key_t *key,
                       unpack_value_t *value)
{
  switch (key ? (field_type_t)key->type : FIELD_NONE) {
  case FIELD_ARGUMENTS:
    return take_arguments(unpacker, cursor, value);
  case FIELD_U32X2:
  case FIELD_U32X3:
    return take_numbers(unpacker, cursor, value);
  default:
    return take_scalar(cursor, value);
  }
}

static bool take_kernel(unpacker_t *unpacker, cursor_t *cursor)
{
  uint32_t pairs;
  if (!take_header(cursor, FIXMAP, MAP16, &pairs))
    return false;
  for (; pairs; --pairs) {
    rawhal_string_t text;
    unpack_value_t value;
    if (!take_key(cursor, &text))
      return false;
    const metadata_key_t *key = kernel_key(text);
    if (!take_value(unpacker, cursor, key, &value))
      return false;
    take_of_kernel(unpacker, key, &value);
  }
  return unpacker->problem_count == 0;
}

bool quick_value(unpacker_t *unpacker, unpack_shape_t shape, uint32_t depth, size_t *offset,
                 unpack_value_t *value)
{
  if (*offset > unpacker->size || unpacker->max_nesting <= depth)
    return false;
  const unsigned char *bytes = (const unsigned char *)unpacker->bytes;
  cursor_t cursor = {bytes + *offset, bytes + unpacker->size};
  if (!(shape == SHAPE_NUMBERS ? take_numbers(unpacker, &cursor, value)
                               : take_scalar(&cursor, value)))
    return false;
  *offset = (size_t)(cursor.at - bytes);
  return true;
}

bool quick_kernel(unpacker_t *unpacker, uint32_t depth, size_t *offset, rawhal_kernel_t *kernel)
{
  enum { LEVELS = 3 }; /* a kernel's map, its list of arguments, an argument's map */
  if (*offset > unpacker->size || unpacker->max_nesting < depth + LEVELS)
    return false;
  const unsigned char *bytes = (const unsigned char *)unpacker->bytes;
  cursor_t cursor = {bytes + *offset, bytes + unpacker->size};
  arena_mark_t mark = arena_mark(unpacker->arena);
  begin_kernel(unpacker, kernel);
  if (!take_kernel(unpacker, &cursor)) {
    arena_rewind(unpacker->arena, mark);
    return false;
  }
  size_t end = (size_t)(cursor.at - bytes);
  finish_kernel_record(unpacker, *offset, end);
  *offset = end;
  return true;
}
