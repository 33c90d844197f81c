// Instruction words for softgpu: random ones, and random operands of opcodes that exist.
#ifndef RAWHAL_FUZZ_SOFTGPU_WORDS_H
#define RAWHAL_FUZZ_SOFTGPU_WORDS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
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

struct Opcode {
  uint8_t encoding;
  uint16_t number;
  uint8_t chips;
  uint16_t op;
};

inline const Opcode opcodes[] = {
#define ISA_OPCODE(encoding, number, name, chips, ...) {ISA_##encoding, number, chips, ISA_##name},
#include "softgpu/isa/describe/generated/opcodes.inc"
#undef ISA_OPCODE
};

// The first dword of each encoding without its operands, and where the opcode goes.
struct Form {
  uint8_t encoding, op_low, dwords;
  uint32_t prefix, operands; // `operands`: the bits that are theirs
};

inline const Form forms[] = {
    {ISA_SOP1, 8, 1, 0xbe800000, 0x007f00ff},    {ISA_SOP2, 23, 1, 0x80000000, 0x007fffff},
    {ISA_SOPK, 23, 1, 0xb0000000, 0x007fffff},   {ISA_SOPC, 16, 1, 0xbf000000, 0x0000ffff},
    {ISA_SOPP, 16, 1, 0xbf800000, 0x0000ffff},   {ISA_SMEM, 18, 2, 0xc0000000, 0x0003ffff},
    {ISA_VOP1, 9, 1, 0x7e000000, 0x01fe01ff},    {ISA_VOP2, 25, 1, 0, 0x01ffffff},
    {ISA_VOPC, 17, 1, 0x7c000000, 0x0001ffff},   {ISA_VOP3, 16, 2, 0xd0000000, 0x0000ffff},
    {ISA_VOP3P, 16, 2, 0xd3800000, 0x0000ffff},  {ISA_DS, 17, 2, 0xd8000000, 0x0201ffff},
    {ISA_FLAT, 18, 2, 0xdc000000, 0x02033fff},   {ISA_SCRATCH, 18, 2, 0xdc004000, 0x02033fff},
    {ISA_GLOBAL, 18, 2, 0xdc008000, 0x02033fff}, {ISA_MUBUF, 18, 2, 0xe0000000, 0x0003ffff},
    {ISA_MTBUF, 15, 2, 0xe8000000, 0x03f87fff},  {ISA_MIMG, 18, 2, 0xf0000000, 0x0203ffff},
};

class WordMaker {
public:
  WordMaker(Choices &choices, unsigned chip) : c_(choices), chip_(chip) {}

  // Appends an instruction, or words that may be none.
  void append(std::vector<uint32_t> &words)
  {
    if (c_.once_in(8))
      return words.push_back(c_.word());
    append(c_.once_in(16) ? pick_prefix() : pick(), words);
  }

private:
  void append(const Opcode *opcode, std::vector<uint32_t> &words)
  {
    const Form *form = forms;
    while (form->encoding != opcode->encoding)
      ++form;
    uint64_t operands = c_.word() | static_cast<uint64_t>(c_.word()) << 32;
    if (!c_.once_in(8))
      tame(opcode->encoding, operands);
    words.push_back(form->prefix | static_cast<uint32_t>(opcode->number) << form->op_low |
                    (static_cast<uint32_t>(operands) & form->operands));
    if (form->dwords == 2)
      words.push_back(static_cast<uint32_t>(operands >> 32));
    else
      append_extension(opcode->encoding, static_cast<uint32_t>(operands), words);
    if (opcode->op == ISA_v_mfma_ld_scale_b32 && !c_.once_in(4))
      append_scaled(words);
  }

