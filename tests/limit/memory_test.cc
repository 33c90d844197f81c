// Memory quota: exact, shared, and the same for everybody who races for it.
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/child.h"
#include "tests/extended.h"
#include "tests/limit/region_file.h"
#include "tests/limit/shared.h"
#include "tests/values.h"

namespace {

constexpr uint64_t kMi = 1ull << 20, kGi = 1ull << 30;

void ExpectTotal(const rawhal_limiter_t *limiter, uint64_t expected)
{
  uint64_t total, sum;
  shim_totals(limiter, &total, &sum);
  EXPECT_EQ(expected, total);
  EXPECT_EQ(total, sum);
}

TEST(Memory, IsReservedUpToTheLimitAndGivenBackExactly)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, 1 * kMi}});
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 1, &error)); // takes 4096
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 1, kMi - 8192, &error));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 2, 4096, &error));
  ExpectTotal(limiter, kMi);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 3, 5000, &error));
  EXPECT_STREQ(
      "5000 bytes of device memory asked for (scratch); 1048576 of the tenant's 1048576 are in use",
      error.message);
  EXPECT_EQ(kMi, limiter_memory(limiter).total);
  EXPECT_EQ(kMi, limiter_memory(limiter).used);
  shim_release(limiter, 0, 1);
  ExpectTotal(limiter, kMi - 4096);
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 3, 4096, &error));
  shim_release(limiter, 1, kMi - 8192);
  shim_release(limiter, 2, 4096);
  shim_release(limiter, 3, 4096);
  ExpectTotal(limiter, 0);
  shim_release(limiter, 0, kGi); // more than there is: nothing goes below zero
  ExpectTotal(limiter, 0);
  rawhal_limiter_close(limiter);
}

TEST(Memory, ZeroIsZeroAndUnlimitedIsNone)
{
  RegionFile none, all;
  rawhal_limiter_t *zero = none.Open({{RAWHAL_LIMIT_MEMORY, 0}});
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(zero, 0, 1, nullptr));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(zero, 0, 0, nullptr));
  EXPECT_EQ(0u, limiter_memory(zero).total);
  rawhal_limiter_close(zero);
  rawhal_limiter_t *unlimited = all.Open();
  EXPECT_EQ(RAWHAL_OK, shim_reserve(unlimited, 0, 1ull << 47, nullptr));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(unlimited, 0, UINT64_MAX, nullptr));
  EXPECT_EQ(RAWHAL_UNLIMITED, limiter_memory(unlimited).total);
  EXPECT_EQ(1ull << 47, limiter_memory(unlimited).used);
  rawhal_limiter_close(unlimited);
}

TEST(Memory, OfATenantIsSharedAndOfAProcessIsNot)
{
  RegionFile file;
  rawhal_limiter_t *a =
      file.Open({{RAWHAL_LIMIT_MEMORY, 10 * kMi}, {RAWHAL_LIMIT_PROCESS_MEMORY, 6 * kMi}});
  rawhal_limiter_t *b = file.Open();
  rawhal_limiter_t *other = file.Open({}, "other");
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(a, 0, 7 * kMi, &error));
  EXPECT_STREQ(
      "7340032 bytes of device memory asked for (buffers); 0 of the process's 6291456 are in use",
      error.message);
  EXPECT_EQ(RAWHAL_OK, shim_reserve(a, 0, 6 * kMi, &error));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(b, 0, 5 * kMi, &error));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(b, 0, 4 * kMi, &error));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(other, 0, 50 * kMi, &error));
  ExpectTotal(a, 10 * kMi);
  ExpectTotal(other, 50 * kMi);
  EXPECT_EQ(6 * kMi, limiter_memory(a).total);
  EXPECT_EQ(6 * kMi, limiter_memory(a).used);
  rawhal_limiter_close(a); // gives everything back
  ExpectTotal(b, 4 * kMi);
  rawhal_limiter_close(b);
  rawhal_limiter_close(other);
}

