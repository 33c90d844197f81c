// What programs that know nothing of limits are charged, whatever they have the device do.
#include "tests/front/region_child.h"

#include <gtest/gtest.h>

#include <ctime>

namespace {

constexpr uint64_t mi = 1 << 20;

uint64_t now()
{
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

class FrontCopies : public testing::TestWithParam<const char *> {};

// Each round is two copies by an engine at least, and one more while the program waits. A share is
// kept, whatever of it the machine can deliver.
TEST_P(FrontCopies, AreChargedAndHeldBack)
{
  Scratch scratch;
  uint64_t began = now();
  RegionChild child(scratch / "region", {{"RAWHAL_GPU_SHARE", "30%"}},
                    {RAWHAL_COPIES, "500", GetParam()});
  const uint64_t rounds = strtoul(child.Line().c_str(), nullptr, 10);
  rawhal_limit_row_t tenant = child.Tenant();
  double lasted = static_cast<double>(now() - began);
  EXPECT_GT(rounds, 0u);
  EXPECT_GE(tenant.launches, 3 * rounds);
  EXPECT_GT(tenant.gpu_ns, 0u);
  EXPECT_LE(static_cast<double>(tenant.gpu_ns), 0.3 * lasted + 50e6); // burst, and one of each kind
  EXPECT_EQ(0, child.End());
}

INSTANTIATE_TEST_SUITE_P(Modes, FrontCopies, testing::Values("async", "mixed", "device"),
                         [](const testing::TestParamInfo<const char *> &mode) {
                           return std::string(mode.param);
                         });

} // namespace
