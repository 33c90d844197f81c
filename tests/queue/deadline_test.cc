#include <rawhal/queue.h>

#include <gtest/gtest.h>

#include <ctime>

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
