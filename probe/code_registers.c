#include "probe/code.h"

#include <stddef.h>

enum {
  VGPRS = 256,         /* from here on in operands of 9 bits */
  SOP1_MOVRELS = 0x2a, /* to s_movreld_b64 */
  SOP1_MOVRELD_B64 = 0x2d,
  SMEM_ATC_PROBE_BUFFER = 0x27,
  VOP1_READFIRSTLANE = 2,
  VOP1_ACCVGPR_MOV = 0x52,
  VOP1_MOVREL = 0x42, /* v_movreld, v_movrels, v_movrelsd */
  VOP3_READFIRSTLANE = 0x142,
  VOP3_READLANE = 0x289,
  VOP3P_PK_FMA_F32 = 0x30,
  VOP3P_PK_MOV = 0x33,
  VOP3P_ACCVGPR_READ = 0x58,
  VOP3P_ACCVGPR_WRITE = 0x59,
};

/* ---- Registers ---- */

code_set_t code_set_below(const code_set_t *set, uint32_t end)
{
  code_set_t below = *set;
  for (uint32_t i = 0; i < CODE_SET_END / 64; ++i)
    if (end <= i * 64)
      below.bits[i] = 0;
    else if (end < (i + 1) * 64)
      below.bits[i] &= (UINT64_C(1) << (end - i * 64)) - 1;
  return below;
}

uint32_t code_set_end(const code_set_t *set)
{
  uint32_t end = CODE_SET_END;
  while (end && !code_set_has(set, end - 1))
    end -= set->bits[(end - 1) / 64] ? 1 : 64;
  return end;
}

uint32_t code_set_first(const code_set_t *set)
{
  uint32_t first = 0;
  while (first < CODE_SET_END && !code_set_has(set, first))
    ++first;
  return first;
}

uint32_t code_set_count(const code_set_t *set)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < CODE_SET_END; ++i)
    count += code_set_has(set, i);
  return count;
}

uint32_t code_set_room(const code_set_t *set, uint32_t from, uint32_t end, uint32_t width,
                       uint32_t aligned)
{
  for (uint32_t at = (from + aligned - 1) / aligned * aligned; at + width <= end; at += aligned) {
    uint32_t free = 0;
    while (free < width && !code_set_has(set, at + free))
      ++free;
    if (free == width)
      return at;
  }
  return end;
}

/* Operands of 64 bits, of those formats whose others have 32; what is not known is taken for such,
 * too. Those of an instruction that has any are all taken for that. */
typedef struct wide_range {
  uint16_t first, last, step;
} wide_range_t;
static const wide_range_t wide_sop1[] = {
    {0x01, 0x1b, 2}, {0x1c, 0x27, 1}, {0x29, 0x2d, 2}, {0x2e, 0x2f, 1}, {0x33, 0xff, 1}};
static const wide_range_t wide_sop2[] = {
    {0x0b, 0x23, 2}, {0x27, 0x29, 1}, {0x2b, 0x2b, 1}, {0x35, 0x7f, 1}};
static const wide_range_t wide_sopc[] = {{0x12, 0x7f, 1}, {0x0e, 0x0f, 1}};
static const wide_range_t wide_sopk[] = {{0x10, 0x10, 1}, {0x15, 0x1f, 1}};
static const wide_range_t wide_vop1[] = {{0x03, 0x04, 1}, {0x0f, 0x10, 1}, {0x15, 0x1a, 1},
                                         {0x25, 0x26, 1}, {0x28, 0x28, 1}, {0x30, 0x32, 1},
                                         {0x38, 0x38, 1}, {0x56, 0x57, 1}, {0x5c, 0xff, 1}};
static const wide_range_t wide_vop2[] = {{0x04, 0x04, 1}, {0x3e, 0x3f, 1}};
static const wide_range_t wide_vopc[] = {
    {0x00, 0x0f, 1}, {0x12, 0x13, 1}, {0x16, 0x1f, 1}, {0x60, 0x9f, 1}, {0xe0, 0xff, 1}};
