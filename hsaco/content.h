/* Hashes of content, by xxHash. Internal.
 *
 * Its header is compiled into content.c alone, so that nothing links to its library. */
#ifndef RAWHAL_HSACO_CONTENT_H
#define RAWHAL_HSACO_CONTENT_H

#include "hsaco/hsaco.h"

uint64_t content_sum(const void *bytes, size_t size, uint64_t seed);

static inline bool content_equal(rawhal_content_hash_t a, rawhal_content_hash_t b)
{
  return a.high == b.high && a.low == b.low;
}

#endif
