// Limits that several processes set: each row of the table in limit.h.
#include <sys/wait.h>

#include <algorithm>

#include "tests/child.h"
#include "tests/limit/region_file.h"

namespace {

constexpr uint64_t kMs = 1000000, kSecond = 1000 * kMs;

// Limiters on a clock that the test moves.
struct World {
  RegionFile file;
  uint64_t now = 1000000 * kSecond;

  rawhal_status_t TryJoin(const RegionFile::Limits &limits, const char *tenant,
                          rawhal_limiter_t **limiter, rawhal_error_t *error)
  {
    rawhal_limit_config_t config = file.Config(limits, tenant);
    return shim_open_shared(&config, &now, false, limiter, error);
  }
  rawhal_limiter_t *Join(const RegionFile::Limits &limits, const char *tenant = "default")
  {
    rawhal_limiter_t *limiter = nullptr;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_OK, TryJoin(limits, tenant, &limiter, &error)) << error.message;
    return limiter;
  }
  // The limiter's tenant uses the device for so long.
  void Use(rawhal_limiter_t *limiter, uint64_t ns)
  {
    limit_lease_t *lease = nullptr;
    ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr));
    shim_grant_t grant;
    shim_cost_t cost = {1, 64, 0, 1};
    ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, 0, &grant, nullptr));
    now += ns;
    shim_complete(lease, &grant, now - ns, now);
    shim_lease_destroy(lease);
  }
  // How long the limiter's next dispatch has to wait.
  uint64_t Wait(rawhal_limiter_t *limiter)
  {
    limit_lease_t *lease = nullptr;
    EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr));
    shim_grant_t grant;
    shim_cost_t cost = {1, 64, 0, 1};
    rawhal_status_t status = shim_admit(lease, &cost, 0, &grant, nullptr);
    uint64_t wait = status == RAWHAL_WOULD_BLOCK ? shim_retry_at(lease) - now : 0;
    if (status == RAWHAL_OK)
      shim_cancel(lease, &grant);
    shim_lease_destroy(lease);
    return wait;
  }
  uint64_t DeviceBurst()
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t row = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, nullptr));
    EXPECT_LE(1u, rawhal_limit_view_read(view, &row, sizeof(rawhal_limit_row_t), 1));
    EXPECT_EQ(RAWHAL_LIMIT_LEVEL_DEVICE, row.level);
    rawhal_limit_view_close(view);
    return row.burst_ns;
  }
};

const struct {
  rawhal_limit_t limit;
  uint64_t strict, loose, none;
} kShared[] = {
    {RAWHAL_LIMIT_MEMORY, 1 << 20, 1 << 21, RAWHAL_UNLIMITED},
    {RAWHAL_LIMIT_GPU_SHARE, 200000, 400000, RAWHAL_UNLIMITED},
    {RAWHAL_LIMIT_DISPATCH_RATE, 100, 200, RAWHAL_UNLIMITED},
    {RAWHAL_LIMIT_BURST, 5 * kMs, 50 * kMs, 20 * kMs},
    {RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL, RAWHAL_CHARGING_FAIR, RAWHAL_CHARGING_FAIR},
    {RAWHAL_LIMIT_DEVICE_SHARE, 1, 500000, RAWHAL_UNLIMITED}};

