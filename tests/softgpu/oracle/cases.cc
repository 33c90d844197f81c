#include "tests/softgpu/oracle/cases.h"

namespace oracle {
namespace {

// Values that arithmetic finds interesting; the width says in which half or pair they are used.
uint32_t word(Random &random, unsigned kind)
{
  static const uint32_t words[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                   0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001,
                                   0x7f800001, 0x00000003, 0x807fffff, 0x00800000, 0x7f7fffff,
                                   0x34000000, 0x00400000, 0x3f7fffff};
  static const uint16_t halves[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e01, 0x7c01,
                                    0x0001, 0x83ff, 0x0400, 0x7bff, 0x3bff, 0x1400, 0x0200};
  static const uint32_t highs[] = {0,          0x80000000, 0x3ff00000, 0xbff00000, 0x7ff00000,
                                   0xfff00000, 0x7ff80000, 0x7ff00000, 0x00000001, 0x800fffff,
                                   0x00100000, 0x7fefffff, 0x3fefffff, 0x3c900000};
  switch (kind) {
  case 0:
    return random.one_of(words);
  case 1:
    return random.one_of(halves) | uint32_t(random.one_of(halves)) << 16;
  case 2:
    return random.one_of(highs);
  case 3: // f32 near 1: sums round
    return 0x3f000000 + random.below(0x1000000) + (random.below(2) << 31);
  case 4: // small: products are denormal
    return (0x1f800000 + random.below(0x1000000)) | random.below(2) << 31;
  case 5:
    return (0x00003c00 + random.below(0x800)) | (0x0a00 + random.below(0x800)) << 16;
  default:
    return uint32_t(random());
  }
}

void fill_vectors(Random &random, uint32_t (*file)[LANES])
{
  for (unsigned row = 0; row < ROWS; ++row) {
    const unsigned kind = random.below(9);
    for (unsigned lane = 0; lane < LANES; lane += 2) {
      const uint64_t both = kind < 7 ? 0 : random();
      file[row][lane] = kind < 7 ? word(random, kind) : uint32_t(both);
      file[row][lane + 1] = kind < 7 ? word(random, kind) : uint32_t(both >> 32);
    }
  }
}

uint32_t exec_or_vcc_half(Random &random)
{
  switch (random.below(4)) {
  case 0:
    return 0;
  case 1:
    return ~0u;
  default:
    return uint32_t(random());
  }
}

// A scalar source of 32 or 64 bits in 8 bits. 255 asks for a literal.
uint32_t scalar_source(Random &random, unsigned bits)
{
  static const uint32_t wide[] = {VCC, EXEC}, narrow[] = {VCC, VCC + 1, M0, EXEC, 251, 252, 253};
  switch (random.below(6)) {
  case 0:
    return 128 + random.below(81);
  case 1:
    return bits == 64 ? random.one_of(wide) : random.one_of(narrow);
  case 2:
    return bits == 64 ? 128 : random.one_in(2) ? 255 : 240 + random.below(9);
  default:
    return bits == 64 ? random.below(51) * 2 : random.below(102);
  }
}

uint32_t scalar_target(Random &random, unsigned bits)
{
  static const uint32_t others[] = {VCC, EXEC, M0};
  if (random.one_in(6))
    return others[random.below(bits == 64 ? 2 : 3)];
  return bits == 64 ? random.below(51) * 2 : random.below(102);
}

unsigned width_of(const std::string &name)
{
  return ends_with(name, "64") ? 64 : 32;
}

} // namespace

void fill(Random &random, const Row &row, Machine &m)
{
  for (uint32_t &value : m.s)
    value = word(random, random.below(9));
  m.set_pair(FLAT_SCRATCH, m.scratch);
  m.s[VCC] = exec_or_vcc_half(random);
  m.s[VCC + 1] = exec_or_vcc_half(random);
  m.s[EXEC] = random.one_in(8) ? 0 : random.one_in(2) ? ~0u : uint32_t(random());
  m.s[EXEC + 1] = random.one_in(8) ? 0 : random.one_in(2) ? ~0u : uint32_t(random());
  m.scc = random.below(2);
  m.mode = random.one_in(3) ? 0x3f0 : random.below(0x400);
  m.pc = 0x1000000 + 4 * uint64_t(random.below(0x10000));
  m.open.clear();
  if (has_vectors(row) && random.one_in(3)) {
    fill_vectors(random, m.v);
    if (row.format <= MUBUF)
      fill_vectors(random, m.a);
  }
  if (row.format > MUBUF || !random.one_in(row.format == SMEM ? 64 : 8))
    return;
  for (std::vector<uint8_t> *bytes : {&m.memory, &m.lds})
    for (size_t i = 0; i + 8 <= bytes->size(); i += 8) {
      const uint64_t value = random();
      for (unsigned j = 0; j < 8; ++j)
        (*bytes)[i + j] = uint8_t(value >> 8 * j);
    }
}

Case make_scalar(Random &random, const Row &row)
{
  const std::string &name = row.name;
  const unsigned bits = width_of(name), number = row.number;
  Case c;
  c.words[1] = word(random, random.below(9));
  if (row.format == SOPP) {
    c.words[0] = 0xbf800000 | number << 16 | random.below(0x10000);
    c.dwords = 1;
  } else if (row.format == SOPK) {
    uint32_t simm = random.one_in(2) ? word(random, 1) & 0xffff : random.below(0x10000);
    if (has(name, "etreg")) { // of MODE, its rounding, denormals, DX10_CLAMP and IEEE
      const unsigned offset = random.below(10), size = 1 + random.below(10 - offset);
      simm = 1 | offset << 6 | (size - 1) << 11;
    }
    const bool is_imm = name == "s_setreg_imm32_b32";
    c.dwords = is_imm ? 2 : 1;
    const uint32_t dst = is_imm                 ? 0
                         : name == "s_call_b64" ? random.below(50) * 2
                                                : scalar_target(random, 32);
    c.words[0] = 0xb0000000 | number << 23 | dst << 16 | simm;
  } else {
    const bool is_short =
        has(name, "s_lsh") || has(name, "s_ashr") || has(name, "_bfe_") || has(name, "s_bitcmp");
    const bool is_wide_first = bits == 64,
               is_narrow = has(name, "_i32_b64") || name == "s_flbit_i32_i64";
    const uint32_t src0 = scalar_source(random, is_wide_first ? 64 : 32);
    uint32_t src1 = scalar_source(random, is_short ? 32 : bits);
    if (src0 == 255 && src1 == 255)
      src1 = 129;
    const uint32_t dst = scalar_target(random, is_narrow ? 32 : bits);
    const bool has_literal = src0 == 255 || (row.format != SOP1 && src1 == 255);
    c.dwords = has_literal ? 2 : 1;
    if (row.format == SOP1) // s_getpc_b64 has no source, s_setpc_b64 no result
      c.words[0] = 0xbe800000 | (name == "s_setpc_b64" ? 0 : dst) << 16 | number << 8 |
                   (name == "s_getpc_b64" ? 0
                    : has(name, "pc_")    ? random.below(51) * 2
                                          : src0);
    else if (row.format == SOPC)
      c.words[0] = 0xbf000000 | number << 16 | src1 << 8 | src0;
    else
      c.words[0] = 0x80000000 | number << 23 | dst << 16 | src1 << 8 | src0;
    if (name == "s_getpc_b64" || name == "s_setpc_b64" || name == "s_swappc_b64")
      c.dwords = 1;
  }
  return c;
}

namespace {

struct Operands {
  unsigned bits;
  bool is_real, is_carry, is_pair_of_scalars; // .. whose third source is a mask in VOP3
};

uint32_t vector_register(Random &random, unsigned bits)
{
  return bits == 64 ? random.below(ROWS / 2) * 2 : random.below(ROWS);
}

// In 9 bits. At most one scalar or literal is allowed, so only the first source is one.
uint32_t first_source(Random &random, const Operands &o, bool may_be_literal, bool may_be_scalar)
{
  const uint32_t vgpr = 256 + vector_register(random, o.bits);
  if (random.one_in(2))
    return vgpr;
  if (random.one_in(3))
    return o.is_real && random.one_in(2) ? 240 + random.below(9) : 128 + random.below(81);
  if (!may_be_scalar)
    return vgpr;
  if (may_be_literal && random.one_in(3))
    return 255;
  const uint32_t code = random.one_in(8) ? uint32_t(VCC) : random.below(51) * 2;
  return o.bits == 64 ? code : code + random.below(2) * (code < 100);
}

Case make_lane_access(Random &random, const Row &row)
{
  Case c;
  const uint32_t vgpr = vector_register(random, 32), sgpr = random.below(100);
  const uint32_t select = random.one_in(3)   ? uint32_t(M0)
                          : random.one_in(2) ? 128 + random.below(65)
                                             : random.below(100);
  const bool is_write = row.name == "v_writelane_b32";
  c.words[0] = 0xd0000000 | row.number << 16 | (is_write ? vgpr : sgpr);
  c.words[1] = is_write ? (random.one_in(2) ? select : 128 + random.below(65)) |
                              (128 + random.below(65)) << 9
                        : (256 + vgpr) | select << 9;
  if (is_write && random.one_in(2))
    c.words[1] = (128 + random.below(65)) | select << 9;
  return c;
}

} // namespace

Case make_vector(Random &random, const Row &row)
{
  const std::string &name = row.name;
  if (has(name, "lane_b32") && row.format == VOP3)
    return make_lane_access(random, row);
  const size_t type = name.rfind('_') + 1;
  const bool is_compare = has(name, "_cmp"), is_co = has(name, "_co_");
  Operands o = {ends_with(name, "64")   ? 64u
                : ends_with(name, "16") ? 16u
                                        : 32u,
                name[type] == 'f', has(name, "addc") || has(name, "subb"), false};
  const bool has_mask = o.is_carry || name == "v_cndmask_b32";
  Case c;
  c.words[1] = word(random, random.below(9));
  const uint32_t src1 = vector_register(random, o.bits), dst = vector_register(random, o.bits);
  if (row.format != VOP3) {
    const uint32_t src0 = name == "v_readfirstlane_b32" ? 256 + vector_register(random, 32)
                                                        : first_source(random, o, true, !has_mask);
    c.dwords = src0 == 255 ? 2 : 1;
    if (row.format == VOP1)
      c.words[0] = 0x7e000000 | (name == "v_mov_b32" ? dst : random.below(100)) << 17 |
                   row.number << 9 | src0;
    else if (row.format == VOPC)
      c.words[0] = 0x7c000000 | row.number << 17 | src1 << 9 | src0;
    else
      c.words[0] = row.number << 25 | dst << 17 | src1 << 9 | src0;
    return c;
  }
  const uint32_t mask = random.one_in(4) ? uint32_t(VCC) : random.below(50) * 2;
  const uint32_t other_mask = random.one_in(4) ? uint32_t(VCC) : random.below(50) * 2;
  const uint32_t src0 = first_source(random, o, false, !has_mask);
  const uint32_t src2 = has_mask             ? mask
                        : has(name, "_fma_") ? 256 + vector_register(random, o.bits)
                                             : 0;
  c.words[0] = 0xd0000000 | row.number << 16 | (is_compare ? other_mask : dst);
  c.words[1] = src0 | (256 + src1) << 9 | src2 << 18;
  if (is_co)
    c.words[0] |= other_mask << 8;
  if (o.is_real && random.one_in(2)) {
    const uint32_t operands = has(name, "_fma_") ? 7 : 3;
    c.words[0] |= (random.below(8) & operands) << 8 | (is_compare ? 0 : random.below(2) << 15);
    c.words[1] |= (random.below(8) & operands) << 29;
  }
  return c;
}

Case make(Random &random, const Row &row, Machine &m)
{
  switch (row.format) {
  case SMEM:
    return make_smem(random, row, m);
  case DS:
    return make_ds(random, row, m);
  case FLAT:
  case GLOBAL:
  case SCRATCH:
    return make_by_address(random, row, m);
  case MUBUF:
    return make_buffer(random, row, m);
  case VOP1:
  case VOP2:
  case VOPC:
  case VOP3:
    return make_vector(random, row);
  default:
    return make_scalar(random, row);
  }
}

} // namespace oracle
