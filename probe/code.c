#include "probe/code.h"

#include <stddef.h>
#include <string.h>

/* ---- Formats and lengths ---- */

enum {
  SOP1_GETPC = 0x1c,
  SOP1_SETPC = 0x1d,
  SOP1_SWAPPC = 0x1e,
  SOP1_RFE = 0x1f,
  SOP1_CBRANCH_JOIN = 0x2e,
  SOP2_CBRANCH_G_FORK = 0x29,
  SOP2_RFE_RESTORE = 0x2b,
  SOPK_CBRANCH_I_FORK = 0x10,
  SOPK_SETREG_IMM32 = 0x14,
  SOPK_CALL = 0x15,
  SOPP_ENDPGM = 1,
  SOPP_BRANCH = 2,
  SOPP_CBRANCH_SCC0 = 4,
  SOPP_CBRANCH_EXECNZ = 9,
  SOPP_BARRIER = 10,
  SOPP_CBRANCH_CDBG = 0x17, /* to 0x1a */
  SOPP_CBRANCH_CDBG_AND = 0x1a,
  SOPP_ENDPGM_SAVED = 0x1b,
  SOPP_SET_GPR_IDX_OFF = 0x1c,
  SOPP_SET_GPR_IDX_MODE = 0x1d,
  SOPP_ENDPGM_ORDERED = 0x1e,
  VOP2_MADMK = 23,
  VOP2_MADAK = 24,
  VOP2_MADMK_F16 = 36,
  VOP2_MADAK_F16 = 37,
  VOP3P_SCALED = 0xd3ad, /* with their format's bits: v_mfma_f32_16x16x128_f8f6f4, 32x32x64 */
  VOP3P_SCALED_WIDE = 0xd3ae,
};

/* In the order in which they are tried: the first whose bits are there. */
static const struct format {
  uint32_t mask, bits;
  uint8_t format, dwords;
  uint8_t op_low, op_bits;
} formats[] = {
    {0xff800000, 0xbf800000, CODE_SOPP, 1, 16, 7},  {0xff800000, 0xbf000000, CODE_SOPC, 1, 16, 7},
    {0xff800000, 0xbe800000, CODE_SOP1, 1, 8, 8},   {0xf0000000, 0xb0000000, CODE_SOPK, 1, 23, 5},
    {0xc0000000, 0x80000000, CODE_SOP2, 1, 23, 7},  {0xfe000000, 0x7e000000, CODE_VOP1, 1, 9, 8},
    {0xfe000000, 0x7c000000, CODE_VOPC, 1, 17, 8},  {0x80000000, 0x00000000, CODE_VOP2, 1, 25, 6},
    {0xfc000000, 0xc0000000, CODE_SMEM, 2, 18, 8},  {0xff800000, 0xd3800000, CODE_VOP3P, 2, 16, 7},
    {0xfc000000, 0xd0000000, CODE_VOP3, 2, 16, 10}, {0xfc000000, 0xd8000000, CODE_DS, 2, 17, 8},
    {0xfc000000, 0xdc000000, CODE_FLAT, 2, 18, 7},  {0xfc000000, 0xe0000000, CODE_MUBUF, 2, 18, 7},
    {0xfc000000, 0xe8000000, CODE_MTBUF, 2, 15, 4}, {0xfc000000, 0xf0000000, CODE_MIMG, 2, 18, 7},
};

/* A literal or another word behind the first one. */
static bool has_extra(uint32_t d, const code_t *code)
{
  switch (code->format) {
  case CODE_SOP1:
    return code_field(d, 0, 8) == CODE_LITERAL && code->op != SOP1_GETPC; /* it has no operand */
  case CODE_SOP2:
  case CODE_SOPC:
    return code_field(d, 0, 8) == CODE_LITERAL || code_field(d, 8, 8) == CODE_LITERAL;
  case CODE_SOPK:
    return code->op == SOPK_SETREG_IMM32;
  case CODE_VOP2:
    if (code->op == VOP2_MADMK || code->op == VOP2_MADAK || code->op == VOP2_MADMK_F16 ||
        code->op == VOP2_MADAK_F16)
      return true;
    /* fall through */
  case CODE_VOP1:
  case CODE_VOPC: {
    const uint32_t source = code_field(d, 0, 9);
    return source == CODE_LITERAL || source == CODE_SDWA || source == CODE_DPP;
  }
  default:
    return false;
  }
}

/* The second half of CODE_VOP3P_SCALE. */
static bool is_scaled(uint32_t d)
{
  return d >> 16 == VOP3P_SCALED || d >> 16 == VOP3P_SCALED_WIDE;
}

