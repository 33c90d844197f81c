// How a limit is divided between those who live under it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/limit/simulator.h"

using namespace sim;

namespace {

using Limits = std::vector<std::pair<rawhal_limit_t, uint64_t>>;

struct Member {
  Ns kernel;
  bool sync = false;
  uint64_t weight = 100;
  const char *tenant = "default";
};

struct Mix {
  const char *name;
  int tenant_percent, device_percent; // 0: no limit
  std::vector<Member> members;
};

const Mix kMixes[] = {
    {"1 / 30 ms", 30, 0, {{1 * kMs}, {30 * kMs}}},
    {"1 / 300 ms", 30, 0, {{1 * kMs}, {300 * kMs}}},
    {"1 / 300 ms, sync", 30, 0, {{1 * kMs, true}, {300 * kMs, true}}},
    {"1 / 3 / 10 / 30 ms", 30, 0, {{1 * kMs}, {3 * kMs}, {10 * kMs}, {30 * kMs}}},
    {"4 x 0.2 / 50 ms", 30, 0, {{200 * kUs}, {200 * kUs}, {200 * kUs}, {200 * kUs}, {50 * kMs}}},
    {"4 x 0.2 / 50 ms, sync",
     30,
     0,
     {{200 * kUs, true},
      {200 * kUs, true},
      {200 * kUs, true},
      {200 * kUs, true},
      {50 * kMs, true}}},
    {"1 / 30 / 300 ms, weights 1:2:3",
     30,
     0,
     {{1 * kMs, false, 100}, {30 * kMs, false, 200}, {300 * kMs, false, 300}}},
    {"300 / 1 ms, weights 3:1, sync", 60, 0, {{300 * kMs, true, 300}, {1 * kMs, true, 100}}},
    {"1 / 100 ms", 90, 0, {{1 * kMs}, {100 * kMs}}},
    {"two tenants, 1 / 50 ms", 0, 50, {{1 * kMs, false, 100, "a"}, {50 * kMs, false, 100, "b"}}},
    {"two tenants, 1 / 50 ms, sync",
     0,
     50,
     {{1 * kMs, true, 100, "a"}, {50 * kMs, true, 100, "b"}}},
    {"three processes against one",
     0,
     40,
     {{2 * kMs, false, 100, "a"},
      {3 * kMs, false, 100, "a"},
      {50 * kMs, false, 100, "a"},
      {10 * kMs, false, 100, "b"}}},
};

class Fair : public testing::TestWithParam<std::tuple<size_t, Model>> {};

// What a member is due: its part by weight of its tenant's part.
double Due(const Mix &mix, const Member &member)
{
  double weights = 0;
  std::vector<std::string> tenants;
  for (const Member &other : mix.members) {
    if (!strcmp(other.tenant, member.tenant))
      weights += static_cast<double>(other.weight);
    if (std::find(tenants.begin(), tenants.end(), other.tenant) == tenants.end())
      tenants.push_back(other.tenant);
  }
  double whole = mix.tenant_percent ? mix.tenant_percent
                                    : mix.device_percent / static_cast<double>(tenants.size());
  return whole * static_cast<double>(member.weight) / weights;
}

TEST_P(Fair, EachGetsItsPart)
{
  const Mix &mix = kMixes[std::get<0>(GetParam())];
  Options options;
  options.model = std::get<1>(GetParam());
  Simulator simulator(options);
  std::vector<Process *> processes;
  for (const Member &member : mix.members) {
    Limits limits = {{RAWHAL_LIMIT_WEIGHT, member.weight}};
    if (mix.tenant_percent)
      limits.push_back({RAWHAL_LIMIT_GPU_SHARE, static_cast<uint64_t>(mix.tenant_percent) * 10000});
    if (mix.device_percent)
      limits.push_back(
          {RAWHAL_LIMIT_DEVICE_SHARE, static_cast<uint64_t>(mix.device_percent) * 10000});
    processes.push_back(&simulator.Add({{{1, member.kernel}}, member.sync}, limits, member.tenant));
  }
  simulator.Run(60 * kSecond);
  for (size_t i = 0; i < processes.size(); ++i) {
    double due = Due(mix, mix.members[i]), got = processes[i]->Share(0, 60 * kSecond);
    printf("%-35s %6.1f ms: due %5.2f%%, got %6.3f%%\n", mix.name,
           static_cast<double>(mix.members[i].kernel) / kMs, due, got);
    EXPECT_NEAR(due, got,
                due * 0.02 + 100.0 * static_cast<double>(mix.members[i].kernel) / (60.0 * kSecond));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fair,
                         testing::Combine(testing::Range(size_t{0}, std::size(kMixes)),
                                          testing::Values(Model::kSharing, Model::kTakingTurns)),
                         [](const auto &each) {
                           return TestName(kMixes[std::get<0>(each.param)].name) + "_" +
                                  Name(std::get<1>(each.param));
                         });

// A long kernel runs beside thousands of short ones of another tenant: the device is paid once, by both.
TEST(Fair, ChargingDividesALongKernelAmongThousands)
{
  for (Ns small : {20 * kUs, 200 * kUs})
    for (Ns large : {300 * kMs, 3 * kSecond}) {
      Simulator simulator({});
      Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 900000}};
      Process &a = simulator.Add({{{1, small}}}, limits, "small"),
              &b = simulator.Add({{{1, large}}}, limits, "large");
      simulator.Run(8 * kSecond);
      double paid_a = static_cast<double>(shim_charged_ns(a.limiter)),
             paid_b = static_cast<double>(shim_charged_ns(b.limiter));
      double got_a = a.Share(0, 8 * kSecond) * 0.08 * kSecond,
             got_b = b.Share(0, 8 * kSecond) * 0.08 * kSecond;
      printf("%.2f / %lld ms: charged %.3f and %.3f s, got %.3f and %.3f s\n",
             static_cast<double>(small) / kMs, static_cast<long long>(large / kMs),
             paid_a / kSecond, paid_b / kSecond, got_a / kSecond, got_b / kSecond);
      EXPECT_LE(paid_a + paid_b, 8.1 * kSecond);
      // What has not ended yet is charged to nobody, or to the other for now.
      EXPECT_NEAR(got_a, paid_a, 0.02 * got_a + static_cast<double>(large));
      EXPECT_NEAR(got_b, paid_b, 0.02 * got_b + static_cast<double>(large) * 2);
    }
}

