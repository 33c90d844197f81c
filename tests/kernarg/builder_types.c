/* RAWHAL_APPEND in C: each type comes with its size, alignment and kind. */
#include "tests/kernarg/builder_types.h"

void append_each_type(rawhal_builder_t *builder)
{
  static const int object = 1;
  const uint16_t small = 0x2222; /* qualifiers do not matter */
  volatile float real = 1.5f;
  struct {
    uint8_t bytes[3];
  } three = {{1, 2, 3}};
  RAWHAL_APPEND(builder, (bool)true);
  RAWHAL_APPEND(builder, (char)0x11);
  RAWHAL_APPEND(builder, (int8_t)-1);
  RAWHAL_APPEND(builder, (uint8_t)0xfe);
  RAWHAL_APPEND(builder, (int16_t)-2);
  RAWHAL_APPEND(builder, small);
  RAWHAL_APPEND(builder, 1);
  RAWHAL_APPEND(builder, 2u);
  RAWHAL_APPEND(builder, (int64_t)-3);
  RAWHAL_APPEND(builder, (uint64_t)4);
  RAWHAL_APPEND(builder, -5ll);
  RAWHAL_APPEND(builder, 6ull);
  RAWHAL_APPEND(builder, real);
  RAWHAL_APPEND(builder, 2.5);
  RAWHAL_APPEND(builder, &object);
  RAWHAL_APPEND_NAMED(builder, "null", (void *)0);
  RAWHAL_APPEND_OBJECT(builder, three);
}

rawhal_status_t append_pointer(rawhal_builder_t *builder, const char *name, float *value)
{
  return RAWHAL_APPEND_NAMED(builder, name, value);
}

rawhal_status_t append_address(rawhal_builder_t *builder, const char *name, uint64_t value)
{
  return RAWHAL_APPEND_NAMED(builder, name, value);
}

rawhal_status_t append_float(rawhal_builder_t *builder, const char *name, float value)
{
  return RAWHAL_APPEND_NAMED(builder, name, value);
}