static code_flow_t flow_of(const code_t *code)
{
  const unsigned op = code->op;
  switch (code->format) {
  case CODE_SOP1:
    if (op == SOP1_GETPC)
      return CODE_READS_PC;
    return op == SOP1_SETPC || op == SOP1_SWAPPC || op == SOP1_RFE || op == SOP1_CBRANCH_JOIN
               ? CODE_CALLS
               : CODE_STRAIGHT;
  case CODE_SOP2:
    return op == SOP2_CBRANCH_G_FORK || op == SOP2_RFE_RESTORE ? CODE_CALLS : CODE_STRAIGHT;
  case CODE_SOPK:
    return op == SOPK_CBRANCH_I_FORK || op == SOPK_CALL ? CODE_CALLS : CODE_STRAIGHT;
  case CODE_SOPP:
    if (op == SOPP_ENDPGM || op == SOPP_ENDPGM_SAVED || op == SOPP_ENDPGM_ORDERED)
      return CODE_ENDS;
    if (op == SOPP_BRANCH)
      return CODE_JUMPS;
    return (op >= SOPP_CBRANCH_SCC0 && op <= SOPP_CBRANCH_EXECNZ) ||
                   (op >= SOPP_CBRANCH_CDBG && op <= SOPP_CBRANCH_CDBG_AND)
               ? CODE_BRANCHES
               : CODE_STRAIGHT;
  default:
    return CODE_STRAIGHT;
  }
}

bool code_decode(const void *bytes, uint64_t available, code_t *code)
{
  uint32_t d;
  memcpy(&d, bytes, sizeof(d));
  const struct format *format = formats, *end = formats + sizeof(formats) / sizeof(formats[0]);
  while (format < end && (d & format->mask) != format->bits)
    ++format;
  if (format == end)
    return false;
  *code = (code_t){.format = format->format,
                   .op = (uint16_t)code_field(d, format->op_low, format->op_bits)};
  code->dwords = (uint8_t)(format->dwords + has_extra(d, code));
  if (code->format == CODE_VOP3P && code->op == CODE_VOP3P_SCALE)
    code->dwords = 4;
  code->flow = (uint8_t)flow_of(code);
  if (code->dwords > available)
    return false;
  memcpy(code->dword, bytes, code->dwords * sizeof(d));
  return code->dwords < 4 || is_scaled(code->dword[2]);
}

int32_t code_distance(const code_t *code)
{
  return (int16_t)(code->dword[0] & 0xffff);
}

bool code_is_barrier(const code_t *code)
{
  return code->format == CODE_SOPP && code->op == SOPP_BARRIER;
}

bool code_keeps_lanes(const code_t *code)
{
  enum { SAVEEXEC = 0x20, ANDN1 = 0x33, NOP = 0, WAITCNT = 12, READLANE = 0x289, EXEC = CODE_EXEC };
  const uint32_t d = code->dword[0], to = code_field(d, 16, 7);
  if (code->flow != CODE_STRAIGHT)
    return false;
  switch (code->format) {
  case CODE_SOP1:
    return to < EXEC && !(code->op >= SAVEEXEC && code->op < SAVEEXEC + 8) && code->op < ANDN1;
  case CODE_SOP2:
    return to < EXEC;
  case CODE_SOPK:
    return to < EXEC && code->op < 0x10;
  case CODE_SOPC:
    return code->op < CODE_SOPC_SETVSKIP;
  case CODE_SOPP:
    return code->op == NOP || code->op == WAITCNT;
  case CODE_VOP1: /* v_readfirstlane_b32 */
    return code->op != 2 || code_field(d, 17, 8) < EXEC;
  case CODE_VOP2:
  case CODE_VOP3P:
  case CODE_DS:
  case CODE_FLAT:
  case CODE_MUBUF:
  case CODE_MTBUF:
    return true;
  case CODE_VOP3: /* comparisons may write EXEC, and others with a mask as a result */
    return code->op >= 0x100 && code->op != READLANE && code->op != 0x142 &&
           !(code->op >= 0x119 && code->op <= 0x11e) && !(code->op >= 0x1e0 && code->op <= 0x1e9);
  default:
    return false;
  }
}

/* ---- What VSKIP and indexed registers make of vector instructions ---- */

uint8_t code_mode(const code_t *code, uint8_t before)
{
  enum { MODE = 1, SETREG = 0x12, GPR_IDX_EN = 27 }; /* hwreg, opcode, the lower of both bits */
  const uint32_t d = code->dword[0];
  if (code->format == CODE_SOPC && code->op == CODE_SOPC_SETVSKIP)
    return code_field(d, 0, 8) == 128 ? before & (uint8_t)~CODE_SKIPPING : before | CODE_SKIPPING;
  if (code->format == CODE_SOPC && code->op == CODE_SOPC_SET_GPR_IDX_ON)
    return before | CODE_INDEXING;
  if (code->format == CODE_SOPP && code->op == SOPP_SET_GPR_IDX_MODE)
    return before | CODE_INDEXING;
  if (code->format == CODE_SOPP && code->op == SOPP_SET_GPR_IDX_OFF)
    return before & (uint8_t)~CODE_INDEXING;
  if (code->format == CODE_SOPK && (code->op == SETREG || code->op == SOPK_SETREG_IMM32) &&
      code_field(d, 0, 6) == MODE && code_field(d, 6, 5) + code_field(d, 11, 5) >= GPR_IDX_EN)
    return before | CODE_SKIPPING | CODE_INDEXING;
  return before;
}