static const wide_range_t wide_vop3[] = {
    {0x100, 0x100, 1}, {0x11c, 0x11e, 1}, {0x13e, 0x13f, 1}, {0x19c, 0x1bf, 1},
    {0x1cc, 0x1cc, 1}, {0x1df, 0x1df, 1}, {0x1e1, 0x1e1, 1}, {0x1e3, 0x1e3, 1},
    {0x1e5, 0x1e9, 1}, {0x208, 0x232, 1}, {0x239, 0x23a, 1}, {0x23e, 0x23f, 1},
    {0x252, 0x264, 1}, {0x26b, 0x284, 1}, {0x28e, 0x292, 1}, {0x2aa, 0x3ff, 1}};
static const wide_range_t wide_vop3p[] = {{0x30, 0x33, 1}};
static const struct {
  const wide_range_t *ranges;
  size_t count;
} wides_of[CODE_FORMATS] = {
#define WIDE(format, ranges) [format] = {ranges, sizeof(ranges) / sizeof((ranges)[0])}
    WIDE(CODE_SOP1, wide_sop1), WIDE(CODE_SOP2, wide_sop2), WIDE(CODE_SOPC, wide_sopc),
    WIDE(CODE_SOPK, wide_sopk), WIDE(CODE_VOP1, wide_vop1), WIDE(CODE_VOP2, wide_vop2),
    WIDE(CODE_VOPC, wide_vopc), WIDE(CODE_VOP3, wide_vop3), WIDE(CODE_VOP3P, wide_vop3p),
#undef WIDE
};

/* Dwords of an operand. */
static uint32_t width_of(uint32_t format, uint32_t op)
{
  for (size_t i = 0; i < wides_of[format].count; ++i) {
    const wide_range_t *range = &wides_of[format].ranges[i];
    if (op >= range->first && op <= range->last && (op - range->first) % range->step == 0)
      return 2;
  }
  if (format != CODE_VOP3)
    return 1;
  if (op < 0x100) /* what others are, too */
    return width_of(CODE_VOPC, op);
  if (op < 0x140)
    return width_of(CODE_VOP2, op - 0x100);
  return op < 0x1c0 ? width_of(CODE_VOP1, op - 0x140) : 1;
}

/* An operand of the scalar kind. Pairs are aligned, so an odd number names one register. Of what is
 * wider, hardware may ignore the number's low bits. */
static void add_sgpr(code_registers_t *registers, uint32_t number, uint32_t width)
{
  const uint32_t end = number + (width == 2 && number & 1 ? 1 : width);
  registers->has_scc |= number == CODE_SCC;
  registers->has_scratch |= number < CODE_FLAT_SCRATCH + 2 && end > CODE_FLAT_SCRATCH;
  if (number < CODE_SGPRS)
    code_set_add(&registers->sgprs, number, (end < CODE_SGPRS ? end : CODE_SGPRS) - number);
}

static void add_vgpr(code_registers_t *registers, uint32_t number, uint32_t width)
{
  code_set_add(&registers->vgprs, number, width);
  if (registers->first_vgprs <= number)
    registers->first_vgprs = number + 1;
}

/* Of the kind that a bit says. */
static void add_data(code_registers_t *registers, uint32_t number, uint32_t width, bool is_agpr)
{
  if (is_agpr)
    code_set_add(&registers->agprs, number, width);
  else
    add_vgpr(registers, number, width);
}

/* Tuples are aligned to pairs from gfx90a on. */
static void add_vector(code_registers_t *registers, uint32_t number, uint32_t width)
{
  add_vgpr(registers, number, width == 2 && number & 1 ? 1 : width);
}

/* Of 9 bits; `width`: of VGPRs. */
static void add_source(code_registers_t *registers, uint32_t operand, uint32_t width)
{
  if (operand >= VGPRS)
    add_vector(registers, operand - VGPRS, width);
  else
    add_sgpr(registers, operand, width);
}

