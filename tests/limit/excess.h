#ifndef TESTS_LIMIT_EXCESS_H
#define TESTS_LIMIT_EXCESS_H

#include <algorithm>

#include "tests/limit/simulator.h"

namespace sim {

// The most by which the device time got in any window exceeds share * window.
class Excess {
public:
  explicit Excess(double share) : share_(share) {}
  void Add(double ns, Ns from, Ns to)
  {
    lowest_ = std::min(lowest_, sum_ - share_ * static_cast<double>(from));
    sum_ += ns;
    worst_ = std::max(worst_, sum_ - share_ * static_cast<double>(to) - lowest_);
  }
  double worst() const { return worst_; }

private:
  double share_, sum_ = 0, lowest_ = 1e300, worst_ = 0;
};

} // namespace sim

#endif
