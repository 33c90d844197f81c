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
  double Held(limit_lease_t *lease, uint64_t kernel = 1)
  {
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

// A long kernel, and beside it, in another queue, more short ones with gaps between them than a set of paid times
// holds: the gaps are the long one's.
TEST_F(Attack, ShortKernelsDoNotPayForALongOneBesideThem)
{
  for (uint64_t share : {500000u, 900000u}) {
    rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, share}});
    limit_lease_t *a = Lease(limiter), *b = Lease(limiter);
    uint64_t began = now_, busy = 0;
    for (int i = 0; i < 10; ++i)
      Run(b, 2, 1000), Run(a, 1, 1000000);
    now_ += kSecond, began = now_;
    while (now_ < began + 10 * kSecond) {
      shim_grant_t grant, small;
      if (Admit(a, 1, &grant) != RAWHAL_OK) {
        now_ = std::max(now_ + 1000, shim_retry_at(a));
        continue;
      }
      uint64_t start = now_;
      for (int i = 0; i < 600; ++i) {
        now_ += 24000;
        if (Admit(b, 2, &small) == RAWHAL_OK) {
          now_ += 1000;
          Complete(b, small, 1000);
        } else {
          now_ += 1000;
        }
      }
      Complete(a, grant, now_ - start);
      busy += now_ - start;
    }
    double got = 100.0 * static_cast<double>(busy) / static_cast<double>(now_ - began);
    printf("share %.0f%%: the long kernels alone got %.2f%%\n", static_cast<double>(share) / 10000,
           got);
    EXPECT_LE(got, static_cast<double>(share) / 10000 + 0.5);
  }
}

// A kernel ends while the share is 0, as it is for a moment when somebody pauses a tenant so.
TEST_F(Attack, AShareOfNothingForAMomentCostsNoMore)
{
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

TEST_F(Attack, AShareOfNothingKeepsWhatIsOwed)
{
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

// Copies come before any kernel: what they take is in the host's time, the device's is not known yet.
TEST_F(Attack, WhatEndedBeforeTheClockWasKnownPaysForNothingLater)
{
  const uint64_t behind = 60 * kSecond; // the device's clock
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}});
  limit_lease_t *copies = Lease(limiter), *lease = Lease(limiter);
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(copies, 9, &grant));
  uint64_t from = now_;
  now_ += 2 * kSecond;
  shim_complete(copies, &grant, 0, 0);
  while (now_ < from + behind) {
    now_ += kSecond;
    if (Admit(lease, 1, &grant) == RAWHAL_OK) {
      now_ += kMs;
      shim_complete(lease, &grant, now_ - kMs - behind, now_ - behind);
    }
  }
  uint64_t charged = shim_charged_ns(limiter);
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
  uint64_t start = now_;
  now_ = from + behind + 2 * kSecond;
  shim_complete(lease, &grant, start - behind, now_ - behind);
  double paid = static_cast<double>(shim_charged_ns(limiter) - charged) / kMs;
  printf("a kernel of %.1f ms was charged %.1f ms\n", static_cast<double>(now_ - start) / kMs,
         paid);
  EXPECT_NEAR(static_cast<double>(now_ - start) / kMs, paid, 1);
}

// What is given back counts as little as it did when it was charged, or a lower weight gets more turns than a higher.
TEST_F(Attack, AWeightThatComesAndGoesGetsNoMoreTurns)
{
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 800000},
                                     {RAWHAL_LIMIT_BURST, 60 * kSecond}};
  rawhal_limiter_t *a = Open(limits, "same", true), *b = Open(limits, "same", true);
  limit_lease_t *of_a = Lease(a), *of_b = Lease(b);
  shim_grant_t grant_a, grant_b;
  for (int i = 0; i < 20; ++i) {
    now_ += 11 * kMs;
    ASSERT_EQ(RAWHAL_OK, Admit(of_a, 1, &grant_a)) << i << error_.message;
    ASSERT_EQ(RAWHAL_OK, Admit(of_b, 1, &grant_b)) << i << error_.message;
    now_ += 10 * kMs;
    Complete(of_b, grant_b, 10 * kMs);
    ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(b, RAWHAL_LIMIT_WEIGHT, 1, &error_));
    Complete(of_a, grant_a, 10 * kMs);
    ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(b, RAWHAL_LIMIT_WEIGHT, 100, &error_));
  }
  int alone = 0;
  while (alone < 2000 && Admit(of_a, 1, &grant_a) != RAWHAL_OK &&
         Admit(of_b, 1, &grant_b) == RAWHAL_OK) {
    now_ += 10 * kMs;
    Complete(of_b, grant_b, 10 * kMs);
    ++alone;
  }
  printf("both had 100 ms; %d ms of one more before the other's turn\n", alone * 10);
  EXPECT_LE(alone, 1);
}

