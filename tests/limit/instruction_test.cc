// A process dies, or is stopped, between any two instructions of the code that uses a region. It is run one
// instruction at a time; whenever the region's bytes have changed, a copy of them is what its death would leave:
// nobody holds a lock byte of the copy.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <cstring>

#include "tests/child.h"
#include "tests/extended.h"
#include "tests/limit/region_file.h"
#include "tests/values.h"

namespace {

constexpr uint64_t kLimit = 64ull << 20, kMine = 8ull << 20;
constexpr long kMostSteps = 5000000;

uint64_t Now()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// Joins, uses memory and device time, and leaves.
void Session(const RegionFile &file)
{
  rawhal_limiter_t *limiter =
      file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}, {RAWHAL_LIMIT_GPU_SHARE, 500000}});
  limit_lease_t *lease = nullptr;
  shim_grant_t grant;
  shim_cost_t cost = {1, 64, 256, 1};
  if (!limiter ||
      shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr) != RAWHAL_OK)
    _exit(1);
  for (int i = 0; i < 3; ++i) {
    if (shim_reserve(limiter, i, 40960, nullptr) != RAWHAL_OK)
      _exit(2);
    if (shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_OK)
      shim_complete(lease, &grant, 1000000, 1050000);
  }
  shim_release(limiter, 1, 40960);
  if (shim_reserve(limiter, 0, 2 * kLimit, nullptr) != RAWHAL_QUOTA_EXCEEDED)
    _exit(3);
  if (shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_OK)
    shim_cancel(lease, &grant);
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
  _exit(0);
}

class Region {
public:
  explicit Region(const RegionFile &file) : seen_(shim_region_bytes_before(3))
  {
    int fd = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    bytes_ =
        static_cast<const char *>(mmap(nullptr, shim_region_bytes(), PROT_READ, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~Region() { munmap(const_cast<char *>(bytes_), shim_region_bytes()); }
  bool Changed()
  {
    if (!memcmp(seen_.data(), bytes_, seen_.size()))
      return false;
    memcpy(seen_.data(), bytes_, seen_.size());
    return true;
  }
  // What everybody's sudden death would leave.
  int Copy() const
  {
    int fd = memfd_create("copy", MFD_CLOEXEC);
    std::vector<char> left = seen_;
    shim_bury(left.data());
    EXPECT_EQ(0, ftruncate(fd, static_cast<off_t>(shim_region_bytes())));
    EXPECT_EQ(static_cast<ssize_t>(left.size()), pwrite(fd, left.data(), left.size(), 0));
    return fd;
  }

private:
  std::vector<char> seen_;
  const char *bytes_;
};

// Who comes after the death finds nothing left of the dead but a debt of device time: of all the time that its
// submission may have run, which takes as long as the instructions that are counted here.
void ExpectClean(int fd, uint64_t began)
{
  rawhal_limit_config_t config = {};
  config.has_region_fd = true;
  config.region_fd = fd;
  rawhal_error_t error = {};
  rawhal_limiter_t *limiter = nullptr;
  limit_lease_t *lease = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_MEMORY, kLimit, &error));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 500000, &error));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &limiter, &error)) << error.message;
  uint64_t total, sum;
  shim_totals(limiter, &total, &sum);
  EXPECT_EQ(0u, total);
  EXPECT_EQ(0u, sum);
  EXPECT_EQ(1u, shim_live_members(limiter));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, kLimit, &error)) << error.message;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 0, 1, &error));
  ASSERT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  shim_grant_t grant;
  shim_cost_t cost = {1, 64, 256, 1};
  rawhal_status_t status = shim_admit(lease, &cost, 0, &grant, &error);
  if (status == RAWHAL_WOULD_BLOCK)
    EXPECT_LT(shim_retry_at(lease), Now() + (Now() - began) + 1000000000u);
  else
    EXPECT_EQ(RAWHAL_OK, status) << error.message;
  shim_lease_destroy(lease);
  rawhal_limiter_close(limiter);
}

// Who lives on beside the stopped process is not held up, and gets no more than there is.
void ExpectAlive(rawhal_limiter_t *survivor)
{
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, shim_reserve(survivor, 0, kMine, &error)) << error.message;
  EXPECT_LE(limiter_memory(survivor).used, kLimit);
  EXPECT_GE(limiter_memory(survivor).used, kMine);
  shim_release(survivor, 0, kMine);
}

// Who traces and who is traced take turns. On two processors each wakes the other's first, which takes most of the time.
class OnOneProcessor {
public:
  OnOneProcessor()
  {
    cpu_set_t one;
    CPU_ZERO(&one);
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before_), &before_))
      return;
    CPU_SET(here, &one);
    is_set_ = !sched_setaffinity(0, sizeof(one), &one);
  }
  ~OnOneProcessor()
  {
    if (is_set_)
      sched_setaffinity(0, sizeof(before_), &before_);
  }

private:
  cpu_set_t before_;
  bool is_set_ = false;
};

class Instructions : public testing::TestWithParam<int> {};

TEST_P(Instructions, ADeathBetweenAnyTwoLeavesNothing)
{
  const int turn = GetParam();
  if (is_sanitized)
    GTEST_SKIP() << "a sanitizer's instructions are too many";
  const OnOneProcessor one; // inherited
  RegionFile file;
  rawhal_limiter_t *survivor =
      file.Open({{RAWHAL_LIMIT_MEMORY, kLimit}, {RAWHAL_LIMIT_GPU_SHARE, 500000}});
  pid_t child = fork_child();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))
      _exit(9);
    raise(SIGSTOP);
    Session(file);
  }
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  if (!WIFSTOPPED(status)) {
    rawhal_limiter_close(survivor);
    GTEST_SKIP() << "no right to trace a child";
  }
  Region region(file);
  const uint64_t began = Now();
  long steps = 0, states = 0;
  for (; steps < kMostSteps && !HasFailure(); ++steps) {
    ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr));
    ASSERT_EQ(child, waitpid(child, &status, 0));
    if (!WIFSTOPPED(status))
      break;
    if (!region.Changed())
      continue;
    ++states;
    int copy = region.Copy();
    ExpectClean(copy, began);
    close(copy);
    // At every third state, not always: its change of the total is then the last, not the child's.
    if (states % 3 != turn)
      continue;
    ExpectAlive(survivor);
    (void)region.Changed();
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "status " << status << " after " << steps << " steps";
  EXPECT_GT(states, 100);
  printf("%ld instructions, %ld states of the region\n", steps, states);
  if (WIFSTOPPED(status)) {
    end_child(child);
  }
  uint64_t total, sum;
  shim_totals(survivor, &total, &sum);
  EXPECT_EQ(0u, total);
  EXPECT_EQ(0u, sum);
  rawhal_limiter_close(survivor);
}

INSTANTIATE_TEST_SUITE_P(Turns, Instructions, testing::Range(0, 3),
                         testing::PrintToStringParamName());

} // namespace
