// The decoder of RDNA's chips against LLVM 22's disassembler, in waves of 32 and of 64 lanes: every opcode with random
// operands, and texts with their words, which machines without LLVM compare with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "tests/softgpu/isa/llvm.h"
#include "tests/softgpu/isa/words.h"
extern "C" {
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/softgpu.h"
}

namespace {

using Words = std::vector<uint32_t>;

const std::vector<isa_opcode> gfx10_rows = {
#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, uint32_t(flags), dst, sdst, {src0, src1, src2}},
#include "softgpu/isa/describe/generated/gfx10/opcodes.inc"
};

const std::vector<isa_opcode> gfx11_rows = {
#include "softgpu/isa/describe/generated/gfx11/opcodes.inc"
#undef ISA_OPCODE
};

struct Chip {
  unsigned number; // softgpu_chip_t
  const char *name, *attributes;
  uint32_t s_mov_b32; // its opcode
  const std::vector<isa_opcode> &rows;
};

const Chip gfx1030 = {SOFTGPU_GFX1030, "gfx1030", "", 3, gfx10_rows},
           gfx1100 = {SOFTGPU_GFX1100, "gfx1100", "+real-true16,", 0, gfx11_rows},
           gfx1151 = {SOFTGPU_GFX1151, "gfx1151", "+real-true16,", 0, gfx11_rows};

std::string text_of(const isa_inst_t &inst)
{
  char text[256];
  isa_text(&inst, text, sizeof text);
  return text;
}

// Random operand fields of one instruction. Fields that the opcode does not have are left 0.
class Generator {
public:
  Generator(const Chip &chip_, unsigned lanes_)
      : random(chip_.number + lanes_), chip(chip_), lanes(lanes_),
        is_gfx11(chip.number != SOFTGPU_GFX1030)
  {
  }

  Words words(const isa_opcode &row)
  {
    const uint32_t n = row.number;
    name = isa_op_name_on(chip.number, row.op);
    is_half = contains("16") || contains("_align");
    // Sources after the first are integers, for which LLVM prints these bits in another way.
    modifies_one =
        contains("ldexp") || contains("pk_u8") || contains("trig_") || contains("cmpx_class");
    wants_literal = false;
    switch (row.encoding) {
    case ISA_SOP1:
      return literal({0xbe800000 | scalar(row.dst) << 16 | n << 8 | source8(row.src[0])});
    case ISA_SOP2:
    case ISA_SOPC: {
      const uint32_t word = row.encoding == ISA_SOP2 ? 0x80000000 | n << 23 | scalar(row.dst) << 16
                                                     : 0xbf000000 | n << 16;
      return literal({word | source8(row.src[1]) << 8 | source8(row.src[0])});
    }
    case ISA_SOPK:
      return literal({0xb0000000 | n << 23 | scalar(row.dst) << 16 | bits(16)},
                     row.flags & ISA_F_LITERAL);
    case ISA_SOPP:
      return {0xbf800000 | n << 16 | bits(16) * bits(1)};
    case ISA_SMEM:
      return smem(row);
    case ISA_VOP1:
    case ISA_VOP2:
    case ISA_VOPC:
      return vop(row);
    case ISA_VOP3:
      return vop3(row);
    case ISA_VOP3P:
      return vop3p(row);
    case ISA_DS:
      return {0xd8000000 | n << 18 | (contains("gws") || contains("ordered") ? 1u : bits(1)) << 17 |
                  (contains("gws") ? 0 : bits(16) * bits(1)),
              vector(row.src[2]) | vector(row.src[0]) << 8 | vector(row.src[1]) << 16 |
                  vector(row.dst) << 24};
    case ISA_FLAT:
    case ISA_GLOBAL:
    case ISA_SCRATCH:
      return is_gfx11 ? flat_gfx11(row) : flat(row);
    case ISA_VOPD:
      return vopd(row);
    default:
      return is_gfx11 ? buffer_gfx11(row) : buffer(row);
    }
  }

private:
  std::mt19937 random;
  const Chip &chip;
  unsigned lanes;
  bool is_gfx11;
  std::string name;
  bool wants_literal = false, is_half = false, modifies_one = false;

  bool contains(const char *part) const { return name.find(part) != std::string::npos; }
  uint32_t bits(unsigned count) { return random() & ((1ull << count) - 1); }
  uint32_t below(uint32_t limit) { return random() % limit; }

