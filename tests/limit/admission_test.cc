// Admission, decision by decision, on a clock that the test sets.
#include <cstring>
#include <deque>
#include <random>

#include "tests/limit/admission.h"
#include "tests/limit/simulator.h"

namespace {

// ---- Caps ----

TEST_F(Admission, WhatIsInFlightIsCapped)
{
  const struct {
    rawhal_limit_t limit;
    uint64_t value, workgroups, kernarg;
    int fit;
  } cases[] = {
      {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 3, 64, 256, 3},
      {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 1000, 300, 256, 3},
      {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 3ull << 40, 1ull << 40, 256, 3}, // beyond 32 bits
      {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, 1024, 64, 256, 4}};
  for (const auto &c : cases) {
    limit_lease_t *lease = Lease(Open({{c.limit, c.value}}));
    std::vector<shim_grant_t> grants(static_cast<size_t>(c.fit));
    for (shim_grant_t &grant : grants)
      ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant, c.workgroups, 1, c.kernarg)) << error_.message;
    shim_grant_t grant;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, &grant, c.workgroups, 1, c.kernarg));
    Complete(lease, grants[0], 1000);
    EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, &grant, c.workgroups, 1, c.kernarg)) << error_.message;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, nullptr, c.workgroups, 1, c.kernarg));
    shim_cancel(lease, &grants[1]);
    EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, &grant, c.workgroups, 1, c.kernarg)) << error_.message;
  }
}

TEST_F(Admission, WhatCanNeverFitIsRefusedForGood)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GRID_WORKGROUPS, 1000}}));
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, nullptr, 1000));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(lease, 1, nullptr, 1001));
  EXPECT_STREQ("1001 work-groups of a dispatch asked for, the limit is 1000", error_.message);
  limit_lease_t *few = Lease(Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 4}}));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(few, 1, nullptr, 64, 5));
  EXPECT_STREQ("5 dispatches in flight asked for, the limit is 4", error_.message);
  limit_lease_t *none = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 0}}));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(none, 1));
  limit_lease_t *still = Lease(Open({{RAWHAL_LIMIT_DISPATCH_RATE, 0}}));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(still, 1));
}

TEST_F(Admission, ABatchCountsAsItsDispatches)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 10}}));
  shim_grant_t seven, three;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &seven, 64, 7));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, nullptr, 64, 4));
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, &three, 64, 3));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, nullptr, 64, 1));
  Complete(lease, seven, 7000);
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, nullptr, 64, 7));
}

TEST_F(Admission, DispatchesASecondAreCountedExactly)
{
  for (uint32_t batch : {1u, 10u}) {
    limit_lease_t *lease =
        Lease(Open({{RAWHAL_LIMIT_DISPATCH_RATE, 1000}, {RAWHAL_LIMIT_BURST, 20 * kMs}}));
    uint64_t began = now_, admitted = 0;
    while (now_ < began + 10 * kSecond) {
      shim_grant_t grant;
      if (Admit(lease, 1, &grant, 64, batch) == RAWHAL_OK) {
        admitted += batch;
        now_ += 1000;
        Complete(lease, grant, 500);
      } else {
        EXPECT_GT(shim_retry_at(lease), now_);
        now_ = shim_retry_at(lease);
      }
    }
    EXPECT_NEAR(10000 + 20, static_cast<double>(admitted), 2.0 * batch) << batch;
  }
}

// What is limited in so many ways at once, without ever coming near a limit.
const RegionFile::Limits kWideOpen = {{RAWHAL_LIMIT_GPU_SHARE, 999999},
                                      {RAWHAL_LIMIT_DISPATCH_RATE, 1000000000},
                                      {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1ull << 40},
                                      {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 1ull << 40},
                                      {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, 1ull << 40},
                                      {RAWHAL_LIMIT_GRID_WORKGROUPS, 1ull << 40}};