static void add_scalar_memory(const code_t *code, code_registers_t *registers)
{
  static const uint8_t widths[16] = {1, 2, 4, 8, 16, 1, 2, 4, 1, 2, 4, 8, 16, 4, 4, 4};
  const uint32_t d = code->dword[0], d1 = code->dword[1], op = code->op;
  const bool is_buffer = (op >= 8 && op <= 12) || (op >= 0x18 && op <= 0x1a) ||
                         op == SMEM_ATC_PROBE_BUFFER || (op >= 0x40 && op < 0x80);
  const uint32_t base = code_field(d, 0, 6) * 2, data = code_field(d, 6, 7);
  add_sgpr(registers, base, is_buffer ? 4 : 2);
  add_sgpr(registers, data, op < 16 ? widths[op] : 4);
  if (code_field(d, 14, 1)) /* an offset in a register, beside the other or in its place */
    add_sgpr(registers, code_field(d1, 25, 7), 1);
  if (!code_field(d, 17, 1))
    add_sgpr(registers, code_field(d1, 0, 7), 1);
}

/* What CODE_SDWA and CODE_DPP have instead of a literal. */
static void add_second_dword(const code_t *code, uint32_t width, code_registers_t *registers)
{
  const uint32_t source = code_field(code->dword[0], 0, 9), d1 = code->dword[1];
  if (source == CODE_DPP) {
    add_vector(registers, code_field(d1, 0, 8), width);
  } else if (source == CODE_SDWA) {
    if (code_field(d1, 23, 1))
      add_sgpr(registers, code_field(d1, 0, 8), width);
    else
      add_vector(registers, code_field(d1, 0, 8), width);
    if (code_field(d1, 31, 1))
      add_sgpr(registers,
               code_field(code->dword[0],
                          code->format == CODE_VOP2 || code->format == CODE_VOPC ? 9 : 0, 8),
               width);
    if (code->format == CODE_VOPC && code_field(d1, 15, 1))
      add_sgpr(registers, code_field(d1, 8, 7), 2);
  }
}

static void add_vop(const code_t *code, code_registers_t *registers)
{
  const uint32_t d = code->dword[0], source = code_field(d, 0, 9),
                 destination = code_field(d, 17, 8), width = width_of(code->format, code->op);
  if (code->format == CODE_VOP1 && code->op == VOP1_ACCVGPR_MOV) {
    add_data(registers, destination, 1, true);
    if (source >= VGPRS)
      add_data(registers, source - VGPRS, 1, true);
    return;
  }
  if (source != CODE_LITERAL && source != CODE_SDWA && source != CODE_DPP)
    add_source(registers, source, width);
  else if (code->dwords == 2)
    add_second_dword(code, width, registers);
  if (code->format != CODE_VOP1)
    add_vector(registers, code_field(d, 9, 8), width);
  if (code->format == CODE_VOP1 && code->op == VOP1_READFIRSTLANE)
    add_sgpr(registers, destination, 1);
  else if (code->format != CODE_VOPC)
    add_vector(registers, destination, width);
  if (code->format == CODE_VOP1 && code->op >= VOP1_MOVREL && code->op < VOP1_MOVREL + 3)
    registers->any_vgpr = true;
}

/* v_add_co and its like, v_div_scale, v_mad_u64_u32: a mask in bits that others use otherwise. */
static bool has_second_destination(uint32_t op)
{
  return (op >= 0x119 && op <= 0x11e) || op == 0x1e0 || op == 0x1e1 || op == 0x1e8 || op == 0x1e9;
}

/* VGPRs of the destination and the three sources, where any is more than a pair: v_mqsad_u32_u8,
 * and conversions of 32 values at a time. */
static const struct wide {
  uint16_t first, last;
  uint8_t widths[4];
} wides[] = {
    {0x1e7, 0x1e7, {4, 2, 2, 4}},  {0x252, 0x253, {6, 16, 16, 2}}, {0x254, 0x255, {6, 32, 2, 2}},
    {0x256, 0x257, {32, 6, 2, 2}}, {0x258, 0x25f, {6, 16, 2, 2}},  {0x260, 0x263, {16, 6, 2, 2}},
};
static const uint8_t alike[2][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}};

