#include "record/sum.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t sum_parts(const struct iovec *parts, size_t count, uint64_t seed)
{
  XXH3_state_t state = {0}; /* it looks at the seed that was there before */
  (void)XXH3_64bits_reset_withSeed(&state, seed);
  for (size_t i = 0; i < count; ++i)
    (void)XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
  return XXH3_64bits_digest(&state);
}

uint64_t sum_bytes(const void *bytes, size_t size, uint64_t seed)
{
  return XXH3_64bits_withSeed(bytes, size, seed);
}
