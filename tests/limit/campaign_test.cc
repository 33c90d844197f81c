// Campaigns: three tenants of several processes each, which reserve, release, join, leave and clear up after each
// other, and are killed at every step of it, thousands of times. What the survivors then hold is exactly what
// their tenants are said to hold, and what the dead had in flight holds nobody back.
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <random>

#include "tests/child.h"
#include "tests/extended.h"
#include "tests/limit/region_file.h"
#include "tests/limit/shared.h"

namespace {

constexpr int kTenants = 3, kProcesses = 6, kBatch = 50;
constexpr uint64_t kLimit = 8ull << 20, kForever = UINT64_MAX, kBound = 50000000;
const char *const kNames[kTenants] = {"red", "green", "blue"};

int steps_left;
void DieAtStep(int)
{
  if (--steps_left == 0)
    raise(SIGKILL);
}

rawhal_status_t Open(const RegionFile &file, const char *tenant, uint64_t *now,
                     rawhal_limiter_t **limiter)
{
  // What the dead had begun is charged; that is no wait for them, and fits into the burst.
  rawhal_limit_config_t config = file.Config({{RAWHAL_LIMIT_MEMORY, kLimit},
                                              {RAWHAL_LIMIT_GPU_SHARE, 900000},
                                              {RAWHAL_LIMIT_BURST, 100000000}},
                                             tenant);
  return shim_open_shared(&config, now, false, limiter, nullptr);
}

uint64_t Bytes(std::mt19937 &random)
{
  return 4096 * (1 + random() % 300);
}

// Works in one tenant after the other until it is killed at some step.
[[noreturn]] void Work(const RegionFile &file, uint64_t *now, unsigned seed)
{
  std::mt19937 random(seed);
  steps_left = 1 + static_cast<int>(random() % 600);
  shim_on_step(DieAtStep);
  for (;;) {
    rawhal_limiter_t *limiter = nullptr;
    if (Open(file, kNames[random() % kTenants], now, &limiter) != RAWHAL_OK)
      continue;
    limit_lease_t *lease = nullptr;
    if (shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr) != RAWHAL_OK)
      _exit(1);
    shim_learn(limiter, 1, 64, 1000000 * (200 + random() % 2800));
    std::vector<std::pair<int, uint64_t>> held;
    for (unsigned i = 0, n = 4 + random() % 60; i < n; ++i) {
      if (random() % 2 || held.empty()) {
        int kind = static_cast<int>(random() % SHIM_CLASSES);
        uint64_t bytes = Bytes(random);
        if (shim_reserve(limiter, kind, bytes, nullptr) == RAWHAL_OK)
          held.push_back({kind, bytes});
      } else {
        shim_release(limiter, held.back().first, held.back().second);
        held.pop_back();
      }
      if (random() % 16 == 0)
        shim_reclaim(limiter);
      shim_grant_t grant;
      shim_cost_t cost = {1, 64, 0, 1};
      if (random() % 4 == 0 && shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_OK &&
          random() % 2)
        shim_cancel(lease, &grant);
    }
    shim_lease_destroy(lease);
    rawhal_limiter_close(limiter);
  }
}

pid_t Start(const RegionFile &file, uint64_t *now, unsigned seed)
{
  pid_t child = fork_child();
  if (child == 0)
    Work(file, now, seed);
  return child;
}

// A survivor of each tenant, and what it holds.
struct Keeper {
  rawhal_limiter_t *limiter = nullptr;
  limit_lease_t *lease = nullptr;
  uint64_t held = 0;
};

// How long a survivor waits, with everybody else dead.
uint64_t Wait(const Keeper &keeper, uint64_t *now)
{
  shim_grant_t grant;
  shim_cost_t cost = {2, 64, 0, 1};
  uint64_t before = *now;
  EXPECT_EQ(RAWHAL_OK, shim_admit(keeper.lease, &cost, kForever, &grant, nullptr));
  shim_cancel(keeper.lease, &grant);
  return *now - before;
}

// Returns how many tenants' totals were not the sum of their survivors'.
int Campaign(unsigned seed, int kills, uint64_t *now, uint64_t *longest)
{
  RegionFile file;
  std::mt19937 random(seed);
  Keeper keepers[kTenants];
  for (int i = 0; i < kTenants; ++i) {
    EXPECT_EQ(RAWHAL_OK, Open(file, kNames[i], now, &keepers[i].limiter));
    EXPECT_EQ(RAWHAL_OK, shim_lease(keepers[i].limiter, nullptr, nullptr, RAWHAL_UNLIMITED,
                                    &keepers[i].lease, nullptr));
    shim_learn(keepers[i].limiter, 2, 64, 1000);
  }
  int running = 0;
  for (int dead = 0; dead < kills;) {
    int batch = (dead / kBatch + 1) * kBatch;
    for (; running < kProcesses && dead + running < std::min(batch, kills); ++running)
      EXPECT_LT(0, Start(file, now, static_cast<unsigned>(random())));
    Keeper &keeper = keepers[random() % kTenants];
    uint64_t bytes = Bytes(random);
    if (keeper.held < kLimit / 4 && shim_reserve(keeper.limiter, 0, bytes, nullptr) == RAWHAL_OK)
      keeper.held += bytes;
    else if (keeper.held) {
      shim_release(keeper.limiter, 0, keeper.held);
      keeper.held = 0;
    }
    int status;
    if (wait(&status) < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      ADD_FAILURE() << "a worker ended with " << status;
      break;
    }
    --running;
    ++dead;
    for (int i = 0; i < kTenants && running == 0; ++i)
      *longest = std::max(*longest, Wait(keepers[i], now));
    if (running == 0)
      *now += 1000000000;
  }
  int wrong = 0;
  shim_reclaim(keepers[0].limiter);
  for (int i = 0; i < kTenants; ++i) {
    uint64_t total, sum;
    shim_totals(keepers[i].limiter, &total, &sum);
    EXPECT_EQ(keepers[i].held, sum) << kNames[i] << ", seed " << seed;
    EXPECT_EQ(sum, total) << kNames[i] << ", seed " << seed;
    wrong += total != sum || keepers[i].held != sum;
  }
  EXPECT_EQ(unsigned{kTenants}, shim_live_members(keepers[0].limiter));
  for (Keeper &keeper : keepers) {
    shim_lease_destroy(keeper.lease);
    rawhal_limiter_close(keeper.limiter);
  }
  return wrong;
}

TEST(Campaign, AfterThousandsOfDeathsInThreeTenantsEveryLedgerIsExact)
{
  const int campaigns = by_length(4, 4, 100), kills = by_length(250, 2000, 5000); // an hour of all
  // The limiters' clock: it stands still but for those who wait.
  Shared<uint64_t> clock;
  uint64_t *const now = clock.page;
  *now = 1000000000000;
  int wrong = 0;
  uint64_t longest = 0;
  for (int i = 0; i < campaigns; ++i) {
    wrong += Campaign(static_cast<unsigned>(i) + 1, kills, now, &longest) != 0;
    if (is_lengthened())
      fprintf(stderr, "%d campaigns, %d wrong, %.3f ms\n", i + 1, wrong,
              static_cast<double>(longest) * 1e-6);
  }
  EXPECT_EQ(0, wrong);
  EXPECT_LE(longest, kBound);
  printf("%d campaigns of %d kills, %d with a ledger that was wrong; the longest wait for the dead "
         "was %.3f ms\n",
         campaigns, kills, wrong, static_cast<double>(longest) * 1e-6);
}

} // namespace
