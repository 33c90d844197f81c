// Instruction words for softgpu: random ones, and random operands of opcodes that exist.
#ifndef RAWHAL_FUZZ_SOFTGPU_WORDS_H
#define RAWHAL_FUZZ_SOFTGPU_WORDS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
#include "softgpu/isa/decode/family.h"
#include "softgpu/isa/describe/inst.h"
}

// Decisions: the input's bytes, behind its end numbers that follow from all of it.
class Choices {
public:
  Choices(const uint8_t *data, size_t size) : at_(data), end_(data + size)
  {
    for (size_t i = 0; i < size; ++i)
      state_ = (state_ ^ data[i]) * UINT64_C(0x100000001b3);
  }
  uint8_t byte() { return static_cast<uint8_t>(at_ < end_ ? *at_++ : next() >> 32); }
  uint32_t word()
  {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value = value << 8 | byte();
    return value;
  }
  uint32_t below(uint32_t bound) { return (bound <= 256 ? byte() : word()) % bound; }
  bool once_in(uint32_t count) { return below(count) == 0; }
  template <size_t N> uint32_t one_of(const uint32_t (&values)[N])
  {
    return values[below(static_cast<uint32_t>(N))];
  }

private:
  uint64_t next() // splitmix64
  {
    uint64_t z = state_ += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
  }
  const uint8_t *at_, *end_;
  uint64_t state_ = UINT64_C(0xcbf29ce484222325);
};

// By the tables that instructions are decoded by, of each family of chips.
class WordMaker {
public:
  WordMaker(Choices &choices, unsigned chip) : c_(choices), chip_(chip), family_(*isa_family(chip))
  {
  }

  // Appends an instruction, or words that may be none.
  void append(std::vector<uint32_t> &words)
  {
    if (c_.once_in(8))
      return words.push_back(c_.word());
    append(c_.once_in(16) ? *pick_prefix() : *pick(), words);
  }

private:
  void append(const isa_opcode_t &opcode, std::vector<uint32_t> &words)
  {
    const isa_fields_t &format = format_of(opcode.encoding);
    uint64_t word = c_.word() | static_cast<uint64_t>(c_.word()) << 32;
    if (!c_.once_in(8))
      tame(opcode.encoding, word);
    set(word, format.shift, 32u - format.shift, format.prefix);
    set(word, format.op_low, format.op_bits, opcode.number);
    put(word, F_MTBUF_OP3, opcode.number >> 3, opcode.encoding == ISA_MTBUF);
    put(word, F_FLAT_SEG, opcode.encoding == ISA_GLOBAL ? 2 : opcode.encoding == ISA_SCRATCH,
        format.encoding == ISA_FLAT);
    words.push_back(static_cast<uint32_t>(word));
    if (format.dwords == 2)
      words.push_back(static_cast<uint32_t>(word >> 32));
    append_extension(opcode.encoding, word, words);
    if (opcode.op == ISA_v_mfma_ld_scale_b32 && !c_.once_in(4))
      append_scaled(words);
  }

  const isa_fields_t &format_of(unsigned encoding) const
  {
    const bool is_flat = encoding == ISA_GLOBAL || encoding == ISA_SCRATCH;
    const unsigned wanted = is_flat ? unsigned(ISA_FLAT) : encoding;
    const isa_fields_t *format = family_.formats;
    while (format->encoding != wanted)
      ++format;
    return *format;
  }

  bool has(const isa_opcode_t &opcode) const { return opcode.chips >> isa_chip(chip_)->member & 1; }

  // The half of an instruction that would be drawn too rarely; any where the chip has none.
  const isa_opcode_t *pick_prefix()
  {
    for (size_t i = 0; i < family_.opcode_count; ++i)
      if (family_.opcodes[i].op == ISA_v_mfma_ld_scale_b32 && has(family_.opcodes[i]))
        return &family_.opcodes[i];
    return pick();
  }

