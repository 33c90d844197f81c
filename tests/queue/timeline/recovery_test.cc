// What programs do to a library: they fork, cancel threads, and run out of memory.
#include "timeline_test.h"

#include "tests/cancelled.h"
#include "tests/child.h"
#include "tests/harness/aligned_allocation_failure.h"

#include <sys/eventfd.h>

namespace {

using TimelineFork = TimelineTest;

TEST_F(TimelineFork, AChildsSemaphoresAreLostTheParentsGoOn)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  const int fd = eventfd(0, EFD_CLOEXEC);
  ASSERT_OK(rawhal_semaphore_notify(s, 3, fd, &error)); // there is a thread
  ASSERT_OK(timeline(on, {{s, 1}}, {{s, 2}}));
  EXPECT_EQ(in_child([&] {
              rawhal_ticket_t ticket = 0;
              rawhal_semaphore_t *made = nullptr;
              uint64_t is = 7;
              const rawhal_timepoint_t point = {s, 1};
              int wrong = 0;
              for (rawhal_status_t status :
                   {rawhal_semaphore_value(s, &is, &error), rawhal_semaphore_signal(s, 1, &error),
                    rawhal_semaphore_fail(s, nullptr, &error),
                    rawhal_semaphore_wait(s, 0, RAWHAL_FOREVER, &error),
                    rawhal_semaphore_notify(s, 1, fd, &error),
                    rawhal_semaphore_export(s, 1, &is, &error),
                    rawhal_queue_timeline(on, &point, 1, nullptr, 0, 0, &ticket, &error),
                    rawhal_queue_notify(on, 1, fd, &error),
                    rawhal_semaphore_create(device, 0, &made, &error)}) {
                wrong |= status != RAWHAL_DEVICE_LOST;
                wrong |= strstr(error.message, "fork()") ? 0 : 2;
              }
              wrong |= (is != 0) << 2;
              rawhal_semaphore_destroy(s);
              rawhal_queue_destroy(on);
              return wrong;
            }),
            0);
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  ASSERT_OK(wait_value(s, 2));
  ASSERT_OK(rawhal_semaphore_signal(s, 3, &error));
  uint64_t count = 0;
  EXPECT_EQ(read(fd, &count, sizeof(count)), ssize_t(sizeof(count)));
  close(fd);
}

using TimelineCancelled = TimelineTest;

TEST_F(TimelineCancelled, NoCallIsACancellationPoint)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *made = nullptr;
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  rawhal_error_t failure = {};
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    uint64_t is = 0;
    rawhal_ticket_t ticket = 0;
    EXPECT_OK(rawhal_semaphore_create(device, 0, &made, &failure));
    rawhal_semaphore_label(made, "cancelled");
    const rawhal_timepoint_t one = {made, 1}, two = {made, 2};
    EXPECT_OK(rawhal_semaphore_notify(made, 2, fd, &failure));
    EXPECT_OK(rawhal_queue_timeline(on, &one, 1, &two, 1, 0, &ticket, &failure));
    EXPECT_OK(rawhal_queue_notify(on, ticket, fd, &failure));
    EXPECT_OK(rawhal_semaphore_export(made, 5, &is, &failure));
    EXPECT_EQ(rawhal_semaphore_wait(made, 1, rawhal_deadline_after(millisecond), &failure),
              RAWHAL_TIMED_OUT);
    EXPECT_OK(rawhal_semaphore_signal(made, 1, &failure));
    EXPECT_OK(rawhal_semaphore_wait(made, 2, RAWHAL_FOREVER, &failure));
    EXPECT_OK(rawhal_semaphore_value(made, &is, &failure));
    EXPECT_OK(rawhal_semaphore_fail(made, nullptr, &failure));
    rawhal_semaphore_destroy(made);
  }));
  EXPECT_OK(timeline(on, {}, {{semaphore(), 1}}));
  close(fd);
}

using TimelineAllocation = TimelineTest;

// With 0, 1, 2.. allocations: what is refused leaves nothing behind, and succeeds later.
TEST_F(TimelineAllocation, OfEverythingMayFail)
{
  rawhal_queue_t *on = queue();
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int refused = 0;
  for (int allowed = 0; allowed < 100; ++allowed) {
    rawhal_error_t failure = {};
    rawhal_semaphore_t *made = nullptr;
    rawhal_ticket_t ticket = 0;
    uint64_t exported = 0;
    allocations_refused = 0;
    allocations_left = allowed;
    rawhal_status_t status = rawhal_semaphore_create(device, 0, &made, &failure);
    const rawhal_timepoint_t waits[] = {{made, 1}, {made, 2}}, signals[] = {{made, 4}};
    if (status == RAWHAL_OK)
      status = rawhal_queue_timeline(on, waits, 2, signals, 1, 0, &ticket, &failure);
    const rawhal_status_t submitted = status;
    if (status == RAWHAL_OK)
      status = rawhal_semaphore_export(made, 9, &exported, &failure);
    if (status == RAWHAL_OK)
      status = rawhal_semaphore_notify(made, 4, fd, &failure);
    const bool ran_out = allocations_refused;
    allocations_left = -1;
    EXPECT_EQ(made != nullptr, allowed > 0);
    EXPECT_EQ(ticket != 0, submitted == RAWHAL_OK && made);
    if (status != RAWHAL_OK) {
      EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY) << failure.message;
      ++refused;
    }
    if (made) {
      EXPECT_OK(rawhal_semaphore_signal(made, 2, &error));
      if (ticket)
        EXPECT_OK(wait_value(made, 4));
      else
        EXPECT_OK(rawhal_semaphore_signal(made, 4, &error)); // nobody else is to
    }
    rawhal_semaphore_destroy(made);
    if (ticket)
      EXPECT_OK(wait(on, ticket)); // so that what is spare is given back
    queues.clear();
    rawhal_queue_destroy(on);
    on = queue();
    if (status == RAWHAL_OK && !ran_out)
      break;
  }
  EXPECT_GE(refused, 6); // the semaphore, four values, steps, the notice
  close(fd);
}

} // namespace