  uint32_t scalar(unsigned width)
  {
    if (!width)
      return 0;
    if (width <= 2 && below(6) == 0)
      return width == 1 ? (const uint32_t[]){106, 107, 124, 125, 126}[below(5)]
                        : (const uint32_t[]){106, 125, 126}[below(3)];
    const unsigned align = width > 2 ? 4 : width;
    return below((106 - width) / align + 1) * align;
  }
  uint32_t null() const { return is_gfx11 ? 124 : 125; }
  uint32_t mask() { return scalar(lanes / 32); }
  uint32_t vector(unsigned width) { return width ? below(257 - width) : 0; }

  // With all kinds of sources; `wide` forms have VGPRs.
  uint32_t source(unsigned width, bool wide)
  {
    if (!width)
      return 0;
    if (contains("wmma"))
      return 256 + vector(8);
    switch (below(wide ? 8 : 5)) {
    case 0:
      return width <= 2 ? 128 + below(81) : scalar(width); // integers
    case 1:
      return width <= 2 && !is_half ? 240 + below(9) : scalar(width); // floats
    case 2: // LLVM prints half of one that v_fma_mix has
      wants_literal |= width <= 2 && !contains("fma_mix");
      return width <= 2 && !contains("fma_mix") ? 255 : scalar(width);
    case 3:
    case 4:
      return scalar(width);
    default:
      return 256 + vector(width);
    }
  }
  uint32_t source8(unsigned width) { return source(width, false); }

  Words literal(Words words, bool always = false)
  {
    if (wants_literal || always) // never one of the inline constants
      words.push_back(is_half ? 0x7001 | bits(16) : 0x10000001 | bits(28));
    return words;
  }

  Words smem(const isa_opcode &row)
  {
    const uint32_t low =
        0xf4000000 | row.number << 18 | scalar(row.dst ? row.dst : row.src[0]) << 6;
    if (!row.sdst)
      return {low, 0};
    const uint32_t soffset = below(2) ? null() : below(100);
    // LLVM takes offset 0 without a register for one with the register null.
    return {low | bits(1) << 14 | bits(1) << (is_gfx11 ? 13 : 16) | below(24) * 4 >> 1,
            (1 + below((1 << 20) - 1)) | soffset << 25};
  }

  Words vop(const isa_opcode &row)
  {
    const uint32_t n = row.number,
                   dst = row.flags & ISA_F_DST_SGPR ? scalar(row.dst) : vector(row.dst);
    uint32_t word = row.encoding == ISA_VOP1   ? 0x7e000000 | dst << 17 | n << 9
                    : row.encoding == ISA_VOP2 ? n << 25 | dst << 17
                                               : 0x7c000000 | n << 17;
    if (row.encoding != ISA_VOP1)
      word |= vector(row.src[1]) << 9;
    const unsigned form = below(4);
    if (form == 1 && row.flags & ISA_F_SDWA)
      return sdwa(row, word | 249);
    if (form == 2 && row.flags & ISA_F_DPP)
      return {word | 250, vector(1) | dpp_control() << 8 | bits(2) << 18 | bits(8) << 24};
    if (form == 3 && row.flags & ISA_F_DPP)
      return {word | (233 + bits(1)), vector(1) | bits(23) << 8 | 1u << 31};
    const bool always = row.flags & ISA_F_LITERAL;
    if (row.op == ISA_v_readfirstlane_b32 || contains("swap"))
      return {word | (256 + vector(1))};
    if (always) // there is one literal
      return literal({word | (256 + vector(1))}, true);
    return literal({word | source(row.src[0], true)});
  }
  Words sdwa(const isa_opcode &row, uint32_t word)
  {
    uint32_t second = vector(1) | below(7) << 16 | bits(2) << 20;
    if (row.encoding == ISA_VOPC)
      second |= bits(1) && !(row.flags & ISA_F_ONLY_EXEC) ? 0x8000 | mask() << 8 : 0;
    else
      second |= below(7) << 8 | below(3) << 11;
    if (row.src[1])
      second |= below(7) << 24 | bits(2) << 28;
    else
      second |= 6 << 24;
    if (row.flags & ISA_F_TIED || contains("_cndmask") || !row.src[0])
      second &= ~0x33300000u;
    return {word, second};
  }
  uint32_t dpp_control()
  {
    static const uint32_t controls[] = {0xe4, 0x1b, 0x101, 0x111, 0x12f, 0x140, 0x141};
    return below(3) ? controls[below(7)] : 0x150 + below(32);
  }

