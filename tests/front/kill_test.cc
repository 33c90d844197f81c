// A process that is killed while it allocates leaves nothing in the ledger that it shares.
#include "tests/extended.h"
#include "tests/front/region_child.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

// The name of the region's device.
std::string device_of(const std::string &region)
{
  return RegionChild::Row(region, RAWHAL_LIMIT_LEVEL_DEVICE).name;
}

class Neighbour {
public:
  Neighbour(const std::string &region, const std::string &device)
  {
    rawhal_limit_config_t *config = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_create(&config, nullptr));
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_REGION,
                                                      region.c_str(), nullptr));
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(config, device.c_str(), &limiter_, nullptr));
    rawhal_limit_config_destroy(config);
  }
  ~Neighbour() { rawhal_limiter_close(limiter_); }
  uint64_t used() const
  {
    uint64_t total = 0, used = 0;
    rawhal_limiter_memory(limiter_, &total, &used);
    return used;
  }

private:
  rawhal_limiter_t *limiter_ = nullptr;
};

} // namespace

struct Killing {
  const char *name, *program;
  int rounds, rounds_extended, rounds_of_all;
};

class FrontKill : public testing::TestWithParam<Killing> {};

TEST_P(FrontKill, TheLedgerIsExact)
{
  const Killing &what = GetParam();
  const int rounds = by_length(what.rounds, what.rounds_extended, what.rounds_of_all);
  Scratch scratch;
  std::string region = scratch / "region";
  uint64_t most = 0;
  for (int round = 0; round < rounds; ++round) {
    RegionChild child(region, {{"RAWHAL_MEMORY_LIMIT", "16M"}}, {what.program});
    ASSERT_EQ("begun", child.Line());
    usleep(static_cast<useconds_t>(round * 7919 % 5000));
    uint64_t used = child.Tenant().memory_used;
    most = used > most ? used : most;
    child.Kill();
    ASSERT_NE("", device_of(region));
    ASSERT_EQ(0u, Neighbour(region, device_of(region)).used()) << "after " << round + 1;
  }
  printf("%d killed, at most %llu bytes held\n", rounds, static_cast<unsigned long long>(most));
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 16u << 20);
}

INSTANTIATE_TEST_SUITE_P(Programs, FrontKill,
                         testing::Values(Killing{"hip", RAWHAL_HOLDS, 8, 50, 200},
                                         Killing{"hsa", RAWHAL_HOLDS_HSA, 200, 2000, 10000}),
                         [](const testing::TestParamInfo<Killing> &what) {
                           return std::string(what.param.name);
                         });
