// LLVM's disassembler and assembler as an oracle, where llvm-mc-19 is installed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {

bool available();

struct Disassembled {
  bool valid = false;
  std::string text; // without encoding suffix, single spaces
  unsigned bytes = 0;
};

// One result per block of words; a block holds one instruction. Blocks that crash LLVM are not valid.
std::vector<Disassembled> disassemble(const std::string &chip,
                                      const std::vector<std::vector<uint32_t>> &blocks);

// The words of an assembly text, empty when it does not assemble.
std::vector<uint32_t> assemble(const std::string &chip, const std::string &text);

} // namespace llvm