  Words vop3(const isa_opcode &row)
  {
    uint32_t low = 0xd4000000 | row.number << 16, high = 0;
    const bool is_compare = row.number < 0x100, has_lanes = contains("lane_b32");
    if (is_compare)
      low |= row.flags & ISA_F_ONLY_EXEC ? 126u : mask();
    else
      low |= row.flags & ISA_F_DST_SGPR ? scalar(row.dst) : vector(row.dst);
    if (row.flags & ISA_F_VOP3B)
      low |= mask() << 8;
    const bool is_permlane = contains("permlane");
    for (unsigned i = 0; i < 3; ++i) {
      const bool is_scalar = (has_lanes && i == 1) || (is_permlane && i > 0);
      uint32_t code = i == 2 && row.flags & ISA_F_MASK ? mask()
                      : is_scalar                      ? scalar(row.src[i])
                                                       : source(row.src[i], true);
      if ((contains("readlane") || is_permlane) && i == 0)
        code = 256 + vector(1), wants_literal = false;
      high |= code << 9 * i;
      if (!row.src[i] || (i && modifies_one))
        continue;
      high |= row.flags & ISA_F_NEG ? bits(1) << (29 + i) : 0;
      low |= row.flags & ISA_F_ABS ? bits(1) << (8 + i) : 0;
    }
    low |= row.flags & ISA_F_CLAMP ? bits(1) << 15 : 0;
    high |= row.flags & ISA_F_OMOD ? bits(2) << 27 : 0;
    if (row.flags & ISA_F_OP_SEL) {
      const bool has_result = !is_permlane && (!is_gfx11 || row.flags & ISA_F_HALF_DST);
      low |= (bits(sources(row, is_permlane)) | (has_result ? bits(1) << 3 : 0)) << 11;
    }
    return with_dpp(row, {low, high});
  }
  // As many as op_sel says something of.
  static unsigned sources(const isa_opcode &row, bool is_permlane)
  {
    if (row.flags & (ISA_F_HALF_DST | ISA_F_HALF_0 | ISA_F_HALF_1 | ISA_F_HALF_2))
      return row.flags & ISA_F_HALF_2 ? 3 : row.flags & ISA_F_HALF_1 ? 2 : 1;
    return row.src[2] && !is_permlane ? 3 : 2;
  }
  // In 64 bits it takes the place of a literal.
  Words with_dpp(const isa_opcode &row, Words words)
  {
    if (!(row.flags & ISA_F_DPP) || wants_literal || below(3))
      return literal(words);
    const bool is_dpp8 = bits(1);
    words[1] |= row.src[1] ? 256u << 9 : 0; // gfx1100 has no scalar there
    words[1] = (words[1] & ~511u) | (is_dpp8 ? 233 + bits(1) : 250);
    words.push_back(vector(1) | (is_dpp8 ? bits(23) << 8 | 1u << 31
                                         : dpp_control() << 8 | bits(2) << 18 | bits(8) << 24));
    return words;
  }

  Words vop3p(const isa_opcode &row)
  {
    uint32_t low = 0xcc000000 | row.number << 16 | vector(contains("wmma") ? 8 : row.dst), high = 0;
    unsigned sources = 0;
    for (; sources < 3 && row.src[sources]; ++sources)
      high |= source(row.src[sources], true) << 9 * sources;
    const uint32_t all = (1u << sources) - 1;
    const bool selects = row.flags & ISA_F_OP_SEL, is_mix = row.flags & ISA_F_ABS;
    const uint32_t op_sel_hi = selects ? bits(3) | (is_mix ? 0 : ~all & 7) : 7;
    low |= (op_sel_hi >> 2) << 14 | (selects ? (bits(3) & all) << 11 : 0);
    low |= row.flags & ISA_F_CLAMP ? bits(1) << 15 : 0;
    high |= (op_sel_hi & 3) << 27;
    high |= row.flags & ISA_F_NEG ? (bits(3) & all) << 29 : 0;
    low |= row.flags & (ISA_F_NEG_HI | ISA_F_ABS) ? (bits(3) & all) << 8 : 0;
    return with_dpp(row, {low, high});
  }