  // v_mfma_scale_f32_*_f8f6f4: vectors of formats that exist.
  void append_scaled(std::vector<uint32_t> &words)
  {
    uint64_t operands = vgpr() | 0x0800 | c_.below(5) << 8 | c_.below(2) << 15;
    for (unsigned i = 0; i < 2; ++i)
      set(operands, 32 + 9 * i, 9, 256 + vgpr());
    set(operands, 50, 9, source());
    set(operands, 59, 2, c_.below(4));
    set(operands, 61, 3, c_.below(5));
    words.push_back(0xd3ad0000 + (c_.below(2) << 16) + static_cast<uint32_t>(operands));
    words.push_back(static_cast<uint32_t>(operands >> 32));
  }

  const isa_opcode_t *pick()
  {
    for (;;) {
      const isa_opcode_t *opcode = &family_.opcodes[c_.word() % family_.opcode_count];
      if (has(*opcode))
        return opcode;
    }
  }

  static void set(uint64_t &word, unsigned low, unsigned bits, uint64_t value)
  {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    word = (word & ~(mask << low)) | (value & mask) << low;
  }
  // Where the family has such a field.
  void put(uint64_t &word, isa_field_t field, uint64_t value, bool is_meant = true) const
  {
    if (is_meant && family_.fields[field].bits)
      set(word, family_.fields[field].low, family_.fields[field].bits, value);
  }
  uint32_t get(uint64_t word, isa_field_t field) const
  {
    const isa_place_t place = family_.fields[field];
    return static_cast<uint32_t>(word >> place.low & ((UINT64_C(1) << place.bits) - 1));
  }

  // The registers that hold something useful at the start, and now and then any.
  uint32_t vgpr() { return c_.once_in(8) ? c_.byte() : c_.below(8); }
  uint32_t sgpr() { return c_.once_in(8) ? c_.below(128) : 2 * c_.below(12); }
  uint32_t scalar_source()
  {
    static const uint32_t special[] = {235, 236, 237, 238, 251, 252, 253, 255, 106, 126, 124, 125};
    switch (c_.below(4)) {
    case 0:
      return c_.one_of(special);
    case 1:
      return c_.once_in(3) ? 240 + c_.below(9) : 128 + c_.below(81);
    default:
      return sgpr();
    }
  }
  uint32_t source() { return c_.once_in(2) ? 256 + vgpr() : scalar_source(); }
  // SDWA or DPP; of 8 lanes, twice.
  uint32_t extended()
  {
    static const uint32_t codes[] = {249, 250, 233, 234};
    return c_.one_of(codes);
  }

