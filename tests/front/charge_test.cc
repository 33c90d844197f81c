// What programs that know nothing of limits are charged, whatever they have the device do.
#include "tests/extended.h"
#include "tests/front/region_child.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>

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

// ---- Shares ----

// As long as it takes for shares to be exact, on a machine that has nothing else to do (evidence.sh); else only that nobody
// has more.
const bool extended = is_extended_to_all();
constexpr uint64_t second = 1000000000;

class FrontShares : public testing::TestWithParam<const char *> {};

constexpr struct {
  const char *tenant, *share;
  double percent;
} wanted[2] = {{"less", "30%", 30}, {"more", "60%", 60}};

// What all that runs on the machine but for this test and its programs has had of its processors.
double seconds_of_others()
{
  double seconds = 0, ticks[8] = {}; // user, nice, system, idle, iowait, irq, softirq, steal
  std::ifstream("/proc/stat").ignore(4) >> ticks[0] >> ticks[1] >> ticks[2] >> ticks[3] >>
      ticks[4] >> ticks[5] >> ticks[6] >> ticks[7];
  for (int i : {0, 1, 2, 5, 6, 7})
    seconds += ticks[i] / static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage used = {};
    getrusage(who, &used);
    for (const timeval &time : {used.ru_utime, used.ru_stime})
      seconds -= static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return seconds;
}

struct Attempt {
  bool none_had_less, was_alone;
};

// Each has a softgpu of its own, so that charged by the wall both have their shares of it, and
// charged fairly what the region says they had.
Attempt two_programs(const std::string &region, const std::string &mode)
{
  const uint64_t lasts = extended ? 11 * second : 2 * second;
  const double others = seconds_of_others();
  std::vector<std::unique_ptr<RegionChild>> children;
  for (const auto &each : wanted)
    children.push_back(std::make_unique<RegionChild>(
        region,
        RegionChild::Variables{{"RAWHAL_TENANT", each.tenant},
                               {"RAWHAL_GPU_SHARE", each.share},
                               {"RAWHAL_GPU_CHARGING", mode}},
        std::vector<std::string>{RAWHAL_SHARE, std::to_string(lasts / 1000000), "1300"}));
  usleep(
      static_cast<useconds_t>(lasts / 1000)); // both have been at it for so long, but for starting
  bool none_had_less = true;
  for (int i = 0; i < 2; ++i) {
    rawhal_limit_row_t row = RegionChild::Row(region, RAWHAL_LIMIT_LEVEL_TENANT, wanted[i].tenant);
    double charged = static_cast<double>(row.achieved_ppm[extended ? 1 : 0]) / 10000;
    std::string said = children[static_cast<size_t>(i)]->Line();
    double ran = atof(said.c_str()), had = mode == "wall" ? ran : charged;
    printf("%s: asked for %.0f, charged %.2f, ran %s\n", mode.c_str(), wanted[i].percent, charged,
           said.c_str());
    EXPECT_LE(had, wanted[i].percent + 2);
    none_had_less = none_had_less && had >= wanted[i].percent - 2;
  }
  children.clear();
  const double theirs = seconds_of_others() - others;
  printf("%s: others had %.1f s of the processors\n", mode.c_str(), theirs);
  return {none_had_less, theirs < static_cast<double>(lasts) / 1e9 / 4};
}

// What else a machine runs may take some of a share.
TEST_P(FrontShares, TwoProgramsOfOneRegion)
{
  Scratch scratch;
  bool held = false, was_alone = false;
  for (int attempt = 0; attempt < (extended ? 3 : 1) && !held; ++attempt) {
    const Attempt had = two_programs(scratch / ("region" + std::to_string(attempt)), GetParam());
    held = had.none_had_less || !extended;
    was_alone = was_alone || had.was_alone;
  }
  if (!held && !was_alone)
    GTEST_SKIP() << "too much else runs on this machine";
  EXPECT_TRUE(held);
}

INSTANTIATE_TEST_SUITE_P(Charging, FrontShares, testing::Values("wall", "fair"),
                         [](const testing::TestParamInfo<const char *> &mode) {
                           return std::string(mode.param);
                         });

// ---- What programs try ----

struct Cheat {
  const char *mode;
  int processes;
  uint64_t one_ms; // what a submission takes
};

class FrontCheats : public testing::TestWithParam<Cheat> {
protected:
  void SetUp() override
  {
    page_ = scratch_ / "page";
    std::string zeros(4096, 0);
    spit(page_, zeros.data(), zeros.size());
  }

  // What all kernels had, and the longest of them.
  std::pair<double, double> UsedMs() const
  {
    std::string bytes = slurp(page_);
    uint64_t ticks[2] = {};
    memcpy(ticks, bytes.data(), sizeof(ticks));
    return {static_cast<double>(ticks[0]) / 1e5, static_cast<double>(ticks[1]) / 1e5};
  }

  Scratch scratch_;
  std::string page_;
};

// By the kernels' own count, whatever became of them: the share, the burst's part and a submission.
TEST_P(FrontCheats, GetNothingExtra)
{
  const Cheat &cheat = GetParam();
  const double work =
      extended ? 3000
               : 300; // in ms of the device: at its share a second, and who cheats has it sooner
  const std::string region = scratch_ / "region";
  unsigned started = 0;
  uint64_t began = now();
  std::vector<std::unique_ptr<RegionChild>> children(static_cast<size_t>(cheat.processes));
  while (UsedMs().first < work) {
    for (auto &child : children)
      if (!child || child->HasEnded()) {
        child = std::make_unique<RegionChild>(
            region, RegionChild::Variables{{"RAWHAL_GPU_SHARE", "30%"}},
            std::vector<std::string>{RAWHAL_CHEATS, page_, cheat.mode});
        ++started;
      }
    usleep(2000);
  }
  children.clear();
  const double lasted = static_cast<double>(now() - began) / 1e6;
  const auto [used, longest] = UsedMs();
  printf("%s: %.2f percent of %.1f s, %u processes\n", cheat.mode, 100 * used / lasted,
         lasted / 1e3, started);
  // A kernel that the machine interrupts takes longer than it should: that is charged when it ends.
  EXPECT_LE(used,
            0.3 * lasted + 0.3 * 20 + std::max(static_cast<double>(cheat.one_ms), longest) + 2);
}

INSTANTIATE_TEST_SUITE_P(Modes, FrontCheats,
                         testing::Values(Cheat{"loop", 1, 2}, Cheat{"streams", 1, 4},
                                         Cheat{"destroy", 1, 10}, Cheat{"loop", 4, 2},
                                         Cheat{"fault", 2, 60}, Cheat{"kill", 2, 60}),
                         [](const testing::TestParamInfo<Cheat> &cheat) {
                           return std::string(cheat.param.mode) +
                                  std::to_string(cheat.param.processes);
                         });

} // namespace
