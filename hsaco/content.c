#include "hsaco/content.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t content_sum(const void *bytes, size_t size, uint64_t seed)
{
  return XXH3_64bits_withSeed(bytes, size, seed);
}

rawhal_content_hash_t rawhal_content_hash(const void *bytes, size_t size)
{
  XXH128_hash_t hash = XXH3_128bits(bytes, bytes ? size : 0);
  return (rawhal_content_hash_t){hash.high64, hash.low64};
}
