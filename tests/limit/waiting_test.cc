// Admission on the machine's clock: threads that wait, and what is seen from outside.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "tests/limit/region_file.h"
#include "tests/limit/simulator.h"

namespace {

constexpr uint64_t kMs = 1000000;

// ---- Asleep, on the machine's clock ----

uint64_t RealNow()
{
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

TEST(Waiting, EndsAtTheTimeOrTheDeadline)
{
  RegionFile file;
  rawhal_limiter_t *limiter =
      file.Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}, {RAWHAL_LIMIT_BURST, 10 * kMs}});
  limit_lease_t *lease = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, 0, &grant, &error));
  uint64_t end = RealNow();
  shim_complete(lease, &grant, end - 5 * kMs, end); // 50 ms of the clock
  ASSERT_EQ(RAWHAL_WOULD_BLOCK, shim_admit(lease, &cost, 0, &grant, &error));
  uint64_t retry = shim_retry_at(lease);
  EXPECT_EQ(RAWHAL_TIMED_OUT, shim_admit(lease, &cost, RealNow() + 2 * kMs, &grant, &error));
  EXPECT_EQ(RAWHAL_OK, shim_admit(lease, &cost, UINT64_MAX, &grant, &error)) << error.message;
  EXPECT_GE(RealNow(), retry);
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
}

TEST(Waiting, EndsWhenAnotherThreadsWorkEnds)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1}});
  limit_lease_t *lease = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  shim_cost_t cost = {1, 64, 256, 1};
  std::atomic<int> running{0}, most{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        shim_grant_t grant;
        rawhal_error_t mine = {};
        ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, UINT64_MAX, &grant, &mine)) << mine.message;
        int now = ++running;
        if (now > most)
          most = now;
        std::this_thread::yield();
        --running;
        ++done;
        uint64_t end = RealNow();
        shim_complete(lease, &grant, end - 1000, end);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(1, most);
  EXPECT_EQ(200, done);
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
}

// Four threads that hold 25 at most, of 100: nobody is refused, whoever holds the leases' credit.
TEST(Waiting, NobodyWaitsForWhatLeasesHold)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100},
                                         {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 6400},
                                         {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, 25600}});
  limit_lease_t *leases[2] = {};
  rawhal_error_t error = {};
  for (limit_lease_t *&lease : leases)
    ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::deque<shim_grant_t> held;
      shim_cost_t cost = {1, 64, 256, 1};
      for (int i = 0; i < 20000; ++i) {
        if (held.size() == 25 || (random() % 2 && !held.empty())) {
          uint64_t end = RealNow();
          shim_complete(leases[t % 2], &held.front(), end - 1000, end);
          held.pop_front();
          continue;
        }
        rawhal_error_t mine = {};
        held.emplace_back();
        ASSERT_EQ(RAWHAL_OK, shim_admit(leases[t % 2], &cost, 0, &held.back(), &mine))
            << mine.message;
      }
      for (const shim_grant_t &grant : held)
        shim_cancel(leases[t % 2], &grant);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (limit_lease_t *lease : leases)
    shim_lease_destroy(lease);
  EXPECT_EQ(0u, shim_open_ns(limiter));
  rawhal_limiter_close(limiter);
}

// Without a region, too, closing a limiter and opening another is no way out of what is owed.
TEST(Waiting, IsNotEndedByOpeningAnotherLimiter)
{
  rawhal_limit_config_t config = {};
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 100000, &error));
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  for (int round = 0; round < 3; ++round) {
    rawhal_limiter_t *limiter = nullptr;
    limit_lease_t *lease = nullptr;
    ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "reopened", &limiter, &error))
        << error.message;
    ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
    rawhal_status_t status = shim_admit(lease, &cost, 0, &grant, &error);
    EXPECT_EQ(round ? RAWHAL_WOULD_BLOCK : RAWHAL_OK, status) << round;
    if (status == RAWHAL_OK)
      shim_complete(lease, &grant, RealNow() - 1000 * kMs, RealNow()); // 10 s of the clock
    shim_lease_destroy(lease);
    rawhal_limiter_close(limiter);
  }
}

