/* Metadata's fixed vocabulary, looked up without comparing word after word. Internal.
 *
 * Each table is a perfect hash over (length, one or two characters), laid out at compile time: two
 * words on one slot are an overridden initialiser, which does not compile. */
#ifndef RAWHAL_HSACO_KEY_TABLE_H
#define RAWHAL_HSACO_KEY_TABLE_H

#include <string.h>

#include "hsaco/hsaco.h"

/* How a key's value is decoded. */
typedef enum field_type {
  FIELD_NONE, /* an empty slot */
  FIELD_STRING,
  FIELD_U32,
  FIELD_BOOL,
  FIELD_FLAG, /* a bool that sets bit `extra` of a byte */
  FIELD_U32X2,
  FIELD_U32X3,
  FIELD_VALUE_KIND,
  FIELD_ADDRESS_SPACE,
  FIELD_ACCESS,
  FIELD_ARGUMENTS,
} field_type_t;

enum { /* metadata_key_t.flags */
       /* Without a proper value the kernel's ABI is unknown: it is unusable. Others are reported. */
       KEY_ABI = 1,
       /* The field is in rawhal_argument_detail_t. */
       KEY_DETAIL = 2,
};

typedef struct metadata_key {
  uint64_t mask[2]; /* of the header and text in their first 16 bytes */
  uint8_t header;   /* how msgpack starts a text of this size */
  char text[31];    /* with the leading dot */
  uint8_t size;
  uint8_t type;    /* field_type_t */
  uint16_t offset; /* of the field in rawhal_kernel_t or rawhal_argument_t */
  uint8_t bit;     /* of this key in the set of keys seen */
  uint8_t flags;   /* KEY_* */
  uint8_t extra;
} metadata_key_t;

/* NULL when unknown. */
const metadata_key_t *kernel_key(rawhal_string_t text);
const metadata_key_t *argument_key(rawhal_string_t text);

/* Tables by slot, for tests and messages: slot < *count; empty slots have size 0. */
const metadata_key_t *kernel_keys(size_t *count);
const metadata_key_t *argument_keys(size_t *count);

/* rawhal_value_kind_t, as arguments have it, is less. */
#define VALUE_KINDS 256

rawhal_value_kind_t value_kind_of(rawhal_string_t text); /* UNKNOWN or HIDDEN_UNKNOWN otherwise */
/* Of arguments that have nothing else in it. The kind's text is empty for those not known here. */
extern const rawhal_argument_detail_t detail_of_kind[VALUE_KINDS];
rawhal_address_space_t address_space_of(rawhal_string_t text); /* NONE when unknown */
rawhal_access_t access_of(rawhal_string_t text);               /* NONE when unknown */

typedef enum root_key {
  ROOT_OTHER,
  ROOT_VERSION,
  ROOT_TARGET,
  ROOT_PRINTF,
  ROOT_KERNELS
} root_key_t;
root_key_t root_key_of(rawhal_string_t text);

/* Bits of the keys that have a rule of their own. */
enum {
  ARGUMENT_BIT_OFFSET,
  ARGUMENT_BIT_SIZE,
  ARGUMENT_BIT_VALUE_KIND,
  ARGUMENT_BIT_OTHERS,
};
enum {
  KERNEL_BIT_NAME,
  KERNEL_BIT_SYMBOL,
  KERNEL_BIT_KERNARG_SIZE,
  KERNEL_BIT_KERNARG_ALIGN,
  KERNEL_BIT_GROUP_SIZE,
  KERNEL_BIT_PRIVATE_SIZE,
  KERNEL_BIT_WAVEFRONT_SIZE,
  KERNEL_BIT_MAX_FLAT,
  KERNEL_BIT_ARGS,
  KERNEL_BIT_VGPR_COUNT,
  KERNEL_BIT_DYNAMIC_STACK,
  KERNEL_BIT_OTHERS,
};

static inline uint64_t differ_in_8(const char *a, const char *b)
{
  uint64_t x, y;
  memcpy(&x, a, 8);
  memcpy(&y, b, 8);
  return x ^ y;
}

/* Equal texts of one known size, without a call or a loop for all of the vocabulary: words that
 * overlap. */
static inline bool same_text(const char *a, const char *b, size_t size)
{
  if (size >= 8 && size <= 32) {
    uint64_t differ = differ_in_8(a, b) | differ_in_8(a + size - 8, b + size - 8);
    if (size > 16)
      differ |= differ_in_8(a + 8, b + 8) | differ_in_8(a + size - 16, b + size - 16);
    return differ == 0;
  }
  if (size >= 4 && size < 8) {
    uint32_t v, w;
    memcpy(&v, a, 4);
    memcpy(&w, b, 4);
    if (v != w)
      return false;
    memcpy(&v, a + size - 4, 4);
    memcpy(&w, b + size - 4, 4);
    return v == w;
  }
  return memcmp(a, b, size) == 0;
}

#endif