TEST_F(Admission, OpenLimitsOfEveryKindAreSpentFromALease)
{
  std::vector<RegionFile::Limits> cases = {kWideOpen};
  for (const auto &limit : kWideOpen)
    cases.push_back({limit});
  for (const RegionFile::Limits &limits : cases) {
    limit_lease_t *lease = Lease(Open(limits));
    Run(lease, 1, 2000);
    std::vector<shim_grant_t> grants;
    int spent = 0;
    for (int i = 0; i < 4000; ++i) {
      uint64_t before = shim_credit_launches(lease);
      grants.emplace_back();
      ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grants.back())) << error_.message;
      spent += shim_credit_launches(lease) + 1 == before;
      now_ += 2000;
      if (grants.size() == 400) {
        for (const shim_grant_t &grant : grants)
          Complete(lease, grant, 2000);
        grants.clear();
      }
    }
    EXPECT_GT(spent, 3900) << limits[0].first;
  }
}

// What leases hold in advance of a cap is not in flight: nobody is refused because of it.
TEST_F(Admission, CapsAreExactWhateverLeasesHold)
{
  const struct {
    rawhal_limit_t limit;
    uint64_t unit; // of what is capped, in a dispatch
  } cases[] = {{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1},
               {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 64},
               {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, 256}};
  std::mt19937 random(5);
  for (const auto &c : cases)
    for (uint64_t most : {1u, 7u, 100u, 3000u}) {
      rawhal_limiter_t *limiter = Open({{c.limit, most * c.unit + c.unit / 2}});
      limit_lease_t *leases[] = {Lease(limiter), Lease(limiter), Lease(limiter)};
      Run(leases[0], 1, 2000);
      struct Flight {
        limit_lease_t *lease;
        shim_grant_t grant;
        uint32_t launches;
      };
      std::deque<Flight> flights;
      uint64_t in_flight = 0;
      int refused = 0;
      for (int step = 0; step < 30000; ++step) {
        now_ += 1000;
        if (random() % 1000 < 490 && !flights.empty()) {
          Flight &oldest = flights.front();
          if (random() % 8)
            Complete(oldest.lease, oldest.grant, 500);
          else
            shim_cancel(oldest.lease, &oldest.grant);
          in_flight -= oldest.launches;
          flights.pop_front();
          continue;
        }
        uint32_t launches = random() % 4 ? 1 : 1 + random() % static_cast<uint32_t>(most);
        Flight next = {leases[random() % 3], {}, launches};
        rawhal_status_t status = Admit(next.lease, 1, &next.grant, 64, launches, 256);
        ASSERT_EQ(in_flight + launches <= most ? RAWHAL_OK : RAWHAL_WOULD_BLOCK, status)
            << "step " << step << ": " << in_flight << " and " << launches << " of " << most;
        refused += status != RAWHAL_OK;
        if (status != RAWHAL_OK)
          continue;
        in_flight += launches;
        flights.push_back(next);
      }
      EXPECT_GT(refused, 100) << most;
    }
}

// ---- Device time ----

TEST_F(Admission, TheRetryTimeIsExact)
{
  for (uint64_t percent : {1, 10, 30, 75, 99})
    for (uint64_t ns : {50000ull, 1300000ull, 40000000ull}) {
      limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, percent * 10000}}));
      Run(lease, 1, ns);
      int refused = 0;
      for (int i = 0; i < 200000 && refused < 20; ++i) {
        shim_grant_t grant;
        if (Admit(lease, 1, &grant) == RAWHAL_WOULD_BLOCK) {
          ++refused;
          uint64_t retry = shim_retry_at(lease);
          ASSERT_GT(retry, now_) << percent << "% " << ns;
          now_ = retry - 1;
          EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1)) << percent << "% " << ns;
          now_ = retry;
          ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << percent << "% " << ns;
        }
        now_ += ns;
        Complete(lease, grant, ns);
      }
      EXPECT_EQ(20, refused) << percent << "% " << ns;
    }
}