  // Operands that exist more often than random ones do.
  void tame(unsigned encoding, uint64_t &o)
  {
    switch (encoding) {
    case ISA_SOP1:
    case ISA_SOP2:
    case ISA_SOPC:
      put(o, F_SOP1_SSRC0, scalar_source());
      put(o, F_SOP2_SSRC1, scalar_source(), encoding != ISA_SOP1);
      put(o, F_SOP1_SDST, sgpr(), encoding != ISA_SOPC);
      break;
    case ISA_SOPK:
      put(o, F_SOPK_SDST, sgpr());
      break;
    case ISA_SOPP: // branches within the code
      put(o, F_SOPP_SIMM, c_.below(64) - 32);
      break;
    case ISA_VOP1:
    case ISA_VOP2:
    case ISA_VOPC:
      put(o, F_VOP1_SRC0, c_.once_in(6) ? extended() : source());
      put(o, F_VOP2_VSRC1, vgpr(), encoding != ISA_VOP1);
      put(o, F_VOP1_VDST, vgpr(), encoding != ISA_VOPC);
      break;
    case ISA_VOP3:
    case ISA_VOP3P:
      tame_vop3(o);
      break;
    case ISA_VOPD:
      put(o, F_VOPD_SRCX0, source());
      put(o, F_VOPD_SRCY0, source());
      put(o, F_VOPD_VSRCX1, c_.below(8));
      put(o, F_VOPD_VSRCY1, c_.below(8));
      put(o, F_VOPD_OPY, c_.below(20));
      break;
    default:
      tame_memory(encoding, o);
      break;
    }
  }
  void tame_vop3(uint64_t &o)
  {
    put(o, F_VOP3_VDST, vgpr());
    for (isa_field_t field : {F_VOP3_SRC0, F_VOP3_SRC1, F_VOP3_SRC2})
      put(o, field, source());
    put(o, F_VOP3_SRC0, extended(), family_.long_literals && c_.once_in(8));
    if (c_.once_in(2))
      set(o, 8, 8, 0); // no modifiers
    if (c_.once_in(2))
      set(o, 59, 5, 0);
  }
  void tame_memory(unsigned encoding, uint64_t &o)
  {
    static const uint32_t addresses[] = {0, 2, 6, 1}; // lane, data + 4 * lane, generic, 4 * lane
    const uint32_t none = family_.null_first ? 124 : family_.has_null ? 125 : 127;
    const bool is_plain = c_.once_in(2);
    if (encoding == ISA_SMEM) {
      put(o, F_SMEM_SBASE, c_.below(6));
      put(o, F_SMEM_SDATA, 20 + 4 * c_.below(16));
      for (isa_field_t field : {F_SMEM_SOE, F_SMEM_NV, F_SMEM_GLC})
        put(o, field, 0, is_plain);
      put(o, F_SMEM_IMM, 1, is_plain);
      put(o, F_SMEM_SOFFSET, none, is_plain);
      put(o, F_SMEM_OFFSET, c_.once_in(2) ? 4 * c_.below(64) : c_.word());
      return;
    }
    set(o, 32, 8, c_.one_of(addresses));
    for (unsigned low = 40; low < 64; low += 8)
      set(o, low, 8, vgpr());
    if (encoding == ISA_MUBUF || encoding == ISA_MTBUF) {
      set(o, 48, 5, 2 + c_.below(2));
      set(o, 53, 3, c_.once_in(2) ? 0 : c_.byte());
      set(o, 56, 8, c_.once_in(2) ? none : scalar_source());
    } else if (encoding != ISA_DS) {
      put(o, F_FLAT_SADDR, is_plain ? none : 4 + 2 * c_.below(2));
      set(o, 55, 1, c_.once_in(8)); // FLAT_ACC or FLAT_SVE
      put(o, F_FLAT_OFFSET, c_.once_in(2) ? 0 : c_.word());
    } else {
      put(o, F_DS_OFFSET, c_.once_in(2) ? c_.below(64) : c_.word());
      put(o, F_DS_GDS, 0);
    }
  }

  // What follows: SDWA or DPP fields, or a literal.
  void append_extension(unsigned encoding, uint64_t word, std::vector<uint32_t> &words)
  {
    const bool is_vector = encoding >= ISA_VOP1 && encoding <= ISA_VOPC;
    const bool is_long = encoding >= ISA_VOP3 && encoding <= ISA_VOPD;
    if (!is_vector && encoding > ISA_SOPP && !(is_long && family_.long_literals))
      return;
    const uint32_t first = is_long     ? get(word, F_VOP3_SRC0)
                           : is_vector ? get(word, F_VOP1_SRC0)
                                       : get(word, F_SOP1_SSRC0);
    const bool has_literal =
        first == 255 ||
        (is_long && (get(word, F_VOP3_SRC1) == 255 || get(word, F_VOP3_SRC2) == 255));
    uint64_t extension = c_.word();
    if (is_vector && first == 249) {
      set(extension, 0, 8, vgpr());
      for (unsigned low : {8, 16, 24})
        set(extension, low, 3, c_.below(7));
      if (c_.once_in(2))
        set(extension, 20, 4, 0);
    } else if ((is_vector || is_long) && (first == 250 || first == 233 || first == 234)) {
      set(extension, 0, 8, vgpr());
    } else if (!has_literal && !c_.once_in(16)) {
      return;
    }
    words.push_back(static_cast<uint32_t>(extension));
  }

  Choices &c_;
  const unsigned chip_;
  const isa_family_t &family_;
};

#endif
