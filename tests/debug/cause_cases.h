// Each way to fail as a scene, with the cause that must come first.
#ifndef TESTS_DEBUG_CAUSE_CASES_H
#define TESTS_DEBUG_CAUSE_CASES_H

#include "tests/debug/world.h"

namespace debug_test {

constexpr uint32_t kNone = RAWHAL_NO_ARGUMENT;

struct Case {
  const char *name;
  void (*set)(World &);
  rawhal_cause_kind_t kind;
  uint32_t argument, levels;
  const char *text;        // part of the first cause's
  const char *second = ""; // part of another one's
};

const std::vector<Case> &cases();

} // namespace debug_test

#endif