// Two threads wait, one for its queue's own share and one for the tenant's: the process has work, and its turn.
TEST_F(Attack, WhoAlsoWaitsForALimitOfItsOwnKeepsItsTurn)
{
  for (bool also : {false, true}) {
    const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_BURST, kMs}};
    const char *tenant = also ? "also" : "only";
    rawhal_limiter_t *mine = Open(limits, tenant, true), *other = Open(limits, tenant, true);
    limit_lease_t *queue = Lease(mine), *limited = Lease(mine, 1000), *others = Lease(other);
    shim_grant_t grant;
    uint64_t got[2] = {};
    Run(limited, 1, kMs); // which it pays for all the time
    for (uint64_t end = now_ + 100 * kSecond / 10; now_ < end; now_ += 100000) {
      // The other one's kernels are long, and it is the first to ask when its own has ended.
      if (Admit(others, 2, &grant) == RAWHAL_OK) {
        for (int i = 0; i < 30; ++i) {
          now_ += kMs;
          shim_grant_t none;
          EXPECT_NE(RAWHAL_OK, Admit(queue, 3, &none));
          if (also) {
            EXPECT_NE(RAWHAL_OK, Admit(limited, 1, &none));
          }
        }
        Complete(others, grant, 30 * kMs);
        got[1] += 30;
      } else if (Admit(queue, 3, &grant) == RAWHAL_OK) {
        now_ += kMs;
        Complete(queue, grant, kMs);
        got[0] += 1;
      } else if (also) {
        EXPECT_NE(RAWHAL_OK, Admit(limited, 1, &grant));
      }
    }
    printf("%s: %llu and %llu ms\n", tenant, static_cast<unsigned long long>(got[0]),
           static_cast<unsigned long long>(got[1]));
    EXPECT_NEAR(static_cast<double>(got[0]), static_cast<double>(got[1]), 70);
  }
}

// Runs a kernel of a second, if one is admitted, and closes the limiter. How many ran.
int RunAndClose(rawhal_limiter_t *limiter)
{
  rawhal_error_t error = {};
  limit_lease_t *lease = nullptr;
  EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error))
      << error.message;
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  bool admitted = shim_admit(lease, &cost, 0, &grant, &error) == RAWHAL_OK;
  uint64_t now = rawhal_deadline_after(0);
  if (admitted)
    shim_complete(lease, &grant, now - kSecond, now);
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
  return admitted;
}

// The process's own share, in a region: closing and opening is no way out.
TEST(AttackOnARegion, ReopeningDoesNotForgetTheProcesssDebt)
{
  RegionFile file;
  int runs = 0;
  for (int i = 0; i < 10; ++i) {
    rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_PROCESS_SHARE, 10000}});
    runs += RunAndClose(limiter);
  }
  printf("%d kernels of 1 s at once, at 1%%\n", runs);
  EXPECT_LE(runs, 1);
}

// Without a region the process is one, whatever it calls itself.
TEST(AttackOnNoRegion, AnotherNameIsNoWayOutOfADebt)
{
  rawhal_error_t error = {};
  int runs = 0;
  for (int i = 0; i < 10; ++i) {
    rawhal_limit_config_t config = {};
    rawhal_limiter_t *limiter = nullptr;
    snprintf(config.tenant.text, sizeof(config.tenant.text), "name %d", i);
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 10000, &error));
    ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "another name", &limiter, &error));
    runs += RunAndClose(limiter);
  }
  printf("%d kernels of 1 s at once, at 1%%\n", runs);
  EXPECT_LE(runs, 1);
}

