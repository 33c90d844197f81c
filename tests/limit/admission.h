// A limiter on a clock that the test sets.
#ifndef TESTS_LIMIT_ADMISSION_H
#define TESTS_LIMIT_ADMISSION_H

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/limit/region_file.h"

constexpr uint64_t kMs = 1000000, kSecond = 1000 * kMs;

class Admission : public testing::Test {
protected:
  void TearDown() override
  {
    Close();
    if (fd_ >= 0)
      close(fd_);
  }
  void Close()
  {
    for (limit_lease_t *lease : leases_)
      shim_lease_destroy(lease);
    for (rawhal_limiter_t *limiter : limiters_)
      rawhal_limiter_close(limiter);
    leases_.clear();
    limiters_.clear();
  }
  rawhal_limiter_t *Open(const RegionFile::Limits &limits, const char *tenant = "default",
                         bool shared = false, uint64_t (*clock)(void *) = Now)
  {
    rawhal_limit_config_t config = {};
    if (shared && fd_ < 0)
      fd_ = memfd_create("region", MFD_CLOEXEC);
    config.has_region_fd = shared;
    config.region_fd = fd_;
    snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant);
    for (const auto &limit : limits)
      EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, limit.first, limit.second, &error_));
    rawhal_limiter_t *limiter = nullptr;
    EXPECT_EQ(RAWHAL_OK, shim_open(&config, clock, this, &limiter, &error_)) << error_.message;
    limiters_.push_back(limiter);
    return limiter;
  }
  int region() const { return fd_; } // of those that are shared
  limit_lease_t *Lease(rawhal_limiter_t *limiter, uint64_t share = RAWHAL_UNLIMITED)
  {
    limit_lease_t *lease = nullptr;
    EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, share, &lease, &error_));
    leases_.push_back(lease);
    return lease;
  }
  rawhal_status_t Admit(limit_lease_t *lease, uint64_t kernel, shim_grant_t *grant = nullptr,
                        uint64_t workgroups = 64, uint32_t launches = 1, uint64_t kernarg = 256)
  {
    shim_cost_t cost = {kernel, workgroups, kernarg, launches};
    shim_grant_t unused;
    return shim_admit(lease, &cost, 0, grant ? grant : &unused, &error_);
  }
  // It ran for `ns` until now.
  void Complete(limit_lease_t *lease, const shim_grant_t &grant, uint64_t ns)
  {
    shim_complete(lease, &grant, now_ - ns, now_);
  }
  // Admits, lets `ns` pass, completes: the kernel's length is known afterwards.
  void Run(limit_lease_t *lease, uint64_t kernel, uint64_t ns)
  {
    shim_grant_t grant;
    ASSERT_EQ(RAWHAL_OK, Admit(lease, kernel, &grant)) << error_.message;
    now_ += ns;
    Complete(lease, grant, ns);
  }
  // Device time of one-after-the-other kernels in ten seconds, in percent.
  double Busy(limit_lease_t *lease)
  {
    uint64_t began = now_, busy = 0;
    while (now_ < began + 10 * kSecond) {
      shim_grant_t grant;
      if (Admit(lease, 1, &grant) == RAWHAL_OK) {
        now_ += kMs;
        busy += kMs;
        Complete(lease, grant, kMs);
      } else {
        now_ = std::max(now_ + 1, shim_retry_at(lease));
      }
    }
    return 100.0 * static_cast<double>(busy) / static_cast<double>(10 * kSecond);
  }
  static uint64_t Now(void *context)
  {
    return __atomic_load_n(&static_cast<Admission *>(context)->now_, __ATOMIC_RELAXED);
  }
  // Beside other threads.
  void Advance(uint64_t ns) { __atomic_fetch_add(&now_, ns, __ATOMIC_RELAXED); }

  uint64_t now_ = 1000 * kSecond;
  rawhal_error_t error_ = {};

private:
  int fd_ = -1;
  std::vector<rawhal_limiter_t *> limiters_;
  std::vector<limit_lease_t *> leases_;
};

#endif
