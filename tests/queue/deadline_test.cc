#include <rawhal/queue.h>

#include <gtest/gtest.h>

#include <ctime>

extern "C" uint64_t deadline_ticks(uint64_t nanoseconds, uint64_t hz); // queue/internal.h

namespace {

uint64_t monotonic_now()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

TEST(Deadline, IsMonotonicTimePlusNanoseconds)
{
  uint64_t before = monotonic_now();
  uint64_t deadline = rawhal_deadline_after(5000);
  EXPECT_GE(deadline, before + 5000);
  EXPECT_LE(deadline, monotonic_now() + 5000);
}

TEST(Deadline, Saturates)
{
  EXPECT_EQ(rawhal_deadline_after(UINT64_MAX), RAWHAL_FOREVER);
  EXPECT_EQ(rawhal_deadline_after(UINT64_MAX - 1), RAWHAL_FOREVER);
}

// What the runtime waits for: never less than was asked, and for ever where it does not fit.
TEST(Deadline, TicksAreRoundedUpAndSaturate)
{
  EXPECT_EQ(deadline_ticks(0, 100000000), 1u);
  EXPECT_EQ(deadline_ticks(1000000000, 100000000), 100000001u);
  EXPECT_EQ(deadline_ticks(999999999, 1), 1u);
  EXPECT_EQ(deadline_ticks(UINT64_MAX, 1000000000), UINT64_MAX);
  for (uint64_t hz : {2000000000u, 3000000000u, 4000000000u})
    for (uint64_t ns : {UINT64_MAX, UINT64_MAX / 2 + 1, UINT64_MAX - 1})
      EXPECT_EQ(deadline_ticks(ns, hz), UINT64_MAX) << ns << " at " << hz;
}

TEST(Deadline, CallsOnNothingFail)
{
  rawhal_error_t error = {};
  rawhal_ticket_t ticket = 77;
  rawhal_dispatch_t dispatch = {};
  EXPECT_EQ(rawhal_queue_submit(nullptr, &dispatch, 1, 0, &ticket, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(rawhal_queue_wait(nullptr, 1, 0, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_queue_destroy(nullptr);
}

} // namespace
