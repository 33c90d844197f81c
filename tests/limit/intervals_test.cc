// Unions of intervals against a line of cells.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

extern "C" {
#include "queue/limit/intervals.h"
}

namespace {

uint64_t Length(const interval_t *pieces, uint32_t count)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_LT(pieces[i].start, pieces[i].end);
    if (i) {
      EXPECT_LT(pieces[i - 1].end, pieces[i].start);
    }
    sum += pieces[i].end - pieces[i].start;
  }
  return sum;
}

TEST(Intervals, PiecesAreWhatWasNotCovered)
{
  interval_set_t set = {};
  interval_t pieces[INTERVALS_PIECES];
  EXPECT_EQ(1u, interval_set_add(&set, {10, 20}, 0, pieces));
  EXPECT_EQ(0u, interval_set_add(&set, {12, 18}, 0, pieces));
  EXPECT_EQ(1u, interval_set_add(&set, {20, 25}, 0, pieces)); // touches
  EXPECT_EQ(1u, set.count);
  EXPECT_EQ(1u, interval_set_add(&set, {30, 40}, 0, pieces));
  ASSERT_EQ(3u, interval_set_add(&set, {5, 50}, 0, pieces));
  EXPECT_EQ(5u, pieces[0].start);
  EXPECT_EQ(10u, pieces[0].end);
  EXPECT_EQ(25u, pieces[1].start);
  EXPECT_EQ(30u, pieces[1].end);
  EXPECT_EQ(40u, pieces[2].start);
  EXPECT_EQ(50u, pieces[2].end);
  EXPECT_EQ(1u, set.count);
}

TEST(Intervals, RandomOnesAgainstCells)
{
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    interval_set_t set = {};
    std::vector<bool> cells(3000);
    for (int i = 0; i < 60; ++i) { // never more than the set keeps
      uint64_t start = random() % 2800, end = start + 1 + random() % (i % 7 ? 30 : 200);
      interval_t pieces[INTERVALS_PIECES];
      uint64_t length = Length(pieces, interval_set_add(&set, {start, end}, 0, pieces)), fresh = 0;
      for (uint64_t at = start; at < end; ++at) {
        fresh += !cells[at];
        cells[at] = true;
      }
      ASSERT_EQ(fresh, length) << round << " " << i;
    }
    ASSERT_EQ(static_cast<uint64_t>(std::count(cells.begin(), cells.end(), true)),
              Length(set.kept, set.count));
  }
}

TEST(Intervals, AppendingIsAddingOrNothing)
{
  std::mt19937 random(7);
  uint32_t appended = 0;
  interval_set_t set = {}, added = {};
  for (uint64_t i = 0, at = 100; i < 2000; ++i) {
    uint64_t start = at + random() % 60 - 10, end = start + 1 + random() % 20;
    interval_t pieces[INTERVALS_PIECES];
    const uint64_t last = set.count ? set.kept[set.count - 1].end : 0;
    const bool may = set.count > 0 && set.count < INTERVALS_KEPT && start > last;
    uint32_t count = interval_set_add(&added, {start, end}, at, pieces);
    ASSERT_EQ(may, interval_set_append(&set, start, end)) << i;
    if (may) {
      ASSERT_EQ(1u, count);
      ASSERT_EQ(start, pieces[0].start);
      ASSERT_EQ(end, pieces[0].end);
      ++appended;
    } else {
      ASSERT_EQ(count, interval_set_add(&set, {start, end}, at, pieces)) << i;
    }
    ASSERT_EQ(added.count, set.count) << i;
    ASSERT_EQ(0, memcmp(added.kept, set.kept, set.count * sizeof(*set.kept))) << i;
    ASSERT_EQ(0, memcmp(added.unpaid, set.unpaid, set.count * sizeof(*set.unpaid))) << i;
    at = std::max(at, end);
  }
  EXPECT_GT(appended, 1000u);
}

// Something in flight has begun before all of them: it pays for whatever they leave, however many they are.
TEST(Intervals, AFullSetForgetsNoGapThatIsStillToBePaid)
{
  std::mt19937 random(6);
  for (int round = 0; round < 50; ++round) {
    interval_set_t set = {};
    std::vector<bool> cells(30000);
    interval_t pieces[INTERVALS_PIECES];
    uint64_t charged = 0;
    for (uint64_t at = 100; at < 29000;) {
      uint64_t start = at + 1 + random() % 40, end = start + 1 + random() % 20;
      charged += Length(pieces, interval_set_add(&set, {start, end}, 0, pieces));
      ASSERT_LE(set.count, unsigned{INTERVALS_KEPT});
      Length(set.kept, set.count);
      at = end;
    }
    EXPECT_LE(interval_set_since(&set, 0), charged);
    charged += Length(pieces, interval_set_add(&set, {50, 29990}, 0, pieces));
    EXPECT_EQ(29990u - 50, charged) << round;
    EXPECT_EQ(29990u - 50, interval_set_since(&set, 0));
    EXPECT_EQ(0u, interval_set_add(&set, {60, 29000}, 0, pieces));
  }
}

// Nothing in flight has begun before: what ended long ago is forgotten, and closes no gap.
TEST(Intervals, AFullSetForgetsWhatIsOld)
{
  interval_set_t set = {};
  interval_t pieces[INTERVALS_PIECES];
  for (uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(1u, interval_set_add(&set, {i * 100, i * 100 + 10}, i * 100, pieces));
    EXPECT_EQ(10u, pieces[0].end - pieces[0].start);
    ASSERT_LE(set.count, unsigned{INTERVALS_KEPT});
    EXPECT_EQ(10u * set.count, interval_set_since(&set, 0));
  }
}

TEST(Intervals, WhatIsNotOldIsKept)
{
  interval_set_t set = {};
  interval_t pieces[INTERVALS_PIECES];
  const uint64_t oldest = 100 * INTERVALS_KEPT / 2; // half of them ended before
  for (uint64_t i = 1; i <= INTERVALS_KEPT + 1; ++i)
    ASSERT_EQ(1u, interval_set_add(&set, {i * 100, i * 100 + 10}, oldest, pieces));
  ASSERT_EQ(INTERVALS_KEPT + 1u - (INTERVALS_KEPT / 2 - 1), set.count);
  EXPECT_EQ(oldest, set.kept[0].start);
  EXPECT_EQ(10u * set.count, interval_set_since(&set, 0));
}

} // namespace
