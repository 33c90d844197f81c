// The words of kernels.s.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernels {

// Of a kernel by name, or of one instruction by its text. Throws when there is none.
const std::vector<uint32_t> &words(const std::string &name);

// begin + one instruction + end, for tests of single instructions.
std::vector<uint32_t> around(const std::string &begin, const std::string &instruction,
                             const std::string &end);

// The texts of all single instructions that begin with `prefix`.
std::vector<std::string> instructions(const std::string &prefix);

// Instructions that gfx90a lacks.
inline bool needs_gfx942(const std::string &instruction)
{
  return instruction.find("_load_lds_") != std::string::npos;
}

// Those that are only decoded.
std::vector<std::string> forms();

} // namespace kernels
