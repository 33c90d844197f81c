// The dead: they hold nobody back, and nothing is kept for them, whoever still has their open files.
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/cancelled.h"
#include "tests/child.h"
#include "tests/limit/region_file.h"
#include "tests/limit/shared.h"
#include "tests/values.h"

namespace {

constexpr uint64_t kForever = UINT64_MAX, kBound = 50000000, kMi = 1 << 20;

struct Board {
  uint64_t now;
  std::atomic<int> ready;
  std::atomic<pid_t> child;
};

rawhal_limiter_t *OpenShared(const rawhal_limit_config_t &config, uint64_t *now,
                             bool die_waiting = false)
{
  rawhal_limiter_t *limiter = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, shim_open_shared(&config, now, die_waiting, &limiter, &error))
      << error.message;
  return limiter;
}

limit_lease_t *Lease(rawhal_limiter_t *limiter)
{
  limit_lease_t *lease = nullptr;
  EXPECT_EQ(RAWHAL_OK, shim_lease(limiter, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, nullptr));
  return lease;
}

void ExpectKilled(pid_t child)
{
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

// By the limiter's own clock, which nothing but waiting moves on.
TEST(Dead, APeerWithWorkInFlightHoldsNobodyBack)
{
  for (uint64_t estimate : {100000000ull, 1000000000ull, 3000000000ull})
    for (bool blocking : {true, false}) {
      RegionFile file;
      Shared<Board> board;
      board->now = 1000000000000;
      rawhal_limit_config_t config = file.Config({{RAWHAL_LIMIT_GPU_SHARE, 500000}});
      rawhal_limiter_t *survivor = OpenShared(config, &board->now);
      limit_lease_t *lease = Lease(survivor);
      shim_learn(survivor, 2, 64, 1000);
      (void)limiter_memory(survivor); // has just looked: the next look is as late as it may be
      pid_t child = fork_child();
      if (child == 0) {
        rawhal_limiter_t *mine = OpenShared(config, &board->now);
        shim_learn(mine, 1, 64, estimate);
        shim_grant_t grant;
        shim_cost_t cost = {1, 64, 0, 1};
        if (shim_admit(Lease(mine), &cost, 0, &grant, nullptr) != RAWHAL_OK)
          _exit(1);
        raise(SIGKILL);
      }
      ExpectKilled(child);
      shim_grant_t grant;
      shim_cost_t cost = {2, 64, 0, 1};
      uint64_t before = board->now;
      if (blocking) {
        EXPECT_EQ(RAWHAL_OK, shim_admit(lease, &cost, kForever, &grant, nullptr));
      } else {
        int tries = 0;
        for (; tries < 10 && shim_admit(lease, &cost, 0, &grant, nullptr) == RAWHAL_WOULD_BLOCK;
             ++tries)
          board->now = std::max(board->now + 5000000, shim_retry_at(lease));
        EXPECT_LT(tries, 10);
      }
      EXPECT_LE(board->now - before, kBound) << "estimate " << estimate;
      printf("estimate %4.1f s, %s: held back for %.1f ms\n", static_cast<double>(estimate) * 1e-9,
             blocking ? "waiting" : "asking again",
             static_cast<double>(board->now - before) * 1e-6);
      shim_complete(lease, &grant, board->now, board->now + 1000);
      shim_lease_destroy(lease);
      rawhal_limiter_close(survivor);
    }
}

// It had said that it would go in half a second; the way is free at once.
TEST(Dead, AWaiterIsNotWaitedFor)
{
  RegionFile file;
  Shared<Board> board;
  board->now = 1000000000000;
  rawhal_limit_config_t config =
      file.Config({{RAWHAL_LIMIT_GPU_SHARE, 500000}, {RAWHAL_LIMIT_BURST, 2000000000}});
  rawhal_limiter_t *survivor = OpenShared(config, &board->now);
  limit_lease_t *lease = Lease(survivor);
  shim_learn(survivor, 1, 64, 650000000);
  shim_learn(survivor, 3, 64, 1200000000);
  shim_grant_t grant;
  shim_cost_t cost = {1, 64, 0, 1}, paid = {3, 64, 0, 1};
  ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &paid, 0, &grant, nullptr));
  shim_complete(lease, &grant, board->now - 1200000000, board->now);
  ASSERT_EQ(RAWHAL_OK, shim_admit(lease, &cost, 0, &grant, nullptr));
  (void)limiter_memory(survivor);
  pid_t child = fork_child();
  if (child == 0) { // is held back by that, says so, and dies
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_PRIORITY,
                                                 RAWHAL_PRIORITY_HIGH, nullptr));
    rawhal_limiter_t *mine = OpenShared(config, &board->now, true);
    shim_learn(mine, 2, 64, 1000);
    shim_cost_t little = {2, 64, 0, 1};
    shim_admit(Lease(mine), &little, kForever, &grant, nullptr);
    _exit(1);
  }
  ExpectKilled(child);
  shim_cancel(lease, &grant);
  uint64_t before = board->now;
  EXPECT_EQ(RAWHAL_OK, shim_admit(lease, &cost, kForever, &grant, nullptr));
  EXPECT_LE(board->now - before, kBound);
  printf("held back for %.1f ms\n", static_cast<double>(board->now - before) * 1e-6);
  shim_cancel(lease, &grant);
  shim_lease_destroy(lease);
  rawhal_limiter_close(survivor);
}