  // Beside an addition: the first half has four bits for its number.
  Words vopd(const isa_opcode &row)
  {
    const bool is_first = row.number < 16 && bits(1);
    const uint32_t add = 4, x = is_first ? row.number : add, y = is_first ? add : row.number;
    const uint32_t src0 = row.flags & ISA_F_LITERAL ? 256 + vector(1) : source(1, true),
                   src1 = row.src[1] ? vector(1) : 0, beside = vector(1), other = vector(1);
    const uint32_t x0 = is_first ? src0 : 256 + other, x1 = is_first ? src1 : beside,
                   y0 = is_first ? 256 + other : src0, y1 = is_first ? beside : src1;
    return literal({0xc8000000 | x << 22 | y << 17 | x1 << 9 | x0,
                    vector(1) << 24 | bits(7) << 17 | y1 << 9 | y0},
                   row.flags & ISA_F_LITERAL);
  }

  Words flat_gfx11(const isa_opcode &row)
  {
    const uint32_t segment = row.encoding == ISA_FLAT ? 0 : row.encoding == ISA_SCRATCH ? 1 : 2;
    const uint32_t returns = row.flags & ISA_F_GLC_RETURNS ? bits(1) : 1;
    uint32_t low = 0xdc000000 | segment << 16 | row.number << 18 | bits(1) << 13 | bits(1) << 15;
    low |= (row.flags & ISA_F_GLC_RETURNS ? returns : bits(1)) << 14 | bits(segment ? 13 : 12);
    uint32_t saddr = null(), vaddr = vector(2); // off
    if (segment && below(2)) {
      saddr = below(53) * 2;
      vaddr = vector(1);
    }
    const uint32_t has_vaddr = segment == 1 ? bits(1) : 0;
    if ((segment == 1 && !has_vaddr) || !row.src[2])
      vaddr = 0;
    return {low, vaddr | vector(row.src[0]) << 8 | saddr << 16 | has_vaddr << 23 |
                     (returns ? vector(row.dst) : 0) << 24};
  }

  Words buffer_gfx11(const isa_opcode &row)
  {
    uint32_t low = row.encoding == ISA_MUBUF ? 0xe0000000 | row.number << 18
                                             : 0xe8000000 | bits(7) << 19 | row.number << 15;
    if (!row.sdst)
      return {low, 0};
    const uint32_t modes = bits(2);
    low |= bits(12) | bits(3) << 12;
    static const uint32_t offsets[] = {128, 145, 242, 125, 124, 33};
    const uint32_t address = vector(modes == 3 ? 2 : modes ? 1 : 0);
    return {low, address | vector(row.dst ? row.dst : row.src[0]) << 8 | below(26) << 16 |
                     modes << 22 | offsets[below(6)] << 24};
  }

  Words flat(const isa_opcode &row)
  {
    const uint32_t segment = row.encoding == ISA_FLAT ? 0 : row.encoding == ISA_SCRATCH ? 1 : 2;
    const uint32_t returns = row.flags & ISA_F_GLC_RETURNS ? bits(1) : 1;
    uint32_t low = 0xdc000000 | segment << 14 | row.number << 18 | bits(1) << 12 | bits(1) << 17;
    low |= (row.flags & ISA_F_GLC_RETURNS ? returns : bits(1)) << 16 | bits(segment ? 12 : 11);
    uint32_t saddr = 125, vaddr = vector(2); // off
    if (segment && below(2)) {
      saddr = segment == 1 && below(2) ? 127 : below(53) * 2;
      vaddr = segment == 1 ? 0 : vector(1);
    }
    return {low, (row.src[2] ? vaddr : 0) | vector(row.src[0]) << 8 | saddr << 16 |
                     (returns ? vector(row.dst) : 0) << 24};
  }

