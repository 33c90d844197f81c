#include "probe/jump.h"

#include <string.h>

enum { MOST_DWORDS = 7, S_GETPC = 0x1c, S_SETPC = 0x1d, S_ABS = 0x30 };
enum { S_ADD_U32 = 0, S_SUB_U32 = 1, S_ADD_I32 = 2, S_ADDC_U32 = 4, S_SUBB_U32 = 5 };
enum { ZERO = 128, FOUR = 132, LITERAL = 255 }; /* operands */

static uint32_t sop1(uint32_t op, uint32_t to, uint32_t from)
{
  return 0xbe800000 | to << 16 | op << 8 | from;
}

static uint32_t sop2(uint32_t op, uint32_t to, uint32_t a, uint32_t b)
{
  return 0x80000000 | op << 23 | to << 16 | b << 8 | a;
}

bool jump_is_far(const unsigned char *code, uint64_t at, uint64_t *first, int64_t *target)
{
  uint32_t last, d[MOST_DWORDS];
  memcpy(&last, code + at * 4, sizeof(last));
  const uint32_t pc = last & 0xff;
  for (uint32_t back = 0; back < 2 && pc < ZERO; ++back) { /* constants are no registers */
    const uint32_t count = 6 + back, middle = 3 + back;
    if (at + 1 < count)
      return false;
    *first = at + 1 - count;
    memcpy(d, code + *first * 4, count * sizeof(*d));
    const uint32_t by = d[1] >> 16 & 0x7f;
    if (last != sop1(S_SETPC, 0, pc) || d[0] != sop1(S_GETPC, pc, 0) || by == pc || by == pc + 1 ||
        d[1] != sop2(S_ADD_I32, by, LITERAL, FOUR) || (back && d[3] != sop1(S_ABS, by, by)) ||
        d[middle] != sop2(back ? S_SUB_U32 : S_ADD_U32, pc, pc, by) ||
        d[middle + 1] != sop2(back ? S_SUBB_U32 : S_ADDC_U32, pc + 1, pc + 1, ZERO))
      continue;
    const uint32_t sum = d[2] + 4;
    const int64_t bytes = !back ? (int64_t)sum : -(int64_t)(sum >> 31 ? 0u - sum : sum);
    *target = (int64_t)*first + 1 + bytes / 4;
    return bytes % 4 == 0;
  }
  return false;
}
