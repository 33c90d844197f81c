// The decoder against LLVM's disassembler: every opcode with random operands, and against committed words where LLVM is
// not installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/softgpu/isa/kernels.h"
#include "tests/softgpu/isa/llvm.h"
#include "tests/softgpu/isa/words.h"
extern "C" {
#include "softgpu/execute.h"
#include "softgpu/isa/describe/opcodes.h"
}

namespace {

struct Row {
  unsigned encoding, number, op, chips;
  uint32_t flags;
  unsigned dst, sdst, src[3];
};

const Row rows[] = {
#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
#include "softgpu/isa/describe/generated/opcodes.inc"
#undef ISA_OPCODE
};

std::string text_of(const isa_inst_t &inst)
{
  char text[256];
  isa_text(&inst, text, sizeof text);
  return text;
}

// Random operand fields of one instruction: registers aligned as the assembler wants them, fields that the opcode does
// not have left 0.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::vector<uint32_t> words(const Row &row)
  {
    const uint32_t n = row.number;
    const char *name = isa_op_name(row.op);
    const uint32_t is_gws = strstr(name, "gws") != nullptr;
    is_byte_float = strstr(name, "fp8") || strstr(name, "bf8");
    is_half = strstr(name, "16") != nullptr;
    /* Sources after the first are integers, for which LLVM prints these bits in another way. */
    modifies_one = strstr(name, "ldexp") || strstr(name, "pk_u8") || strstr(name, "pkaccum") ||
                   strstr(name, "trig_") || strstr(name, "cvt_sr");
    switch (row.encoding) {
    case ISA_SOP1:
      return literal({0xbe800000 | n << 8 | scalar(row.dst) << 16 | source8(row.src[0])});
    case ISA_SOP2:
      return literal({0x80000000 | n << 23 | scalar(row.dst) << 16 | source8(row.src[1]) << 8 |
                      source8(row.src[0])});
    case ISA_SOPC:
      return literal({0xbf000000 | n << 16 | (row.src[1] ? source8(row.src[1]) << 8 : 0) |
                      source8(row.src[0])});
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
      return {0xd8000000 | n << 17 | bits(16) * bits(1) | is_gws << 16 |
                  (is_gws ? 0 : bits(1) << 25),
              vector(row.src[2]) | vector(row.src[0]) << 8 | vector(row.src[1]) << 16 |
                  vector(row.dst) << 24};
    case ISA_FLAT:
    case ISA_GLOBAL:
    case ISA_SCRATCH:
      return flat(row);
    case ISA_MIMG:
      return image(row);
    default:
      return buffer(row);
    }
  }

private:
  std::mt19937 random;
  bool wants_literal = false, is_half = false, modifies_one = false, is_byte_float = false;

  uint32_t bits(unsigned count) { return random() & ((1ull << count) - 1); }
  uint32_t below(uint32_t limit) { return random() % limit; }

  uint32_t scalar(unsigned width)
  {
    if (!width)
      return 0;
    if (width <= 2 && below(8) == 0)
      return 106; // vcc
    unsigned align = width > 2 ? 4 : width;
    return below((100 - width) / align) * align;
  }
  uint32_t vector(unsigned width) { return width ? below((256 - width) / 2) * 2 : 0; }

  // With all kinds of sources; `wide` forms have VGPRs.
  uint32_t source(unsigned width, bool wide, bool may_be_literal)
  {
    if (!width)
      return 0;
    switch (below(wide ? 8 : 5)) {
    case 0:
      return width <= 2 ? 128 + below(81) : scalar(width); // integers
    case 1:
      return width <= 2 && !is_half ? 240 + below(9) : scalar(width); // floats
    case 2:
      wants_literal |= may_be_literal && width <= 2;
      return may_be_literal && width <= 2 ? 255 : scalar(width);
    case 3:
    case 4:
      return scalar(width);
    default:
      return 256 + vector(width);
    }
  }
  uint32_t source8(unsigned width) { return source(width, false, true); }