TEST(Rules, OfThoseWhoAreThereTheStrictestHolds)
{
  for (const auto &row : kShared) {
    SCOPED_TRACE(rawhal_limit_info(row.limit)->name);
    World world;
    rawhal_limiter_t *a = world.Join({{row.limit, row.loose}}), *b = world.Join({});
    EXPECT_EQ(row.loose, rawhal_limiter_get(b, row.limit));
    rawhal_limiter_t *c = world.Join({{row.limit, row.strict}});
    for (rawhal_limiter_t *each : {a, b, c})
      EXPECT_EQ(row.strict, rawhal_limiter_get(each, row.limit));
    // Nobody loosens what another asked for, and everybody what he asked for himself.
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(a, row.limit, row.loose, nullptr));
    EXPECT_EQ(row.strict, rawhal_limiter_get(a, row.limit));
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(c, row.limit, row.loose, nullptr));
    EXPECT_EQ(row.loose, rawhal_limiter_get(a, row.limit));
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(c, row.limit, row.strict, nullptr));
    EXPECT_EQ(row.strict, rawhal_limiter_get(a, row.limit));
    // Who leaves takes with him what he asked for.
    rawhal_limiter_close(c);
    EXPECT_EQ(row.loose, rawhal_limiter_get(b, row.limit));
    rawhal_limiter_close(a);
    EXPECT_EQ(row.none, rawhal_limiter_get(b, row.limit));
    rawhal_limiter_close(b);
    rawhal_limiter_t *d = world.Join({{row.limit, row.strict}});
    rawhal_limiter_close(d); // the last
    rawhal_limiter_t *e = world.Join({{row.limit, row.loose}});
    EXPECT_EQ(row.loose, rawhal_limiter_get(e, row.limit));
    rawhal_limiter_close(e);
  }
}

TEST(Rules, WhatTheDeadAskedForIsForgotten)
{
  for (const auto &row : kShared) {
    SCOPED_TRACE(rawhal_limit_info(row.limit)->name);
    World world;
    rawhal_limiter_t *a = world.Join({{row.limit, row.loose}});
    pid_t child = fork_child();
    if (child == 0) {
      world.Join({{row.limit, row.strict}});
      raise(SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(row.strict, rawhal_limiter_get(a, row.limit));
    EXPECT_TRUE(shim_reclaim(a));
    EXPECT_EQ(row.loose, rawhal_limiter_get(a, row.limit));
    rawhal_limiter_close(a);
  }
}

TEST(Rules, ATenantAsksForItselfAndForTheDeviceOnly)
{
  World world;
  rawhal_limiter_t *a = world.Join({{RAWHAL_LIMIT_GPU_SHARE, 300000}}, "a");
  rawhal_limiter_t *b =
      world.Join({{RAWHAL_LIMIT_GPU_SHARE, 100000}, {RAWHAL_LIMIT_DEVICE_SHARE, 1}}, "b");
  EXPECT_EQ(300000u, rawhal_limiter_get(a, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(1u, rawhal_limiter_get(a, RAWHAL_LIMIT_DEVICE_SHARE));
  rawhal_limiter_close(b);
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(a, RAWHAL_LIMIT_DEVICE_SHARE));
  rawhal_limiter_close(a);
}

TEST(Rules, NobodyLoosensTheBurstOfTheDevice)
{
  World world;
  rawhal_limiter_t *a = world.Join({{RAWHAL_LIMIT_BURST, 1 * kMs}}, "a");
  EXPECT_EQ(1 * kMs, world.DeviceBurst());
  rawhal_limiter_t *b = world.Join({{RAWHAL_LIMIT_BURST, 10 * kSecond}}, "b");
  EXPECT_EQ(1 * kMs, world.DeviceBurst());
  EXPECT_EQ(10 * kSecond, rawhal_limiter_get(b, RAWHAL_LIMIT_BURST));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(b, RAWHAL_LIMIT_BURST, 20 * kSecond, nullptr));
  EXPECT_EQ(1 * kMs, world.DeviceBurst());
  rawhal_limiter_t *c = world.Join({}, "c");
  rawhal_limiter_close(a);
  EXPECT_EQ(20 * kMs, world.DeviceBurst()); // c relies on the default
  rawhal_limiter_close(c);
  EXPECT_EQ(20 * kSecond, world.DeviceBurst());
  rawhal_limiter_close(b);
}

TEST(Rules, ADebtStaysTheSameDeviceTimeWhenTheShareChanges)
{
  World world;
  rawhal_limiter_t *a = world.Join({{RAWHAL_LIMIT_GPU_SHARE, 10000}});
  auto share = [&](uint64_t ppm) {
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(a, RAWHAL_LIMIT_GPU_SHARE, ppm, nullptr));
  };
  auto expect_wait = [&](uint64_t ns) {
    EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(world.Wait(a)), 3e6);
  };
  world.Use(a, 300 * kMs); // 30 s at 1 %, from its start on
  expect_wait(29700 * kMs - 20 * kMs);
  share(900000);
  expect_wait(330 * kMs - 20 * kMs);
  share(10000);
  expect_wait(29700 * kMs - 20 * kMs);
  // Lifting a limit, or setting it to nothing, is no way out.
  share(RAWHAL_UNLIMITED);
  EXPECT_EQ(0u, world.Wait(a));
  share(0);
  share(10000);
  expect_wait(29700 * kMs - 20 * kMs);
  share(900000);
  world.now += 200 * kMs;
  expect_wait(130 * kMs - 20 * kMs);
  rawhal_limiter_close(a);
}