uint64_t SeenUsed(const RegionFile &file, unsigned *processes)
{
  rawhal_limit_view_t *view = nullptr;
  rawhal_limit_row_t rows[16];
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, nullptr));
  size_t count = rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 16);
  rawhal_limit_view_close(view);
  uint64_t used = 0;
  *processes = 0;
  for (size_t i = 0; i < count && i < 16; ++i) {
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_PROCESS)
      ++*processes;
    if (rows[i].level != RAWHAL_LIMIT_LEVEL_TENANT)
      continue;
    used += rows[i].memory_used;
  }
  return used;
}

TEST(Dead, MemoryIsGoneAtTheNextLookOfAnybody)
{
  RegionFile file;
  Shared<Board> board;
  board->now = 1000000000000;
  rawhal_limit_config_t config = file.Config({{RAWHAL_LIMIT_MEMORY, 4 * kMi}});
  rawhal_limiter_t *survivor = OpenShared(config, &board->now);
  for (int look = 0; look < 3; ++look) {
    pid_t child = fork_child();
    if (child == 0) {
      rawhal_limiter_t *mine = OpenShared(config, &board->now);
      if (shim_reserve(mine, 0, 3 * kMi, nullptr) != RAWHAL_OK)
        _exit(1);
      raise(SIGKILL);
    }
    ExpectKilled(child);
    unsigned processes;
    if (look == 0) { // who may only read
      EXPECT_EQ(0u, SeenUsed(file, &processes));
      EXPECT_EQ(1u, processes);
    } else if (look == 1) { // who asks how much there is
      uint64_t before = board->now;
      while (limiter_memory(survivor).used && board->now < before + 1000000000)
        board->now += 1000000;
      EXPECT_LE(board->now - before, kBound);
    }
    EXPECT_EQ(RAWHAL_OK, shim_reserve(survivor, 0, 3 * kMi, nullptr)); // who needs it
    shim_release(survivor, 0, 3 * kMi);
    EXPECT_EQ(1u, shim_live_members(survivor));
  }
  rawhal_limiter_close(survivor);
}

// Starts a process that has a limiter and 1 MiB, and then does what it is told.
pid_t Holder(const RegionFile &file, Board *board, const std::function<void()> &then)
{
  board->ready = 0;
  pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *mine = file.Open();
    if (shim_reserve(mine, 0, kMi, nullptr) != RAWHAL_OK)
      _exit(1);
    then();
    for (;;)
      pause();
  }
  return child;
}

TEST(Dead, AChildOfARawCloneDoesNotKeepItsParentsMemory)
{
  RegionFile file;
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t holder = Holder(file, board.page, [&] {
    pid_t child =
        static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0)
      for (;;)
        pause();
    board->child = child;
    board->ready = 1;
  });
  ASSERT_TRUE(Until([&] { return board->ready == 1; }));
  unsigned processes;
  EXPECT_FALSE(shim_reclaim(watcher)); // it lives
  EXPECT_EQ(kMi, SeenUsed(file, &processes));
  signal_child(holder, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(0,
            waitid(P_PID, static_cast<id_t>(holder), &info, WEXITED | WNOWAIT)); // and is a zombie
  EXPECT_EQ(0u, SeenUsed(file, &processes));
  EXPECT_EQ(1u, processes);
  bool reclaimed = false; // with locks held, and to the end
  EXPECT_TRUE(goes_on_though_cancelled([&] { reclaimed = shim_reclaim(watcher); }));
  EXPECT_TRUE(reclaimed);
  EXPECT_EQ(0u, limiter_memory(watcher).used);
  EXPECT_TRUE(signal_child(board->child, 0));
  waitpid(holder, nullptr, 0);
  // Its slot is not given away while the lock stands; others are.
  rawhal_limiter_t *next = file.Open();
  EXPECT_EQ(2u, shim_live_members(watcher));
  rawhal_limiter_close(next);
  signal_child(board->child, SIGKILL);
  rawhal_limiter_close(watcher);
}

// As daemons do, of files that they know nothing of: with the lock its memory would be free for others.
TEST(Dead, WhoHasClosedItsFilesIsAlive)
{
  RegionFile file;
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t holder = Holder(file, board.page, [&] {
    for (int fd = 3; fd < 256; ++fd)
      close(fd);
    board->ready = 1;
  });
  ASSERT_TRUE(Until([&] { return board->ready == 1; }));
  EXPECT_FALSE(shim_reclaim(watcher));
  EXPECT_EQ(kMi, limiter_memory(watcher).used);
  end_child(holder);
  EXPECT_TRUE(shim_reclaim(watcher));
  EXPECT_EQ(0u, limiter_memory(watcher).used);
  rawhal_limiter_close(watcher);
}

