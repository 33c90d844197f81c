// What it costs: instructions, and no allocation once there are as many values in flight as before.
#include "timeline_test.h"

#include "tests/instructions.h"

#include <cstdio>

namespace {

using TimelineCost = TimelineTest;

#ifdef RAWHAL_COUNTS_INSTRUCTIONS
// A value that one queue signals and another waits for, submitted before it is reached; and what of it the host pays when it
// asks for the value that was reached. bench/counted.json has them.
TEST_F(TimelineCost, InstructionsOfASignalAndAWait)
{
  rawhal_queue_t *first = queue(), *second = queue();
  rawhal_semaphore_t *s = semaphore();
  size_t signal = 0, wait = 0, value = 0;
  for (uint64_t i = 1; i <= 4; ++i) { // the first have more to do
    const rawhal_timepoint_t point = {s, i};
    rawhal_ticket_t tickets[2];
    rawhal_status_t status[3];
    uint64_t is = 0;
    signal = instructions::count([&] {
      status[0] = rawhal_queue_timeline(first, nullptr, 0, &point, 1, 0, &tickets[0], nullptr);
    });
    wait = instructions::count([&] {
      status[1] = rawhal_queue_timeline(second, &point, 1, nullptr, 0, 0, &tickets[1], nullptr);
    });
    ASSERT_OK(rawhal_queue_wait(second, tickets[1], RAWHAL_FOREVER, &error));
    value = instructions::count([&] { status[2] = rawhal_semaphore_value(s, &is, nullptr); });
    for (rawhal_status_t each : status)
      ASSERT_EQ(each, RAWHAL_OK);
    ASSERT_EQ(is, i);
  }
  printf("instructions of a signal and a wait: %zu (signal %zu, wait %zu), of a value: %zu\n",
         signal + wait, signal, wait, value);
  EXPECT_LT(signal + wait, 4000u);
}
#endif

} // namespace
