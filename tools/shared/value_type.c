/* OpenCL's and C's type names, as compilers write them into `.type_name`, and the words of
 * `.value_type`, which AMDGPUUsage has deprecated and hand-written metadata still uses. */
#include "tools/shared/value_type.h"

#include <string.h>

typedef struct type_word {
  const char *word;
  value_class_t of;
  uint32_t size;
  bool vectors; /* an element count may follow: "float4" */
} type_word_t;

static const type_word_t type_words[] = {
    {"char", VALUE_SIGNED, 1, true},
    {"signed char", VALUE_SIGNED, 1, false},
    {"int8_t", VALUE_SIGNED, 1, false},
    {"i8", VALUE_SIGNED, 1, false},
    {"uchar", VALUE_UNSIGNED, 1, true},
    {"unsigned char", VALUE_UNSIGNED, 1, false},
    {"uint8_t", VALUE_UNSIGNED, 1, false},
    {"u8", VALUE_UNSIGNED, 1, false},
    {"bool", VALUE_UNSIGNED, 1, false},
    {"short", VALUE_SIGNED, 2, true},
    {"int16_t", VALUE_SIGNED, 2, false},
    {"i16", VALUE_SIGNED, 2, false},
    {"ushort", VALUE_UNSIGNED, 2, true},
    {"unsigned short", VALUE_UNSIGNED, 2, false},
    {"uint16_t", VALUE_UNSIGNED, 2, false},
    {"u16", VALUE_UNSIGNED, 2, false},
    {"half", VALUE_FLOAT, 2, true},
    {"_Float16", VALUE_FLOAT, 2, false},
    {"f16", VALUE_FLOAT, 2, false},
    {"fp16", VALUE_FLOAT, 2, false},
    {"int", VALUE_SIGNED, 4, true},
    {"int32_t", VALUE_SIGNED, 4, false},
    {"i32", VALUE_SIGNED, 4, false},
    {"uint", VALUE_UNSIGNED, 4, true},
    {"unsigned int", VALUE_UNSIGNED, 4, false},
    {"uint32_t", VALUE_UNSIGNED, 4, false},
    {"u32", VALUE_UNSIGNED, 4, false},
    {"float", VALUE_FLOAT, 4, true},
    {"f32", VALUE_FLOAT, 4, false},
    {"fp32", VALUE_FLOAT, 4, false},
    {"long", VALUE_SIGNED, 8, true},
    {"long long", VALUE_SIGNED, 8, false},
    {"int64_t", VALUE_SIGNED, 8, false},
    {"i64", VALUE_SIGNED, 8, false},
    {"ulong", VALUE_UNSIGNED, 8, true},
    {"unsigned long", VALUE_UNSIGNED, 8, false},
    {"unsigned long long", VALUE_UNSIGNED, 8, false},
    {"uint64_t", VALUE_UNSIGNED, 8, false},
    {"size_t", VALUE_UNSIGNED, 8, false},
    {"u64", VALUE_UNSIGNED, 8, false},
    {"double", VALUE_FLOAT, 8, true},
    {"f64", VALUE_FLOAT, 8, false},
    {"fp64", VALUE_FLOAT, 8, false},
};

/* OpenCL's vector lengths; a vector of 3 occupies 4 elements. 0 when `text` is none of them. */
static uint32_t vector_length(const char *text, size_t size)
{
  static const struct {
    const char *digits;
    uint32_t occupied;
  } lengths[] = {{"2", 2}, {"3", 4}, {"4", 4}, {"8", 8}, {"16", 16}};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); ++i)
    if (strlen(lengths[i].digits) == size && !memcmp(lengths[i].digits, text, size))
      return lengths[i].occupied;
  return 0;
}

static value_type_t parse(rawhal_string_t text, uint32_t size)
{
  for (size_t i = 0; i < sizeof(type_words) / sizeof(*type_words); ++i) {
    const type_word_t *type = &type_words[i];
    size_t length = strlen(type->word);
    if (text.size < length || memcmp(text.data, type->word, length))
      continue;
    uint32_t count = 1;
    if (text.size > length)
      count = type->vectors ? vector_length(text.data + length, text.size - length) : 0;
    if (count && size == count * type->size)
      return (value_type_t){type->of, type->size, count};
  }
  return (value_type_t){VALUE_UNKNOWN, 0, 0};
}

value_type_t value_type_of(const rawhal_argument_t *argument)
{
  uint32_t size = argument->size;
  if (argument->value_kind == RAWHAL_VALUE_BY_VALUE) {
    value_type_t type = parse(argument->detail->type_name, size);
    return type.of ? type : parse(argument->detail->value_type, size);
  }
  if (argument->value_kind == RAWHAL_VALUE_UNKNOWN || rawhal_argument_is_hidden(argument))
    return (value_type_t){VALUE_UNKNOWN, 0, 0};
  /* Buffers, handles and group memory are addresses, usually of 8 bytes, in group memory of 4. */
  if (size == 4 || size == 8)
    return (value_type_t){VALUE_ADDRESS, size, 1};
  return (value_type_t){VALUE_UNKNOWN, 0, 0};
}