  std::vector<uint32_t> literal(std::vector<uint32_t> words, bool always = false)
  {
    if (wants_literal || always)
      words.push_back(is_half ? 0x7001 | bits(16)
                              : 0x10000001 | bits(28)); // never one of the inline constants
    wants_literal = false;
    return words;
  }

  std::vector<uint32_t> smem(const Row &row)
  {
    uint32_t low = 0xc0000000 | row.number << 18 | scalar(row.dst ? row.dst : row.src[0]) << 6,
             high = 0;
    if (!row.sdst)
      return {low, 0};
    low |= scalar(row.sdst) >> 1;
    switch (below(3)) {
    case 0:
      low |= 1 << 17;
      high = bits(20);
      break;
    case 1:
      low |= 1 << 17 | 1 << 14;
      high = bits(20) | scalar(1) << 25;
      break;
    default:
      low |= 1 << 14;
      high = scalar(1) << 25;
    }
    return {low, high};
  }

  std::vector<uint32_t> vop(const Row &row)
  {
    const uint32_t n = row.number,
                   dst = row.flags & ISA_F_DST_SGPR ? scalar(row.dst) : vector(row.dst);
    uint32_t word = row.encoding == ISA_VOP1   ? 0x7e000000 | dst << 17 | n << 9
                    : row.encoding == ISA_VOP2 ? n << 25 | dst << 17
                                               : 0x7c000000 | n << 17;
    if (row.encoding != ISA_VOP1)
      word |= vector(row.src[1]) << 9;
    unsigned form = below(3);
    if (form == 1 && row.flags & ISA_F_SDWA && !is_byte_float)
      return sdwa(row, word | 249);
    if (form == 2 && row.flags & ISA_F_DPP)
      return dpp(row, word | 250);
    bool always = row.flags & ISA_F_LITERAL;
    if (row.op == ISA_v_accvgpr_mov_b32 || row.op == ISA_v_readfirstlane_b32)
      return {word | (256 + vector(1))};
    return literal({word | source(row.src[0], true, !always && row.src[0] == 1)}, always);
  }
  std::vector<uint32_t> sdwa(const Row &row, uint32_t word)
  {
    uint32_t second = vector(1) | below(7) << 16 | bits(2) << 20;
    if (row.encoding == ISA_VOPC)
      second |= bits(1) ? 0x8000 | scalar(2) << 8 : 0;
    else
      second |= below(7) << 8 | below(3) << 11;
    if (row.src[1])
      second |= below(7) << 24 | bits(2) << 28;
    if (row.flags & ISA_F_TIED || strstr(isa_op_name(row.op), "_cndmask") || !row.src[0])
      second &= ~0x33000000u & ~0x300000u;
    return {word, second};
  }
  std::vector<uint32_t> dpp(const Row &row, uint32_t word)
  {
    static const uint32_t controls[] = {0xe4,  0x1b,  0x101, 0x111, 0x12f, 0x130,
                                        0x138, 0x140, 0x141, 0x142, 0x143};
    uint32_t control = row.src[0] == 2 || row.dst == 2 ? 0x150 + below(16) : controls[below(11)];
    return {word, vector(row.src[0]) | control << 8 | bits(1) << 19 | bits(8) << 24};
  }

