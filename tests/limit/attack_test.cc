// Users who want more than is due, and what the limiter's own bookkeeping lets them have.
#include <thread>

#include "tests/hal/held_test.h"
#include "tests/limit/admission.h"
#include "tests/limit/limited_device.h"
#include "tests/limit/simulator.h"

namespace {

class Attack : public Admission {
 protected:
  // For how long nothing more is admitted, ms.
  double Held(limit_lease_t *lease, uint64_t kernel = 1) {
    shim_grant_t grant;
    uint64_t from = now_;
    while (now_ < from + 100 * kSecond) {
      if (Admit(lease, kernel, &grant) == RAWHAL_OK) {
        shim_cancel(lease, &grant);
        break;
      }
      now_ = std::max(now_ + 10000, shim_retry_at(lease));
    }
    double held = static_cast<double>(now_ - from) / kMs;
    now_ = from;
    return held;
  }
};

// A kernel ends while the share is 0, as it is for a moment when somebody pauses a tenant so.
TEST_F(Attack, AShareOfNothingForAMomentCostsNoMore) {
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}});
  limit_lease_t *lease = Lease(limiter);
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
  now_ += 5 * kMs;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 0, &error_));
  now_ += 5 * kMs;
  Complete(lease, grant, 10 * kMs);
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 100000, &error_));
  double held = Held(lease);
  printf("10 ms at 10%%, the share was 0 when they ended: held back for %.1f ms\n", held);
  EXPECT_NEAR(70, held, 11);
}

TEST_F(Attack, AShareOfNothingKeepsWhatIsOwed) {
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}});
  limit_lease_t *lease = Lease(limiter);
  Run(lease, 1, kSecond);
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 0, &error_));
  now_ += 60 * kSecond;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 100000, &error_));
  double held = Held(lease);
  printf("1 s owed at 10%%, 60 s at a share of 0: held back for %.1f ms\n", held);
  EXPECT_NEAR(8980, held, 30);
}

}  // namespace
