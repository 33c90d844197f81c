/* XORWOW and its jumps. */
#include "tools/demo/xorwow.h"

#include <string.h>

/* The step of the Weyl sequence. */
#define WEYL 362437u

void xorwow_seed(xorwow_t *engine, uint64_t seed)
{
  /* Marsaglia's start values, stirred by the halves of the seed as rocRAND does. */
  uint32_t low = ((uint32_t)seed ^ 0x2C7F967Fu) * 0x493C4AA1u;
  uint32_t high = ((uint32_t)(seed >> 32) ^ 0xA03697CBu) * 0x7B99840Du;
  engine->d = 6615241u + low + high;
  engine->x[0] = 123456789u + low;
  engine->x[1] = 362436069u ^ low;
  engine->x[2] = 521288629u + high;
  engine->x[3] = 88675123u ^ high;
  engine->x[4] = 5783321u + low;
}

static void step(uint32_t x[5])
{
  uint32_t t = x[0] ^ (x[0] >> 2);
  uint32_t v = x[4];
  memmove(x, x + 1, 4 * sizeof(*x));
  x[4] = (v ^ (v << 4)) ^ (t ^ (t << 1));
}

uint32_t xorwow_next(xorwow_t *engine)
{
  step(engine->x);
  engine->d += WEYL;
  return engine->d + engine->x[4];
}

void xorwow_jump_one(xorwow_jump_t *jump)
{
  memset(jump, 0, sizeof(*jump));
  for (size_t bit = 0; bit < XORWOW_BITS; ++bit) {
    jump->image[bit][bit / 32] = UINT32_C(1) << (bit % 32);
    step(jump->image[bit]);
  }
}

void xorwow_jump_apply(const xorwow_jump_t *jump, uint32_t x[5])
{
  uint32_t sum[5] = {0};
  for (size_t bit = 0; bit < XORWOW_BITS; ++bit) {
    uint32_t mask = 0u - (x[bit / 32] >> (bit % 32) & 1u);
    for (size_t word = 0; word < 5; ++word)
      sum[word] ^= jump->image[bit][word] & mask;
  }
  memcpy(x, sum, sizeof(sum));
}

void xorwow_jump_square(xorwow_jump_t *jump)
{
  const xorwow_jump_t once = *jump;
  for (size_t bit = 0; bit < XORWOW_BITS; ++bit)
    xorwow_jump_apply(&once, jump->image[bit]);
}

void xorwow_discard(xorwow_t *engine, uint64_t count)
{
  engine->d += (uint32_t)count * WEYL;
  xorwow_jump_t jump;
  xorwow_jump_one(&jump);
  for (; count; count >>= 1) {
    if (count & 1)
      xorwow_jump_apply(&jump, engine->x);
    if (count > 1)
      xorwow_jump_square(&jump);
  }
}

void xorwow_engines(uint64_t seed, uint64_t offset, size_t ahead, xorwow_t *engines, size_t count)
{
  /* Powers of one matrix commute, so the offset may come first. A subsequence leaves d as it is:
   * 2^67 steps are a multiple of its period of 2^32. */
  xorwow_t engine;
  xorwow_seed(&engine, seed);
  xorwow_discard(&engine, offset);
  xorwow_jump_t subsequence;
  xorwow_jump_one(&subsequence);
  for (int i = 0; i < XORWOW_SUBSEQUENCE_LOG2; ++i)
    xorwow_jump_square(&subsequence);
  for (size_t i = 0; i < count; ++i) {
    engines[i] = engine;
    if (i < ahead)
      xorwow_next(&engines[i]);
    xorwow_jump_apply(&subsequence, engine.x);
  }
}