  // The half of an instruction that would be drawn too rarely; any where the chip has none.
  const Opcode *pick_prefix()
  {
    for (const Opcode &opcode : opcodes)
      if (opcode.op == ISA_v_mfma_ld_scale_b32 && opcode.chips >> chip_ & 1)
        return &opcode;
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

  const Opcode *pick()
  {
    for (;;) {
      const Opcode *opcode = &opcodes[c_.word() % (sizeof(opcodes) / sizeof(*opcodes))];
      if (opcode->chips >> chip_ & 1)
        return opcode;
    }
  }

  static void set(uint64_t &word, unsigned low, unsigned bits, uint64_t value)
  {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    word = (word & ~(mask << low)) | (value & mask) << low;
  }

  // The registers that hold something useful at the start, and now and then any.
  uint32_t vgpr() { return c_.once_in(8) ? c_.byte() : c_.below(8); }
  uint32_t sgpr() { return c_.once_in(8) ? c_.below(128) : 2 * c_.below(12); }
  uint32_t scalar_source()
  {
    static const uint32_t special[] = {235, 236, 237, 238, 251, 252, 253, 255, 106, 126, 124};
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

  // Operands that exist more often than random ones do.
  void tame(unsigned encoding, uint64_t &o)
  {
    switch (encoding) {
    case ISA_SOP1:
    case ISA_SOP2:
    case ISA_SOPC:
      set(o, 0, 8, scalar_source());
      if (encoding != ISA_SOP1)
        set(o, 8, 8, scalar_source());
      if (encoding != ISA_SOPC)
        set(o, 16, 7, sgpr());
      break;
    case ISA_SOPK:
      set(o, 16, 7, sgpr());
      break;
    case ISA_SOPP: // branches within the code
      set(o, 0, 16, c_.below(64) - 32);
      break;
    case ISA_VOP1:
    case ISA_VOP2:
    case ISA_VOPC:
      set(o, 0, 9, c_.once_in(6) ? 249 + c_.below(2) : source());
      if (encoding != ISA_VOP1)
        set(o, 9, 8, vgpr());
      if (encoding != ISA_VOPC)
        set(o, 17, 8, vgpr());
      break;
    default:
      encoding <= ISA_VOP3P &&encoding >= ISA_VOP3 ? tame_vop3(o) : tame_memory(encoding, o);
      break;
    }
  }
  void tame_vop3(uint64_t &o)
  {
    set(o, 0, 8, vgpr());
    for (unsigned i = 0; i < 3; ++i)
      set(o, 32 + 9 * i, 9, source());
    if (c_.once_in(2))
      set(o, 8, 8, 0); // no modifiers
    if (c_.once_in(2))
      set(o, 59, 5, 0);
  }
  void tame_memory(unsigned encoding, uint64_t &o)
  {
    static const uint32_t addresses[] = {0, 2, 6, 1}; // lane, data + 4 * lane, generic, 4 * lane
    if (encoding == ISA_SMEM) {
      set(o, 0, 6, c_.below(6));
      set(o, 6, 7, 20 + 4 * c_.below(16));
      set(o, 14, 4, c_.once_in(2) ? 8 : c_.byte());
      set(o, 32, 21, c_.once_in(2) ? 4 * c_.below(64) : c_.word());
      return;
    }
    set(o, 32, 8, c_.one_of(addresses));
    for (unsigned low = 40; low < 64; low += 8)
      set(o, low, 8, vgpr());
    if (encoding == ISA_MUBUF || encoding == ISA_MTBUF) {
      set(o, 48, 5, 2 + c_.below(2));
      set(o, 53, 3, 0);
      set(o, 56, 8, scalar_source());
    } else if (encoding != ISA_DS) {
      set(o, 48, 7, c_.once_in(2) ? 0x7f : 4 + 2 * c_.below(2));
      set(o, 55, 1, c_.once_in(8));
      set(o, 0, 13, c_.once_in(2) ? 0 : c_.word());
    } else {
      set(o, 0, 17, c_.once_in(2) ? c_.below(64) : c_.word() & 0xffff);
    }
  }

  // What follows a one-dword instruction: SDWA or DPP fields, or a literal.
  void append_extension(unsigned encoding, uint32_t operands, std::vector<uint32_t> &words)
  {
    const uint32_t source = operands & (encoding >= ISA_VOP1 ? 0x1ff : 0xff);
    uint64_t extension = c_.word();
    if (encoding >= ISA_VOP1 && source == 249) {
      set(extension, 0, 8, vgpr());
      for (unsigned low : {8, 16, 24})
        set(extension, low, 3, c_.below(7));
      if (c_.once_in(2))
        set(extension, 20, 4, 0);
    } else if (encoding >= ISA_VOP1 && source == 250) {
      set(extension, 0, 8, vgpr());
    } else if (source != 255 && !c_.once_in(16)) {
      return;
    }
    words.push_back(static_cast<uint32_t>(extension));
  }

  Choices &c_;
  unsigned chip_;
};

#endif
