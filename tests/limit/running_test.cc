// What runs counts before it has ended, decision by decision, on a clock that the test sets.
#include "tests/limit/admission.h"

namespace {

class Running : public Admission {
protected:
  struct Three {
    limit_lease_t *first, *second, *third;
    uint64_t began;
  };
  // Queues of a process for which kernels 1, 2 and 3 are known to be short.
  Three ThreeQueues()
  {
    rawhal_limiter_t *limiter =
        Open({{RAWHAL_LIMIT_GPU_SHARE, 900000}, {RAWHAL_LIMIT_BURST, 15 * kMs}});
    Three made = {Lease(limiter), Lease(limiter), Lease(limiter), 0};
    for (uint64_t kernel : {1, 2, 3})
      Run(made.first, kernel, 10000);
    now_ += kSecond;
    made.began = now_;
    return made;
  }
};

TEST_F(Running, LongerThanEverIsPaidMeanwhile)
{
  for (uint64_t idle : {kMs, 10 * kSecond}) {
    limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 600000}}));
    Run(lease, 1, kMs);
    now_ += idle;
    shim_grant_t grant;
    ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << error_.message;
    now_ += 100 * kMs;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1)) << idle;
    uint64_t paid = now_ + 100 * kMs * 4 / 6, before = idle == kMs ? kMs : 0; // what was paid ahead
    EXPECT_NEAR(static_cast<double>(paid - 20 * kMs), static_cast<double>(shim_retry_at(lease)),
                static_cast<double>(before) + 1000);
  }
}

// Another tenant's work beside it may be why it takes longer, but not for a hundred times as long.
TEST_F(Running, LongerThanEverIsPaidBesideOthers)
{
  RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 600000}};
  limit_lease_t *other = Lease(Open(limits, "other", true)),
                *lease = Lease(Open(limits, "one", true));
  Run(lease, 1, kMs);
  now_ += kSecond;
  shim_grant_t theirs, grant;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Admit(other, 1, &theirs)) << error_.message;
  now_ += 100 * kMs;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1));
}

// Of two queues one paid for the time in which the other had begun.
TEST_F(Running, OnlyWhatIsPaidOfItsTimeIsTakenOff)
{
  const auto [first, second, third, began] = ThreeQueues();
  shim_grant_t a, b, c;
  ASSERT_EQ(RAWHAL_OK, Admit(first, 1, &a)) << error_.message;
  now_ = began + 90 * kMs;
  ASSERT_EQ(RAWHAL_OK, Admit(second, 2, &b)) << error_.message;
  now_ = began + 95 * kMs;
  ASSERT_EQ(RAWHAL_OK, Admit(third, 3, &c)) << error_.message;
  now_ = began + 100 * kMs;
  Complete(first, a, 100 * kMs);
  now_ = began + 190 * kMs;
  Complete(third, c, 10000);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(third, 3)); // the second has run for 90 ms since
}

// A queue that is busy with short kernels, and whose oldest began late, does not hide the long one of another.
TEST_F(Running, SinceTheOldestOfAllQueues)
{
  const auto [first, second, third, began] = ThreeQueues();
  shim_grant_t a, b, c;
  ASSERT_EQ(RAWHAL_OK, Admit(first, 1, &a)) << error_.message;
  now_ = began + 90 * kMs;
  ASSERT_EQ(RAWHAL_OK, Admit(second, 2, &b)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Admit(second, 2, &c)) << error_.message;
  now_ = began + 91 * kMs;
  Complete(second, b, kMs);
  now_ = began + 190 * kMs;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(third, 3)); // all of them are paid for but the first's 189 ms
}

// Seen late, and then its queue ends: all of the time since the first one's end is paid.
TEST_F(Running, SinceTheEndOfWhatWasSeenLate)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 500000}});
  limit_lease_t *lease = Lease(limiter);
  Run(lease, 1, kMs);
  now_ += kSecond;
  uint64_t began = now_, before = shim_charged_ns(limiter);
  shim_grant_t first, second;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &first)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &second)) << error_.message;
  now_ = began + 80 * kMs;
  shim_complete(lease, &first, began, began + 30 * kMs);
  now_ = began + 100 * kMs;
  shim_end(lease, &second, now_);
  EXPECT_EQ(100 * kMs, shim_charged_ns(limiter) - before);
}

// ---- What goes beside what may never end ----

// Not before it has been running for longer than all that is not paid for.
TEST_F(Running, NothingGoesBesideWithADebt)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 500000}});
  limit_lease_t *first = Lease(limiter), *second = Lease(limiter), *third = Lease(limiter);
  Run(first, 1, kMs);
  now_ += kSecond;
  shim_grant_t a, b;
  ASSERT_EQ(RAWHAL_OK, Admit(first, 1, &a)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Admit(second, 1, &b)) << error_.message;
  now_ += 10 * kSecond;
  Complete(first, a, 10 * kSecond);
  now_ += 600 * kMs;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(third, 1));
  now_ += 4 * kSecond; // half of what remains is paid by now, and the other has run for as long
  EXPECT_EQ(RAWHAL_OK, Admit(third, 1)) << error_.message;
}

