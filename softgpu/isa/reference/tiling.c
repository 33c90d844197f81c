/* The reference engine's places of texels: coordinates dealt out to numbers, digit by digit. */
#include <stddef.h>

#include "softgpu/execute.h"
#include "softgpu/isa/reference/memory.h"

static uint32_t digits(uint32_t value, unsigned from, unsigned count, unsigned to)
{
  return (value >> from & ((1u << count) - 1)) << to;
}

/* Digits in turn, a's first. */
static uint32_t woven(uint32_t a, uint32_t b, unsigned each)
{
  uint32_t out = 0;
  for (unsigned i = 0; i < each; ++i)
    out |= digits(a, i, 1, 2 * i) | digits(b, i, 1, 2 * i + 1);
  return out;
}

static uint32_t woven3(uint32_t a, uint32_t b, uint32_t c)
{
  uint32_t out = 0;
  for (unsigned i = 0; i < 7; ++i)
    out |= digits(a, i, 1, 3 * i) | digits(b, i, 1, 3 * i + 1) | digits(c, i, 1, 3 * i + 2);
  return out;
}

static uint32_t reversed(uint32_t value, unsigned count)
{
  uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i)
    out = out << 1 | (value >> i & 1);
  return out;
}

/* Every other digit. */
static uint32_t thinned(uint32_t value, unsigned count)
{
  uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i)
    out |= digits(value, 2 * i, 1, i);
  return out;
}

/* 256 bytes of one slice; `size` is log2 of the texel's. */
static uint32_t small_block(char order, unsigned size, uint32_t x, uint32_t y)
{
  const uint32_t across = x << size; /* in bytes */
  const unsigned high = (8 - size) / 2, wide = 8 - size - high;
  if (order == 'S') /* 16 bytes, rows of them, columns of those */
    return digits(across, 0, 4, 0) | digits(y, 0, high, 4) | digits(across, 4, 4 - high, 4 + high);
  if (order == 'D')
    switch (size) {
    case 0:
      return digits(x, 0, 3, 0) | digits(y, 1, 1, 3) | digits(y, 0, 1, 4) | digits(y, 2, 1, 5) |
             digits(x, 3, 1, 6) | digits(y, 3, 1, 7);
    case 1:
      return digits(x, 0, 3, 1) | digits(y, 0, 3, 4) | digits(x, 3, 1, 7);
    case 2:
      return digits(x, 0, 2, 2) | digits(y, 0, 1, 4) | digits(x, 2, 1, 5) | digits(y, 1, 2, 6);
    case 3:
      return digits(x, 0, 1, 3) | digits(y, 0, 1, 4) | digits(x, 1, 2, 5) | digits(y, 1, 1, 7);
    default:
      return woven(x, y, wide) << size;
    }
  switch (size) {
  case 0:
    return digits(y, 0, 3, 0) | digits(x, 1, 1, 3) | digits(x, 0, 1, 4) | digits(x, 2, 2, 5) |
           digits(y, 3, 1, 7);
  case 1:
    return digits(y, 0, 3, 1) | digits(x, 0, 4, 4);
  case 2:
    return digits(y, 0, 2, 2) | digits(x, 0, 1, 4) | digits(y, 2, 1, 5) | digits(x, 1, 2, 6);
  default:
    return digits(y, 0, 1, 3) | digits(x, 0, 1, 4) | digits(y, 1, 1, 5) | digits(x, 1, 2, 6);
  }
}

/* 1024 bytes of several slices. */
static uint32_t small_cube(char order, unsigned size, uint32_t x, uint32_t y, uint32_t z)
{
  if (order == 'S') {
    const uint32_t low = digits(x << size, 0, 4, 0) | digits(y, 0, 2, 4) | digits(z, 0, 2, 6);
    return low | (size < 2    ? digits(z, 2, 1, 8) | digits(y, 2, 1, 9)
                  : size == 2 ? digits(y, 2, 1, 8) | digits(x, 2, 1, 9)
                              : digits(x, 4 - size, 2, 8));
  }
  switch (size) {
  case 0:
    return woven(x, y, 2) | digits(z, 0, 2, 4) | digits(x, 2, 1, 6) | digits(z, 2, 1, 7) |
           digits(y, 2, 1, 8) | digits(x, 3, 1, 9);
  case 1:
    return woven(x, y, 2) << 1 | digits(z, 0, 3, 5) | digits(y, 2, 1, 8) | digits(x, 2, 1, 9);
  case 2:
    return digits(x, 0, 1, 2) | digits(y, 0, 1, 3) | digits(x, 1, 1, 4) | digits(z, 0, 1, 5) |
           digits(y, 1, 1, 6) | digits(z, 1, 1, 7) | digits(y, 2, 1, 8) | digits(x, 2, 1, 9);
  case 3:
    return digits(x, 0, 1, 3) | digits(y, 0, 1, 4) | digits(z, 0, 1, 5) | digits(x, 1, 1, 6) |
           digits(z, 1, 1, 7) | digits(y, 1, 1, 8) | digits(x, 2, 1, 9);
  default:
    return digits(x, 0, 1, 4) | digits(y, 0, 1, 5) | digits(z, 0, 2, 6) | digits(y, 1, 1, 8) |
           digits(x, 1, 1, 9);
  }
}

