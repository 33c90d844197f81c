// Those who want more than is due, on a simulated device: what the device did for them, whatever their submissions
// came to. "One submission" is the longest of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/limit/excess.h"
#include "tests/limit/simulator.h"

using namespace sim;

namespace {

using Limits = std::vector<std::pair<rawhal_limit_t, uint64_t>>;

Limits Percent(int percent)
{
  return {{RAWHAL_LIMIT_GPU_SHARE, static_cast<uint64_t>(percent) * 10000}};
}

struct Cheat {
  const char *name;
  int percent;
  double least; // of what it asked that it should get, if it has work for it
  Ns longest;   // of its submissions
  std::function<void(Simulator &, const Limits &)> play;
};

void Alone(Simulator &simulator, const Limits &limits, std::function<Move(uint64_t, Ns)> moves)
{
  Workload workload;
  workload.moves = std::move(moves);
  simulator.Add(workload, limits);
}

Ns Scattered(uint64_t n, Ns from, Ns to)
{
  uint64_t hash = (n + 1) * 0x9e3779b97f4a7c15u;
  return from + static_cast<Ns>((hash >> 20) % static_cast<uint64_t>(to - from));
}

const Cheat kCheats[] = {
    {"honest", 10, 0.99, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t, Ns) { return Move{10 * kMs}; });
     }},
    {"a batch, and the queue destroyed", 10, 0.99, 50 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t, Ns) { return Move{50 * kMs, 1, End::kDestroy}; });
     }},
    {"a batch whose last kernel faults", 10, 0.99, 50 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t, Ns) { return Move{50 * kMs, 1, End::kFault}; });
     }},
    {"killed before anything is reaped", 10, 0.99, 50 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t, Ns) { return Move{50 * kMs, 1, End::kDeath}; });
     }},
    {"a new kernel each time, killed", 10, 0.98, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t n, Ns) {
         return Move{10 * kMs, n + 1, n % 3 ? End::kDone : End::kDeath};
       });
     }},
    {"first short, then long", 10, 0.99, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits,
             [](uint64_t, Ns now) { return Move{now < kSecond / 2 ? 1 * kUs : 10 * kMs}; });
     }},
    {"short and long by turns", 10, 0.7, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits,
             [](uint64_t, Ns now) { return Move{now / kSecond % 2 ? 10 * kMs : 1 * kUs}; });
     }},
    {"idle, then all at once", 10, 0.4, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t n, Ns) {
         return Move{10 * kMs, 1, End::kDone, n % 20 == 19 ? 3 * kSecond : 0};
       });
     }},
    {"times from 0.2 to 20 ms", 30, 0.99, 20 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits, [](uint64_t n, Ns) { return Move{Scattered(n, 200 * kUs, 20 * kMs)}; });
     }},
    {"eight queues, one of them destroyed over and over", 10, 0.99, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Workload busy, broken;
       busy.moves = [](uint64_t, Ns) { return Move{10 * kMs}; };
       broken.moves = [](uint64_t, Ns) { return Move{10 * kMs, 2, End::kDestroy}; };
       Process &owner = s.Add(busy, limits);
       for (int i = 0; i < 6; ++i)
         s.AddQueue(owner, busy);
       s.AddQueue(owner, broken);
     }},
    {"eight processes, each with other kernels", 10, 0.95, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       for (uint64_t i = 0; i < 8; ++i) {
         Workload workload;
         workload.moves = [i](uint64_t n, Ns) {
           return Move{Scattered(n * 8 + i, 10 * kUs, 10 * kMs), n,
                       n % 7 == i ? End::kDeath : End::kDone};
         };
         s.Add(workload, limits);
       }
     }},
    {"two in flight, first short, then long", 60, 0.5, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits,
             [](uint64_t, Ns now) { return Move{now / kSecond % 2 ? 10 * kMs : 1 * kUs}; });
     }},
    {"a hundred in flight, first short, then long", 99, 0.6, 10 * kMs,
     [](Simulator &s, const Limits &limits) {
       Alone(s, limits,
             [](uint64_t, Ns now) { return Move{now / kSecond % 2 ? 10 * kMs : 1 * kUs}; });
     }},
    {"all of it at random", 40, 0.8, 30 * kMs,
     [](Simulator &s, const Limits &limits) {
       for (uint64_t i = 0; i < 3; ++i) {
         Workload workload;
         workload.moves = [i](uint64_t n, Ns) {
           uint64_t dice = static_cast<uint64_t>(Scattered(n * 3 + i, 0, 1000));
           End end = dice % 11 == 0   ? End::kDeath
                     : dice % 11 == 1 ? End::kFault
                     : dice % 11 == 2 ? End::kDestroy
                                      : End::kDone;
           Ns pause = dice % 17 == 0 ? 40 * kMs : 0;
           return Move{Scattered(n + i, 1 * kUs, dice % 5 ? 300 * kUs : 30 * kMs), dice % 13, end,
                       pause};
         };
         s.Add(workload, limits);
       }
     }},
};

class Cheats : public testing::TestWithParam<std::tuple<size_t, Model>> {};

TEST_P(Cheats, GetWhatEverybodyGets)
{
  const Cheat &cheat = kCheats[std::get<0>(GetParam())];
  Options options;
  options.model = std::get<1>(GetParam());
  Simulator simulator(options);
  double share = cheat.percent / 100.0, after_a_second = 0;
  Excess excess(share);
  simulator.on_serve = [&](const Process &, double ns, Ns from, Ns to) {
    excess.Add(ns, from, to);
    if (from >= kSecond)
      after_a_second += ns;
  };
  cheat.play(simulator, Percent(cheat.percent));
  simulator.Run(11 * kSecond);
  double got = 100 * after_a_second / (10.0 * kSecond);
  double allowed = share * 20 * kMs + static_cast<double>(cheat.longest);
  printf("%-50s asked %d%%: got %6.2f%%; at most %.2f of the %.2f ms that a window may exceed its "
         "share\n",
         cheat.name, cheat.percent, got, excess.worst() / kMs, allowed / kMs);
  EXPECT_LE(got, cheat.percent + 0.5);
  EXPECT_GE(got, cheat.least * cheat.percent) << "nobody else is there";
  EXPECT_LE(excess.worst(), allowed * 1.001 + 1000);
}

INSTANTIATE_TEST_SUITE_P(All, Cheats,
                         testing::Combine(testing::Range(size_t{0}, std::size(kCheats)),
                                          testing::Values(Model::kSharing, Model::kTakingTurns)),
                         [](const auto &each) {
                           return TestName(kCheats[std::get<0>(each.param)].name) + "_" +
                                  Name(std::get<1>(each.param));
                         });

} // namespace
