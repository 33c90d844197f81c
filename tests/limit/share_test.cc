// The shares processes get of a simulated device, held against their limits.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/limit/simulator.h"

using namespace sim;

namespace {

const std::vector<int> kLimits = {1, 5, 10, 30, 50, 75, 90, 99};

struct Named {
  const char *name;
  Workload workload;
  double deviation;  // allowed of 1 s windows, percentage points; < 0: kernels are too long for it
};

const Named kWorkloads[] = {
    {"1.3 ms", {{{1, 1300 * kUs}}, false}, 0.3},
    {"20 us", {{{1, 20 * kUs}}, false}, 0.3},
    {"300 us", {{{1, 300 * kUs}}, false}, 0.3},
    {"10 ms", {{{1, 10 * kMs}}, false}, 0.3},
    {"200 ms", {{{1, 200 * kMs}}, false}, -1},
    {"mix", {{{1, 20 * kUs}, {2, 300 * kUs}, {3, 5 * kMs}}, false}, 0.3},
    {"1.3 ms, sync each", {{{1, 1300 * kUs}}, true}, 0.3},
    {"20 us, sync each", {{{1, 20 * kUs}}, true}, 0.3},
};

std::vector<std::pair<rawhal_limit_t, uint64_t>> Percent(int percent) {
  return {{RAWHAL_LIMIT_GPU_SHARE, static_cast<uint64_t>(percent) * 10000}};
}

const Named kFiveMs = {"5 ms", {{{1, 5 * kMs}}, false}, 0.3};

class Shares : public testing::TestWithParam<int> {};

double Reachable(const Workload &workload, Options options) {
  Simulator simulator(options);
  Process &process = simulator.Add(workload, {});
  simulator.Run(5 * kSecond);
  return process.Share(0, 5 * kSecond);
}

bool Extended() { return getenv("RAWHAL_TEST_EXTENDED") != nullptr; }

TEST_P(Shares, IsExactAtEveryLimit) {
  const Named &named = kWorkloads[GetParam()];
  Options options;
  double reachable = Reachable(named.workload, options);
  bool many = named.workload.kinds[0].duration < 100 * kUs && named.workload.kinds.size() == 1;
  for (int limit : kLimits) {
    if (limit > reachable) continue;
    if (many && !Extended() && limit != 1 && limit != 30 && limit != 99) continue; // millions of kernels
    Simulator simulator(options);
    Process &process = simulator.Add(named.workload, Percent(limit));
    simulator.Run(60 * kSecond);
    double mean = process.Share(0, 60 * kSecond), first = process.Share(0, 10 * kSecond);
    double deviation = process.WindowDeviation(kSecond, 0, 60 * kSecond);
    printf("%-20s limit %2d%%: mean %7.3f%%, first 10 s %7.3f%%, 1 s windows sd %6.3f\n", named.name,
           limit, mean, first, deviation);
    EXPECT_NEAR(limit, mean, 0.1) << named.name;
    // The first seconds may have the burst, 20 ms, and one kernel besides.
    double kernel = static_cast<double>(named.workload.kinds.back().duration) * 1.05;
    EXPECT_LE(first, limit * 1.002 + kernel / (10 * kSecond) * 100 + 0.01) << named.name;
    // A window that holds one kernel holds none or two when the kernel comes a little late or early.
    bool single = limit * kSecond / 100 < 1.5 * kernel;
    if (named.deviation >= 0) {
      EXPECT_LE(deviation, single ? kernel / kSecond * 100 : named.deviation)
          << named.name << " at " << limit;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Shares, testing::Range(0, static_cast<int>(std::size(kWorkloads))));

const char *Name(Model model) {
  return model == Model::kSharing ? "sharing" : model == Model::kRoundRobin ? "round robin" : "turns";
}

const Model kModels[] = {Model::kSharing, Model::kRoundRobin, Model::kTakingTurns};

// What a completion's delay does to a share: nothing.
TEST(Share, DoesNotDependOnWhenCompletionsAreSeen) {
  for (Ns seen_after : {20 * kUs, 200 * kUs, 2 * kMs}) {
    Options options;
    options.seen_after = seen_after;
    Simulator simulator(options);
    Process &process = simulator.Add(kWorkloads[0].workload, Percent(30));
    simulator.Run(60 * kSecond);
    EXPECT_NEAR(30, process.Share(0, 60 * kSecond), 0.1) << seen_after;
  }
}

class Tenants : public testing::TestWithParam<Model> {};

TEST_P(Tenants, ShareEvenly) {
  Model model = GetParam();
  for (int workload : {0, 1, 2, 3, 5, 6}) {
    if (workload == 1 && !Extended()) continue;
    Options options;
    options.model = model;
    Simulator simulator(options);
    std::vector<Process *> members;
    for (int i = 0; i < 4; ++i)
      members.push_back(&simulator.Add(kWorkloads[workload].workload, Percent(30)));
    simulator.Run(60 * kSecond);
    double sum = 0, least = 100, most = 0;
    for (Process *member : members) {
      double share = member->Share(0, 60 * kSecond);
      sum += share;
      least = std::min(least, share);
      most = std::max(most, share);
    }
    printf("%-12s 4 x %-18s sum %7.3f%%, members %6.3f%% to %6.3f%%\n", Name(model),
           kWorkloads[workload].name, sum, least, most);
    EXPECT_NEAR(30, sum, 0.1) << Name(model) << " " << kWorkloads[workload].name;
    EXPECT_LE(most, least * 1.02) << Name(model) << " " << kWorkloads[workload].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Tenants, testing::ValuesIn(kModels));

TEST(Share, OfATenantIsSplitEvenlyBetweenShortAndLongKernels) {
  for (Model model : {Model::kSharing, Model::kTakingTurns}) {
    Options options;
    options.model = model;
    Simulator simulator(options);
    std::vector<Process *> members;
    for (int workload : {0, 1, 3})
      members.push_back(&simulator.Add(kWorkloads[workload].workload, Percent(30)));
    simulator.Run(60 * kSecond);
    double sum = 0;
    for (Process *member : members) {
      double share = member->Share(0, 60 * kSecond);
      printf("%-12s short and long: %6.3f%%\n", Name(model), share);
      sum += share;
      EXPECT_NEAR(10, share, 0.2) << Name(model);
    }
    EXPECT_NEAR(30, sum, 0.1) << Name(model);
  }
}

TEST(Share, OfTwoTenants) {
  for (Model model : kModels)
    for (const Named &named : {kWorkloads[0], kWorkloads[2], kFiveMs}) {
      Options options;
      options.model = model;
      Simulator simulator(options);
      Process &small = simulator.Add(named.workload, Percent(30), "small");
      Process &large = simulator.Add(named.workload, Percent(70), "large");
      simulator.Run(60 * kSecond);
      double a = small.Share(0, 60 * kSecond), b = large.Share(0, 60 * kSecond);
      printf("%-12s two tenants 30/70, %-18s %7.3f%% / %7.3f%%\n", Name(model),
             named.name, a, b);
      // A device that stops kernels half-way shows nothing of it in their times: who ran in whose kernel's
      // duration cannot be told, and halving it is wrong for the one that was not interrupted.
      if (model == Model::kRoundRobin) continue;
      // The device is fully booked, so any time in which it idles is lost; kernels of which only one at a time
      // fits the burst leave such gaps.
      bool gaps = named.workload.kinds[0].duration >= 5 * kMs;
      EXPECT_NEAR(30, a, 0.1) << Name(model) << " " << named.name;
      EXPECT_NEAR(70, b, gaps ? 0.3 : 0.1) << Name(model) << " " << named.name;
    }
}

TEST(Share, WallChargingIsAnUpperBoundOnEveryDevice) {
  for (Model model : kModels) {
    Options options;
    options.model = model;
    Simulator simulator(options);
    auto with_wall = [](int percent) {
      auto limits = Percent(percent);
      limits.push_back({RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL});
      return limits;
    };
    Process &small = simulator.Add(kWorkloads[0].workload, with_wall(30), "small");
    Process &large = simulator.Add(kWorkloads[0].workload, with_wall(60), "large");
    simulator.Run(30 * kSecond);
    printf("%-12s wall 30/60: %7.3f%% / %7.3f%%\n", Name(model), small.Share(0, 30 * kSecond),
           large.Share(0, 30 * kSecond));
    EXPECT_LE(small.Share(0, 30 * kSecond), 30.1) << Name(model);
    EXPECT_LE(large.Share(0, 30 * kSecond), 60.1) << Name(model);
    EXPECT_GE(small.Share(0, 30 * kSecond), 15) << Name(model);
    EXPECT_GE(large.Share(0, 30 * kSecond), 30) << Name(model);
  }
}

// ---- What no schedule may do ----

// The most by which the device time admitted in any window exceeds share * window.
class Excess {
 public:
  explicit Excess(double share) : share_(share) {}
  void Add(Ns duration, Ns at) {
    lowest_ = std::min(lowest_, sum_ - share_ * static_cast<double>(at));
    sum_ += static_cast<double>(duration);
    worst_ = std::max(worst_, sum_ - share_ * static_cast<double>(at) - lowest_);
  }
  double worst() const { return worst_; }

 private:
  double share_, sum_ = 0, lowest_ = 1e300, worst_ = 0;
};

TEST(Property, NoWindowGetsMoreThanShareBurstAndAKernel) {
  std::mt19937 random(20261121);
  auto pick = [&](int from, int to) {
    return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
  };
  for (int round = 0; round < 200; ++round) {
    Options options;
    options.model = kModels[pick(0, 2)];
    options.seen_after = pick(5, 3000) * kUs;
    options.slack = pick(0, 500) * kUs;
    options.host_cost = pick(1, 30) * kUs;
    options.depth = pick(1, 64);
    options.jitter = 0;
    options.seed = static_cast<uint32_t>(round);
    int percent = pick(1, 99), burst_ms = pick(1, 50), processes = pick(1, 4);
    Simulator simulator(options);
    Excess excess(percent / 100.0);
    Ns longest = 0;
    std::vector<uint64_t> launches(static_cast<size_t>(processes));
    std::vector<Process *> members;
    Ns probes = 0;
    for (int p = 0; p < processes; ++p) {
      Workload workload;
      workload.sync_each = pick(0, 3) == 0;
      for (int k = pick(1, 3); k > 0; --k) {
        // From microseconds to 100 ms, as likely at each scale.
        Ns duration = static_cast<Ns>(std::exp(std::log(5e3) + pick(0, 1000) / 1000.0 * std::log(2e4)));
        workload.kinds.push_back({static_cast<uint64_t>(k), duration});
        longest = std::max(longest, duration);
        probes += duration; // its first run, of unknown length, beside the other processes'
      }
      auto limits = Percent(percent);
      limits.push_back({RAWHAL_LIMIT_BURST, static_cast<uint64_t>(burst_ms) * 1000000});
      members.push_back(&simulator.Add(workload, limits));
    }
    // Between processes that run at the same time, durations and thus estimates are not exact.
    simulator.on_admit = [&](const Process &, Ns duration, Ns at) { excess.Add(duration, at); };
    simulator.Run(5 * kSecond);
    double allowed = percent / 100.0 * burst_ms * kMs + static_cast<double>(longest);
    if (processes > 1) allowed += static_cast<double>(probes);
    EXPECT_LE(excess.worst(), allowed * 1.001 + 1000)
        << "round " << round << ": " << processes << " processes, " << percent << "%, burst "
        << burst_ms << " ms, longest " << longest << ", model " << Name(options.model);
  }
}

}  // namespace