TEST_F(Running, OneMoreGoesBesideEachTimeThatItDoubles)
{
  const struct {
    uint64_t ms;
    int more;
  } cases[] = {{499, 0}, {501, 1}, {1001, 2}, {2001, 3}, {4100, 4}};
  for (const auto &c : cases) {
    rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 10000}});
    limit_lease_t *stuck = Lease(limiter);
    ASSERT_EQ(RAWHAL_OK, Admit(stuck, 1));
    now_ += c.ms * kMs;
    int more = 0;
    while (more < 20 && Admit(Lease(limiter), 2 + static_cast<uint64_t>(more)) == RAWHAL_OK)
      ++more;
    EXPECT_EQ(c.more, more) << c.ms;
  }
}

// In the queue where it runs nothing would get any further: there it is a matter of two seconds.
TEST_F(Running, BehindItselfItWaitsLonger)
{
  limit_lease_t *stuck = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}}));
  ASSERT_EQ(RAWHAL_OK, Admit(stuck, 1));
  for (uint64_t ms : {600, 1300}) {
    now_ += ms * kMs;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(stuck, 1)) << ms;
  }
  now_ += 101 * kMs;
  EXPECT_EQ(RAWHAL_OK, Admit(stuck, 1)) << error_.message;
}

// ---- Leases ----

TEST_F(Running, ALeaseHoldsNothingTheBurstHasNot)
{
  limit_lease_t *lease =
      Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 990000}, {RAWHAL_LIMIT_BURST, 400000}}));
  Run(lease, 1, 2000);
  now_ += kSecond;
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << error_.message;
  EXPECT_GT(shim_credit_ns(lease), 0u);
  now_ += 2000;
  Complete(lease, grant, 2000);
  Run(lease, 2, 39 * kMs); // 394 of the 400 us
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant)) << error_.message;
  EXPECT_EQ(0u, shim_credit_ns(lease));
}

// ---- Damage ----

TEST_F(Running, ForLongerThanADayIsDamage)
{
  RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 400000}};
  now_ = 200000 * kSecond;
  rawhal_limiter_t *mate = Open(limits, "one", true);
  limit_lease_t *lease = Lease(Open(limits, "one", true));
  Run(lease, 1, kMs);
  now_ += kSecond;
  shim_set_running_since(mate, 1);
  EXPECT_EQ(RAWHAL_OK, Admit(lease, 1)) << error_.message;
}

// As of a process in a time namespace where /proc does not tell, or that writes what it likes: it
// waits, and has something in flight, in everybody's future.
TEST_F(Running, InAFutureHoldsBackNoOtherTenant)
{
  RegionFile::Limits limits = {{RAWHAL_LIMIT_DEVICE_SHARE, 500000}};
  limit_lease_t *ahead = Lease(Open(limits, "ahead", true,
                                    [](void *context) { return Now(context) + 200000 * kSecond; })),
                *lease = Lease(Open(limits, "one", true));
  Run(ahead, 1, kMs);
  Run(lease, 1, 100 * kMs); // the other has been served less: it would be its turn
  now_ += kSecond;
  while (Admit(ahead, 1) == RAWHAL_OK) // and it ends none of them
    continue;
  int admitted = 0;
  for (int i = 0; i < 3000; ++i) {
    shim_grant_t grant;
    const bool goes = Admit(lease, 1, &grant) == RAWHAL_OK;
    now_ += kMs;
    if (goes)
      Complete(lease, grant, kMs);
    admitted += goes;
  }
  EXPECT_GT(admitted, 500); // half of the time, but for a second in which it waits for them
}

// And one that waits there, with nothing in flight, is not let go first for ever: neither by another
// tenant nor by its own.
TEST_F(Running, InAFutureNobodysTurnComes)
{
  RegionFile::Limits limits = {{RAWHAL_LIMIT_DEVICE_SHARE, 500000}};
  for (const char *tenant : {"another", "one"}) {
    SCOPED_TRACE(tenant);
    limit_lease_t *lease = Lease(Open(limits, "one", true)),
                  *ahead = Lease(Open(limits, tenant, true, [](void *context) {
                    return Now(context) + 200000 * kSecond;
                  }));
    Run(ahead, 1, 50 * kMs);
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(ahead, 1));
    Run(lease, 1, 500 * kMs); // the other has been served less: it would be its turn
    now_ += 10 * kSecond;     // all is paid for, and the other has not asked since
    EXPECT_EQ(RAWHAL_OK, Admit(lease, 1)) << error_.message;
    Close();
  }
}

} // namespace
