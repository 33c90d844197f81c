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
  EXPECT_GE(tenant.launches + 3, 3 * rounds); // the last may not have been looked at
  EXPECT_GT(tenant.gpu_ns, 0u);
  EXPECT_LE(static_cast<double>(tenant.gpu_ns), 0.3 * lasted + 50e6); // burst, and one of each kind
  EXPECT_EQ(0, child.End());
}

INSTANTIATE_TEST_SUITE_P(Modes, FrontCopies, testing::Values("async", "mixed", "device"),
                         [](const testing::TestParamInfo<const char *> &mode) {
                           return std::string(mode.param);
                         });

// Its variables are memory that no call of the program's allocates.
TEST(FrontObjects, AreChargedToTheQuota)
{
  Scratch scratch;
  RegionChild child(scratch / "region", {{"RAWHAL_MEMORY_LIMIT", "64M"}}, {RAWHAL_OBJECTS});
  EXPECT_EQ("64 MiB, hipSuccess", child.Line());
  EXPECT_GE(child.Tenant().memory_by_class[1], 8 * mi);
  EXPECT_EQ(0, child.End());
}

TEST(FrontObjects, BeyondTheQuotaAreNotLoaded)
{
  Scratch scratch;
  RegionChild child(scratch / "region", {{"RAWHAL_MEMORY_LIMIT", "4M"}}, {RAWHAL_OBJECTS});
  std::string said = child.Line();
  EXPECT_EQ(0u, said.find("4 MiB, hipError")) << said;
  EXPECT_LE(child.Tenant().memory_used, 4 * mi);
  EXPECT_EQ(0, child.End());
}

} // namespace
