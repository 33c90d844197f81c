/* The C side of builder_test.cc. */
#ifndef RAWHAL_TESTS_KERNARG_BUILDER_TYPES_H
#define RAWHAL_TESTS_KERNARG_BUILDER_TYPES_H

#include <rawhal/builder.h>

RAWHAL_BEGIN

/* bool char i8 u8 i16 u16 int unsigned i64 u64 llong ullong float double pointer pointer 3 bytes */
void append_each_type(rawhal_builder_t *builder);

rawhal_status_t append_pointer(rawhal_builder_t *builder, const char *name, float *value);
rawhal_status_t append_address(rawhal_builder_t *builder, const char *name, uint64_t value);
rawhal_status_t append_float(rawhal_builder_t *builder, const char *name, float value);

RAWHAL_END

#endif
