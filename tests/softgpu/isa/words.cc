#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/describe/matrix.h"
}

namespace words {

const std::vector<isa_opcode> &all_opcodes()
{
  static const std::vector<isa_opcode> all = {
#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
#include "softgpu/isa/describe/generated/opcodes.inc"
#undef ISA_OPCODE
  };
  return all;
}

static std::vector<isa_opcode> rows_where(bool is_new)
{
  std::vector<isa_opcode> rows;
  for (const isa_opcode &row : all_opcodes())
    if ((row.chips == 1 << SOFTGPU_GFX950) == is_new)
      rows.push_back(row);
  return rows;
}

const std::vector<isa_opcode> &opcodes()
{
  static const std::vector<isa_opcode> rows = rows_where(false);
  return rows;
}

const std::vector<isa_opcode> &gfx950_opcodes()
{
  static const std::vector<isa_opcode> rows = rows_where(true);
  return rows;
}

std::vector<const isa_opcode *> rows_of(unsigned op)
{
  std::vector<const isa_opcode *> out;
  for (const isa_opcode &row : all_opcodes())
    if (row.op == op)
      out.push_back(&row);
  return out;
}

namespace {

uint32_t sgpr(Random &random, uint32_t align = 2)
{
  static const uint32_t others[] = {106, 106, 106, 124, 126, 102};
  return random.one_in(6) ? others[random.below(6)] : random.below(100) / align * align;
}

uint32_t vgpr(Random &random, uint32_t vgprs)
{
  return random.below(vgprs) & ~1u;
}

// A scalar source, in 8 bits.
uint32_t scalar_source(Random &random)
{
  static const uint32_t specials[] = {251, 252, 253, 235, 236, 237, 238};
  switch (random.below(6)) {
  case 0:
    return 128 + random.below(81);
  case 1:
    return 240 + random.below(9);
  case 2:
    return random.one_in(4) ? specials[random.below(7)] : 255;
  default:
    return sgpr(random);
  }
}

uint32_t source(Random &random, uint32_t vgprs)
{
  return random.one_in(4) ? scalar_source(random) : 256 + vgpr(random, vgprs);
}

uint32_t literal(Random &random)
{
  static const uint32_t values[] = {0,          1,          0x3f800000, 0xbf800000, 0x80000000,
                                    0x7fffffff, 0xffffffff, 0x00003c00, 0x7f800000, 33};
  return random.one_in(2) ? values[random.below(10)] : uint32_t(random());
}

uint32_t sdwa(const isa_opcode &row, Random &random)
{
  // Unused bits are 0: src0 0-7, dst_sel 8-10, dst_unused 11-12, clamp 13, omod 14-15,
  // src0_sel 16-18, sext 19, neg 20, abs 21, scalar 23, and the same for source 1 from 24 on.
  bool is_float = row.flags & ISA_F_ABS;
  uint32_t word = 0;
  for (unsigned n = 0; n < 2; ++n) {
    uint32_t bits = random.below(7);
    bits |= is_float ? random.below(4) << 4 : random.below(2) << 3;
    word |= (row.src[n] || n == 0 ? bits : 6) << (16 + 8 * n);
  }
  if (row.encoding == ISA_VOPC)
    return word | (random.one_in(2) ? (0x80 | sgpr(random)) << 8 : 0);
  word |= random.below(7) << 8 | random.below(3) << 11;
  return word | (row.flags & ISA_F_CLAMP ? random.below(2) << 13 : 0) |
         (row.flags & ISA_F_OMOD ? random.below(4) << 14 : 0);
}

uint32_t dpp(const isa_opcode &row, Random &random)
{
  static const uint32_t controls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  uint32_t control = random.below(256);
  if (random.one_in(2))
    control = 0x101 + random.below(0x2f);
  else if (random.one_in(2))
    control = controls[random.below(8)];
  else if (random.one_in(2))
    control = 0x150 + random.below(16);
  uint32_t masks = random.one_in(3) ? 0xff : random.below(256);
  uint32_t signs = row.flags & ISA_F_ABS ? random.below(16) : 0;
  return control << 8 | random.below(2) << 19 | signs << 20 | masks << 24;
}

// VOP1, VOP2 and VOPC, plain, SDWA or DPP.
std::vector<uint32_t> short_vector(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  uint32_t first = source(random, vgprs), d = vgpr(random, vgprs), b = vgpr(random, vgprs);
  uint32_t second = literal(random), form = random.below(3);
  if (row.flags & ISA_F_DST_SGPR)
    d = sgpr(random);
  if (form == 1 && row.flags & ISA_F_SDWA) {
    second = sdwa(row, random);
    bool scalar0 = random.one_in(4), scalar1 = random.one_in(4);
    b = scalar1 && row.src[1] ? sgpr(random) : b;
    second |= (scalar0 ? sgpr(random) : vgpr(random, vgprs)) | uint32_t(scalar0) << 23 |
              uint32_t(scalar1 && row.src[1]) << 31;
    first = 249;
  } else if (form == 2 && row.flags & ISA_F_DPP) {
    second = dpp(row, random) | vgpr(random, vgprs);
    first = 250;
  }
  if (!row.src[0])
    first = 0;
  if (row.encoding == ISA_VOP1)
    return {0x7e000000u | (row.dst ? d : 0) << 17 | uint32_t(row.number) << 9 | first, second};
  if (row.encoding == ISA_VOPC)
    return {0x7c000000u | uint32_t(row.number) << 17 | b << 9 | first, second};
  return {uint32_t(row.number) << 25 | d << 17 | b << 9 | first, second};
}

std::vector<uint32_t> long_vector(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  uint32_t high = 0, low = 0;
  for (unsigned n = 0; n < 3; ++n)
    if (row.src[n]) {
      uint32_t code = source(random, vgprs);
      code = code == 255 ? 242 : code;
      if ((row.flags & ISA_F_CARRY_IN && n == 2))
        code = sgpr(random);
      high |= code << 9 * n;
    }
  low |= row.flags & ISA_F_DST_SGPR ? sgpr(random) : vgpr(random, vgprs);
  const bool plain = random.one_in(3);
  if (row.flags & ISA_F_VOP3B)
    low |= sgpr(random) << 8;
  else if (row.flags & ISA_F_ABS && !plain)
    low |= random.below(8) << 8;
  if (row.flags & ISA_F_OP_SEL && !plain)
    low |= random.below(16) << 11;
  if (row.flags & ISA_F_CLAMP && !plain)
    low |= random.below(2) << 15;
  if (row.flags & ISA_F_OMOD && !plain)
    high |= random.below(4) << 27;
  if (row.flags & ISA_F_NEG && !plain)
    high |= random.below(8) << 29;
  return {0xd0000000u | uint32_t(row.number) << 16 | low, high};
}

std::vector<uint32_t> packed_vector(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  uint32_t high = 0, low = vgpr(random, vgprs);
  const bool is_matrix = row.flags & ISA_F_MAI;
  for (unsigned n = 0; n < 3; ++n)
    if (row.src[n]) {
      uint32_t code = is_matrix && (n < 2 || !random.one_in(3)) ? 256 + vgpr(random, vgprs)
                                                                : source(random, vgprs);
      high |= (code == 255 ? 242 : code) << 9 * n;
    }
  if (is_matrix) {
    low |= (row.flags & ISA_F_CBSZ ? random.below(5) << 8 | random.below(16) << 11 : 0) |
           random.below(2) << 15;
    high |= random.below(4) << 27 | (row.flags & ISA_F_BLGP ? random.below(8) << 29 : 0);
  } else {
    low |= (row.flags & ISA_F_OP_SEL ? random.below(8) << 11 : 0) |
           (row.flags & ISA_F_OP_SEL_HI ? random.below(2) << 14 : 0) |
           (row.flags & (ISA_F_NEG_HI | ISA_F_ABS) ? random.below(8) << 8 : 0) |
           (row.flags & ISA_F_CLAMP ? random.below(2) << 15 : 0);
    high |= (row.flags & ISA_F_OP_SEL_HI ? random.below(4) << 27 : 0) |
            (row.flags & ISA_F_NEG ? random.below(8) << 29 : 0);
  }
  const uint32_t word = 0xd3800000u | uint32_t(row.number) << 16;
  if (!(row.flags & ISA_F_MIXED))
    return {word | low, high};
  low &= ~(15u << 11); // abid says that there is a prefix
  if (random.one_in(2))
    return {word | low, high};
  auto scale = [&] { // near 1, or anything
    const uint32_t code = source(random, vgprs);
    return code == 255 ? 256 : code;
  };
  const uint32_t first = scale();
  return {0xd3ac0000u | random.below(4) << 11, random.below(4) << 27 | scale() << 9 | first,
          word | low | 1u << 11, high};
}

// vdst, data1, data0, vaddr in the second dword, as many as the instruction has.
uint32_t ds_registers(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  uint32_t out = 0;
  const bool has[4] = {row.src[2] != 0, row.src[0] != 0, row.src[1] != 0, row.dst != 0};
  for (unsigned n = 0; n < 4; ++n)
    if (has[n])
      out |= vgpr(random, vgprs) << 8 * n;
  return out;
}

std::vector<uint32_t> memory(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  uint32_t number = row.number;
  switch (row.encoding) {
  case ISA_SMEM: {
    uint32_t data = random.below(76) & ~3u, base = random.below(84) / 4 * 4, form = random.below(3);
    uint32_t offset = random.below(64) * 4;
    uint32_t low = 0xc0000000u | number << 18 | random.below(2) << 16 | data << 6 | base >> 1;
    if (!row.sdst)
      return {0xc0000000u | number << 18 | (row.dst ? data << 6 : 0), 0};
    if (form == 0)
      return {low, sgpr(random)};
    return {low | 1u << 17 | (form == 2) << 14, offset | (form == 2 ? sgpr(random) << 25 : 0)};
  }
  case ISA_DS:
    return {0xd8000000u | number << 17 | uint32_t(row.flags & ISA_F_GWS ? 1 : 0) << 16 |
                (random.below(2) ? random.below(0x10000) & 0x303f : 0),
            ds_registers(row, random, vgprs)};
  case ISA_FLAT:
  case ISA_GLOBAL:
  case ISA_SCRATCH: {
    static const uint32_t segments[] = {0, 2, 1};
    uint32_t saddr = row.encoding == ISA_FLAT || random.one_in(2) ? 0x7f : random.below(100) & ~1u;
    uint32_t low = 0xdc000000u | number << 18 | segments[row.encoding - ISA_FLAT] << 14;
    low |= random.below(2) << 16 | random.below(2) << 17 | random.below(64) * 4;
    low |= row.encoding == ISA_SCRATCH ? random.below(2) << 13 : 0;
    uint32_t registers = vgpr(random, vgprs) | (row.src[0] ? vgpr(random, vgprs) << 8 : 0) |
                         (row.dst ? vgpr(random, vgprs) << 24 : 0);
    return {low, registers | saddr << 16};
  }
  case ISA_MIMG: /* dmask, unorm, glc, da, a16; d16 */
    return {0xf0000000u | number << 18 | random.below(256) << 8,
            vgpr(random, vgprs) | vgpr(random, vgprs) << 8 | random.below(24) << 16 |
                (row.src[1] ? random.below(24) << 21 : 0) | random.below(2) << 31};
  default: {
    uint32_t low =
        row.encoding == ISA_MUBUF ? 0xe0000000u | number << 18 : 0xe8000000u | number << 15;
    if (!row.sdst)
      return {low, 0};
    if (!row.src[2]) /* from LDS: no offen and no idxen */
      return {low | random.below(64) * 4 | random.below(2) << 14 | 1u << 16,
              random.below(24) << 16 | 128u << 24};
    low |= random.below(64) * 4 | random.below(8) << 12; /* offset, offen, idxen, glc */
    if (row.encoding == ISA_MTBUF)
      low |= random.below(128) << 19;
    else if (random.one_in(8))
      low |= 1u << 16; /* lds */
    static const uint32_t offsets[] = {128, 132, 144, 96};
    return {low, vgpr(random, vgprs) | vgpr(random, vgprs) << 8 | random.below(24) << 16 |
                     offsets[random.below(4)] << 24};
  }
  }
}

} // namespace

std::vector<uint32_t> instruction(const isa_opcode &row, Random &random, uint32_t vgprs)
{
  const uint32_t number = row.number;
  switch (row.encoding) {
  case ISA_SOP1:
    return {0xbe800000u | sgpr(random) << 16 | number << 8 | scalar_source(random),
            literal(random)};
  case ISA_SOP2:
    return {0x80000000u | number << 23 | sgpr(random) << 16 | scalar_source(random) << 8 |
                scalar_source(random),
            literal(random)};
  case ISA_SOPC:
    return {0xbf000000u | number << 16 | scalar_source(random) << 8 | scalar_source(random),
            literal(random)};
  case ISA_SOPK:
    return {0xb0000000u | number << 23 | sgpr(random) << 16 | (literal(random) & 0xffff),
            literal(random)};
  case ISA_SOPP:
    return {0xbf800000u | number << 16 | random.below(0x10000)};
  case ISA_VOP1:
  case ISA_VOP2:
  case ISA_VOPC:
    return short_vector(row, random, vgprs);
  case ISA_VOP3:
    return long_vector(row, random, vgprs);
  case ISA_VOP3P:
    return packed_vector(row, random, vgprs);
  default:
    return memory(row, random, vgprs);
  }
}

std::vector<const isa_operand_t *> operands_of(const isa_inst_t &inst)
{
  std::vector<const isa_operand_t *> all = {&inst.dst, &inst.sdst, &inst.src[0], &inst.src[1],
                                            &inst.src[2]};
  if (isa_is_memory(&inst))
    for (const isa_operand_t *operand : {&inst.mem.vaddr, &inst.mem.saddr, &inst.mem.soffset,
                                         &inst.mem.data[0], &inst.mem.data[1]})
      all.push_back(operand);
  if (inst.encoding == ISA_VOP3P && inst.vop.has_scale)
    all.insert(all.end(), {&inst.vop.scale[0], &inst.vop.scale[1]});
  if (inst.encoding == ISA_VOPD)
    all.insert(all.end(),
               {&inst.vopd.dst, &inst.vopd.src[0], &inst.vopd.src[1], &inst.vopd.src[2]});
  return all;
}

} // namespace words