// Where several limits hold a dispatch back, the last of them decides.
TEST_F(Admission, TheRetryTimeIsThatOfAllLimits)
{
  const struct {
    uint64_t queue, process, tenant, device, rate;
  } cases[] = {{300000, 100000, 900000, 900000, RAWHAL_UNLIMITED},
               {100000, 300000, 200000, 900000, RAWHAL_UNLIMITED},
               {900000, 300000, 50000, 400000, RAWHAL_UNLIMITED},
               {900000, 800000, 700000, 20000, RAWHAL_UNLIMITED},
               {900000, 800000, 700000, 600000, 20},
               {900000, 20000, 700000, 600000, 40}};
  for (const auto &c : cases) {
    limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_PROCESS_SHARE, c.process},
                                       {RAWHAL_LIMIT_GPU_SHARE, c.tenant},
                                       {RAWHAL_LIMIT_DEVICE_SHARE, c.device},
                                       {RAWHAL_LIMIT_DISPATCH_RATE, c.rate}}),
                                 c.queue);
    int refused = 0;
    for (int i = 0; i < 1000 && refused < 20; ++i) {
      shim_grant_t grant;
      if (Admit(lease, 1, &grant) == RAWHAL_WOULD_BLOCK) {
        ++refused;
        uint64_t retry = shim_retry_at(lease);
        ASSERT_GT(retry, now_) << refused;
        now_ = retry - 1;
        EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1));
        now_ = retry;
        ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << refused << ": " << error_.message;
      }
      now_ += 100 * kMs;
      Complete(lease, grant, 100 * kMs);
    }
    EXPECT_EQ(20, refused);
  }
}

TEST_F(Admission, OnlyOneKernelOfUnknownLengthIsInFlight)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 900000}}));
  Run(lease, 1, 100000);
  shim_grant_t probe;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 2, &probe));
  for (uint64_t kernel : {2, 3, 4})
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, kernel));
  EXPECT_NE(nullptr, strstr(error_.message, "first run")) << error_.message;
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1)); // a known one goes beside it
  now_ += kMs;
  Complete(lease, probe, kMs);
  now_ += 10 * kMs;
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 2)) << error_.message;
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 3)) << error_.message;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 4));
}

// Whatever they may take: 1 / (1 - share).
TEST_F(Admission, WhatIsInFlightIsCountedWhereTimeIsShared)
{
  const struct {
    uint64_t share;
    int most;
  } cases[] = {{10000, 1},  {100000, 1}, {499000, 1},  {500000, 2},  {666000, 2},
               {666700, 3}, {750000, 4}, {900000, 10}, {990000, 100}};
  for (const auto &c : cases)
    for (int level = 0; level < 4; ++level) {
      const rawhal_limit_t limits[] = {static_cast<rawhal_limit_t>(LIMIT_COUNT),
                                       RAWHAL_LIMIT_PROCESS_SHARE, RAWHAL_LIMIT_GPU_SHARE,
                                       RAWHAL_LIMIT_DEVICE_SHARE};
      limit_lease_t *lease =
          level == 0 ? Lease(Open({}), c.share) : Lease(Open({{limits[level], c.share}}));
      Run(lease, 1, 1000);
      now_ += kSecond;
      std::vector<shim_grant_t> grants(static_cast<size_t>(c.most));
      for (shim_grant_t &grant : grants)
        ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << error_.message;
      EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1)) << c.share << " at level " << level;
      now_ += 1000;
      Complete(lease, grants[0], 1000);
      EXPECT_EQ(RAWHAL_OK, Admit(lease, 1)) << c.share << " at level " << level << error_.message;
    }
}

// A batch is one, however many dispatches it has.
TEST_F(Admission, ABatchIsOneSubmission)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 500000}}));
  Run(lease, 1, 1000);
  shim_grant_t first, second;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &first, 64, 100)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &second, 64, 1)) << error_.message;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1));
  now_ += 100000;
  Complete(lease, first, 100000);
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1)) << error_.message;
}

