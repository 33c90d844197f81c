// What goes beside submissions that may wait for it, and when more may go, as far as one can tell.
#include "tests/limit/admission.h"

namespace {

using Beside = Admission;

TEST_F(Beside, WhatIsInFlightDoesNotHoldItBack)
{
  limit_lease_t *kernels = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}}));
  EXPECT_FALSE(shim_has_flight(kernels));
  Run(kernels, 1, kMs);
  now_ += kSecond;
  shim_grant_t running, copy;
  ASSERT_EQ(RAWHAL_OK, Admit(kernels, 1, &running)) << error_.message;
  EXPECT_TRUE(shim_has_flight(kernels));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(kernels, 1));
  EXPECT_TRUE(shim_admit_ahead(kernels, 2, &copy));
  now_ += kMs;
  Complete(kernels, copy, kMs / 2);
  Complete(kernels, running, kMs);
  EXPECT_FALSE(shim_has_flight(kernels));
}

TEST_F(Beside, WhatIsNotPaidForDoes)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}}));
  shim_grant_t copy;
  uint64_t began = now_;
  Run(lease, 1, 90 * kMs); // paid for 300 ms after it began, and the burst is 20 ms
  EXPECT_FALSE(shim_admit_ahead(lease, 2, &copy));
  EXPECT_NEAR(static_cast<double>(began + 280 * kMs), static_cast<double>(shim_retry_at(lease)),
              1000);
  now_ = shim_retry_at(lease);
  EXPECT_TRUE(shim_admit_ahead(lease, 2, &copy));
  now_ += 30 * kMs;
  Complete(lease, copy, 30 * kMs);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1)); // and it is charged like any other
}

// A share of 0 admits nothing, however long something has been running.
TEST_F(Beside, NothingGoesWhereNothingMay)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}});
  limit_lease_t *lease = Lease(limiter), *other = Lease(limiter);
  Run(lease, 1, kMs);
  now_ += kSecond;
  shim_grant_t endless, none;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &endless)) << error_.message;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 0, &error_));
  for (uint64_t waited = kMs; waited < 1000 * kSecond; waited *= 2) {
    now_ += waited;
    EXPECT_FALSE(shim_admit_ahead(other, 2, &none));
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(lease, 1));
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(other, 1));
  }
}

TEST_F(Beside, LoopsOfItKeepTheShare)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}}));
  uint64_t began = now_, busy = 0;
  while (now_ < began + 10 * kSecond) {
    shim_grant_t copy;
    if (shim_admit_ahead(lease, 2, &copy)) {
      now_ += kMs;
      busy += kMs;
      Complete(lease, copy, kMs);
    } else {
      now_ = std::max(now_ + 1, shim_retry_at(lease));
    }
  }
  EXPECT_NEAR(30.0, 100.0 * static_cast<double>(busy) / static_cast<double>(10 * kSecond), 0.1);
}

TEST_F(Beside, WhenMoreMayGoIsKnownWhileItRuns)
{
  limit_lease_t *lease = Lease(Open({{RAWHAL_LIMIT_GPU_SHARE, 250000}}));
  EXPECT_EQ(0u, shim_expects_at(Lease(Open({}))));
  int held_back = 0;
  for (int i = 0; i < 30; ++i) {
    shim_grant_t grant, none;
    while (Admit(lease, 1, &grant) == RAWHAL_WOULD_BLOCK)
      now_ = std::max(now_ + 1, shim_retry_at(lease));
    uint64_t expected = shim_expects_at(lease);
    now_ += 4 * kMs;
    Complete(lease, grant, 4 * kMs);
    if (expected <= now_ + kMs || i < 10) // the burst is not used up, or the length not known
      continue;
    ++held_back;
    ASSERT_FALSE(shim_admit_ahead(lease, 1, &none));
    EXPECT_NEAR(static_cast<double>(shim_retry_at(lease)), static_cast<double>(expected), 5000);
  }
  EXPECT_GE(held_back, 10);
}

} // namespace