static void add_vop3(const code_t *code, code_registers_t *registers)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1], op = code->op;
  const uint8_t *widths = alike[width_of(CODE_VOP3, op) - 1];
  for (size_t i = 0; i < sizeof(wides) / sizeof(wides[0]); ++i)
    if (op >= wides[i].first && op <= wides[i].last)
      widths = wides[i].widths;
  for (unsigned i = 0; i < 3; ++i)
    add_source(registers, code_field(d1, 9 * i, 9), widths[i + 1]);
  if (op < 0x100 || op == VOP3_READLANE || op == VOP3_READFIRSTLANE) /* comparisons: a mask */
    add_sgpr(registers, code_field(d, 0, 8), 2);
  else
    add_vector(registers, code_field(d, 0, 8), widths[0]);
  if (has_second_destination(op))
    add_sgpr(registers, code_field(d, 8, 7), 2);
}

/* Registers of matrix instructions: of the destination and the three sources; where chips differ,
 * the most. */
static const struct matrix {
  uint8_t first, last, widths[4];
} matrices[] = {
    {0x2d, 0x2d, {4, 8, 8, 4}},   {0x2e, 0x2e, {16, 8, 8, 16}}, {0x35, 0x36, {4, 4, 4, 4}},
    {0x37, 0x38, {16, 4, 4, 16}}, {0x39, 0x3d, {4, 4, 8, 1}},   {0x3e, 0x3e, {4, 2, 2, 4}},
    {0x3f, 0x3f, {16, 2, 2, 16}}, {0x40, 0x40, {32, 1, 1, 32}}, {0x41, 0x41, {16, 1, 1, 16}},
    {0x42, 0x42, {4, 1, 1, 4}},   {0x43, 0x43, {4, 4, 8, 1}},   {0x44, 0x44, {16, 1, 1, 16}},
    {0x45, 0x45, {4, 1, 1, 4}},   {0x46, 0x47, {16, 4, 8, 1}},  {0x48, 0x48, {32, 2, 2, 32}},
    {0x49, 0x49, {16, 2, 2, 16}}, {0x4a, 0x4a, {4, 2, 2, 4}},   {0x4b, 0x4b, {16, 4, 8, 1}},
    {0x4c, 0x4c, {16, 2, 2, 16}}, {0x4d, 0x4d, {4, 2, 2, 4}},   {0x4e, 0x4f, {16, 4, 8, 1}},
    {0x50, 0x50, {32, 1, 1, 32}}, {0x51, 0x51, {16, 1, 1, 16}}, {0x52, 0x52, {4, 1, 1, 4}},
    {0x53, 0x53, {16, 4, 8, 1}},  {0x54, 0x55, {16, 4, 4, 16}}, {0x56, 0x56, {16, 2, 2, 16}},
    {0x57, 0x57, {4, 2, 2, 4}},   {0x5a, 0x5a, {4, 4, 8, 1}},   {0x5b, 0x5b, {16, 4, 8, 1}},
    {0x5d, 0x5d, {32, 2, 2, 32}}, {0x5e, 0x5e, {16, 2, 2, 16}}, {0x5f, 0x5f, {4, 2, 2, 4}},
    {0x60, 0x60, {16, 2, 2, 16}}, {0x61, 0x61, {4, 2, 2, 4}},   {0x62, 0x62, {4, 2, 4, 1}},
    {0x63, 0x63, {32, 2, 2, 32}}, {0x64, 0x64, {16, 2, 4, 16}}, {0x65, 0x65, {4, 2, 2, 4}},
    {0x66, 0x66, {16, 2, 4, 16}}, {0x67, 0x67, {4, 2, 2, 4}},   {0x68, 0x68, {32, 2, 4, 32}},
    {0x69, 0x69, {16, 1, 1, 16}}, {0x6a, 0x6a, {4, 2, 4, 1}},   {0x6b, 0x6b, {4, 1, 1, 4}},
    {0x6c, 0x6c, {16, 2, 4, 16}}, {0x6d, 0x6d, {4, 1, 1, 4}},   {0x6e, 0x6e, {8, 2, 2, 8}},
    {0x6f, 0x6f, {2, 2, 2, 2}},   {0x70, 0x73, {4, 2, 2, 4}},   {0x74, 0x77, {16, 2, 2, 16}},
    {0x78, 0x7b, {4, 2, 4, 1}},   {0x7c, 0x7f, {16, 2, 4, 1}},
};
static const uint8_t widest_matrix[4] = {32, 8, 8, 32}; /* of what is not listed */

