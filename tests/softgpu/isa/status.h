// What is known about each mnemonic: the table of docs/softgpu-instructions.md.
#ifndef TESTS_SOFTGPU_ISA_STATUS_H
#define TESTS_SOFTGPU_ISA_STATUS_H

#include <string>

namespace status {

enum { CASES = 10000 }; // at least, for every mnemonic that is run

// Not run by softgpu, with the reason; NULL for those that are.
const char *unsupported_reason(unsigned op);
inline bool is_unsupported(unsigned op)
{
  return unsupported_reason(op) != nullptr;
}

} // namespace status

#endif
