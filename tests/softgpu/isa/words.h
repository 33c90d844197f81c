// Random instruction words of a given opcode, mostly with operands that exist.
#ifndef TESTS_SOFTGPU_ISA_WORDS_H
#define TESTS_SOFTGPU_ISA_WORDS_H

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "softgpu/isa/opcodes.h"
}

namespace words {

struct Random {
  uint64_t state;
  uint64_t operator()()
  {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint32_t below(uint32_t n) { return uint32_t((*this)() >> 33) % n; }
  bool one_in(uint32_t n) { return below(n) == 0; }
};

// All rows of gfx9_opcodes.inc.
const std::vector<isa_opcode> &opcodes();
// The rows of a mnemonic, in any encoding.
std::vector<const isa_opcode *> rows_of(unsigned op);

// Registers are below `vgprs` (of both kinds); SGPRs below 100 or one of those that every wave has.
std::vector<uint32_t> instruction(const isa_opcode &row, Random &random, uint32_t vgprs);

} // namespace words

#endif