static void add_matrix(const uint32_t *dwords, uint32_t op, code_registers_t *registers)
{
  const uint8_t *widths = widest_matrix;
  for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); ++i)
    if (op >= matrices[i].first && op <= matrices[i].last)
      widths = matrices[i].widths;
  /* A bit says that the destination and the last source are AGPRs, one each that the others are.
   * The last source of v_smfmac is an index, which is in a VGPR. */
  const bool acc_cd = code_field(dwords[0], 15, 1), has_index = widths[3] == 1 && widths[0] > 1,
             may_have_index = widths[2] == widths[1] * 2; /* on some chips */
  const bool acc[4] = {acc_cd, code_field(dwords[1], 27, 1), code_field(dwords[1], 28, 1),
                       acc_cd && !has_index};
  add_data(registers, code_field(dwords[0], 0, 8), widths[0], acc[0]);
  for (unsigned i = 0; i < 3; ++i) {
    const uint32_t source = code_field(dwords[1], 9 * i, 9);
    if (!widths[i + 1])
      continue;
    if (source < VGPRS)
      add_sgpr(registers, source, 2);
    else
      add_data(registers, source - VGPRS, widths[i + 1], acc[i + 1]);
    if (i == 2 && may_have_index && source >= VGPRS)
      add_vgpr(registers, source - VGPRS, 1);
  }
}

/* v_accvgpr_read_b32 and v_accvgpr_write_b32, whatever those bits are. */
static void add_moved(const uint32_t *dwords, bool is_write, code_registers_t *registers)
{
  const uint32_t source = code_field(dwords[1], 0, 9);
  add_data(registers, code_field(dwords[0], 0, 8), 1, is_write);
  if (source >= VGPRS)
    add_data(registers, source - VGPRS, 1, !is_write);
  else
    add_sgpr(registers, source, 1);
}

static void add_packed(const code_t *code, code_registers_t *registers)
{
  const uint32_t width = width_of(CODE_VOP3P, code->op);
  for (unsigned i = 0; i < 3; ++i)
    add_source(registers, code_field(code->dword[1], 9 * i, 9), width);
  add_vector(registers, code_field(code->dword[0], 0, 8), width);
}

static void add_vop3p(const code_t *code, code_registers_t *registers)
{
  const bool is_plain =
      code->op < CODE_VOP3P_SCALE || (code->op >= VOP3P_PK_FMA_F32 && code->op <= VOP3P_PK_MOV);
  if (is_plain) {
    add_packed(code, registers);
    return;
  }
  if (code->op == VOP3P_ACCVGPR_READ || code->op == VOP3P_ACCVGPR_WRITE) {
    add_moved(code->dword, code->op == VOP3P_ACCVGPR_WRITE, registers);
    return;
  }
  if (code->op != CODE_VOP3P_SCALE) {
    add_matrix(code->dword, code->op, registers);
    return;
  }
  for (unsigned i = 0; i < 2; ++i) /* scales, and the matrix instruction itself */
    add_source(registers, code_field(code->dword[1], 9 * i, 9), 1);
  add_matrix(code->dword + 2, code_field(code->dword[2], 16, 7), registers);
}

/* ---- Registers of memory instructions ---- */

static void add_lds(const code_t *code, code_registers_t *registers)
{
  const uint32_t d1 = code->dword[1], width = code_data_width(code);
  const bool acc = code_field(code->dword[0], 25, 1);
  add_vgpr(registers, code_field(d1, 0, 8), 1);
  for (unsigned low = 8; low <= 24; low += 8)
    add_data(registers, code_field(d1, low, 8), width, acc);
}

