// LLVM's disassembler and assembler as an oracle, where llvm-mc-19 or llvm-mc-22 is installed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {

// Whom to ask about which chip. The number is that of the chip's s_mov_b32.
struct Target {
  std::string chip, version = "19", attributes = "";
  uint32_t s_mov_b32 = 0;
};

bool available(const std::string &version = "19");

struct Disassembled {
  bool valid = false;
  std::string text; // without encoding suffix, single spaces
  unsigned bytes = 0;
};

// One result per block of words; a block holds one instruction. Blocks that crash LLVM are not valid.
std::vector<Disassembled> disassemble(const Target &target,
                                      const std::vector<std::vector<uint32_t>> &blocks);

// The words of an assembly text, empty when it does not assemble.
std::vector<uint32_t> assemble(const std::string &chip, const std::string &text);

} // namespace llvm