  std::vector<uint32_t> vop3(const Row &row)
  {
    uint32_t low = 0xd0000000 | row.number << 16, high = 0;
    low |= row.flags & ISA_F_DST_SGPR ? scalar(row.dst) : vector(row.dst);
    if (row.flags & ISA_F_VOP3B)
      low |= scalar(2) << 8;
    bool mask = row.number == 0x100 || (row.number >= 0x11c && row.number <= 0x11e);
    bool lanes = row.number == 0x289 || row.number == 0x28a;
    for (unsigned i = 0; i < 3; ++i) {
      uint32_t code = (mask && i == 2) || (lanes && i == 1) ? scalar(row.src[i])
                                                            : source(row.src[i], true, false);
      if (row.number == 0x289 && i == 0)
        code = 256 + vector(1);
      high |= code << 9 * i;
      if (i && modifies_one)
        continue;
      if (row.src[i])
        high |= row.flags & ISA_F_NEG ? bits(1) << (29 + i) : 0;
      if (row.src[i] && row.flags & ISA_F_ABS)
        low |= bits(1) << (8 + i);
    }
    low |= row.flags & ISA_F_CLAMP ? bits(1) << 15 : 0;
    high |= row.flags & ISA_F_OMOD ? bits(2) << 27 : 0;
    if (row.flags & ISA_F_OP_SEL && row.src[1] && !strstr(isa_op_name(row.op), "cvt"))
      low |= (bits(row.src[2] ? 3 : 2) | bits(1) << 3) << 11;
    return {low, high};
  }
  std::vector<uint32_t> vop3p(const Row &row)
  {
    uint32_t low = 0xd3800000 | row.number << 16 | vector(row.dst), high = 0;
    unsigned sources = 0;
    while (sources < 3 && row.src[sources])
      ++sources;
    bool is_move = row.op == ISA_v_accvgpr_read_b32 || row.op == ISA_v_accvgpr_write_b32;
    if (row.flags & ISA_F_MAI) {
      for (unsigned i = 0; i < sources; ++i)
        high |= (256 + vector(row.src[i])) << 9 * i;
      if (row.op == ISA_v_accvgpr_read_b32)
        high |= 1 << 27;
      if (is_move)
        return {low, high};
      low |= bits(1) << 15 | (row.flags & ISA_F_CBSZ ? bits(2) << 8 | bits(2) << 11 : 0);
      high |= bits(2) << 27 | (row.flags & ISA_F_BLGP ? bits(3) << 29 : 0);
      return {low, high};
    }
    for (unsigned i = 0; i < sources; ++i)
      high |= source(row.src[i], true, false) << 9 * i;
    uint32_t all = (1u << sources) - 1, op_sel_hi = bits(3) | (~all & 7);
    bool mix = row.flags & ISA_F_ABS;
    if (mix)
      op_sel_hi &= 7;
    low |= (op_sel_hi >> 2) << 14 | (bits(3) & all) << 11 |
           (row.flags & ISA_F_CLAMP ? bits(1) << 15 : 0);
    high |= (op_sel_hi & 3) << 27;
    if (row.flags & ISA_F_NEG)
      high |= (bits(3) & all) << 29;
    if (row.flags & (ISA_F_NEG_HI | ISA_F_ABS))
      low |= (bits(3) & all) << 8;
    return {low, high};
  }

  std::vector<uint32_t> flat(const Row &row)
  {
    uint32_t segment = row.encoding == ISA_FLAT ? 0 : row.encoding == ISA_SCRATCH ? 1 : 2;
    uint32_t low = 0xdc000000 | segment << 14 | row.number << 18, high = vector(row.src[0]) << 8;
    uint32_t cache = row.flags & ISA_F_GLC_RETURNS ? bits(1) : 0,
             saddr = segment ? below(2) ? 0x7f : scalar(2) : 0;
    low |= cache << 16 | bits(1) << 17 | bits(segment ? 13 : 12);
    if (segment == 1)
      low &= ~0x2000u;
    if (cache || !(row.flags & ISA_F_GLC_RETURNS))
      high |= vector(row.dst) << 24;
    uint32_t vaddr = vector(segment && saddr != 0x7f ? 1 : 2);
    if (segment == 1 && saddr != 0x7f)
      vaddr = 0;
    scratch_vaddr = segment == 1 && saddr == 0x7f;
    return {low, high | vaddr | saddr << 16};
  }
  std::vector<uint32_t> buffer(const Row &row)
  {
    uint32_t low =
        (row.encoding == ISA_MUBUF ? 0xe0000000 | row.number << 18 : 0xe8000000 | row.number << 15);
    if (!row.sdst)
      return {low, 0};
    if (!row.src[2]) // from LDS
      return {low | 1 << 16 | bits(12), (scalar(4) >> 2) << 16 | 128u << 24};
    uint32_t modes = bits(2);
    low |= modes << 12 | bits(12) | bits(1) << 14;
    uint32_t vaddr = vector(modes == 3 ? 2 : modes ? 1 : 0);
    return {low, vaddr | vector(row.dst ? row.dst : row.src[0]) << 8 | (scalar(4) >> 2) << 16 |
                     128u << 24};
  }