static const unsigned block_width[5] = {4, 4, 3, 3, 2}, block_height[5] = {4, 3, 3, 2, 2};
static const unsigned cube_width[5] = {4, 3, 3, 3, 2}, cube_height[5] = {3, 3, 3, 2, 2},
                      cube_depth[5] = {3, 3, 2, 2, 2};

/* A texel's place were the image one endless block. */
static uint32_t endless(char order, bool is_cube, unsigned size, const uint32_t at[3])
{
  const uint32_t x = at[0], y = at[1], z = at[2];
  if (is_cube)
    return small_cube(order, size, x, y, z) |
           woven3(z >> cube_depth[size], y >> cube_height[size], x >> cube_width[size]) << 10;
  if (order != 'Z')
    return small_block(order, size, x, y) |
           woven(y >> block_height[size], x >> block_width[size], 9) << 8;
  if (size % 2)
    return woven(x, y, 12) << size;
  const unsigned low = (6 - size) / 2; /* rows first in 64 bytes, columns beyond */
  return (woven(x, y, low) << size) | woven(y >> low, x >> low, 9) << 6;
}

/* Memory channels by more of the address than chooses one. */
static uint32_t folded(uint32_t place, bool is_cube, unsigned bits)
{
  const unsigned most[2] = {4, 4}; /* channels: 4 pipes of 4 engines; 16 banks */
  unsigned at = 8;
  uint32_t out = place;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned count = bits - at < most[i] ? bits - at : most[i];
    const uint32_t above = place >> (at + count);
    const uint32_t more = is_cube ? reversed(thinned(above, count), count) ^
                                        reversed(thinned(above >> 1, count), count)
                                  : reversed(above, count);
    out ^= more << at;
    at += count;
  }
  return out;
}

uint64_t isa_reference_texel(unsigned mode, bool is_deep, unsigned bytes, uint32_t pitch,
                             uint32_t height, const uint32_t at[3])
{
  if (mode == 0)
    return ((at[2] * (uint64_t)height + at[1]) * pitch + at[0]) * bytes;
  const char order = "ZSDR"[mode % 4];
  const unsigned bits = mode < 4 ? 8 : mode < 8 || (mode >= 20 && mode < 24) ? 12 : 16;
  const bool is_cube = is_deep && (order == 'Z' || order == 'S');
  unsigned size = 0;
  while (1u << size < bytes)
    ++size;
  const unsigned more = is_cube ? bits - 10 : bits - 8; /* 2 or 6, of which z, then y have rests */
  unsigned w = block_width[size] + more / 2, h = block_height[size] + more / 2, d = 0;
  if (is_cube) {
    w = cube_width[size] + more / 3;
    h = cube_height[size] + more / 3 + (more % 3 == 2);
    d = cube_depth[size] + more / 3 + (more % 3 > 0);
  }
  uint32_t place = endless(is_deep && order == 'D' ? 'S' : order, is_cube, size, at);
  const uint32_t block = (1u << bits) - 1;
  if (mode >= 16 && mode < 20)
    place = folded(place & block, is_cube, bits);
  if (mode >= 20) {
    place = folded(place, is_cube, bits);
    if (!is_cube) {
      const uint32_t first = reversed(at[2], 4) << 8, second = reversed(at[2] >> 4, 4) << 12;
      place ^= bits == 12 ? first : first | second;
    }
  }
  const uint64_t row = pitch >> w, column = ((uint64_t)height + (1u << h) - 1) >> h;
  const uint64_t blocks = ((at[2] >> d) * column + (at[1] >> h)) * row + (at[0] >> w);
  return blocks * ((uint64_t)block + 1) + (place & block);
}