// A kernel that waits for what its program does only after another one: that one goes, after half a second.
TEST_F(Admission, WhatNeverEndsDoesNotHoldBackTheRestForEver)
{
  for (uint64_t percent : {1, 10, 50, 90}) {
    rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, percent * 10000}});
    limit_lease_t *stuck = Lease(limiter), *free_one = Lease(limiter), *third = Lease(limiter);
    shim_grant_t persistent, other;
    ASSERT_EQ(RAWHAL_OK, Admit(stuck, 1, &persistent));
    uint64_t began = now_;
    while (Admit(free_one, 2, &other) != RAWHAL_OK) {
      ASSERT_LT(now_ - began, 501 * kMs) << percent << "%: " << error_.message;
      now_ += kMs;
    }
    EXPECT_GE(now_ - began, 500 * kMs) << percent;
    // And so on, one at a time; more at once when it has lasted twice as long.
    if (percent < 50) {
      EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(third, 3)) << percent;
    }
    for (int i = 0; i < 50; ++i) {
      now_ += kMs;
      Complete(free_one, other, kMs);
      ASSERT_EQ(RAWHAL_OK, Admit(free_one, 2, &other)) << percent << "%: " << error_.message;
    }
    now_ = began + 1100 * kMs;
    shim_grant_t last;
    ASSERT_EQ(RAWHAL_OK, Admit(third, 3, &last)) << percent << "%: " << error_.message;
    // All of it is paid: the time since it began, once.
    shim_end(stuck, &persistent, now_);
    shim_end(free_one, &other, now_);
    shim_end(third, &last, now_);
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(stuck, 4));
    uint64_t paid = began + 1100 * kMs * 100 / percent - 20 * kMs,
             idle = 500 * kMs; // before the first was charged
    EXPECT_GE(shim_retry_at(stuck) + 1000, paid) << percent;
    EXPECT_LE(shim_retry_at(stuck), paid + idle + kMs) << percent;
  }
}

TEST_F(Admission, WithoutASharesLimitNothingIsProbed)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}}));
  for (uint64_t kernel = 1; kernel <= 10; ++kernel)
    EXPECT_EQ(RAWHAL_OK, Admit(lease, kernel));
}

TEST_F(Admission, AnotherGridSizeIsAnotherKernel)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 900000}}));
  Run(lease, 1, 10000);
  shim_grant_t probe;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &probe, 1 << 20));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, nullptr, 1 << 10));
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1, nullptr, 65)); // as 64: the same power of two
}

TEST_F(Admission, CancellingLeavesNoTrace)
{
  rawhal_limiter_t *limiter =
      Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_DISPATCH_RATE, 100}});
  limit_lease_t *lease = Lease(limiter);
  for (int i = 0; i < 1000; ++i) {
    shim_grant_t grant;
    ASSERT_EQ(RAWHAL_OK, Admit(lease, 7, &grant)) << i << ": " << error_.message;
    shim_cancel(lease, &grant);
  }
  EXPECT_EQ(0u, shim_open_ns(limiter));
}

TEST_F(Admission, ShortKernelsAreSpentFromALeaseThatGoesBackWhenIdle)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 999900}});
  limit_lease_t *lease = Lease(limiter);
  Run(lease, 1, 2000);
  std::vector<shim_grant_t> grants(100);
  for (shim_grant_t &grant : grants)
    ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
  EXPECT_GT(shim_credit_launches(lease), 0u);
  EXPECT_GE(shim_open_ns(limiter), 100u * 2000);
  for (const shim_grant_t &grant : grants) {
    now_ += 2000;
    Complete(lease, grant, 2000);
  }
  EXPECT_EQ(0u, shim_credit_launches(lease));
  EXPECT_EQ(0u, shim_open_ns(limiter));
}

TEST_F(Admission, AChangedLimitHoldsAtTheNextAdmission)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 999900}});
  limit_lease_t *lease = Lease(limiter);
  Run(lease, 1, 2000);
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1));
  ASSERT_GT(shim_credit_launches(lease), 0u);
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 0, &error_));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(lease, 1)); // in spite of the lease
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 999900, &error_));
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS, 10, &error_));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(lease, 1));
  ASSERT_EQ(RAWHAL_OK,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS, RAWHAL_UNLIMITED, &error_));
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1));
}