// ---- Seen from outside ----

TEST(View, ShowsWhatWasUsed)
{
  RegionFile file;
  rawhal_limiter_t *limiter =
      file.Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_MEMORY, 1 << 30}}, "blue");
  limit_lease_t *lease = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, 0, &grant, &error));
  uint64_t end = RealNow();
  shim_complete(lease, &grant, end - 9 * kMs, end);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, shim_admit(lease, &cost, 0, &grant, &error));
  ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 1, 1 << 20, &error));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 0, 1 << 30, &error));

  const uint64_t tenants_total = static_cast<uint64_t>(9 * kMs);
  rawhal_limit_view_t *view = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, &error)) << error.message;
  EXPECT_EQ(3u, rawhal_limit_view_read(view, nullptr, sizeof(rawhal_limit_row_t), 0));
  rawhal_limit_row_t rows[3];
  ASSERT_EQ(3u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 3));
  EXPECT_EQ(RAWHAL_LIMIT_LEVEL_DEVICE, rows[0].level);
  EXPECT_STREQ("device", rows[0].name);
  EXPECT_EQ(RAWHAL_UNLIMITED, rows[0].share_ppm);
  EXPECT_EQ(1u, rows[0].processes);
  EXPECT_EQ(RAWHAL_LIMIT_LEVEL_TENANT, rows[1].level);
  EXPECT_STREQ("blue", rows[1].name);
  EXPECT_EQ(300000u, rows[1].share_ppm);
  EXPECT_GT(rows[1].ahead_ns, 0u);
  EXPECT_EQ(1u << 30, rows[1].memory_limit);
  EXPECT_EQ(1u << 20, rows[1].memory_used);
  EXPECT_EQ(RAWHAL_LIMIT_LEVEL_PROCESS, rows[2].level);
  EXPECT_EQ(static_cast<uint64_t>(getpid()), rows[2].pid);
  EXPECT_EQ(1u, rows[2].launches);
  EXPECT_EQ(9 * kMs, rows[2].gpu_ns);
  EXPECT_EQ(1u, rows[2].would_block);
  EXPECT_EQ(0u, rows[2].waits);
  EXPECT_EQ(tenants_total, rows[0].gpu_ns);
  EXPECT_EQ(tenants_total, rows[1].gpu_ns);
  EXPECT_EQ(1u, rows[2].denials);
  // It keeps its turn for 2 ms after it has asked: that may be over before somebody looks.
  for (int i = 0; i < 1000 && !rows[2].waiting; ++i) {
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, shim_admit(lease, &cost, 0, &grant, &error));
    ASSERT_EQ(3u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 3));
  }
  EXPECT_TRUE(rows[2].waiting);
  EXPECT_EQ(1u << 20, rows[2].memory_by_class[1]);
  EXPECT_STREQ("code", rawhal_limit_class_name(1));
  EXPECT_EQ(nullptr, rawhal_limit_class_name(5));
  // Who asks until it is admitted was held back once, and has waited once, however often it asks.
  for (int i = 0; i < 1000000 && shim_admit(lease, &cost, 0, &grant, &error) != RAWHAL_OK; ++i)
    std::this_thread::yield();
  ASSERT_EQ(3u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 3));
  EXPECT_EQ(1u, rows[2].waits);
  EXPECT_GT(rows[2].wait_ns, 0u);
  EXPECT_EQ(1u, rows[2].would_block);
  rawhal_limit_view_close(view);
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
  // The file of dead processes can be looked at, too, and what they used stays their tenant's.
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, &error)) << error.message;
  EXPECT_EQ(2u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 3));
  EXPECT_GE(rows[0].gpu_ns, tenants_total);
  EXPECT_GE(rows[1].gpu_ns, tenants_total);
  EXPECT_EQ(rows[1].charged_ns, rows[1].gpu_ns);
  rawhal_limit_view_close(view);
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_limit_view_open("/no/such/region", &view, &error));
  EXPECT_EQ(nullptr, view);
  rawhal_limit_view_close(nullptr);
}

} // namespace