  Words buffer(const isa_opcode &row)
  {
    uint32_t low = row.encoding == ISA_MUBUF ? 0xe0000000 | row.number << 18
                                             : 0xe8000000 | bits(7) << 19 | (row.number & 7u) << 16;
    if (!row.sdst)
      return {low, 0};
    const uint32_t modes = bits(2), slc = bits(1),
                   op3 = row.encoding == ISA_MTBUF ? row.number >> 3 : 0;
    low |= modes << 12 | bits(12) | bits(1) << 14 | bits(1) << 15;
    static const uint32_t offsets[] = {128, 145, 242, 125, 124, 33};
    const uint32_t address = vector(modes == 3 ? 2 : modes ? 1 : 0);
    return {low, address | vector(row.dst ? row.dst : row.src[0]) << 8 | below(26) << 16 |
                     slc << 22 | op3 << 21 | offsets[below(6)] << 24};
  }
};

// Of those LLVM names the immediate, or leaves it out.
bool has_symbolic_immediate(const isa_opcode &row)
{
  static const std::vector<unsigned> others = {ISA_s_getreg_b32,
                                               ISA_s_setreg_b32,
                                               ISA_s_setreg_imm32_b32,
                                               ISA_s_call_b64,
                                               ISA_s_atc_probe,
                                               ISA_s_atc_probe_buffer,
                                               ISA_s_subvector_loop_end,
                                               ISA_s_subvector_loop_begin,
                                               ISA_s_version,
                                               ISA_s_sendmsg_rtn_b32,
                                               ISA_s_sendmsg_rtn_b64,
                                               ISA_ds_swizzle_b32};
  return row.encoding == ISA_SOPP || row.encoding == ISA_MTBUF ||
         std::find(others.begin(), others.end(), row.op) != others.end();
}

std::string first_word(const std::string &text)
{
  return text.substr(0, text.find(' '));
}

std::string decoded(const Chip &chip, unsigned lanes, const Words &words, unsigned *bytes)
{
  isa_inst_t inst;
  if (isa_decode_of(chip.number, lanes, words.data(), uint32_t(words.size()), &inst) != ISA_DECODED)
    return "undecoded";
  *bytes = inst.dwords * 4u;
  return text_of(inst);
}

using Waves = std::tuple<const Chip *, unsigned>;

class DecodeRdnaWaves : public testing::TestWithParam<Waves> {};

TEST_P(DecodeRdnaWaves, AgreesWithLlvm)
{
  if (!llvm::available("22"))
    GTEST_SKIP() << "llvm-mc-22 is not installed";
  const auto &[chip, lanes] = GetParam();
  const unsigned rounds = 24;
  Generator generator(*chip, lanes);
  std::vector<Words> blocks;
  std::vector<const isa_opcode *> origin;
  for (const isa_opcode &row : chip->rows)
    for (unsigned i = 0; i < rounds && row.chips >> isa_chip(chip->number)->member & 1; ++i) {
      blocks.push_back(generator.words(row));
      origin.push_back(&row);
    }
  const std::string attributes = chip->attributes + ("+wavefrontsize" + std::to_string(lanes));
  const auto expected = llvm::disassemble({chip->name, "22", attributes, chip->s_mov_b32}, blocks);
  std::map<const isa_opcode *, unsigned> compared;
  unsigned failures = 0;
  for (size_t i = 0; i < blocks.size() && failures < 40; ++i) {
    unsigned &count = compared[origin[i]];
    if (!expected[i].valid)
      continue;
    ++count;
    unsigned bytes = 0;
    std::string ours = decoded(*chip, lanes, blocks[i], &bytes), theirs = expected[i].text;
    if (has_symbolic_immediate(*origin[i])) {
      ours = first_word(ours);
      theirs = first_word(theirs);
    }
    EXPECT_EQ(ours, theirs) << std::hex << blocks[i][0] << " " << blocks[i].back();
    EXPECT_EQ(bytes, expected[i].bytes) << theirs;
    failures += ours != theirs;
  }
  for (const auto &[row, count] : compared)
    if (!count && (row->encoding != ISA_VOPD || lanes == 32)) // LLVM has VOPD in waves of 32 alone
      ADD_FAILURE() << isa_op_name(row->op) << ": LLVM took none of the encodings, "
                    << +row->encoding;
}

struct Known {
  Words words;
  const char *wave32, *wave64; // nullptr: the same
};

const Known known[] = {
    {{0xf4000101, 0xfa000010}, "s_load_dword s4, s[2:3], 0x10", nullptr},
    {{0xf4000101, 0x0e000010}, "s_load_dword s4, s[2:3], s7 offset:0x10", nullptr},
    {{0xf4014101, 0xfa000004}, "s_load_dword s4, s[2:3], 0x4 glc dlc", nullptr},
    {{0xdc339ffc, 0x017d0002}, "global_load_dword v1, v[2:3], off offset:-4 glc slc dlc", nullptr},
    {{0xdc308000, 0x01020002}, "global_load_dword v1, v2, s[2:3]", nullptr},
    {{0xdc300400, 0x017d0002}, "flat_load_dword v1, v[2:3] offset:1024", nullptr},
    {{0xdc304000, 0x017f0000}, "scratch_load_dword v1, off, off", nullptr},
    {{0xdc304000, 0x017d0002}, "scratch_load_dword v1, v2, off", nullptr},
    {{0xdc304000, 0x01030000}, "scratch_load_dword v1, off, s3", nullptr},
    {{0xe030e004, 0x03420102},
     "buffer_load_dword v1, v2, s[8:11], s3 idxen offset:4 glc slc dlc",
     nullptr},
    {{0xe0302000, 0x03820102}, "buffer_load_dword v[1:2], v2, s[8:11], s3 idxen tfe", nullptr},
    {{0xd8da0004, 0x01000002}, "ds_read_b32 v1, v2 offset:4 gds", nullptr},
    {{0x060206fa, 0xff055302},
     "v_add_f32 v1, v2, v3 row_share:3 row_mask:0xf bank_mask:0xf fi:1",
     nullptr},
    {{0x060206fa, 0xff096302},
     "v_add_f32 v1, v2, v3 row_xmask:3 row_mask:0xf bank_mask:0xf bound_ctrl:1",
     nullptr},
    {{0x060206ea, 0x05397702}, "v_add_f32 v1, v2, v3 dpp8:[7,6,5,4,3,2,1,0] fi:1", nullptr},
    {{0x02020702}, "v_cndmask_b32 v1, v2, v3, vcc_lo", "v_cndmask_b32 v1, v2, v3, vcc"},
    {{0xd5010001, 0x001a0702}, "v_cndmask_b32 v1, v2, v3, s6", "v_cndmask_b32 v1, v2, v3, s[6:7]"},
    {{0x7d840501}, "v_cmp_eq_u32 vcc_lo, v1, v2", "v_cmp_eq_u32 vcc, v1, v2"},
    {{0xd4c20006, 0x00020501}, "v_cmp_eq_u32 s6, v1, v2", "v_cmp_eq_u32 s[6:7], v1, v2"},
    {{0x7da40501}, "v_cmpx_eq_u32 v1, v2", nullptr},
    {{0xd4d2007e, 0x00020501}, "v_cmpx_eq_u32 v1, v2", nullptr},
    {{0x50020702},
     "v_add_co_ci_u32 v1, vcc_lo, v2, v3, vcc_lo",
     "v_add_co_ci_u32 v1, vcc, v2, v3, vcc"},
    {{0xd5767d02, 0x04120501}, "v_mad_u64_u32 v[2:3], null, v1, v2, v[4:5]", nullptr},
    {{0xd54b0001, 0x040dff02, 0x12345678}, "v_fma_f32 v1, v2, 0x12345678, v3", nullptr},
    {{0xcc0a4001, 0x1801ff02, 0x00012345}, "v_pk_add_u16 v1, v2, 0x12345", nullptr},
    {{0xd7771801, 0x00100702}, "v_permlane16_b32 v1, v2, s3, s4 op_sel:[1,1]", nullptr},
    {{0xbefd0301}, "s_mov_b32 null, s1", nullptr},
    {{0xbe813c02}, "s_and_saveexec_b32 s1, s2", nullptr},
    {{0xbf8c2873}, "s_waitcnt vmcnt(3) lgkmcnt(40)", nullptr},
    {{0xbbfd0003}, "s_waitcnt_vscnt null, 0x3", nullptr},
};

const Known known_of_gfx11[] = {
    {{0xf4006101, 0xf8000010}, "s_load_b32 s4, s[2:3], 0x10 glc dlc", nullptr},
    {{0xdc52fffc, 0x017c0002}, "global_load_b32 v1, v[2:3], off offset:-4 glc slc dlc", nullptr},
    {{0xdc510000, 0x01830002}, "scratch_load_b32 v1, v2, s3", nullptr},
    {{0xdc510000, 0x017c0000}, "scratch_load_b32 v1, off, off", nullptr},
    {{0xe0507004, 0x03820102},
     "buffer_load_b32 v1, v2, s[8:11], s3 idxen offset:4 glc slc dlc",
     nullptr},
    {{0xd8c00004, 0x01040302}, "ds_cmpstore_rtn_b32 v1, v2, v3, v4 offset:4", nullptr},
    {{0xbefc007d}, "s_mov_b32 null, m0", nullptr},
    {{0xbf890e82}, "s_waitcnt vmcnt(3) expcnt(2) lgkmcnt(40)", nullptr},
    {{0x64020782}, "v_add_f16 v1.l, v2.h, v3.l", nullptr},
    {{0xd5324801, 0x00020702}, "v_add_f16 v1.h, v2.h, v3.l op_sel:[1,0,1]", nullptr},
    {{0x7e021782}, "v_cvt_f32_f16 v1, v2.h", nullptr},
    {{0x7c040581}, "v_cmp_eq_f16 vcc_lo, v1.h, v2.l", "v_cmp_eq_f16 vcc, v1.h, v2.l"},
    {{0xd5030001, 0x000206fa, 0xff011102},
     "v_add_f32 v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf",
     nullptr},
    {{0xd6130001, 0x041206e9, 0x05397702},
     "v_fma_f32 v1, v2, v3, v4 dpp8:[7,6,5,4,3,2,1,0]",
     nullptr},
    {{0xc9060501, 0x00040f06}, "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v5, v6, v7", nullptr},
    {{0xc80204ff, 0x00040f06, 0x00012345},
     "v_dual_fmac_f32 v0, 0x12345, v2 :: v_dual_fmaak_f32 v5, v6, v7, 0x12345",
     nullptr},
    {{0xcc404010, 0x1c420108},
     "v_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[0:7], v[16:23]",
     "v_wmma_f32_16x16x16_f16 v[16:19], v[8:15], v[0:7], v[16:19]"},
};

void expect_known(const Chip &chip, const Known &row)
{
  for (unsigned lanes : {32u, 64u}) {
    unsigned bytes = 0;
    const char *text = lanes == 64 && row.wave64 ? row.wave64 : row.wave32;
    EXPECT_EQ(decoded(chip, lanes, row.words, &bytes), text);
    EXPECT_EQ(bytes, row.words.size() * 4) << text;
    isa_inst_t inst;
    for (uint32_t available = 0; available < row.words.size(); ++available)
      EXPECT_EQ(isa_decode_of(chip.number, lanes, row.words.data(), available, &inst),
                ISA_DECODE_TRUNCATED)
          << text;
  }
}

TEST(DecodeRdna, KnownInstructions)
{
  for (const Known &row : known)
    expect_known(gfx1030, row);
  for (const Known &row : known_of_gfx11)
    expect_known(gfx1100, row);
}

// Images, interpolation and exports are not described, nor is what GFX9 has and gfx1030 has not.
TEST(DecodeRdna, RefusesOthers)
{
  const Words others[] = {
      {0xf0000f00, 0x00000000}, // image_load
      {0xc8020002},             // v_interp_p1_f32
      {0xf80000ff, 0x00000000}, // exp
      {0xf4400101, 0xfa000000}, // s_store_dword
      {0x00000000},             // GFX9's v_cndmask_b32
  };
  unsigned bytes;
  for (const Words &words : others)
    EXPECT_EQ(decoded(gfx1030, 32, words, &bytes), "undecoded") << std::hex << words[0];
}

TEST(DecodeRdna, RandomWordsStayWithinBounds)
{
  std::mt19937 random(30);
  unsigned count = 0;
  const Chip *const chips[] = {&gfx1030, &gfx1100, &gfx1151};
  for (unsigned i = 0; i < 200000; ++i) {
    const unsigned chip = chips[i % 3]->number;
    uint32_t words[ISA_MOST_DWORDS];
    for (uint32_t &word : words)
      word = uint32_t(random());
    isa_inst_t inst;
    if (isa_decode_of(chip, 32 << i % 2, words, 1 + i / 2 % ISA_MOST_DWORDS, &inst) != ISA_DECODED)
      continue;
    ++count;
    EXPECT_LE(inst.dwords, 1 + i / 2 % ISA_MOST_DWORDS);
    EXPECT_FALSE(text_of(inst).empty());
    for (const isa_operand_t *operand : words::operands_of(inst))
      EXPECT_LT(operand->index, operand->kind == ISA_OPERAND_SGPR ? 128 : 256);
  }
  EXPECT_GT(count, 60000u);
}

INSTANTIATE_TEST_SUITE_P(Chips, DecodeRdnaWaves,
                         testing::Combine(testing::Values(&gfx1030, &gfx1100, &gfx1151),
                                          testing::Values(32u, 64u)),
                         [](const testing::TestParamInfo<Waves> &info) {
                           return std::get<0>(info.param)->name + std::string("Wave") +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