TEST(Dead, WhoeverWasExecutedInstead)
{
  RegionFile file;
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t holder = Holder(file, board.page, [&] {
    char name[] = "/bin/sleep", time[] = "1000";
    char *arguments[] = {name, time, nullptr};
    board->ready = 1;
    execv(name, arguments);
    _exit(1);
  });
  ASSERT_TRUE(Until([&] { return board->ready == 1 && shim_reclaim(watcher); }));
  EXPECT_EQ(0u, limiter_memory(watcher).used);
  EXPECT_TRUE(signal_child(holder, 0)); // the process lives, its limiter does not
  end_child(holder);
  rawhal_limiter_close(watcher);
}

TEST(Dead, AProgramThatWasSpawnedKeepsNothing)
{
  RegionFile file;
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t holder = Holder(file, board.page, [&] {
    char name[] = "/bin/sleep", time[] = "1000";
    char *arguments[] = {name, time, nullptr}, *environment[] = {nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, name, nullptr, nullptr, arguments, environment))
      _exit(1);
    board->child = child;
    board->ready = 1;
  });
  ASSERT_TRUE(Until([&] { return board->ready == 1; }));
  EXPECT_FALSE(shim_reclaim(watcher));
  end_child(holder);
  EXPECT_TRUE(shim_reclaim(watcher));
  EXPECT_EQ(0u, limiter_memory(watcher).used);
  EXPECT_TRUE(signal_child(board->child, 0));
  signal_child(board->child, SIGKILL);
  rawhal_limiter_close(watcher);
}

// The first thread is a zombie then, and the process is not dead.
TEST(Dead, AProcessWhoseFirstThreadHasEndedIsAlive)
{
  RegionFile file;
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t holder = Holder(file, board.page, [&] {
    std::thread([&] {
      board->ready = 1;
      for (;;)
        pause();
    }).detach();
    syscall(SYS_exit, 0);
  });
  std::string path = "/proc/" + std::to_string(holder) + "/stat";
  ASSERT_TRUE(Until([&] {
    char text[256] = {};
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    return size > 0 && board->ready == 1 && strstr(text, ") Z ");
  }));
  unsigned processes;
  EXPECT_FALSE(shim_reclaim(watcher));
  EXPECT_EQ(kMi, SeenUsed(file, &processes));
  EXPECT_EQ(2u, processes);
  end_child(holder);
  EXPECT_TRUE(shim_reclaim(watcher));
  rawhal_limiter_close(watcher);
}

// Whoever was stopped with the structure lock stops newcomers, and changes of shared limits, and nothing else.
TEST(Dead, AStoppedHolderOfTheStructureLockStopsOnlyNewcomers)
{
  RegionFile file;
  Shared<Board> board;
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_MEMORY, 8 * kMi},
                                     {RAWHAL_LIMIT_GPU_SHARE, 500000}};
  rawhal_limiter_t *stays = file.Open(limits), *goes = file.Open(limits);
  limit_lease_t *lease = Lease(stays);
  pid_t dies = Holder(file, board.page, [&] { board->ready = 1; });
  ASSERT_TRUE(Until([&] { return board->ready == 1; }));
  pid_t stopped = fork_child();
  if (stopped == 0) {
    int fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = static_cast<off_t>(1) << 40;
    lock.l_len = 1;
    if (fcntl(fd, F_OFD_SETLK, &lock))
      _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(stopped, waitpid(stopped, &status, WUNTRACED));
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  EXPECT_EQ(RAWHAL_OK, shim_reserve(goes, 0, kMi, nullptr));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(stays, 0, kMi, nullptr));
  EXPECT_EQ(3 * kMi, limiter_memory(stays).used);
  rawhal_limiter_close(goes); // gives back at once
  EXPECT_EQ(2 * kMi, limiter_memory(stays).used);
  end_child(dies);
  EXPECT_TRUE(shim_reclaim(stays)); // the dead are cleared up all the same
  EXPECT_EQ(kMi, limiter_memory(stays).used);
  shim_grant_t grant;
  shim_cost_t cost = {1, 64, 0, 1};
  EXPECT_EQ(RAWHAL_OK, shim_admit(lease, &cost, kForever, &grant, nullptr));
  shim_complete(lease, &grant, 1, 1001);
  unsigned processes;
  EXPECT_EQ(kMi, SeenUsed(file, &processes));
  EXPECT_EQ(1u, processes);
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(stays, RAWHAL_LIMIT_WEIGHT, 7, &error)) << error.message;
  EXPECT_EQ(RAWHAL_TIMED_OUT, rawhal_limiter_set(stays, RAWHAL_LIMIT_GPU_SHARE, 400000, &error));
  EXPECT_EQ(500000u, rawhal_limiter_get(stays, RAWHAL_LIMIT_GPU_SHARE));
  rawhal_limiter_t *late = nullptr;
  rawhal_limit_config_t config = file.Config();
  EXPECT_EQ(RAWHAL_TIMED_OUT, rawhal_limiter_open(&config, "device", &late, &error));
  EXPECT_EQ(nullptr, late);
  end_child(stopped);
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &late, &error)) << error.message;
  rawhal_limiter_close(late);
  shim_lease_destroy(lease);
  rawhal_limiter_close(stays);
}

} // namespace