// The longest time in which the device did nothing for a process that always wants something.
class Gap {
public:
  void Add(Ns from, Ns to)
  {
    if (last_)
      longest_ = std::max(longest_, from - last_);
    last_ = to;
  }
  Ns longest() const { return longest_; }

private:
  Ns last_ = 0, longest_ = 0;
};

// Who has short kernels waits for one long one, and until that is paid: no longer, and weights do not matter.
TEST(Fair, WaitingIsBounded)
{
  for (int percent : {30, 60, 90})
    for (Ns large : {30 * kMs, 300 * kMs}) {
      Simulator simulator({});
      Limits limits = Limits{{RAWHAL_LIMIT_GPU_SHARE, static_cast<uint64_t>(percent) * 10000}};
      Process &small = simulator.Add({{{1, kMs}}, true}, limits);
      simulator.Add({{{1, large}}, false}, limits);
      Gap gap;
      simulator.on_serve = [&](const Process &process, double, Ns from, Ns to) {
        if (&process == &small)
          gap.Add(from, to);
      };
      simulator.Run(30 * kSecond);
      double bound =
          (static_cast<double>(large) * 1.05 + 2.0 * kMs) * 100 / percent; // kernels vary by 5 %
      printf("%d%%, beside kernels of %lld ms: waits at most %.1f ms (bound %.1f)\n", percent,
             static_cast<long long>(large / kMs), static_cast<double>(gap.longest()) / kMs,
             bound / kMs);
      EXPECT_LE(static_cast<double>(gap.longest()), bound);
    }
}

// What is in flight counts in turns, or who has the long kernels sends the next one before the first has ended.
TEST(Fair, WhatIsInFlightCounts)
{
  for (bool at_device : {false, true})
    for (Model model : {Model::kSharing, Model::kRoundRobin, Model::kTakingTurns}) {
      Options options;
      options.model = model;
      Simulator simulator(options);
      Limits limits =
          Limits{{at_device ? RAWHAL_LIMIT_DEVICE_SHARE : RAWHAL_LIMIT_GPU_SHARE, 900000},
                 {RAWHAL_LIMIT_BURST, 500 * kMs}};
      Process &small = simulator.Add({{{1, kMs}}, true}, limits, "small");
      simulator.Add({{{1, 100 * kMs}}}, limits, at_device ? "large" : "small");
      Gap gap;
      simulator.on_serve = [&](const Process &process, double, Ns from, Ns to) {
        if (&process == &small && from > kSecond)
          gap.Add(from, to);
      };
      simulator.Run(30 * kSecond);
      EXPECT_LE(static_cast<double>(gap.longest()), 100 * kMs * 1.05 / 0.9 + 2.0 * kMs);
    }
}

