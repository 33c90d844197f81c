// Completions that are told together are worth what they are one by one.
#include <random>

#include "tests/limit/admission.h"

namespace {

class Completion : public Admission {
protected:
  // A process whose completions are told one by one, or together.
  struct Side {
    rawhal_limiter_t *limiter;
    limit_lease_t *lease;
    std::vector<shim_completion_t> done;
  };
  Side Make(const RegionFile::Limits &limits)
  {
    Side side = {Open(limits), nullptr, {}};
    side.lease = Lease(side.limiter);
    return side;
  }
  static shim_counted_t Counted(const Side &side)
  {
    shim_counted_t counted;
    shim_counted(side.limiter, &counted);
    return counted;
  }
  static void ExpectAlike(const Side &one_by_one, const Side &together)
  {
    const shim_counted_t a = Counted(one_by_one), b = Counted(together);
    EXPECT_EQ(a.launches, b.launches);
    EXPECT_EQ(a.submissions, b.submissions);
    EXPECT_EQ(a.gpu_ns, b.gpu_ns);
    EXPECT_EQ(a.busy_ns, b.busy_ns);
    EXPECT_EQ(a.untimed, b.untimed);
    // What is charged together is so by what is known of the device's clock by then.
    EXPECT_NEAR(static_cast<double>(a.paid_until), static_cast<double>(b.paid_until), 20000);
  }
};

// Kernels with gaps between them, behind each other and over each other, of known and unknown beginnings; with a
// share that holds nothing back, one that does, and caps.
TEST_F(Completion, TogetherIsWorthTheSame)
{
  const RegionFile::Limits limits[] = {{{RAWHAL_LIMIT_GPU_SHARE, 1000000}},
                                       {{RAWHAL_LIMIT_GPU_SHARE, 900000}},
                                       {{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}}};
  std::mt19937_64 random(4711);
  for (const auto &limit : limits) {
    Side sides[] = {Make(limit), Make(limit)};
    for (int round = 0; round < 300; ++round) {
      const size_t count = 1 + random() % 40;
      uint64_t at = now_;
      for (Side &side : sides)
        side.done.clear();
      for (size_t i = 0; i < count; ++i) {
        const uint64_t kernel = 1 + random() % 3, ns = 500 + random() % 20000;
        const uint64_t start = at + (random() % 3 ? random() % 3000 : 0);
        const uint64_t end = start + ns, how = random() % 10;
        bool admitted = true;
        for (Side &side : sides) {
          shim_completion_t one = {{}, how == 0 ? 0 : start, end};
          admitted &= Admit(side.lease, kernel, &one.grant) == RAWHAL_OK;
          if (admitted)
            side.done.push_back(one);
        }
        if (!admitted)
          break;
        at = random() % 4 ? end : start + ns / 2; // the next one begins before
      }
      ASSERT_EQ(sides[0].done.size(), sides[1].done.size());
      for (const shim_completion_t &one : sides[0].done)
        now_ = std::max(now_, one.end);
      now_ += random() % 1000;
      for (const shim_completion_t &one : sides[0].done)
        shim_complete(sides[0].lease, &one.grant, one.start, one.end);
      shim_complete_all(sides[1].lease, sides[1].done.data(), sides[1].done.size());
      ExpectAlike(sides[0], sides[1]);
      EXPECT_EQ(0u, Counted(sides[0]).in_flight);
      EXPECT_EQ(0u, Counted(sides[1]).in_flight);
      EXPECT_EQ(0u, Counted(sides[1]).estimated_in_flight_ns);
      if (HasFailure())
        FAIL() << "round " << round;
      now_ += 50 * kMs;
    }
    EXPECT_GT(Counted(sides[0]).launches, 1000u);
  }
}

// Those without a time take what passed since the last that has one.
TEST_F(Completion, WithoutTimesTogetherTakesTheTimeThatPassed)
{
  Side side = Make({{RAWHAL_LIMIT_GPU_SHARE, 1000000}});
  Run(side.lease, 1, kMs);
  const shim_counted_t before = Counted(side);
  side.done.resize(5);
  for (auto &one : side.done)
    ASSERT_EQ(RAWHAL_OK, Admit(side.lease, 1, &one.grant));
  now_ += 10 * kMs;
  shim_complete_all(side.lease, side.done.data(), side.done.size());
  EXPECT_EQ(before.untimed + 5, Counted(side).untimed);
  EXPECT_EQ(before.gpu_ns + 10 * kMs, Counted(side).gpu_ns);
  EXPECT_EQ(before.launches + 5, Counted(side).launches);
}

// Of those whose beginnings are not known each began when the one before had ended.
TEST_F(Completion, WithoutBeginningsEachTakesItsOwnTime)
{
  Side side = Make({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}});
  Run(side.lease, 1, kMs);
  side.done.resize(8);
  for (auto &one : side.done) {
    ASSERT_EQ(RAWHAL_OK, Admit(side.lease, 1, &one.grant));
    one = {one.grant, 0, now_ += kMs};
  }
  shim_complete_all(side.lease, side.done.data(), side.done.size());
  limit_lease_t *other =
      Lease(side.limiter); // whose first admission takes what one is estimated at, and no more
  const uint64_t before = Counted(side).estimated_in_flight_ns;
  shim_learn(side.limiter, 2, 64, 2 * kMs); // beside it a lease is not filled
  ASSERT_EQ(RAWHAL_OK, Admit(other, 1, nullptr));
  EXPECT_LT(Counted(side).estimated_in_flight_ns - before, 5 * kMs);
}

TEST_F(Completion, NoneIsNothing)
{
  Side side = Make({{RAWHAL_LIMIT_GPU_SHARE, 300000}});
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(side.lease, 1, &grant));
  const shim_counted_t before = Counted(side);
  shim_complete_all(side.lease, nullptr, 0);
  EXPECT_EQ(before.in_flight, Counted(side).in_flight);
  EXPECT_EQ(before.submissions, Counted(side).submissions);
  Complete(side.lease, grant, kMs);
}

} // namespace
