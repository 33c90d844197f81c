// Random instruction words of a given opcode, mostly with operands that exist.
#ifndef TESTS_SOFTGPU_ISA_WORDS_H
#define TESTS_SOFTGPU_ISA_WORDS_H

#include <cstdint>
#include <string>
#include <vector>

#include "tests/softgpu/isa/split_mix.h"

extern "C" {
#include "softgpu/isa/describe/opcodes.h"
}

namespace words {

struct Random : SplitMix {
  uint32_t below(uint32_t n) { return uint32_t((*this)() >> 33) % n; }
  bool one_in(uint32_t n) { return below(n) == 0; }
};

// The opcodes of gfx90a and gfx942, those that only gfx950 has, and all of them.
const std::vector<isa_opcode> &opcodes();
const std::vector<isa_opcode> &gfx950_opcodes();
const std::vector<isa_opcode> &all_opcodes();
// The rows of a mnemonic, in any encoding.
std::vector<const isa_opcode *> rows_of(unsigned op);

// Registers are below `vgprs` (of both kinds); SGPRs below 100 or one of those that every wave has.
std::vector<uint32_t> instruction(const isa_opcode &row, Random &random, uint32_t vgprs);

// The same of any chip, by the tables of its family.
std::vector<isa_opcode> opcodes_of(unsigned chip);
std::vector<uint32_t> instruction_of(unsigned chip, const isa_opcode &row, Random &random,
                                     uint32_t vgprs);

// Those of a decoded instruction, and places where it has none.
std::vector<const isa_operand_t *> operands_of(const isa_inst_t &inst);

} // namespace words

#endif
