// Failures reach all that waits, with their cause, and nothing waits for ever.
#include "timeline_test.h"

#include <atomic>
#include <thread>

namespace {

using TimelineFailure = TimelineTest;

TEST_F(TimelineFailure, TheHostFailsASemaphore)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore(2, "ready");
  rawhal_ticket_t waits = 0;
  ASSERT_OK(timeline(on, {{s, 4}}, {}, &waits));
  rawhal_error_t cause = {};
  cause.status = RAWHAL_FAULT;
  cause.hsa_status = 4096;
  strcpy(cause.message, "the cat has eaten it");
  ASSERT_OK(rawhal_semaphore_fail(s, &cause, &error));
  EXPECT_EQ(value(s, RAWHAL_FAULT), 2u);
  EXPECT_TRUE(says("the cat has eaten it") && says("'ready'") && says("3")) << error.message;
  rawhal_semaphore_label(s, "\x1b[2J\n and more than thirty-one bytes");
  EXPECT_NE(rawhal_semaphore_wait(s, 3, 0, &error), RAWHAL_OK);
  EXPECT_TRUE(says("'\\x1b[2J\\x0a and more than thirty-one '")) << error.message;
  EXPECT_EQ(error.hsa_status, 4096);
  EXPECT_OK(wait_value(s, 2)); // it has that
  EXPECT_EQ(wait_value(s, 3), RAWHAL_FAULT);
  EXPECT_EQ(wait(on, waits), RAWHAL_FAULT);
  EXPECT_TRUE(says("the cat has eaten it")) << error.message;
  EXPECT_EQ(error.hsa_status, 4096);
  EXPECT_EQ(rawhal_semaphore_signal(s, 3, &error), RAWHAL_FAULT);
  EXPECT_EQ(timeline(queue(), {{s, 3}}, {}), RAWHAL_FAULT);
  EXPECT_EQ(timeline(queue(), {}, {{s, 9}}), RAWHAL_FAULT);
  EXPECT_OK(timeline(queue(), {{s, 2}}, {}));
}

TEST_F(TimelineFailure, ADeadQueueFailsWhatItWasToSignal)
{
  rawhal_queue_t *bad = queue(), *on = queue(), *good = queue();
  rawhal_semaphore_t *s = semaphore(), *t = semaphore(), *gate = semaphore();
  rawhal_ticket_t waits = 0, early = submit(on, empty());
  ASSERT_OK(timeline(bad, {}, {{t, 1}}));
  ASSERT_OK(timeline(bad, {{gate, 1}}, {}));
  submit(bad, wild());
  ASSERT_OK(timeline(bad, {}, {{s, 2}, {t, 2}}));
  ASSERT_OK(timeline(good, {{gate, 1}}, {{s, 1}}));
  ASSERT_OK(timeline(on, {{s, 2}}, {}, &waits));
  ASSERT_OK(rawhal_semaphore_signal(gate, 1, &error));
  EXPECT_EQ(wait_value(s, 2), RAWHAL_FAULT);
  EXPECT_TRUE(says("fault_store")) << error.message;
  EXPECT_OK(wait_value(s, 1)); // which another signals
  EXPECT_OK(wait_value(t, 1)); // which it had
  EXPECT_EQ(wait_value(t, 2), RAWHAL_FAULT);
  EXPECT_EQ(wait(on, waits), RAWHAL_FAULT);
  EXPECT_TRUE(says("fault_store")) << error.message;
  EXPECT_OK(wait(on, early)); // before the wait
  EXPECT_EQ(queue_info(on).status, RAWHAL_OK);
  EXPECT_EQ(timeline(on, {}, {{gate, 2}}), RAWHAL_FAULT); // it is spoilt
}

TEST_F(TimelineFailure, ABarrierOnASpoiltTicketIsRefused)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t early = submit(on, empty()), waits = 0;
  ASSERT_OK(timeline(on, {{s, 1}}, {}, &waits));
  ASSERT_OK(rawhal_semaphore_fail(s, nullptr, &error));
  const rawhal_dependency_t dependencies[] = {{on, early, 0, 0}, {on, waits, 0, 0}};
  EXPECT_OK(rawhal_queue_barrier(other, dependencies, 1, 0, nullptr, &error));
  EXPECT_EQ(rawhal_queue_barrier(other, dependencies, 2, 0, nullptr, &error), RAWHAL_DEVICE_LOST);
  EXPECT_TRUE(says("dependency 1") && says("given it up")) << error.message;
}

// From queue to queue, by semaphores of which the later ones are waited for before anybody signals.
TEST_F(TimelineFailure, ItSpreads)
{
  constexpr size_t length = 6;
  std::vector<rawhal_queue_t *> on;
  std::vector<rawhal_semaphore_t *> s;
  std::vector<rawhal_ticket_t> tickets(length);
  rawhal_semaphore_t *never = semaphore();
  for (size_t i = 0; i < length; ++i) {
    on.push_back(queue());
    s.push_back(semaphore());
  }
  for (size_t i = length; i-- > 1;)
    ASSERT_OK(timeline(on[i], {{s[i - 1], 1}}, {{s[i], 1}}, &tickets[i]));
  rawhal_ticket_t lonely = 0;
  rawhal_queue_t *waits = queue();
  ASSERT_OK(timeline(waits, {{s[length - 1], 2}}, {{never, 1}}, &lonely)); // nobody signals 2
  submit(on[0], wild());
  rawhal_status_t status = timeline(on[0], {}, {{s[0], 1}}, &tickets[0]);
  if (status != RAWHAL_OK) { // it has died already
    EXPECT_EQ(status, RAWHAL_FAULT);
    ASSERT_OK(rawhal_semaphore_fail(s[0], &error, nullptr));
  }
  for (size_t i = 1; i < length; ++i) {
    EXPECT_EQ(wait(on[i], tickets[i]), RAWHAL_FAULT) << i;
    EXPECT_EQ(wait_value(s[i], 1), RAWHAL_FAULT) << i;
    EXPECT_TRUE(says("fault_store")) << error.message;
  }
  EXPECT_EQ(wait(waits, lonely), RAWHAL_FAULT);
  EXPECT_EQ(wait_value(never, 1), RAWHAL_FAULT);
  EXPECT_LT(strlen(error.message), 600u) << error.message; // it does not grow on its way
}