static void add_flat(const code_t *code, code_registers_t *registers)
{
  const uint32_t d1 = code->dword[1], saddr = code_field(d1, 16, 7), width = code_data_width(code);
  const bool acc = code_field(d1, 23, 1);
  registers->has_scratch |= code_field(code->dword[0], 14, 2) == CODE_SEGMENT_SCRATCH;
  const bool is_pair = code_field(code->dword[0], 14, 2) == CODE_SEGMENT_FLAT ||
                       (code_field(code->dword[0], 14, 2) == CODE_SEGMENT_GLOBAL && saddr == 0x7f);
  add_vector(registers, code_field(d1, 0, 8), is_pair ? 2 : 1);
  for (unsigned low = 8; low <= 24; low += 16)
    add_data(registers, code_field(d1, low, 8), width, acc);
  if (saddr != 0x7f)
    add_sgpr(registers, saddr, 2);
}

static void add_buffer(const code_t *code, code_registers_t *registers)
{
  const uint32_t d1 = code->dword[1];
  const uint32_t width = code_data_width(code), /* an index, an offset */
      addresses = code_field(code->dword[0], 12, 1) + code_field(code->dword[0], 13, 1);
  if (addresses)
    add_vgpr(registers, code_field(d1, 0, 8), addresses);
  add_data(registers, code_field(d1, 8, 8), width, code_field(d1, 23, 1));
  add_sgpr(registers, code_field(d1, 16, 5) * 4, 4);
  add_sgpr(registers, code_field(d1, 24, 8), 1);
}

static void add_image(const code_t *code, code_registers_t *registers)
{
  const uint32_t d1 = code->dword[1];
  add_vgpr(registers, code_field(d1, 0, 8), 12);
  add_data(registers, code_field(d1, 8, 8), 5, code_field(code->dword[0], 16, 1));
  add_sgpr(registers, code_field(d1, 16, 5) * 4, 8);
  add_sgpr(registers, code_field(d1, 21, 5) * 4, 4);
}

void code_add_registers(const code_t *code, code_registers_t *registers)
{
  const uint32_t d = code->dword[0], width = width_of(code->format, code->op);
  switch (code->format) {
  case CODE_SOP2:
    add_sgpr(registers, code_field(d, 16, 7), width);
    add_sgpr(registers, code_field(d, 8, 8), width);
    add_sgpr(registers, code_field(d, 0, 8), width);
    break;
  case CODE_SOP1:
    add_sgpr(registers, code_field(d, 16, 7), width);
    add_sgpr(registers, code_field(d, 0, 8), width);
    registers->any_sgpr |= code->op >= SOP1_MOVRELS && code->op <= SOP1_MOVRELD_B64;
    break;
  case CODE_SOPC:
    add_sgpr(registers, code_field(d, 8, 8), width);
    add_sgpr(registers, code_field(d, 0, 8), width);
    registers->any_vgpr |= code->op == CODE_SOPC_SET_GPR_IDX_ON;
    registers->has_modes |= code->op == CODE_SOPC_SET_GPR_IDX_ON || code->op == CODE_SOPC_SETVSKIP;
    break;
  case CODE_SOPK:
    add_sgpr(registers, code_field(d, 16, 7), width);
    registers->has_modes |= code_mode(code, 0) != 0;
    registers->any_vgpr |= code_mode(code, 0) & CODE_INDEXING;
    break;
  case CODE_SOPP:
    registers->has_modes |= code_mode(code, 0) != 0;
    registers->any_vgpr |= code_mode(code, 0) & CODE_INDEXING;
    break;
  case CODE_SMEM:
    add_scalar_memory(code, registers);
    break;
  case CODE_VOP1:
  case CODE_VOP2:
  case CODE_VOPC:
    add_vop(code, registers);
    break;
  case CODE_VOP3:
    add_vop3(code, registers);
    break;
  case CODE_VOP3P:
    add_vop3p(code, registers);
    break;
  case CODE_DS:
    add_lds(code, registers);
    break;
  case CODE_FLAT:
    add_flat(code, registers);
    break;
  case CODE_MUBUF:
  case CODE_MTBUF:
    add_buffer(code, registers);
    break;
  default:
    add_image(code, registers);
    break;
  }
}