  // Atomics have dmasks of their own: one component or two; of compare-and-swap two values.
  std::vector<uint32_t> image(const Row &row)
  {
    const bool is_atomic = strstr(isa_op_name(row.op), "atomic");
    const uint32_t twice = row.op == ISA_image_atomic_cmpswap ? 2 : 1;
    const uint32_t dmask = !is_atomic ? bits(4) : (1u << twice * (1 + bits(1))) - 1;
    const uint32_t low = 0xf0000000 | row.number << 18 | dmask << 8 | bits(5) << 12 |
                         bits(1) << 17 | bits(1) << 7 | bits(1) << 25;
    const uint32_t registers = vector(1) | vector(4) << 8 | below(24) << 16;
    return {low, registers | (row.src[1] ? below(24) << 21 : 0) | bits(1) << 31};
  }

public:
  bool scratch_vaddr = false; // the last words were a scratch access with a VGPR address
};

// Names that LLVM gives to immediates are not compared, only the mnemonic.
bool has_symbolic_immediate(const Row &row)
{
  switch (row.op) {
  case ISA_s_waitcnt:
  case ISA_s_getreg_b32:
  case ISA_s_setreg_b32:
  case ISA_s_setreg_imm32_b32:
  case ISA_s_set_gpr_idx_on:
  case ISA_s_call_b64:
  case ISA_s_cbranch_i_fork:
  case ISA_s_atc_probe:
  case ISA_s_atc_probe_buffer:
  case ISA_ds_swizzle_b32:
    return true;
  default:
    return row.encoding == ISA_SOPP;
  }
}

// Assembly texts with their words, committed: what machines without LLVM compare with.
TEST(Decode, KnownInstructions)
{
  unsigned compared = 0;
  std::vector<std::string> texts = kernels::instructions(""), forms = kernels::forms();
  texts.insert(texts.end(), forms.begin(), forms.end());
  for (const std::string &text : texts) {
    const auto &words = kernels::words(text);
    bool other_syntax = false; // names of immediates, and offsets that are 0
    for (const char *part : {"hwreg", "swizzle(", "offset0:0", "offset1:0"})
      other_syntax |= text.find(part) != std::string::npos;
    const unsigned chip = kernels::needs_gfx942(text) ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
    isa_inst_t inst;
    ASSERT_EQ(isa_decode(chip, words.data(), uint32_t(words.size()), &inst), ISA_DECODED) << text;
    EXPECT_EQ(inst.dwords, words.size()) << text;
    EXPECT_EQ(other_syntax ? text : text_of(inst), text);
    for (uint32_t available = 0; available < words.size(); ++available)
      EXPECT_EQ(isa_decode(chip, words.data(), available, &inst), ISA_DECODE_TRUNCATED) << text;
    ++compared;
  }
  EXPECT_GT(compared, 380u);
}

// Whatever the words are, decoding and printing stay within bounds, and a decoded register exists.
bool decodes_within_bounds(unsigned chip, const uint32_t *words, uint32_t available)
{
  isa_inst_t inst;
  if (isa_decode(chip, words, available, &inst) != ISA_DECODED)
    return false;
  EXPECT_LE(inst.dwords, available);
  EXPECT_FALSE(text_of(inst).empty());
  char small[8];
  isa_text(&inst, small, sizeof small);
  EXPECT_LT(strlen(small), sizeof small);
  for (const isa_operand_t *operand : words::operands_of(inst))
    EXPECT_LT(operand->index, operand->kind == ISA_OPERAND_SGPR ? 128 : 256);
  return true;
}