// What others have counts against the tenant's limit only; whichever limit leaves less is what is left.
TEST(Memory, WhatIsLeftIsWhatTheStricterLimitLeaves)
{
  RegionFile file;
  rawhal_limiter_t *a =
      file.Open({{RAWHAL_LIMIT_MEMORY, 16 * kMi}, {RAWHAL_LIMIT_PROCESS_MEMORY, 6 * kMi}});
  rawhal_limiter_t *b = file.Open();
  auto expect_left = [&](uint64_t left) {
    EXPECT_EQ(6 * kMi, limiter_memory(a).total);
    EXPECT_EQ(6 * kMi - left, limiter_memory(a).used);
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(a, 0, left + 1, nullptr));
    EXPECT_EQ(RAWHAL_OK, shim_reserve(a, 0, left, nullptr));
    shim_release(a, 0, left);
  };
  expect_left(6 * kMi);
  ASSERT_EQ(RAWHAL_OK, shim_reserve(b, 0, 9 * kMi, nullptr));
  expect_left(6 * kMi);
  ASSERT_EQ(RAWHAL_OK, shim_reserve(a, 0, 2 * kMi, nullptr));
  expect_left(4 * kMi);
  ASSERT_EQ(RAWHAL_OK, shim_reserve(b, 0, 3 * kMi, nullptr));
  expect_left(2 * kMi);
  EXPECT_EQ(16 * kMi, limiter_memory(b).total);
  EXPECT_EQ(14 * kMi, limiter_memory(b).used);
  rawhal_limiter_close(a);
  rawhal_limiter_close(b);
}

TEST(Memory, ALimitThatIsLoweredHoldsAtTheNextReservation)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, 8 * kMi}});
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 6 * kMi, nullptr));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_MEMORY, 4 * kMi, nullptr));
  EXPECT_EQ(4 * kMi, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 0, 1, nullptr));
  shim_release(limiter, 0, 3 * kMi);
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, kMi, nullptr));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 0, 1, nullptr));
  rawhal_limiter_close(limiter);
}

// Random changes of several members by several threads against a model; the sum is exact at the end.
TEST(Memory, ThreadsOfSeveralMembersAddUp)
{
  RegionFile file;
  std::vector<rawhal_limiter_t *> limiters;
  for (int i = 0; i < 3; ++i)
    limiters.push_back(file.Open({{RAWHAL_LIMIT_MEMORY, 3 * kMi}}));
  std::vector<std::thread> threads;
  std::atomic<uint64_t> held{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<int, uint64_t>> mine;
      rawhal_limiter_t *limiter = limiters[static_cast<size_t>(t) % limiters.size()];
      for (int i = 0; i < 20000; ++i) {
        if (random() % 2 || mine.empty()) {
          uint64_t bytes = 4096 * (1 + random() % 64);
          int kind = static_cast<int>(random() % SHIM_CLASSES);
          if (shim_reserve(limiter, kind, bytes, nullptr) != RAWHAL_OK)
            continue;
          EXPECT_LE(held.fetch_add(bytes) + bytes, 3 * kMi);
          mine.push_back({kind, bytes});
        } else {
          auto [kind, bytes] = mine.back();
          mine.pop_back();
          held -= bytes;
          shim_release(limiter, kind, bytes);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  ExpectTotal(limiters[0], held);
  for (rawhal_limiter_t *limiter : limiters)
    rawhal_limiter_close(limiter);
}

// Two processes ask for 1.5 GiB each of 2 GiB at the same moment: one of them gets it, every time.
TEST(Memory, OfTwoThatRaceExactlyOneIsAdmitted)
{
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "its exchange of 16 bytes is a lock of the process's: not atomic between two of them";
#endif
  const int rounds = by_length(20000, 40000, 100000);
  RegionFile file;
  struct Board {
    std::atomic<int> go, ready[2], got[2];
  };
  // Sleeps until a word has the value; who changes one says so. Spinning would take as long as others like it.
  auto await = [](std::atomic<int> &word, auto condition) {
    for (int seen = word; !condition(seen); seen = word)
      syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  };
  auto post = [](std::atomic<int> &word, int value) {
    word = value;
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  };
  Shared<Board> board;
  pid_t children[2];
  for (int me = 0; me < 2; ++me) {
    children[me] = fork_child();
    if (children[me])
      continue;
    rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, 2 * kGi}});
    for (int round = 1; round <= rounds; ++round) {
      post(board->ready[me], round);
      await(board->go, [&](int go) { return go >= round; });
      bool got = shim_reserve(limiter, 0, 3 * kGi / 2, nullptr) == RAWHAL_OK;
      post(board->got[me], round * 2 + got);
      await(board->go, [&](int go) { return go == -round; });
      if (got)
        shim_release(limiter, 0, 3 * kGi / 2);
    }
    rawhal_limiter_close(limiter);
    _exit(0);
  }
  int exact = 0;
  for (int round = 1; round <= rounds; ++round) {
    for (auto &ready : board->ready)
      await(ready, [&](int at) { return at >= round; });
    post(board->go, round);
    for (auto &got : board->got)
      await(got, [&](int at) { return at >= round * 2; });
    exact += (board->got[0] & 1) + (board->got[1] & 1) == 1;
    post(board->go, -round); // both have asked: the winner gives back
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
  }
  EXPECT_EQ(rounds, exact);
}

} // namespace