// A tenant's place is given to another, with what its former tenant had been served, on another device.
TEST(AttackOnARegion, ATenantStartsWithoutItsPredecessorsTurns)
{
  RegionFile file;
  rawhal_error_t error = {};
  auto open = [&](const char *device, const char *tenant, const RegionFile::Limits &limits) {
    rawhal_limit_config_t config = file.Config(limits, tenant);
    rawhal_limiter_t *limiter = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, device, &limiter, &error)) << error.message;
    return limiter;
  };
  auto lease_of = [&](rawhal_limiter_t *limiter) {
    limit_lease_t *lease = nullptr;
    EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
    return lease;
  };
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  rawhal_limiter_t *old = open("first", "old", {});
  limit_lease_t *lease = lease_of(old);
  ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, 0, &grant, &error));
  uint64_t now = rawhal_deadline_after(0);
  shim_complete(lease, &grant, now - 500 * kSecond, now);
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_DEVICE_SHARE, 900000},
                                     {RAWHAL_LIMIT_BURST, 10 * kSecond}};
  rawhal_limiter_t *busy = open("second", "busy", limits);
  limit_lease_t *pipe = lease_of(busy);
  shim_grant_t before;
  ASSERT_EQ(RAWHAL_OK, shim_admit(pipe, &cost, 0, &before, &error));
  shim_lease_destroy(lease);
  rawhal_limiter_close(old);
  rawhal_limiter_t *fresh = open("second", "fresh", limits);
  limit_lease_t *mine = lease_of(fresh);
  EXPECT_EQ(RAWHAL_OK, shim_admit(mine, &cost, 0, &grant, &error)) << error.message;
  for (limit_lease_t *each : {pipe, mine})
    shim_lease_destroy(each);
  for (rawhal_limiter_t *each : {busy, fresh})
    rawhal_limiter_close(each);
}

// ---- Turns ----

using namespace sim;
using Limits = RegionFile::Limits;

// Who has short kernels, and waits for each of them, is owed more than a second while a long one runs.
TEST(AttackOnTurns, KernelsOfSecondsGetNoMoreThanTheirPart)
{
  for (bool tenants : {false, true}) {
    const Ns whole = 200 * sim::kSecond;
    Simulator simulator({});
    Limits limits = Limits{{tenants ? RAWHAL_LIMIT_DEVICE_SHARE : RAWHAL_LIMIT_GPU_SHARE, 600000}};
    Process &a = simulator.Add({{{1, 20 * sim::kMs}}, true}, limits, "a");
    Process &b = simulator.Add({{{1, 5 * sim::kSecond}}, true}, limits, tenants ? "b" : "a");
    simulator.Run(whole);
    double got_a = a.Share(0, whole), got_b = b.Share(0, whole);
    printf("%s: 20 ms / 5 s: due 30, got %.2f / %.2f\n", tenants ? "tenants" : "processes", got_a,
           got_b);
    EXPECT_NEAR(30, got_a, 0.5 + 250.0 * 5 * sim::kSecond / static_cast<double>(whole));
  }
}

// ---- On a device ----

class AttackOnADevice : public LimitedDevice<HeldTest> {};

// Nobody was there when it was submitted, and nobody here calls again.
TEST_F(AttackOnADevice, WhoJoinsLaterLearnsWhatFinishedThoughNobodyLooks)
{
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 400000},
                                     {RAWHAL_LIMIT_BURST, 20 * millisecond}};
  Start(limits);
  rawhal_queue_t *on = queue();
  submit(on, held());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  release();
  rawhal_limit_config_t config = file_.Config(limits);
  rawhal_limiter_t *peer = nullptr;
  limit_lease_t *lease = nullptr;
  ASSERT_OK(rawhal_limiter_open(&config, Row(0).name, &peer, &error));
  ASSERT_OK(shim_lease(peer, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  shim_cost_t cost = {77, 64, 0, 1};
  shim_grant_t grant;
  rawhal_status_t status =
      shim_admit(lease, &cost, rawhal_deadline_after(10000 * millisecond), &grant, &error);
  EXPECT_OK(status);
  if (status == RAWHAL_OK)
    shim_cancel(lease, &grant);
  shim_lease_destroy(lease);
  rawhal_limiter_close(peer);
}

} // namespace
