/* Records of kernels and arguments, filled key by key. Internal.
 *
 * Two parsers read metadata: msgpack-c's (unpack.c) takes any msgpack, quick.c only the usual
 * shapes. What a key means, and what is odd about its value, is decided here for both; inline,
 * because this is where the time of opening a large object goes. */
#ifndef RAWHAL_HSACO_RECORD_H
#define RAWHAL_HSACO_RECORD_H

#include <string.h>

#include "hsaco/unpack.h"

enum { STOP = -10 }; /* msgpack-c returns a callback's negative value; its own errors are -1, -2 */

static inline int stop(unpacker_t *unpacker, rawhal_status_t status, const char *why)
{
  unpacker->failure = status;
  unpacker->why = why;
  return STOP;
}

static inline void problem(unpacker_t *unpacker, unpack_problem_kind_t kind,
                           const metadata_key_t *key, uint32_t argument)
{
  if (unpacker->problem_count < UNPACK_MOST_PROBLEMS)
    unpacker->problems[unpacker->problem_count++] =
        (unpack_problem_t){key, argument, (uint8_t)kind};
}

/* ---- Beginnings ---- */

static inline void begin_kernel(unpacker_t *unpacker, rawhal_kernel_t *kernel)
{
  *kernel = (rawhal_kernel_t){0};
  unpacker->kernel = kernel;
  unpacker->seen = 0;
  unpacker->arguments = NULL;
  unpacker->argument_count = 0;
  unpacker->arguments_end = 0;
  unpacker->odd = 0;
  unpacker->problem_count = 0;
}

static inline int begin_arguments(unpacker_t *unpacker, unsigned count)
{
  /* Each argument takes a byte at least, so a count beyond the bytes is cut short anyway. */
  if (count > unpacker->size)
    return stop(unpacker, RAWHAL_MALFORMED, "more arguments are announced than there are bytes");
  if (count > unpacker->max_arguments)
    return stop(unpacker, RAWHAL_CAP_EXCEEDED, "a kernel has more arguments than max_arguments");
  unpacker->arguments = arena_calloc(unpacker->arena, count, sizeof(*unpacker->arguments));
  if (!unpacker->arguments)
    return stop(unpacker, unpacker->arena->status, "no memory for arguments");
  unpacker->argument_count = 0;
  unpacker->arguments_end = 0; /* a second list replaces the first */
  unpacker->furthest = 0;
  unpacker->odd &= (uint32_t)ODD_UNKNOWN_KERNEL_KEY;
  return 0;
}

static inline void begin_argument(unpacker_t *unpacker)
{
  unpacker->argument = &unpacker->arguments[unpacker->argument_count];
  unpacker->argument_seen = 0;
  unpacker->has_detail = false;
}

/* The argument has a detail that not every one of its kind has. */
static inline rawhal_argument_detail_t *own_detail(unpacker_t *unpacker)
{
  if (!unpacker->has_detail)
    unpacker->detail = (rawhal_argument_detail_t){0};
  unpacker->has_detail = true;
  return &unpacker->detail;
}

static inline void begin_numbers(unpacker_t *unpacker)
{
  unpacker->number_count = 0;
  unpacker->numbers_fit = true;
}

/* ---- Fields ---- */

static inline void add_number(unpacker_t *unpacker, const unpack_value_t *item)
{
  uint32_t at = unpacker->number_count++;
  if (item->type != VALUE_UINT || item->number > UINT32_MAX)
    unpacker->numbers_fit = false;
  else if (at < 3)
    unpacker->numbers[at] = (uint32_t)item->number;
}

static inline bool store_numbers(const unpacker_t *unpacker, const unpack_value_t *value,
                                 void *field, uint32_t count)
{
  if (value->type != VALUE_CONTAINER || value->shape != SHAPE_NUMBERS || !unpacker->numbers_fit ||
      unpacker->number_count != count)
    return false;
  memcpy(field, unpacker->numbers, count * sizeof(uint32_t));
  return true;
}

static inline bool store_value_kind(unpacker_t *unpacker, const unpack_value_t *value)
{
  if (value->type != VALUE_STRING)
    return false;
  rawhal_string_t text = {value->text, value->size};
  rawhal_value_kind_t kind = value_kind_of(text);
  unpacker->argument->value_kind = (uint8_t)kind;
  if (kind == RAWHAL_VALUE_UNKNOWN || kind == RAWHAL_VALUE_HIDDEN_UNKNOWN)
    own_detail(unpacker)->value_kind_text = text;
  return true;
}

static inline bool store_word(const unpack_value_t *value, field_type_t type, void *field)
{
  if (value->type != VALUE_STRING)
    return false;
  rawhal_string_t text = {value->text, value->size};
  *(uint8_t *)field =
      (uint8_t)(type == FIELD_ACCESS ? (int)access_of(text) : (int)address_space_of(text));
  return true;
}

static inline bool store_bool(const unpack_value_t *value, bool *truth)
{
  *truth = value->number == 1;
  return value->type == VALUE_BOOL || (value->type == VALUE_UINT && value->number <= 1);
}

