/* What a kernel's instructions do that a replay need not do alike. Internal. */
#ifndef RAWHAL_RECORD_CODE_H
#define RAWHAL_RECORD_CODE_H

#include "record/record.h"

/* A set of these. */
enum {
  RECORD_CODE_CLOCK = 1u << 0,   /* reads a clock, or which hardware it is on */
  RECORD_CODE_ATOMICS = 1u << 1, /* atomics whose outcome depends on their order */
  RECORD_CODE_SYNC = 1u << 2,    /* global wave sync */
};

/* Looks at the kernel's own instructions; where these call functions, at all of the object's. Of
 * processors whose instructions are not GFX9's nothing is told. `object`: the bytes of the kernel's
 * object. */
uint32_t record_code_of(const rawhal_kernel_t *kernel, rawhal_bytes_t object);

#endif