TEST_F(Admission, EachLevelHasItsOwnShare)
{
  EXPECT_NEAR(20, Busy(Lease(Open({}), 200000)), 0.25);
  EXPECT_NEAR(15, Busy(Lease(Open({{RAWHAL_LIMIT_PROCESS_SHARE, 150000}}))), 0.25);
  EXPECT_NEAR(40, Busy(Lease(Open({{RAWHAL_LIMIT_DEVICE_SHARE, 400000}}))), 0.25);
  // The strictest counts.
  RegionFile::Limits all = {{RAWHAL_LIMIT_DEVICE_SHARE, 900000},
                            {RAWHAL_LIMIT_GPU_SHARE, 500000},
                            {RAWHAL_LIMIT_PROCESS_SHARE, 300000}};
  EXPECT_NEAR(10, Busy(Lease(Open(all), 100000)), 0.25);
}

TEST_F(Admission, OverlappingQueuesOfAProcessPayOnce)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 500000}});
  limit_lease_t *a = Lease(limiter), *b = Lease(limiter);
  Run(a, 1, kMs);
  now_ += 10 * kSecond;
  // Both run at the same time, over and over: 50 % of the time, not 25 %.
  uint64_t began = now_, busy = 0;
  while (now_ < began + 10 * kSecond) {
    shim_grant_t first, second;
    if (Admit(a, 1, &first) != RAWHAL_OK) {
      now_ = std::max(now_ + 1, shim_retry_at(a));
      continue;
    }
    bool both = Admit(b, 1, &second) == RAWHAL_OK;
    now_ += kMs;
    busy += kMs;
    Complete(a, first, kMs);
    if (both)
      Complete(b, second, kMs);
  }
  EXPECT_NEAR(50, 100.0 * static_cast<double>(busy) / static_cast<double>(10 * kSecond), 0.25);
}

TEST_F(Admission, WithoutDeviceTimesTheHostsCount)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}}));
  uint64_t began = now_, busy = 0;
  while (now_ < began + 10 * kSecond) {
    shim_grant_t grant;
    if (Admit(lease, 1, &grant) == RAWHAL_OK) {
      now_ += 2 * kMs;
      busy += 2 * kMs;
      shim_complete(lease, &grant, 0, 0);
    } else {
      now_ = std::max(now_ + 1, shim_retry_at(lease));
    }
  }
  EXPECT_NEAR(30, 100.0 * static_cast<double>(busy) / static_cast<double>(10 * kSecond), 0.25);
}

// ---- Several processes ----

// What a stopped process has in flight may still run: its own tenant pays for it until it is looked at. Other tenants
// wait for it no longer than a second.
TEST_F(Admission, APeerThatNeverLooksHoldsBackItsOwnTenantOnly)
{
  RegionFile::Limits half = {{RAWHAL_LIMIT_DEVICE_SHARE, 400000}, {RAWHAL_LIMIT_BURST, 2 * kMs}};
  limit_lease_t *sleeper = Lease(Open(half, "one", true)), *mate = Lease(Open(half, "one", true)),
                *other = Lease(Open(half, "other", true));
  Run(sleeper, 1, 1500000);
  now_ += kSecond;
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(sleeper, 1, &grant)); // and then its process is stopped
  for (int ms = 0; ms < 1000; ms += 10, now_ += 10 * kMs)
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(other, 1)) << ms;
  now_ += kMs;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(mate, 1));
  shim_grant_t fine;
  EXPECT_EQ(RAWHAL_OK, Admit(other, 1, &fine)) << error_.message;
  now_ += kMs;
  Complete(other, fine, kMs);
  now_ += 10 * kSecond;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(mate, 1));
  shim_complete(sleeper, &grant, now_ - 11 * kSecond,
                now_ - 11 * kSecond + kMs); // it goes on, and looks
  now_ += 100 * kMs;
  EXPECT_EQ(RAWHAL_OK, Admit(mate, 1)) << error_.message;
}

