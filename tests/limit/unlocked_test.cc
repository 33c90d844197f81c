// Admission takes no lock where there is room: several threads at once, on the same leases, while limits come and go.
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "tests/extended.h"
#include "tests/limit/admission.h"

namespace {

class Unlocked : public Admission {
protected:
  struct Queue {
    limit_lease_t *lease;
    std::mutex completing; // as limit_complete() wants
  };

  template <typename Body> void Threads(int count, Body body)
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
      threads.emplace_back(body, t);
    for (std::thread &thread : threads)
      thread.join();
  }
};

TEST_F(Unlocked, CapsHoldAndNothingIsLeftOver)
{
  constexpr uint64_t kDispatches = 40, kWorkgroups = 900, kKernarg = 20 * 256;
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, kDispatches},
                                    {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, kWorkgroups},
                                    {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, kKernarg},
                                    {RAWHAL_LIMIT_DISPATCH_RATE, 1000000000}});
  Queue queues[2] = {{Lease(limiter), {}}, {Lease(limiter), {}}};
  std::atomic<uint64_t> dispatches{0}, workgroups{0}, kernarg{0}, admitted{0}, above{0}, odd{0};
  std::atomic<int> running{4};
  Threads(5, [&](int t) {
    rawhal_error_t error = {};
    if (t == 4) { // the operator
      for (uint64_t i = 0; running > 0; ++i) {
        uint64_t share = i % 8 == 7 ? 500000 : RAWHAL_UNLIMITED;
        odd += rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, share, &error) != RAWHAL_OK;
        for (int pause = 0; pause < 20; ++pause)
          std::this_thread::yield();
      }
      odd += rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED, &error) !=
             RAWHAL_OK;
      return;
    }
    std::mt19937 random(static_cast<unsigned>(t));
    struct Flight {
      Queue *queue;
      shim_cost_t cost;
      shim_grant_t grant;
    };
    std::vector<Flight> mine;
    auto end = [&](bool cancel) {
      Flight flight = mine.back();
      mine.pop_back();
      uint64_t launches = flight.cost.launches;
      dispatches -= launches;
      workgroups -= launches * flight.cost.workgroups;
      kernarg -= launches * flight.cost.kernarg_bytes;
      std::lock_guard<std::mutex> lock(flight.queue->completing);
      if (cancel)
        shim_cancel(flight.queue->lease, &flight.grant);
      else
        shim_complete(flight.queue->lease, &flight.grant, now_ - 1000, now_);
    };
    for (int i = 0; i < 20000; ++i) {
      Flight next = {
          &queues[random() % 2],
          {1 + random() % 3, 1 + random() % 40, 256, static_cast<uint32_t>(1 + random() % 3)},
          {}};
      rawhal_status_t status = shim_admit(next.queue->lease, &next.cost, 0, &next.grant, &error);
      if (status == RAWHAL_OK) {
        uint64_t launches = next.cost.launches;
        admitted += launches;
        above += (dispatches += launches) > kDispatches;
        above += (workgroups += launches * next.cost.workgroups) > kWorkgroups;
        above += (kernarg += launches * next.cost.kernarg_bytes) > kKernarg;
        mine.push_back(next);
      } else {
        odd += status != RAWHAL_WOULD_BLOCK;
      }
      while (!mine.empty() && (status != RAWHAL_OK || random() % 8 == 0))
        end(random() % 16 == 0);
    }
    while (!mine.empty())
      end(false);
    --running;
  });
  EXPECT_EQ(0u, odd);
  EXPECT_EQ(0u, above);
  EXPECT_GT(admitted, 10000u);
  EXPECT_EQ(0u, shim_open_ns(limiter));
  std::vector<shim_grant_t> grants(kDispatches); // all of a cap is there again
  for (shim_grant_t &grant : grants)
    EXPECT_EQ(RAWHAL_OK, Admit(queues[0].lease, 1, &grant, 1, 1, 64)) << error_.message;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(queues[1].lease, 1, nullptr, 1, 1, 64));
  for (const shim_grant_t &grant : grants)
    Complete(queues[0].lease, grant, 1000);
  for (const Queue &queue : queues)
    EXPECT_EQ(0u, shim_credit_launches(queue.lease));
  EXPECT_EQ(0u, shim_open_ns(limiter));
}