// Who waits for each of its kernels is there between two of them, too.
TEST(Fair, BetweenTwoKernelsItIsStillThere)
{
  for (bool at_device : {false, true}) {
    Options options;
    options.model = Model::kTakingTurns;
    Simulator simulator(options);
    Limits limits =
        Limits{{at_device ? RAWHAL_LIMIT_DEVICE_SHARE : RAWHAL_LIMIT_GPU_SHARE, 900000}};
    Process &small = simulator.Add({{{1, kMs}}, true, 500 * kUs}, limits, "small");
    Process &large = simulator.Add({{{1, 30 * kMs}}}, limits, at_device ? "large" : "small");
    simulator.Run(30 * kSecond);
    printf("got %.1f and %.1f %%\n", small.Share(0, 30 * kSecond), large.Share(0, 30 * kSecond));
    EXPECT_GE(small.Share(0, 30 * kSecond), 35) << at_device;
  }
}

// Nobody saves up by sleeping.
TEST(Fair, WhoWasAwayIsNotServedAlone)
{
  Simulator simulator({});
  Limits limits = Limits{{RAWHAL_LIMIT_GPU_SHARE, 300000}};
  Process &busy = simulator.Add({{{1, kMs}}}, limits),
          &sleeper = simulator.Add({{{1, kMs}}, true}, limits);
  simulator.Run(kSecond);
  sleeper.workload.pause = 5 * kSecond;
  simulator.Run(3 * kSecond);
  sleeper.workload.pause = 0;
  simulator.Run(9 * kSecond);
  for (Ns from = 6 * kSecond; from < 9 * kSecond; from += 500 * kMs)
    EXPECT_NEAR(15, busy.Share(from, from + 500 * kMs), 1.5) << from / kMs;
}

// Who joins late has not been waiting: from then on each gets its part, and nobody makes up for what was before.
TEST(Fair, WhoComesLateGetsItsPartAndNoMore)
{
  Simulator simulator({});
  Limits limits = Limits{{RAWHAL_LIMIT_GPU_SHARE, 300000}};
  Process &first = simulator.Add({{{1, 2 * kMs}}}, limits);
  simulator.Run(10 * kSecond);
  Process &late = simulator.Add({{{1, 2 * kMs}}}, limits);
  simulator.Run(30 * kSecond);
  EXPECT_NEAR(15, first.Share(11 * kSecond, 30 * kSecond), 0.3);
  EXPECT_NEAR(15, late.Share(11 * kSecond, 30 * kSecond), 0.3);
}

// Who is held back by a limit of its own is waited for by nobody.
TEST(Fair, ALimitOfOnesOwnHoldsBackNobodyElse)
{
  Simulator simulator({});
  Limits limits = Limits{{RAWHAL_LIMIT_GPU_SHARE, 300000}}, tight = limits;
  tight.push_back({RAWHAL_LIMIT_PROCESS_SHARE, 50000});
  Process &small = simulator.Add({{{1, 2 * kMs}}}, tight),
          &rest = simulator.Add({{{1, 2 * kMs}}}, limits);
  simulator.Run(30 * kSecond);
  EXPECT_NEAR(5, small.Share(0, 30 * kSecond), 0.2);
  EXPECT_NEAR(25, rest.Share(0, 30 * kSecond), 0.2);
}

// Who joins while the others pause for a moment has not been waiting either.
TEST(Fair, WhoJoinsInAPauseStarvesNobody)
{
  for (bool at_device : {false, true}) {
    Simulator simulator({});
    Limits limits = {{at_device ? RAWHAL_LIMIT_DEVICE_SHARE : RAWHAL_LIMIT_GPU_SHARE, 400000}};
    Process &old = simulator.Add({{{1, kMs}}, true}, limits, "old");
    simulator.Run(30 * kSecond);
    old.workload.pause = 100 * kMs;
    simulator.Run(30 * kSecond + 50 * kMs);
    old.workload.pause = 0;
    Process &fresh = simulator.Add({{{2, kMs}}}, limits, at_device ? "fresh" : "old");
    simulator.Run(50 * kSecond);
    EXPECT_NEAR(20, old.Share(31 * kSecond, 50 * kSecond), 1) << at_device;
    EXPECT_NEAR(20, fresh.Share(31 * kSecond, 50 * kSecond), 1) << at_device;
  }
}

// A kernel that never ends, and short ones beside it, do not keep other tenants from the device.
TEST(Fair, WhatNeverEndsLeavesOtherTenantsTheirPart)
{
  for (uint64_t percent : {10, 50, 90}) {
    Simulator simulator({});
    Limits limits = {{RAWHAL_LIMIT_DEVICE_SHARE, percent * 10000}};
    Workload endless;
    endless.sync_each = true;
    endless.moves = [](uint64_t, Ns) { return Move{100000 * kSecond}; };
    Process &one = simulator.Add(endless, limits, "one");
    simulator.AddQueue(one, {{{1, 10 * kMs}}});
    Process &other = simulator.Add({{{2, kMs}}}, limits, "other");
    simulator.Run(60 * kSecond);
    EXPECT_GE(other.Share(0, 60 * kSecond), static_cast<double>(percent) / 5) << percent;
  }
}

} // namespace