TEST(Decode, RandomWords)
{
  std::mt19937 random(5);
  unsigned decoded = 0;
  for (unsigned i = 0; i < 300000; ++i) {
    uint32_t words[ISA_MOST_DWORDS];
    for (uint32_t &word : words)
      word = uint32_t(random());
    decoded += decodes_within_bounds(i % SOFTGPU_GFX9_COUNT, words, 1 + i / 3 % ISA_MOST_DWORDS);
  }
  EXPECT_GT(decoded, 75000u);
}

// An instruction that is a prefix of another looks at what follows, which may be anything.
TEST(Decode, WhateverFollowsAPrefix)
{
  std::mt19937 random(6);
  unsigned decoded = 0, scaled = 0;
  for (unsigned chip = 0; chip < SOFTGPU_GFX9_COUNT; ++chip)
    for (uint32_t high = 0; high < 1 << 16; ++high)
      for (unsigned draws = high >> 1 == 0xd3ac >> 1 ? 1000 : 1; draws > 0; --draws) {
        const uint32_t words[ISA_MOST_DWORDS] = {
            0xd3ac0000 | (uint32_t(random()) & 0x7fff), uint32_t(random()) & 0x3ffff,
            high << 16 | (uint32_t(random()) & 0xffff), uint32_t(random())};
        isa_inst_t inst;
        for (uint32_t available = 1; available <= ISA_MOST_DWORDS; ++available)
          decoded += decodes_within_bounds(chip, words, available);
        scaled += isa_decode(chip, words, ISA_MOST_DWORDS, &inst) == ISA_DECODED &&
                  inst.encoding == ISA_VOP3P && inst.vop.has_scale;
      }
  EXPECT_GT(decoded, 60000u);
  EXPECT_GT(scaled, 0u);
}

std::string first_word(const std::string &text)
{
  return text.substr(0, text.find(' '));
}

TEST(Decode, AgreesWithLlvm)
{
  if (!llvm::available())
    GTEST_SKIP() << "llvm-mc-19 is not installed";
  const unsigned rounds = 16;
  for (unsigned chip = 0; chip < 2; ++chip) {
    Generator generator(90 + chip);
    std::vector<std::vector<uint32_t>> blocks;
    std::vector<const Row *> origin;
    for (const Row &row : rows)
      for (unsigned i = 0; i < rounds && row.chips >> chip & 1; ++i) {
        blocks.push_back(generator.words(row));
        if (chip == 1 && row.encoding == ISA_SCRATCH && generator.scratch_vaddr)
          blocks.back()[0] |= 1 << 13;
        origin.push_back(&row);
      }
    auto expected = llvm::disassemble({chip ? "gfx942" : "gfx90a"}, blocks);
    std::map<const Row *, unsigned> compared;
    unsigned failures = 0;
    for (size_t i = 0; i < blocks.size() && failures < 40; ++i) {
      if (!expected[i].valid)
        continue;
      ++compared[origin[i]];
      isa_inst_t inst;
      isa_decode_status_t status =
          isa_decode(chip, blocks[i].data(), uint32_t(blocks[i].size()), &inst);
      std::string ours = status == ISA_DECODED ? text_of(inst) : "undecoded",
                  theirs = expected[i].text;
      if (has_symbolic_immediate(*origin[i])) {
        ours = first_word(ours);
        theirs = first_word(theirs);
      }
      char words[32];
      snprintf(words, sizeof words, "%08x %08x", blocks[i][0],
               blocks[i].size() > 1 ? blocks[i][1] : 0);
      EXPECT_EQ(ours, theirs) << words << " chip " << chip;
      EXPECT_EQ(inst.dwords * 4u, expected[i].bytes) << theirs;
      failures += ours != theirs;
    }
    for (const Row &row : rows)
      if (row.chips >> chip & 1 && !compared[&row])
        ADD_FAILURE() << isa_op_name(row.op) << ": LLVM took none of the encodings, "
                      << row.encoding;
  }
}

} // namespace