// Two processes' kernels run side by side, and each is half paid by the other.
TEST_F(Admission, EstimatesAreOfWhatIsPaid)
{
  for (uint64_t ns : {20000ull, 2000000ull}) {
    RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 900000}};
    rawhal_limiter_t *limiter = Open(limits, "second", true);
    limit_lease_t *first = Lease(Open(limits, "first", true)), *second = Lease(limiter);
    uint64_t estimate = 0;
    for (int i = 0; i < 200; ++i) {
      shim_grant_t a, b;
      now_ += kSecond;
      ASSERT_EQ(RAWHAL_OK, Admit(first, 1, &a)) << error_.message;
      uint64_t before = shim_open_ns(limiter);
      ASSERT_EQ(RAWHAL_OK, Admit(second, 1, &b, 64)) << error_.message;
      uint64_t credit = shim_credit_ns(second);
      estimate = shim_open_ns(limiter) - before - credit;
      now_ += ns;
      Complete(first, a, ns);
      Complete(second, b, ns);
    }
    EXPECT_NEAR(static_cast<double>(ns) / 2, static_cast<double>(estimate),
                static_cast<double>(ns) / 20)
        << ns;
  }
}

TEST(Weights, DivideATenantsShare)
{
  sim::Simulator simulator({});
  std::vector<sim::Process *> members;
  for (uint64_t weight : {100, 200, 300})
    members.push_back(
        &simulator.Add({{{1, 300 * sim::kUs}}, false},
                       {{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_WEIGHT, weight}}));
  simulator.Run(30 * sim::kSecond);
  const double expected[] = {5, 10, 15};
  for (size_t i = 0; i < members.size(); ++i)
    EXPECT_NEAR(expected[i], members[i]->Share(0, 30 * sim::kSecond), 0.1);
}

TEST(Priority, TakesAllItCanUseAndStarvesNobody)
{
  sim::Simulator simulator({});
  sim::Workload busy = {{{1, 300 * sim::kUs}}, false};
  sim::Process &high = simulator.Add(
      busy, {{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_PRIORITY, RAWHAL_PRIORITY_HIGH}});
  sim::Process &low = simulator.Add(
      busy, {{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_PRIORITY, RAWHAL_PRIORITY_LOW}});
  simulator.Run(30 * sim::kSecond);
  EXPECT_GT(high.Share(0, 30 * sim::kSecond), 29);
  EXPECT_GT(low.launches, 100u); // one each 200 ms of waiting
  EXPECT_NEAR(30, high.Share(0, 30 * sim::kSecond) + low.Share(0, 30 * sim::kSecond), 0.1);
}

TEST(DeviceShare, HoldsForAllTenantsTogether)
{
  sim::Simulator simulator({});
  sim::Workload busy = {{{1, 300 * sim::kUs}}, false};
  sim::Process &a = simulator.Add(
      busy, {{RAWHAL_LIMIT_DEVICE_SHARE, 500000}, {RAWHAL_LIMIT_GPU_SHARE, 400000}}, "a");
  sim::Process &b = simulator.Add(busy, {{RAWHAL_LIMIT_GPU_SHARE, 200000}}, "b");
  simulator.Run(30 * sim::kSecond);
  double first = a.Share(0, 30 * sim::kSecond), second = b.Share(0, 30 * sim::kSecond);
  EXPECT_NEAR(50, first + second, 0.1);
  EXPECT_LE(first, 40.1);
  EXPECT_LE(second, 20.1);
  EXPECT_GE(second, 9);
}

TEST(Probe, ManyUnknownLongKernelsAreNotAdmittedAtOnce)
{
  sim::Simulator simulator({});
  sim::Workload longs;
  for (uint64_t kernel = 1; kernel <= 30; ++kernel)
    longs.kinds.push_back({kernel, 200 * sim::kMs});
  sim::Process &process = simulator.Add(longs, {{RAWHAL_LIMIT_GPU_SHARE, 300000}});
  simulator.Run(20 * sim::kSecond);
  EXPECT_NEAR(30, process.Share(0, 20 * sim::kSecond), 1.0);
}

} // namespace
