// Processes die and are stopped at every point of the code that changes a region; the others go on, and what
// the dead held comes back exactly.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "tests/child.h"
#include "tests/extended.h"
#include "tests/limit/region_file.h"

namespace {

constexpr uint64_t kLimit = 64ull << 20;

double Now()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// What a process does all day: memory and device time, for ever.
[[noreturn]] void Work(const RegionFile &file, unsigned seed)
{
  std::mt19937 random(seed);
  for (;;) {
    rawhal_limit_config_t config =
        file.Config({{RAWHAL_LIMIT_MEMORY, kLimit}, {RAWHAL_LIMIT_GPU_SHARE, 500000}});
    rawhal_limiter_t *limiter = nullptr;
    rawhal_error_t error;
    if (rawhal_limiter_open(&config, "device", &limiter, &error) != RAWHAL_OK)
      continue;
    limit_lease_t *lease = nullptr;
    if (shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr) != RAWHAL_OK)
      _exit(1);
    std::vector<uint64_t> held;
    for (unsigned i = 0, n = 20 + random() % 200; i < n; ++i) {
      uint64_t bytes = 4096 * (1 + random() % 1000);
      shim_grant_t grant;
      shim_cost_t cost = {1 + random() % 3, 64, 256, 1};
      if (held.size() < 8 && shim_reserve(limiter, 0, bytes, nullptr) == RAWHAL_OK)
        held.push_back(bytes);
      if (random() % 2 && !held.empty()) {
        shim_release(limiter, 0, held.back());
        held.pop_back();
      }
      if (shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_OK && random() % 4) {
        uint64_t end = static_cast<uint64_t>(Now() * 1e9);
        shim_complete(lease, &grant, end - 20000, end);
      }
    }
    shim_lease_destroy(lease);
    rawhal_limiter_close(limiter);
  }
}

int steps_left;
int step_action;
void CountDown(int)
{
  if (--steps_left == 0)
    raise(step_action);
}

// What a survivor does between deaths; returns the longest it had to wait for anything.
double Live(rawhal_limiter_t *limiter, limit_lease_t *lease, std::mt19937 &random)
{
  double longest = 0;
  for (int i = 0; i < 5; ++i) {
    double began = Now();
    uint64_t bytes = 4096 * (1 + random() % 1000);
    if (shim_reserve(limiter, 1, bytes, nullptr) == RAWHAL_OK)
      shim_release(limiter, 1, bytes);
    shim_grant_t grant;
    shim_cost_t cost = {9, 64, 256, 1};
    if (shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_OK) {
      uint64_t end = static_cast<uint64_t>(Now() * 1e9);
      shim_complete(lease, &grant, end - 1000, end);
    }
    longest = std::max(longest, Now() - began);
  }
  return longest;
}

struct Survivor {
  explicit Survivor(const RegionFile &file) : random(4711)
  {
    limiter = file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}, {RAWHAL_LIMIT_GPU_SHARE, 500000}});
    EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr));
  }
  ~Survivor()
  {
    shim_lease_destroy(lease);
    rawhal_limiter_close(limiter);
  }
  // Nobody else is alive: the ledger is ours.
  void ExpectAlone()
  {
    shim_reclaim(limiter);
    uint64_t total, sum;
    shim_totals(limiter, &total, &sum);
    ASSERT_EQ(sum, total);
    ASSERT_EQ(0u, total);
    ASSERT_EQ(1u, shim_live_members(limiter));
  }
  // All of the limit is there to be had again.
  void ExpectWhole()
  {
    EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, kLimit, nullptr));
    shim_release(limiter, 0, kLimit);
  }
  rawhal_limiter_t *limiter = nullptr;
  limit_lease_t *lease = nullptr;
  std::mt19937 random;
};

void WaitFor(pid_t child)
{
  int status;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
}

TEST(Crash, AtRandomMoments)
{
  const int rounds = by_length(400, 2000, 10000);
  RegionFile file;
  Survivor survivor(file);
  double longest = 0;
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    pid_t children[2];
    for (pid_t &child : children) {
      child = fork_child();
      if (child == 0)
        Work(file, static_cast<unsigned>(round * 2 + (&child - children)));
    }
    timespec pause = {0, static_cast<long>(survivor.random() % 4000000)};
    nanosleep(&pause, nullptr);
    bool stop = round % 8 == 0;
    if (stop)
      signal_child(children[0], SIGSTOP);
    signal_child(children[1], SIGKILL);
    longest = std::max(longest, Live(survivor.limiter, survivor.lease, survivor.random));
    uint64_t total, sum;
    shim_totals(survivor.limiter, &total, &sum);
    ASSERT_LE(total, kLimit);
    signal_child(children[0], SIGKILL);
    for (pid_t child : children)
      WaitFor(child);
    survivor.ExpectAlone();
  }
  survivor.ExpectWhole();
  printf("%d rounds, 2 deaths each; the survivor waited at most %.3f ms\n", rounds, longest * 1e3);
}