TEST_F(TimelineFailure, ASmallerFailureCounts)
{
  rawhal_queue_t *a = own_queue(), *b = own_queue();
  rawhal_semaphore_t *s = semaphore();
  submit(a, held());
  ASSERT_OK(timeline(a, {}, {{s, 9}}));
  ASSERT_OK(timeline(b, {{semaphore(), 1}}, {{s, 3}}));
  rawhal_queue_destroy(a);
  EXPECT_EQ(rawhal_semaphore_wait(s, 4, 0, &error), RAWHAL_DEVICE_LOST); // beyond what may come
  EXPECT_TRUE(says("destroyed")) << error.message;
  EXPECT_EQ(rawhal_semaphore_wait(s, 3, 0, &error), RAWHAL_WOULD_BLOCK);
  rawhal_queue_destroy(b);
  EXPECT_EQ(rawhal_semaphore_wait(s, 3, 0, &error), RAWHAL_DEVICE_LOST);
  EXPECT_EQ(rawhal_semaphore_wait(s, 1, 0, &error), RAWHAL_DEVICE_LOST);
  EXPECT_EQ(value(s, RAWHAL_DEVICE_LOST), 0u);
}

TEST_F(TimelineFailure, ADestroyedSemaphoreLetsQueuesGo)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = own_semaphore(0, "gone"), *after = semaphore();
  rawhal_ticket_t waits = 0, signals = 0;
  ASSERT_OK(timeline(on, {{s, 4}}, {{after, 1}}, &waits));
  submit(other, held());
  ASSERT_OK(timeline(other, {}, {{s, 1}}, &signals));
  rawhal_semaphore_destroy(s);
  EXPECT_EQ(wait(on, waits), RAWHAL_DEVICE_LOST);
  EXPECT_TRUE(says("destroyed")) << error.message;
  EXPECT_EQ(wait_value(after, 1), RAWHAL_DEVICE_LOST);
  release();
  EXPECT_OK(wait(other, signals)); // it is nobody's business any more
  EXPECT_OK(timeline(other, {}, {}, nullptr));
}

// Every order of destruction, with the work in flight.
TEST_F(TimelineFailure, InAnyOrderWithWorkInFlight)
{
  for (int order = 0; order < 6; ++order) {
    rawhal_queue_t *a = own_queue(), *b = own_queue();
    rawhal_semaphore_t *s = own_semaphore();
    const int turn[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    submit(a, held());
    ASSERT_OK(timeline(a, {}, {{s, 1}}));
    ASSERT_OK(timeline(b, {{s, 1}}, {{s, 2}}));
    ASSERT_OK(timeline(a, {{s, 2}}, {}));
    for (int which : turn[order]) {
      if (which == 0)
        rawhal_queue_destroy(a);
      else if (which == 1)
        rawhal_queue_destroy(b);
      else
        rawhal_semaphore_destroy(s);
    }
  }
}

TEST_F(TimelineFailure, AThreadThatWaitsIsToldWhenTheQueueGoes)
{
  rawhal_queue_t *a = own_queue();
  rawhal_semaphore_t *s = semaphore();
  submit(a, held());
  ASSERT_OK(timeline(a, {}, {{s, 1}}));
  std::thread thread([&] {
    rawhal_error_t failure;
    EXPECT_EQ(rawhal_semaphore_wait(s, 1, RAWHAL_FOREVER, &failure), RAWHAL_DEVICE_LOST);
    EXPECT_NE(strstr(failure.message, "destroyed"), nullptr) << failure.message;
  });
  EXPECT_EQ(rawhal_semaphore_wait(s, 1, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  rawhal_queue_destroy(a);
  thread.join();
}

// Which is not true of the thread that asks: so a callback of a spoilt queue is told as well.
TEST_F(TimelineFailure, CallbacksAreTold)
{
  static std::atomic<int> status;
  status = -1;
  rawhal_queue_t *on = own_queue();
  rawhal_semaphore_t *s = own_semaphore();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(timeline(on, {{s, 1}}, {}, &ticket));
  ASSERT_OK(rawhal_queue_on_complete(
      on, ticket,
      [](void *, rawhal_ticket_t, const rawhal_error_t *result) { status = result->status; },
      nullptr, &error));
  rawhal_semaphore_destroy(s);
  EXPECT_EQ(wait(on, ticket), RAWHAL_DEVICE_LOST);
  rawhal_queue_destroy(on);
  EXPECT_EQ(status, RAWHAL_DEVICE_LOST);
}

} // namespace
