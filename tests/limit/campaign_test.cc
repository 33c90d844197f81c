// Campaigns: three tenants of several processes each, which reserve, release, join, leave and clear up after each
// other, and are killed at every step of it, thousands of times. What the survivors then hold is exactly what
// their tenants are said to hold.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <random>

#include "tests/limit/region_file.h"

namespace {

constexpr int kTenants = 3, kProcesses = 6;
constexpr uint64_t kLimit = 8ull << 20;
const char *const kNames[kTenants] = {"red", "green", "blue"};

int steps_left;
void DieAtStep(int) {
  if (--steps_left == 0) kill(getpid(), SIGKILL);
}

uint64_t Bytes(std::mt19937 &random) { return 4096 * (1 + random() % 300); }

// Works in one tenant after the other until it is killed at some step.
[[noreturn]] void Work(const RegionFile &file, unsigned seed) {
  std::mt19937 random(seed);
  steps_left = 1 + static_cast<int>(random() % 600);
  shim_on_step(DieAtStep);
  for (;;) {
    rawhal_limit_config_t config =
        file.Config({{RAWHAL_LIMIT_MEMORY, kLimit}}, kNames[random() % kTenants]);
    rawhal_limiter_t *limiter = nullptr;
    if (rawhal_limiter_open(&config, "device", &limiter, nullptr) != RAWHAL_OK) continue;
    std::vector<std::pair<int, uint64_t>> held;
    for (unsigned i = 0, n = 4 + random() % 60; i < n; ++i) {
      if (random() % 2 || held.empty()) {
        int kind = static_cast<int>(random() % SHIM_CLASSES);
        uint64_t bytes = Bytes(random);
        if (shim_reserve(limiter, kind, bytes, nullptr) == RAWHAL_OK) held.push_back({kind, bytes});
      } else {
        shim_release(limiter, held.back().first, held.back().second);
        held.pop_back();
      }
      if (random() % 16 == 0) shim_reclaim(limiter);
    }
    rawhal_limiter_close(limiter);
  }
}

pid_t Start(const RegionFile &file, unsigned seed) {
  pid_t child = fork();
  if (child == 0) Work(file, seed);
  return child;
}

// Returns how many tenants' totals were not the sum of their survivors'.
int Campaign(unsigned seed, int kills) {
  RegionFile file;
  std::mt19937 random(seed);
  rawhal_limiter_t *keepers[kTenants];
  uint64_t kept[kTenants];
  for (int i = 0; i < kTenants; ++i) {
    keepers[i] = file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}}, kNames[i]);
    kept[i] = 0;
  }
  int running = 0;
  for (int dead = 0; dead < kills;) {
    for (; running < kProcesses && dead + running < kills; ++running)
      EXPECT_LT(0, Start(file, static_cast<unsigned>(random())));
    int which = static_cast<int>(random() % kTenants);
    uint64_t bytes = Bytes(random);
    if (kept[which] < kLimit / 4 && shim_reserve(keepers[which], 0, bytes, nullptr) == RAWHAL_OK)
      kept[which] += bytes;
    else if (kept[which]) {
      shim_release(keepers[which], 0, kept[which]);
      kept[which] = 0;
    }
    int status;
    if (wait(&status) < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      ADD_FAILURE() << "a worker ended with " << status;
      break;
    }
    --running;
    ++dead;
  }
  int wrong = 0;
  shim_reclaim(keepers[0]);
  for (int i = 0; i < kTenants; ++i) {
    uint64_t total, sum;
    shim_totals(keepers[i], &total, &sum);
    EXPECT_EQ(kept[i], sum) << kNames[i] << ", seed " << seed;
    EXPECT_EQ(sum, total) << kNames[i] << ", seed " << seed;
    wrong += total != sum || kept[i] != sum;
  }
  EXPECT_EQ(unsigned{kTenants}, shim_live_members(keepers[0]));
  for (rawhal_limiter_t *keeper : keepers) rawhal_limiter_close(keeper);
  return wrong;
}

TEST(Campaign, AfterThousandsOfDeathsInThreeTenantsEveryLedgerIsExact) {
  const bool extended = getenv("RAWHAL_TEST_EXTENDED") != nullptr;
  const int campaigns = extended ? 100 : 4, kills = extended ? 5000 : 250;
  int wrong = 0;
  for (int i = 0; i < campaigns; ++i) wrong += Campaign(static_cast<unsigned>(i) + 1, kills) != 0;
  EXPECT_EQ(0, wrong);
  printf("%d campaigns of %d kills, %d with a ledger that was wrong\n", campaigns, kills, wrong);
}

}  // namespace