// On a clock that stands: what a burst allows is admitted once, whoever asks.
TEST_F(Unlocked, ARateIsNobodysTwice)
{
  for (int round = 0; round < (is_sanitized ? 10 : 50); ++round) {
    rawhal_limiter_t *limiter =
        Open({{RAWHAL_LIMIT_DISPATCH_RATE, 100000}, {RAWHAL_LIMIT_BURST, 20 * kMs}});
    limit_lease_t *leases[2] = {Lease(limiter), Lease(limiter)};
    std::atomic<uint64_t> admitted{0};
    Threads(4, [&](int t) {
      rawhal_error_t error = {};
      shim_cost_t cost = {1, 1, 64, 1};
      for (int i = 0; i < 3000; ++i) {
        shim_grant_t grant;
        admitted += shim_admit(leases[t % 2], &cost, 0, &grant, &error) == RAWHAL_OK;
      }
    });
    uint64_t unspent = shim_credit_launches(leases[0]) + shim_credit_launches(leases[1]);
    EXPECT_LE(admitted, 2001u);
    EXPECT_GE(admitted + unspent, 2000u);
  }
}

// Nor is a share: on a clock that stands it admits what it admits to one thread.
TEST_F(Unlocked, AShareIsNobodysTwice)
{
  for (uint64_t percent : {10, 50, 97})
    for (int round = 0; round < (is_sanitized ? 10 : 40); ++round) {
      const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, percent * 10000}};
      uint64_t alone = 0;
      rawhal_limiter_t *limiter = Open(limits);
      limit_lease_t *lease = Lease(limiter);
      shim_learn(limiter, 1, 1, 5 * kMs); // too long for credit
      for (int i = 0; i < 200; ++i)
        alone += Admit(lease, 1, nullptr, 1) == RAWHAL_OK;
      limiter = Open(limits);
      limit_lease_t *leases[2] = {Lease(limiter), Lease(limiter)};
      shim_learn(limiter, 1, 1, 5 * kMs);
      std::atomic<uint64_t> together{0};
      Threads(4, [&](int t) {
        rawhal_error_t error = {};
        shim_cost_t cost = {1, 1, 64, 1};
        for (int i = 0; i < 50; ++i) {
          shim_grant_t grant;
          together += shim_admit(leases[t % 2], &cost, 0, &grant, &error) == RAWHAL_OK;
        }
      });
      ASSERT_GT(alone, 0u);
      ASSERT_EQ(alone, together) << percent;
      Close();
    }
}

// Four run kernels one by one on a clock that goes on with them, and stands while one of them is between asking and
// running: how long a scheduler keeps a thread there is no time on the device. What they get is the share's.
TEST_F(Unlocked, AShareHoldsForThreads)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}});
  Queue queues[2] = {{Lease(limiter), {}}, {Lease(limiter), {}}};
  shim_learn(limiter, 1, 1, 100000);
  std::mutex device; // runs one at a time
  uint64_t busy = 0, began = now_, admitted = 0;
  std::atomic<bool> done{false};
  std::atomic<int> asking{0};
  Threads(4, [&](int t) {
    rawhal_error_t error = {};
    shim_cost_t cost = {1, 1, 64, 1};
    Queue &queue = queues[t % 2];
    while (!done) {
      shim_grant_t grant;
      ++asking;
      rawhal_status_t status = shim_admit(queue.lease, &cost, 0, &grant, &error);
      if (status != RAWHAL_OK)
        for (--asking; asking;)
          std::this_thread::yield();
      std::lock_guard<std::mutex> running(device);
      if (status == RAWHAL_OK)
        --asking;
      const uint64_t ns = status == RAWHAL_OK ? (admitted % 9 ? 100000 : 2 * kMs) : 20000;
      Advance(ns);
      if (status == RAWHAL_OK) {
        std::lock_guard<std::mutex> lock(queue.completing);
        ++admitted;
        busy += ns;
        shim_complete(queue.lease, &grant, Now(this) - ns, Now(this));
      }
      done = done || Now(this) - began > 4 * kSecond;
    }
  });
  const double got = 100.0 * static_cast<double>(busy) / static_cast<double>(Now(this) - began);
  EXPECT_NEAR(got, 30, 0.5) << admitted;
}