/* Puts `value` where `key` says. */
static inline void store(unpacker_t *unpacker, const metadata_key_t *key,
                         const unpack_value_t *value, void *record, uint32_t argument)
{
  void *field = (char *)record + key->offset;
  bool fits = true, truth = false;
  switch ((field_type_t)key->type) {
  case FIELD_STRING:
    fits = value->type == VALUE_STRING;
    if (fits)
      *(rawhal_string_t *)field = (rawhal_string_t){value->text, value->size};
    break;
  case FIELD_U32:
    fits = value->type == VALUE_UINT;
    if (fits && value->number > UINT32_MAX) {
      problem(unpacker, PROBLEM_RANGE, key, argument);
      return;
    }
    if (fits)
      *(uint32_t *)field = (uint32_t)value->number;
    break;
  case FIELD_VALUE_KIND:
    fits = store_value_kind(unpacker, value);
    break;
  case FIELD_ADDRESS_SPACE:
  case FIELD_ACCESS:
    fits = store_word(value, key->type, field);
    break;
  case FIELD_BOOL:
    fits = store_bool(value, &truth);
    *(bool *)field = fits && truth;
    break;
  case FIELD_FLAG:
    fits = store_bool(value, &truth);
    if (fits && truth)
      *(uint8_t *)field |= key->extra;
    break;
  case FIELD_U32X2:
    fits = store_numbers(unpacker, value, field, 2);
    break;
  case FIELD_U32X3:
    fits = store_numbers(unpacker, value, field, 3);
    break;
  case FIELD_ARGUMENTS:
    fits = value->type == VALUE_CONTAINER && value->shape == SHAPE_ARGUMENTS;
    unpacker->kernel->has_arguments |= fits;
    break;
  case FIELD_NONE:
    break;
  }
  if (!fits)
    problem(unpacker, PROBLEM_TYPE, key, argument);
}

/* ---- One key and its value ---- */

/* `known` is the key's entry, or NULL. */
static inline void take_of_argument(unpacker_t *unpacker, const metadata_key_t *known,
                                    const unpack_value_t *value)
{
  if (!known) {
    unpacker->odd |= ODD_UNKNOWN_ARGUMENT_KEY;
    return;
  }
  if (unpacker->argument_seen >> known->bit & 1)
    problem(unpacker, PROBLEM_TWICE, known, unpacker->argument_count);
  unpacker->argument_seen |= 1u << known->bit;
  void *record = unpacker->argument;
  if (known->flags & KEY_DETAIL)
    record = own_detail(unpacker);
  store(unpacker, known, value, record, unpacker->argument_count);
}

static inline void take_of_kernel(unpacker_t *unpacker, const metadata_key_t *known,
                                  const unpack_value_t *value)
{
  if (!known) {
    unpacker->odd |= ODD_UNKNOWN_KERNEL_KEY;
    return;
  }
  if (unpacker->seen >> known->bit & 1)
    problem(unpacker, PROBLEM_TWICE, known, PROBLEM_OF_KERNEL);
  unpacker->seen |= (uint64_t)1 << known->bit;
  store(unpacker, known, value, unpacker->kernel, PROBLEM_OF_KERNEL);
}

/* ---- The end of an argument ---- */

/* Kinds that are 8-byte addresses, which compilers align to 8. */
static inline bool is_pointer(const rawhal_argument_t *argument)
{
  return argument->size == 8 && argument->value_kind >= RAWHAL_VALUE_GLOBAL_BUFFER &&
         argument->value_kind <= RAWHAL_VALUE_QUEUE;
}

/* Where it finds no memory, opening fails in the end: the arena's status says so. */
static inline void keep_detail(unpacker_t *unpacker, rawhal_argument_t *argument)
{
  rawhal_argument_detail_t *own = arena_alloc(unpacker->arena, sizeof(*own));
  if (!own)
    return;
  *own = unpacker->detail;
  if (argument->detail->value_kind_text.size)
    own->value_kind_text = argument->detail->value_kind_text;
  argument->detail = own;
}

/* An argument is complete: what is missing or odd about it? */
static inline void end_argument(unpacker_t *unpacker, rawhal_argument_t *argument)
{
  argument->detail = &detail_of_kind[argument->value_kind];
  if (unpacker->has_detail)
    keep_detail(unpacker, argument);
  enum {
    REQUIRED = 1 << ARGUMENT_BIT_OFFSET | 1 << ARGUMENT_BIT_SIZE | 1 << ARGUMENT_BIT_VALUE_KIND
  };
  uint32_t number = unpacker->argument_count, missing = REQUIRED & ~unpacker->argument_seen;
  if (missing) {
    size_t count;
    const metadata_key_t *keys = argument_keys(&count);
    for (size_t i = 0; i < count; ++i)
      if (keys[i].size && missing >> keys[i].bit & 1)
        problem(unpacker, PROBLEM_MISSING, &keys[i], number);
  }
  uint64_t end = (uint64_t)argument->offset + argument->size;
  if (argument->offset < unpacker->arguments_end)
    unpacker->odd |= ODD_UNORDERED;
  if (end > unpacker->arguments_end) {
    unpacker->arguments_end = end;
    unpacker->furthest = number;
  }
  if (is_pointer(argument) && argument->offset & 7)
    unpacker->odd |= ODD_POINTER_UNALIGNED;
  if (argument->value_kind == RAWHAL_VALUE_UNKNOWN ||
      argument->value_kind == RAWHAL_VALUE_HIDDEN_UNKNOWN)
    unpacker->odd |= ODD_UNKNOWN_KIND;
  else if (!argument->name.size && argument->value_kind < RAWHAL_VALUE_HIDDEN_FIRST)
    unpacker->odd |= ODD_UNNAMED;
}

static inline void finish_kernel_record(const unpacker_t *unpacker, size_t start, size_t end)
{
  rawhal_kernel_t *kernel = unpacker->kernel;
  kernel->arguments = unpacker->arguments;
  kernel->argument_count = unpacker->argument_count;
  kernel->metadata = (rawhal_bytes_t){unpacker->bytes + start, end - start};
}

#endif