TEST(Rules, SoDoesAProcesssDebtAndOneOfDispatches)
{
  World world;
  rawhal_limiter_t *a = world.Join({{RAWHAL_LIMIT_PROCESS_SHARE, 10000}});
  world.Use(a, 300 * kMs);
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(a, RAWHAL_LIMIT_PROCESS_SHARE, 900000, nullptr));
  EXPECT_NEAR(310e6, static_cast<double>(world.Wait(a)), 3e6);
  rawhal_limiter_close(a);
  rawhal_limiter_t *b =
      world.Join({{RAWHAL_LIMIT_DISPATCH_RATE, 1}, {RAWHAL_LIMIT_BURST, 1 * kMs}}, "b");
  world.Use(b, 1000);
  EXPECT_NEAR(999e6, static_cast<double>(world.Wait(b)), 1e6);
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(b, RAWHAL_LIMIT_DISPATCH_RATE, 10, nullptr));
  EXPECT_NEAR(99e6, static_cast<double>(world.Wait(b)), 1e6);
  rawhal_limiter_close(b);
}

TEST(Rules, ADebtIsNotLeftBehindByLeavingWhoeverComesInBetween)
{
  World world;
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 10000}};
  rawhal_limiter_t *a = world.Join(limits, "a");
  world.Use(a, 300 * kMs);
  rawhal_limiter_close(a);
  rawhal_limiter_t *b = world.Join(limits, "b");
  EXPECT_EQ(0u, world.Wait(b));
  rawhal_limiter_close(b);
  a = world.Join(limits, "a");
  EXPECT_NEAR(29680e6, static_cast<double>(world.Wait(a)), 3e6);
  rawhal_limiter_close(a);
  a = world.Join({{RAWHAL_LIMIT_GPU_SHARE, 900000}}, "a"); // as much device time as it is
  EXPECT_NEAR(310e6, static_cast<double>(world.Wait(a)), 3e6);
  rawhal_limiter_close(a);
}

TEST(Rules, WhenAllPlacesAreTakenByDebtJoiningFails)
{
  World world;
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 10000}};
  for (int i = 0; i < 64; ++i) {
    rawhal_limiter_t *limiter = world.Join(limits, ("tenant " + std::to_string(i)).c_str());
    world.Use(limiter, 20 * kMs);
    rawhal_limiter_close(limiter);
  }
  rawhal_limiter_t *late = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, world.TryJoin(limits, "late", &late, &error));
  EXPECT_NE(nullptr, strstr(error.message, "in debt")) << error.message;
  rawhal_limiter_t *back = world.Join(limits, "tenant 63");
  EXPECT_LT(kSecond, world.Wait(back));
  rawhal_limiter_close(back);
  world.now += 2 * kSecond;
  ASSERT_EQ(RAWHAL_OK, world.TryJoin(limits, "late", &late, &error)) << error.message;
  EXPECT_EQ(0u, world.Wait(late));
  rawhal_limiter_close(late);
}

} // namespace
