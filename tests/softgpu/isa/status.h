// What is known about each mnemonic: the table of docs/softgpu-instructions.md.
#ifndef TESTS_SOFTGPU_ISA_STATUS_H
#define TESTS_SOFTGPU_ISA_STATUS_H

#include <cstdint>
#include <string>

#include "tests/extended.h"

namespace status {

// At least, for every mnemonic that is run. Sanitizers, which are slow, look for other errors.
const uint64_t CASES = is_sanitized ? 500 : is_extended_to_all() ? 10000 : 2000;

// Why softgpu does not run it; NULL for those that it runs.
const char *unsupported_reason(unsigned op);
inline bool is_unsupported(unsigned op)
{
  return unsupported_reason(op) != nullptr;
}

// "exact", "<= 1 ulp", "decided" or "unsupported".
std::string of(unsigned op);
// What only hardware can tell about it, or why it is unsupported; may be empty.
std::string note(unsigned op);

// The whole document.
std::string document();

// Records how many cases a test compared: a line in <build folder>/softgpu-cases/<family>.tsv.
class Counter {
public:
  explicit Counter(const std::string &family);
  void add(unsigned op, uint64_t cases);
  ~Counter();

private:
  std::string path, lines;
};

} // namespace status

#endif
