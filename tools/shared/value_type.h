/* What an argument's metadata tells about the type of its value. */
#ifndef TOOLS_SHARED_VALUE_TYPE_H
#define TOOLS_SHARED_VALUE_TYPE_H

#include <rawhal/hsaco.h>

typedef enum value_class {
  VALUE_UNKNOWN, /* bytes by value: the metadata does not say of what */
  VALUE_UNSIGNED,
  VALUE_SIGNED,
  VALUE_FLOAT,
  VALUE_ADDRESS, /* a device address, or a handle of the runtime's */
} value_class_t;

typedef struct value_type {
  value_class_t of;
  uint32_t element; /* bytes of one element; 0 when unknown */
  uint32_t count;   /* elements; more than 1 for vectors */
} value_type_t;

/* From `.value_kind`, `.type_name`, `.value_type`, and only what agrees with `.size`: hand-written
 * metadata says "i32" of arguments of eight bytes. */
value_type_t value_type_of(const rawhal_argument_t *argument);

#endif
