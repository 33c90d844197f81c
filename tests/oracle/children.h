// Work that may crash or hang, in child processes: what dies is attributed to its item, and the
// rest goes on in another child.
#ifndef TESTS_ORACLE_CHILDREN_H
#define TESTS_ORACLE_CHILDREN_H

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

struct Outcome {
  enum Kind { kNotRun, kDone, kCrashed, kHung } kind = kNotRun;
  int value = 0; // what the work returned, or the signal that ended it
};

// Calls work(i) for each i below `count`. What it appends to `complaints` reaches the caller,
// prefixed with nothing, in order; it is cut at 64 KiB.
using Work = std::function<int(size_t index, std::string &complaints)>;
std::vector<Outcome> run_in_children(size_t count, const Work &work, std::string &complaints);

#endif
