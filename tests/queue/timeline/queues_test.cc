// Queues that are not as others: the program's own, those whose dispatches have times, those under limits, small ones.
#include "timeline_test.h"

#include "tests/extended.h"

#include <hsa/hsa.h>

#include <cstdlib>

namespace {

class TimelineQueues : public TimelineTest {
protected:
  // One semaphore goes back and forth between the two, further than their rings are long.
  void back_and_forth(rawhal_queue_t *one, rawhal_queue_t *other)
  {
    rawhal_queue_t *const on[] = {one, other};
    rawhal_semaphore_t *s = semaphore();
    for (uint64_t i = 0; i < 150; ++i) {
      ASSERT_OK(timeline(on[i % 2], {{s, i}}, {}));
      submit(on[i % 2], empty());
      ASSERT_OK(timeline(on[i % 2], {}, {{s, i + 1}}));
    }
    ASSERT_OK(wait_value(s, 150));
  }
};

// The program's queue, and ours on it.
class TimelineOfTheProgram : public TimelineQueues {
protected:
  rawhal_queue_t *join()
  {
    const hsa_agent_t agent = {rawhal_device_info(device)->agent};
    EXPECT_EQ(HSA(hsa_queue_create)(agent, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                                    UINT32_MAX, &theirs),
              HSA_STATUS_SUCCESS);
    rawhal_queue_options_t options = {};
    options.hsa_queue = theirs;
    options.submissions = 16;
    return own_queue(options);
  }
  hsa_queue_t *theirs = nullptr;
};

TEST_F(TimelineOfTheProgram, IsAsOthers)
{
  rawhal_queue_t *on = join();
  back_and_forth(on, queue());
  rawhal_queue_destroy(on);
  EXPECT_EQ(HSA(hsa_queue_destroy)(theirs), HSA_STATUS_SUCCESS);
}

// The device stands at the wait: what it may still use is left to it.
TEST_F(TimelineOfTheProgram, IsLeftWithWhatItWaitsFor)
{
  if (is_sanitized)
    GTEST_SKIP() << "to the sanitizer the signals that are left are leaks";
  rawhal_queue_t *on = join();
  rawhal_semaphore_t *s = semaphore(), *after = semaphore();
  ASSERT_OK(timeline(on, {{s, 1}}, {{after, 1}}));
  rawhal_queue_destroy(on);
  EXPECT_EQ(wait_value(after, 1), RAWHAL_DEVICE_LOST);
  EXPECT_TRUE(says("destroyed")) << error.message;
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error)); // which is still the device's
  EXPECT_EQ(HSA(hsa_queue_destroy)(theirs), HSA_STATUS_SUCCESS);
}

TEST_F(TimelineQueues, WhoseDispatchesHaveTimes)
{
  rawhal_queue_options_t options = {};
  options.dispatch_times = true;
  options.packets = 64;
  rawhal_queue_t *on = queue(options);
  back_and_forth(on, queue());
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(timeline(on, {{s, 1}}, {{s, 2}}, &ticket));
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  ASSERT_OK(wait(on, ticket));
  uint64_t start = 0, end = 0;
  ASSERT_OK(rawhal_queue_timing(on, ticket, &start, &end, &error));
  EXPECT_LE(start, end);
  EXPECT_GT(start, 0u);
}

class TimelineLimits : public TimelineQueues {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_DISPATCHES_IN_FLIGHT", "1", 1);
    TimelineQueues::SetUp();
  }
  void TearDown() override
  {
    TimelineQueues::TearDown();
    unsetenv("RAWHAL_DISPATCHES_IN_FLIGHT");
  }
};

TEST_F(TimelineLimits, AQueueThatWaitsTakesNothing)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t waits = 0;
  ASSERT_OK(timeline(on, {{s, 1}}, {{s, 2}}, &waits));
  const rawhal_dispatch_t dispatch = empty();
  for (int i = 0; i < 3; ++i) {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_submit(other, &dispatch, 1, 0, &ticket, &error)); // the one there may be
    ASSERT_OK(wait(other, ticket));
  }
  submit(on, dispatch); // takes it, behind the wait
  EXPECT_EQ(rawhal_queue_submit(other, &dispatch, 1, 0, nullptr, &error), RAWHAL_WOULD_BLOCK);
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  ASSERT_OK(wait_value(s, 2));
  ASSERT_OK(wait(on, waits + 1));
  EXPECT_OK(rawhal_queue_submit(other, &dispatch, 1, 0, nullptr, &error));
}

} // namespace
