/* Philox4x32-10. */
#include "tools/demo/philox.h"

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t result[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; /* the golden ratio */
    k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
  }
  result[0] = c0;
  result[1] = c1;
  result[2] = c2;
  result[3] = c3;
}

void philox_stream(uint64_t seed, uint64_t offset, uint32_t *numbers, size_t count)
{
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t block[4];
  for (size_t i = 0; i < count; ++i) {
    uint64_t position = offset + i;
    if (i == 0 || position % 4 == 0) {
      const uint32_t counter[4] = {(uint32_t)(position >> 2), (uint32_t)(position >> 34), 0, 0};
      philox4x32_10(counter, key, block);
    }
    numbers[i] = block[position % 4];
  }
}
