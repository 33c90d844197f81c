/* Where texels are. GFX9's layouts: blocks of 256 bytes, 4 or 64 KiB, in which address bits are
 * bits of the coordinates; in the XOR modes, bits above those that choose a memory channel are
 * folded into these. The orders are the address library's, which ROCr has for what it allocates. */
#include <string.h>

#include "softgpu/isa/memory/image.h"

enum { Z_ORDER, STANDARD, DISPLAY, ROTATED };
enum { PLAIN, PRT, XOR }; /* PRT: XOR within the block only */

/* The lowest address bits of a texel that is 1, 2, 4, 8 or 16 bytes, from its size on. */
static const char *const thin[4][5] = {
    {"x0y0x1y1x2y2y3x3", "x0y0x1y1x2y2x3", "x0y0x1y1y2x2", "x0y0x1y1x2", NULL},
    {"x0x1x2x3y0y1y2y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0y1x1x2", "y0y1x0x1"},
    {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0x2y1y2", "x0y0x1x2y1", "x0y0x1y1"},
    {"y0y1y2x1x0x2x3y3", "y0y1y2x0x1x2x3", "y0y1x0y2x1x2", "y0x0y1x1x2", NULL},
};
static const char *const thick[2][5] = {
    {"x0y0x1y1z0z1x2z2y2x3", "x0y0x1y1z0z1z2y2x2", "x0y0x1z0y1z1y2x2", "x0y0z0x1z1y1x2",
     "x0y0z0z1y1x1"},
    {"x0x1x2x3y0y1z0z1z2y2", "x0x1x2y0y1z0z1z2y2", "x0x1y0y1z0z1y2x2", "x0y0y1z0z1x1x2",
     "y0y1z0z1x0x1"},
};

/* By the descriptor's SW_MODE: log2 of the block; 0: there is none. */
static const struct {
  uint8_t bits, order, fold;
} modes[32] = {
    [1] = {8, STANDARD, PLAIN},  [2] = {8, DISPLAY, PLAIN},   [3] = {8, ROTATED, PLAIN},
    [4] = {12, Z_ORDER, PLAIN},  [5] = {12, STANDARD, PLAIN}, [6] = {12, DISPLAY, PLAIN},
    [7] = {12, ROTATED, PLAIN},  [8] = {16, Z_ORDER, PLAIN},  [9] = {16, STANDARD, PLAIN},
    [10] = {16, DISPLAY, PLAIN}, [11] = {16, ROTATED, PLAIN}, [16] = {16, Z_ORDER, PRT},
    [17] = {16, STANDARD, PRT},  [18] = {16, DISPLAY, PRT},   [19] = {16, ROTATED, PRT},
    [20] = {12, Z_ORDER, XOR},   [21] = {12, STANDARD, XOR},  [22] = {12, DISPLAY, XOR},
    [23] = {12, ROTATED, XOR},   [24] = {16, Z_ORDER, XOR},   [25] = {16, STANDARD, XOR},
    [26] = {16, DISPLAY, XOR},   [27] = {16, ROTATED, XOR},
};

enum { CHANNEL = 8 }; /* log2 of what one memory channel has in a row: 256 bytes */

/* log2 of the channels and of a channel's banks, in the register that the runtime is told. */
enum {
  CHANNELS = (SOFTGPU_GB_ADDR_CONFIG & 7) + (SOFTGPU_GB_ADDR_CONFIG >> 19 & 3),
  BANKS = SOFTGPU_GB_ADDR_CONFIG >> 12 & 7
};
_Static_assert((SOFTGPU_GB_ADDR_CONFIG >> 3 & 7) == 0, "channels of 256 bytes");

static unsigned smaller(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Bit n of a texel's byte is the parity of the bits of x, y and z that row n has. Blocks being
 * endless, there are more rows than a block has bits. */
enum { ROWS = 24 };
typedef struct equation {
  unsigned bits; /* of a block */
  uint32_t rows[ROWS][3];
} equation_t;

static void fold(equation_t *e, unsigned to, unsigned from, unsigned mode)
{
  if (mode == PRT && from >= e->bits)
    return;
  for (unsigned axis = 0; axis < 3; ++axis)
    e->rows[to][axis] ^= e->rows[from][axis];
}

/* `count` bits from `first` on are folded with those after them, the farthest first; of thick
 * blocks two each. What is folded in has not been folded itself. */
static void fold_bits(equation_t *e, unsigned first, unsigned count, bool is_thick, unsigned mode)
{
  for (unsigned i = 0; i < count; ++i) {
    const unsigned back = count - 1 - i, next = first + count;
    fold(e, first + i, next + (is_thick ? 2 * back : back), mode);
    if (is_thick)
      fold(e, first + i, next + 2 * back + 1, mode);
  }
}

static void fold_all(equation_t *e, bool is_thick, unsigned mode)
{
  const unsigned room = e->bits - CHANNEL;
  const unsigned channels = smaller(room, CHANNELS), banks = smaller(room - channels, BANKS);
  fold_bits(e, CHANNEL, channels, is_thick, mode);
  fold_bits(e, CHANNEL + channels, banks, is_thick, mode);
  if (is_thick || mode == PRT)
    return;
  for (unsigned i = 0; i < channels + banks; ++i) { /* and the layer's bits, reversed */
    const unsigned bit = i < channels ? channels - 1 - i : 2 * channels + banks - 1 - i;
    e->rows[CHANNEL + i][2] ^= 1u << bit;
  }
}

/* After the bits that the tables have, y and x take turns, in thick blocks z, y and x. */
static void fill(equation_t *e, const char *name, unsigned size, bool is_thick, uint8_t block[3])
{
  uint8_t used[3] = {0};
  for (unsigned bit = size; bit < ROWS; ++bit) {
    unsigned axis = is_thick ? (unsigned)"021"[bit % 3] - '0' : bit % 2 ? 0 : 1, of;
    if (*name) {
      axis = (unsigned)(name[0] - 'x');
      of = (unsigned)(name[1] - '0');
      name += 2;
    } else
      of = used[axis];
    ++used[axis];
    e->rows[bit][axis] = 1u << of;
    if (bit < e->bits)
      memcpy(block, used, sizeof used);
  }
}

bool isa_tiling_find(unsigned mode, unsigned dimensions, unsigned bytes, isa_tiling_t *tiling)
{
  *tiling = (isa_tiling_t){.bits = modes[mode].bits};
  if (mode == 0)
    return true;
  const unsigned order = modes[mode].order, size = (unsigned)__builtin_ctz(bytes);
  const bool is_thick = dimensions == 3 && order <= STANDARD;
  if (!tiling->bits || dimensions == 1 || bytes & (bytes - 1) ||
      (dimensions == 3 && (tiling->bits == 8 || order == ROTATED)))
    return false;
  const unsigned slice = dimensions == 3 ? STANDARD : order; /* DISPLAY has none of its own there */
  const char *name = is_thick ? thick[order][size] : thin[slice][size];
  if (!name)
    return false;
  equation_t e = {.bits = tiling->bits};
  fill(&e, name, size, is_thick, tiling->block);
  if (modes[mode].fold != PLAIN)
    fold_all(&e, is_thick, modes[mode].fold);
  for (unsigned bit = 0; bit < e.bits; ++bit)
    for (unsigned axis = 0; axis < 3; ++axis)
      for (uint32_t left = e.rows[bit][axis]; left; left &= left - 1)
        tiling->columns[axis][__builtin_ctz(left)] |= (uint16_t)(1u << bit);
  return true;
}

static uint64_t rounded_up(uint32_t value, unsigned bits)
{
  return ((uint64_t)value + (1u << bits) - 1) >> bits;
}

static uint32_t bits_of(const uint16_t columns[ISA_TILING_COLUMNS], uint32_t coordinate)
{
  uint32_t out = 0;
  for (uint32_t left = coordinate % (1u << ISA_TILING_COLUMNS); left; left &= left - 1)
    out ^= columns[__builtin_ctz(left)];
  return out;
}

uint64_t isa_image_offset(const isa_image_t *image, uint32_t x, uint32_t y, uint32_t z)
{
  const isa_tiling_t *t = &image->tiling;
  if (!t->bits)
    return (((uint64_t)z * image->size[1] + y) * image->pitch + x) * image->format.bytes;
  const uint64_t across = image->pitch >> t->block[0];
  const uint64_t down = rounded_up(image->size[1], t->block[1]);
  const uint64_t block =
      ((z >> t->block[2]) * down + (y >> t->block[1])) * across + (x >> t->block[0]);
  return block << t->bits |
         (bits_of(t->columns[0], x) ^ bits_of(t->columns[1], y) ^ bits_of(t->columns[2], z));
}