// Every step of a reservation, a release and a departure, by number.
TEST(Crash, AtEveryStepOfAChange)
{
  const int repetitions = by_length(1, 5, 30);
  RegionFile file;
  Survivor survivor(file);
  double longest = 0;
  int deaths = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (int step = 1; step <= 60 && !HasFatalFailure(); ++step)
      for (int signal : {SIGKILL, SIGSTOP}) {
        pid_t child = fork_child();
        if (child == 0) {
          rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}});
          steps_left = step;
          step_action = signal;
          shim_on_step(CountDown);
          for (int i = 0; i < 4; ++i) {
            shim_reserve(limiter, i % 3, 40960, nullptr);
            if (i % 2)
              shim_release(limiter, i % 3, 40960);
          }
          shim_reserve(limiter, 1, 2 * kLimit, nullptr); // refused
          rawhal_limiter_close(limiter);
          raise(SIGKILL);
        }
        int status;
        waitpid(child, &status, WUNTRACED);
        longest = std::max(longest, Live(survivor.limiter, survivor.lease, survivor.random));
        if (WIFSTOPPED(status)) {
          signal_child(child, SIGKILL);
          waitpid(child, &status, 0);
        }
        ASSERT_TRUE(WIFSIGNALED(status));
        ++deaths;
        survivor.ExpectAlone();
      }
  survivor.ExpectWhole();
  printf("%d deaths; the survivor waited at most %.3f ms\n", deaths, longest * 1e3);
}

// Whoever clears up after the dead may die of it, too.
TEST(Crash, WhileReclaiming)
{
  RegionFile file;
  Survivor survivor(file);
  for (int first = 1; first <= 8; ++first)
    for (int second = 1; second <= 8 && !HasFatalFailure(); ++second) {
      pid_t child = fork_child();
      if (child == 0) {
        rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}});
        shim_reserve(limiter, 0, 81920, nullptr);
        steps_left = first;
        step_action = SIGKILL;
        shim_on_step(CountDown);
        shim_reserve(limiter, 1, 40960, nullptr);
        shim_release(limiter, 0, 40960);
        raise(SIGKILL);
      }
      WaitFor(child);
      pid_t undertaker = fork_child();
      if (undertaker == 0) {
        steps_left = second;
        step_action = SIGKILL;
        shim_on_step(CountDown);
        (void)file.Open(); // reclaims before it joins
        raise(SIGKILL);
      }
      WaitFor(undertaker);
      Live(survivor.limiter, survivor.lease, survivor.random);
      survivor.ExpectAlone();
    }
  survivor.ExpectWhole();
}

// Random bytes in place of others: refused or survived, but never a crash or a hang.
TEST(Crash, AnyBytesAreRefusedOrSurvived)
{
  const int rounds = by_length(100, 400, 2000);
  std::mt19937 random(99);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    RegionFile file;
    unsigned seed = static_cast<unsigned>(random());
    pid_t child = fork_child();
    if (child == 0) {
      alarm(60);
      std::mt19937 mine(seed);
      rawhal_limiter_t *limiter =
          file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}, {RAWHAL_LIMIT_GPU_SHARE, 500000}});
      rawhal_limiter_t *peer = file.Open();
      limit_lease_t *lease = nullptr;
      shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr);
      int fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
      unsigned char *bytes = static_cast<unsigned char *>(
          mmap(nullptr, shim_region_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
      // Either all over, or where the tables that are in use lie.
      size_t span = round % 2 ? shim_region_bytes() : 64 << 10;
      for (int i = 0; i < 200; ++i) {
        for (unsigned n = 1 + mine() % 400; n > 0; --n)
          bytes[mine() % span] = round % 3 ? static_cast<unsigned char>(mine()) : 0xff;
        Live(limiter, lease, mine);
        if (i % 20 == 0)
          shim_reclaim(peer);
      }
      rawhal_error_t error = {};
      rawhal_limit_config_t config = file.Config();
      rawhal_limiter_t *late = nullptr;
      bool again = rawhal_limiter_open(&config, "device", &late, &error) == RAWHAL_OK;
      rawhal_limiter_close(late);
      shim_lease_destroy(lease);
      rawhal_limiter_close(peer);
      rawhal_limiter_close(limiter);
      _exit(again ? 0 : 3);
    }
    int status;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    ASSERT_TRUE(WIFEXITED(status))
        << "round " << round << ", seed " << seed << ": status " << status;
    refused += WEXITSTATUS(status) == 3;
  }
  printf("%d rounds, in %d of them the file was refused afterwards\n", rounds, refused);
}

} // namespace