// Whoever holds the limiter's lock keeps nobody out who has room, once the kernel is known.
TEST_F(Unlocked, AShareWithRoomWaitsForNoLock)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 500000}});
  limit_lease_t *lease = Lease(limiter, 500000);
  Run(lease, 1, 10000);
  for (int i = 0; i < 1000; ++i) {
    now_ += 50000; // and the queue has been idle
    shim_grant_t grant;
    bool admitted = false;
    shim_lock(limiter);
    std::thread other([&] {
      rawhal_error_t error = {};
      shim_cost_t cost = {1, 64, 256, 1};
      admitted = shim_admit(lease, &cost, 0, &grant, &error) == RAWHAL_OK;
    });
    other.join();
    shim_unlock(limiter);
    ASSERT_TRUE(admitted);
    now_ += 10000;
    Complete(lease, grant, 10000);
  }
}

// What others read of a process that has nothing in flight any more says so.
TEST_F(Unlocked, OthersSeeWhatIsLeft)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}}, "default", true);
  Queue queues[3] = {{Lease(limiter), {}}, {Lease(limiter), {}}, {Lease(limiter), {}}};
  for (int round = 0; round < 300; ++round) {
    Threads(3, [&](int t) {
      rawhal_error_t error = {};
      shim_cost_t cost = {1, 1, 64, 1};
      for (int i = 0; i < 20; ++i) {
        shim_grant_t grant;
        if (shim_admit(queues[t].lease, &cost, 0, &grant, &error) == RAWHAL_OK)
          shim_complete(queues[t].lease, &grant, now_ - 1000, now_);
      }
    });
    uint64_t load = 1, since = 1;
    shim_published(limiter, &load, &since);
    ASSERT_EQ(0u, load);
    ASSERT_EQ(0u, since);
  }
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, Admit(queues[0].lease, 1, &grant));
  uint64_t load = 0, since = 0;
  shim_published(limiter, &load, &since);
  EXPECT_NE(0u, load);
  EXPECT_EQ(now_, since);
}

// Another's credit is no reason to refuse, nor is what another thread takes and gives back for a moment.
TEST_F(Unlocked, WhatALeaseHoldsIsRoom)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}});
  limit_lease_t *leases[4] = {Lease(limiter), Lease(limiter), Lease(limiter), Lease(limiter)};
  shim_learn(limiter, 1, 1, 1000);
  std::atomic<uint64_t> refused{0};
  std::atomic<bool> done{false}, begun{false};
#if defined(__SANITIZE_THREAD__)
  const int rounds = 20000;
#else
  const int rounds = 300000;
#endif
  Threads(4, [&](int t) {
    rawhal_error_t error = {};
    shim_cost_t cost = {1, 1, 64, t ? 1u : 60u};
    while (!t && !begun)
      std::this_thread::yield();
    begun = true;
    for (int i = 0; t ? !done : i < rounds; ++i) {
      shim_grant_t grant;
      if (shim_admit(leases[t], &cost, 0, &grant, &error) == RAWHAL_OK)
        shim_complete(leases[t], &grant, now_ - 1000, now_);
      else
        ++refused;
    }
    done = true;
  });
  EXPECT_EQ(0u, refused);
}

