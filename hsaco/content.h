/* Hashes of content, by xxHash. Internal.
 *
 * Its header is compiled into content.c alone, so that nothing links to its library. */
#ifndef RAWHAL_HSACO_CONTENT_H
#define RAWHAL_HSACO_CONTENT_H

#include "hsaco/hsaco.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t content_sum(const void *bytes, size_t size, uint64_t seed);

static inline bool content_equal(rawhal_content_hash_t a, rawhal_content_hash_t b)
{
  return a.high == b.high && a.low == b.low;
}

/* As files and names have it: 32 hexadecimal digits, the high half first. */
enum { CONTENT_TEXT = 33 };
static inline void content_text(rawhal_content_hash_t hash, char text[CONTENT_TEXT])
{
  (void)snprintf(text, CONTENT_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

#endif