// While one decides with the lock no other admits without it: what that took, or its lease was lent, would be missing for
// a moment, and the one with the lock be refused though there is room.
TEST_F(Unlocked, WhoDecidesWithTheLockIsAlone)
{
  static std::function<void()> decides; // whose clock is asked first when the lock is held
  rawhal_limiter_t *limiter =
      Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}}, "default", false, [](void *context) {
        if (decides)
          std::exchange(decides, nullptr)();
        return Now(context);
      });
  limit_lease_t *deciding = Lease(limiter), *beside = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 50, &error_));
  std::atomic<bool> comes_with_lock{false}, admitted{false};
  const auto reap = [](void *told) { *static_cast<std::atomic<bool> *>(told) = true; };
  ASSERT_EQ(RAWHAL_OK,
            shim_lease(limiter, reap, &comes_with_lock, RAWHAL_UNLIMITED, &beside, &error_));
  std::thread other;
  decides = [&] {
    comes_with_lock = false;
    other = std::thread([&] {
      rawhal_error_t error = {};
      shim_cost_t cost = {1, 1, 64, 1};
      shim_grant_t grant;
      admitted = shim_admit(beside, &cost, 0, &grant, &error) == RAWHAL_OK;
    });
    while (!comes_with_lock && !admitted)
      std::this_thread::yield();
    EXPECT_FALSE(admitted);
  };
  EXPECT_EQ(RAWHAL_OK, Admit(deciding, 1)) << error_.message;
  ASSERT_TRUE(other.joinable());
  other.join();
  EXPECT_TRUE(admitted);
  shim_lease_destroy(beside);
}

// A submission that never ran leaves nothing behind, though its time was never estimated.
TEST_F(Unlocked, OthersSeeWhatWasCancelled)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}}, "default", true);
  limit_lease_t *lease = Lease(limiter);
  shim_grant_t grant;
  uint64_t load = 1, since = 1;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
  shim_cancel(lease, &grant);
  shim_published(limiter, &load, &since);
  EXPECT_EQ(0u, load);
  EXPECT_EQ(0u, since);
  now_ += kSecond;
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
  shim_published(limiter, &load, &since);
  EXPECT_EQ(now_, since);
}

// What a lease got while nothing was limited nobody has to wait for when a share is set, whoever is refused.
TEST_F(Unlocked, OthersSeeNoCreditThatIsGone)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}}, "default", true);
  limit_lease_t *lease = Lease(limiter);
  shim_learn(limiter, 1, 1, 1000);
  ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, nullptr, 1));
  EXPECT_GT(shim_credit_launches(lease), 0u);
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 100000, &error_));
  ASSERT_EQ(RAWHAL_WOULD_BLOCK, Admit(lease, 1, nullptr, 1));
  EXPECT_EQ(0u, shim_credit_launches(lease));
  EXPECT_EQ(1000u, shim_open_ns(limiter)); // of the one in flight
}

// What leases got before there was a rate was not paid for, and gives nothing back.
TEST_F(Unlocked, CreditIsWorthWhatWasPaid)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100000}});
  std::vector<limit_lease_t *> leases;
  for (int i = 0; i < 8; ++i)
    leases.push_back(Lease(limiter));
  shim_learn(limiter, 1, 1, 1000);
  for (limit_lease_t *lease : leases)
    ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, nullptr, 1));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_DISPATCH_RATE, 1000, &error_));
  uint64_t admitted = 0;
  for (limit_lease_t *lease : leases)
    for (int i = 0; i < 100; ++i)
      admitted += Admit(lease, 1, nullptr, 1) == RAWHAL_OK;
  EXPECT_EQ(21u, admitted); // a burst of 20 ms, and one
}

TEST_F(Unlocked, WhatIsCancelledIsWorthWhatWasPaid)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100000}});
  limit_lease_t *lease = Lease(limiter);
  std::vector<shim_grant_t> grants(500);
  for (shim_grant_t &grant : grants)
    ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant, 1));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_DISPATCH_RATE, 1000, &error_));
  uint64_t admitted = 0;
  limit_lease_t *other = Lease(limiter);
  for (int i = 0; i < 100; ++i)
    admitted += Admit(other, 1, nullptr, 1) == RAWHAL_OK;
  for (const shim_grant_t &grant : grants) // which cost nothing
    shim_cancel(lease, &grant);
  for (int i = 0; i < 100; ++i)
    admitted += Admit(other, 1, nullptr, 1) == RAWHAL_OK;
  EXPECT_EQ(21u, admitted);
}

} // namespace
