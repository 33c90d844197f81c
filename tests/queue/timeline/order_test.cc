// What comes before what: queues and the host, signals before waits and after them.
#include "timeline_test.h"

#include <hsa/hsa.h>

namespace {

using Timeline = TimelineTest;

TEST_F(Timeline, StartsWithItsValueAndRises)
{
  rawhal_semaphore_t *s = semaphore(5);
  EXPECT_EQ(value(s), 5u);
  EXPECT_OK(wait_value(s, 5));
  EXPECT_EQ(rawhal_semaphore_wait(s, 6, 0, &error), RAWHAL_WOULD_BLOCK);
  ASSERT_OK(rawhal_semaphore_signal(s, 8, &error));
  EXPECT_EQ(value(s), 8u);
  EXPECT_OK(rawhal_semaphore_wait(s, 7, 0, &error));
  EXPECT_EQ(rawhal_semaphore_signal(s, 8, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_signal(s, 3, &error), RAWHAL_INVALID_ARGUMENT);
  ASSERT_OK(rawhal_semaphore_signal(s, UINT64_MAX, &error));
  EXPECT_EQ(value(s), UINT64_MAX);
}

TEST_F(Timeline, AQueueSignalsWhenAllBeforeHasFinished)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  submit(on, held());
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(timeline(on, {}, {{s, 3}}, &ticket));
  EXPECT_EQ(rawhal_semaphore_wait(s, 1, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(value(s), 0u);
  release();
  ASSERT_OK(wait_value(s, 1));
  EXPECT_EQ(value(s), 3u);
  EXPECT_OK(wait(on, ticket));
}

TEST_F(Timeline, AQueueWaitsForWhatIsToBeSignalled)
{
  rawhal_queue_t *first = queue(), *second = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_dispatch_t dispatch = store(kernel("write_ids-gfx90a-v5.co", "write_ids"), 77);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
  submit(first, held());
  ASSERT_OK(timeline(first, {}, {{s, 1}}));
  ASSERT_OK(timeline(second, {{s, 1}}, {}));
  dispatch.flags = RAWHAL_DISPATCH_OVERLAP;
  rawhal_ticket_t after = submit(second, dispatch);
  EXPECT_EQ(rawhal_queue_wait(second, after, rawhal_deadline_after(30 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 0u);
  release();
  ASSERT_OK(wait(second, after));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 77u);
}

TEST_F(Timeline, AQueueWaitsForWhatNobodyHasBeenAskedToSignal)
{
  rawhal_queue_t *first = queue(), *second = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t waits = 0;
  ASSERT_OK(timeline(second, {{s, 4}}, {}, &waits));
  EXPECT_EQ(rawhal_queue_wait(second, waits, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  rawhal_ticket_t signals = 0;
  ASSERT_OK(timeline(first, {}, {{s, 4}}, &signals));
  ASSERT_OK(wait(second, waits));
  EXPECT_EQ(value(s), 4u);
}

TEST_F(Timeline, TheHostLetsAQueueGo)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t waits = 0;
  ASSERT_OK(timeline(on, {{s, 4}}, {}, &waits));
  EXPECT_EQ(rawhal_queue_wait(on, waits, 0, &error), RAWHAL_WOULD_BLOCK);
  ASSERT_OK(rawhal_semaphore_signal(s, 3, &error));
  EXPECT_EQ(rawhal_queue_wait(on, waits, 0, &error), RAWHAL_WOULD_BLOCK);
  ASSERT_OK(rawhal_semaphore_signal(s, 9, &error)); // more will do
  EXPECT_OK(wait(on, waits));
}

TEST_F(Timeline, AllOfSeveralAreWaitedFor)
{
  rawhal_queue_t *on = queue();
  std::vector<rawhal_semaphore_t *> of;
  points_t waits;
  for (uint64_t i = 0; i < 5; ++i)
    waits.push_back({semaphore(), i + 1});
  rawhal_semaphore_t *done = semaphore(), *too = semaphore();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(timeline(on, waits, {{done, 1}, {too, 7}}, &ticket));
  for (const rawhal_timepoint_t &each : waits) {
    EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(5 * millisecond), &error),
              RAWHAL_TIMED_OUT);
    EXPECT_EQ(value(done), 0u);
    ASSERT_OK(rawhal_semaphore_signal(each.semaphore, each.value, &error));
  }
  ASSERT_OK(wait(on, ticket));
  EXPECT_EQ(value(done), 1u);
  EXPECT_EQ(value(too), 7u);
}

TEST_F(Timeline, OneSemaphoreGoesBackAndForth)
{
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  sizes.submissions = 4; // slots and timepoints are used again and again
  rawhal_queue_t *on[2] = {queue(sizes), queue(sizes)};
  rawhal_semaphore_t *s = semaphore();
  for (uint64_t i = 0; i < 500; ++i)
    ASSERT_OK(timeline(on[i % 2], {{s, i}}, {{s, i + 1}}));
  ASSERT_OK(wait_value(s, 500));
  EXPECT_EQ(value(s), 500u);
}

TEST_F(Timeline, SubmittedBackwardsItRunsForwards)
{
  constexpr uint64_t steps = 12;
  std::vector<rawhal_queue_t *> on;
  rawhal_semaphore_t *s = semaphore();
  for (uint64_t i = 0; i < steps; ++i)
    on.push_back(queue());
  for (uint64_t i = steps; i-- > 0;) // nobody is asked for what each waits for when it is submitted
    ASSERT_OK(timeline(on[i], {{s, i + 1}}, {{s, i + 2}}));
  EXPECT_EQ(value(s), 0u);
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error));
  ASSERT_OK(wait_value(s, steps + 1));
}

// Nobody signals the value itself, and more comes from a queue: before the wait, and after it.
TEST_F(Timeline, AValueThatIsPassedOverLetsGoToo)
{
  rawhal_queue_t *first = queue(), *second = queue(), *third = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t before = 0, after = 0;
  submit(first, held());
  ASSERT_OK(timeline(second, {{s, 2}}, {}, &before));
  ASSERT_OK(timeline(first, {}, {{s, 5}}));
  ASSERT_OK(timeline(third, {{s, 3}}, {}, &after));
  EXPECT_EQ(rawhal_queue_wait(third, after, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  release();
  EXPECT_OK(wait(second, before));
  EXPECT_OK(wait(third, after));
}

// The thread has nothing to do when the queue comes to wait, which is after the signal was submitted.
TEST_F(Timeline, AValueThatIsPassedOverWhenTheThreadIsThere)
{
  rawhal_queue_t *first = queue(), *second = queue(), *third = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t before = 0, after = 0;
  ASSERT_OK(timeline(second, {{s, 2}}, {}, &before));
  ASSERT_OK(timeline(first, {}, {{s, 5}})); // starts it
  ASSERT_OK(wait(second, before));
  EXPECT_EQ(rawhal_semaphore_wait(s, 6, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  submit(first, held());
  ASSERT_OK(timeline(first, {}, {{s, 9}}));
  ASSERT_OK(timeline(third, {{s, 7}}, {}, &after));
  release();
  EXPECT_OK(wait(third, after));
  EXPECT_OK(wait_value(s, 9));
}

// The one that is passed over is signalled later, by a queue that the larger one needs.
TEST_F(Timeline, AWaitTakesNoLargerSignalForItsOwn)
{
  rawhal_queue_t *a = queue(), *b = queue(), *c = queue();
  rawhal_semaphore_t *s = semaphore(), *gate = semaphore();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(timeline(a, {{gate, 1}}, {{s, 2}}));
  ASSERT_OK(timeline(b, {{s, 1}}, {{gate, 1}}, &ticket)); // 2 is pending, and comes after this
  ASSERT_OK(timeline(c, {}, {{s, 1}}));
  ASSERT_OK(wait(b, ticket));
  ASSERT_OK(wait_value(s, 2));
}

TEST_F(Timeline, WhatIsReachedTakesNoPacket)
{
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  rawhal_semaphore_t *s = semaphore(3);
  points_t waits;
  for (int i = 0; i < RAWHAL_MAX_TIMEPOINTS; ++i)
    waits.push_back({s, 3});
  uint64_t packets = 0;
  rawhal_ticket_t ticket = 0;
  const auto *hsa_queue = static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue);
  auto *index = HSA(hsa_queue_load_write_index_scacquire);
  packets = index(hsa_queue);
  ASSERT_OK(timeline(on, waits, {}, &ticket));
  EXPECT_EQ(index(hsa_queue) - packets, 1u);
  ASSERT_OK(timeline(on, {}, {{s, 4}}, &ticket));
  EXPECT_EQ(index(hsa_queue) - packets, 3u);
  ASSERT_OK(timeline(on, {{s, 5}}, {}, nullptr));
  EXPECT_EQ(index(hsa_queue) - packets, 4u);
  ASSERT_OK(timeline(on, {{s, 6}, {s, 7}}, {{semaphore(), 1}}, &ticket));
  EXPECT_EQ(index(hsa_queue) - packets, 7u);
  ASSERT_OK(rawhal_semaphore_signal(s, 7, &error));
  ASSERT_OK(wait(on, ticket));
}

TEST_F(Timeline, RefusesWhatIsWrong)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = semaphore(2, "ready"), *made = nullptr;
  rawhal_ticket_t ticket = 9;
  points_t many(RAWHAL_MAX_TIMEPOINTS + 1, {s, 3});
  EXPECT_EQ(rawhal_semaphore_create(nullptr, 0, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_create(device, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(timeline(nullptr, {}, {}, &ticket), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(timeline(on, {{nullptr, 1}}, {}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("wait 0"));
  EXPECT_EQ(timeline(on, {}, {{s, 3}, {nullptr, 1}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("signal 1"));
  EXPECT_EQ(timeline(on, many, {}), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(timeline(on, {}, many), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_queue_timeline(on, nullptr, 1, nullptr, 0, 0, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(timeline(on, {}, {{s, 2}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("it has reached 2") && says("'ready'")) << error.message;
  EXPECT_EQ(timeline(on, {}, {{s, 3}, {s, 4}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
  ASSERT_OK(timeline(other, {{semaphore(), 1}}, {{s, 3}}));
  EXPECT_EQ(timeline(on, {}, {{s, 3}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("twice")) << error.message;
  EXPECT_EQ(rawhal_semaphore_signal(s, 3, &error), RAWHAL_INVALID_ARGUMENT);
  uint64_t is = 1;
  EXPECT_EQ(rawhal_semaphore_value(nullptr, &is, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(is, 0u);
  EXPECT_EQ(rawhal_semaphore_value(s, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_signal(nullptr, 1, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_fail(nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_semaphore_destroy(nullptr);
  rawhal_semaphore_label(nullptr, "x");
}

TEST_F(Timeline, WithoutRoomNothingIsLeft)
{
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  sizes.submissions = 2;
  rawhal_queue_t *on = queue(sizes);
  rawhal_semaphore_t *s = semaphore();
  submit(on, held());
  submit(on, empty());
  rawhal_timepoint_t signal = {s, 1};
  EXPECT_EQ(rawhal_queue_timeline(on, nullptr, 0, &signal, 1, 0, nullptr, &error),
            RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(rawhal_queue_timeline(on, nullptr, 0, &signal, 1,
                                  rawhal_deadline_after(10 * millisecond), nullptr, &error),
            RAWHAL_TIMED_OUT);
  ASSERT_OK(rawhal_semaphore_signal(s, 1, &error)); // nobody else is to
  release();
  EXPECT_OK(timeline(on, {}, {{s, 2}}));
  EXPECT_OK(wait_value(s, 2));
}

// ---- Circles ----

TEST_F(Timeline, ACircleIsRefused)
{
  rawhal_queue_t *a = queue(), *b = queue(), *c = queue();
  rawhal_semaphore_t *x = semaphore(0, "x"), *y = semaphore(0, "y"), *z = semaphore(0, "z");
  EXPECT_EQ(timeline(a, {{x, 1}}, {{x, 1}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("itself")) << error.message;
  ASSERT_OK(timeline(a, {{x, 1}}, {}));
  EXPECT_EQ(timeline(a, {}, {{x, 1}}), RAWHAL_INVALID_ARGUMENT); // behind its own wait
  EXPECT_TRUE(says("circle") && says("'x'")) << error.message;
  ASSERT_OK(timeline(a, {}, {{y, 1}}));
  ASSERT_OK(timeline(b, {{y, 1}}, {{z, 1}}));
  EXPECT_EQ(timeline(c, {{z, 1}}, {{x, 1}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(says("circle")) << error.message;
  EXPECT_EQ(timeline(b, {}, {{x, 1}}), RAWHAL_INVALID_ARGUMENT);
  ASSERT_OK(timeline(c, {{z, 1}}, {{semaphore(), 1}})); // it is a line
  rawhal_ticket_t last = 0;
  ASSERT_OK(timeline(c, {}, {}, &last));
  ASSERT_OK(rawhal_semaphore_signal(x, 1, &error));
  ASSERT_OK(wait(c, last));
}

// ---- HSA signals ----

TEST_F(Timeline, ImportsAnHsaSignal)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  hsa_signal_t signal = {};
  ASSERT_EQ(HSA(hsa_signal_create)(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_semaphore_import(s, 6, on, signal.handle, 0, 0, &ticket, &error));
  EXPECT_EQ(rawhal_semaphore_wait(s, 6, rawhal_deadline_after(10 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  HSA(hsa_signal_subtract_screlease)(signal, 1);
  EXPECT_OK(wait_value(s, 6));
  EXPECT_OK(wait(on, ticket));
  EXPECT_EQ(rawhal_semaphore_import(s, 7, on, 0, 0, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_semaphore_import(s, 7, on, signal.handle, INT64_MAX, 0, &ticket, &error),
            RAWHAL_INVALID_ARGUMENT);
  HSA(hsa_signal_destroy)(signal);
}

TEST_F(Timeline, ExportsValuesAsHsaSignals)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  uint64_t first = 0, again = 0, later = 0, over = 0;
  auto *load = HSA(hsa_signal_load_scacquire);
  ASSERT_OK(rawhal_semaphore_export(s, 3, &first, &error));
  ASSERT_OK(rawhal_semaphore_export(s, 3, &again, &error));
  EXPECT_EQ(first, again);
  EXPECT_EQ(load({first}), 1);
  ASSERT_OK(timeline(on, {}, {{s, 3}}));
  ASSERT_OK(wait_value(s, 3));
  EXPECT_EQ(load({first}), 0);
  ASSERT_OK(rawhal_semaphore_export(s, 3, &again, &error));
  EXPECT_EQ(first, again);
  ASSERT_OK(rawhal_semaphore_export(s, 2, &over, &error)); // reached already
  EXPECT_EQ(load({over}), 0);
  EXPECT_NE(over, first);
  ASSERT_OK(rawhal_semaphore_export(s, 5, &later, &error));
  rawhal_dependency_t dependency = {nullptr, 0, later, 0};
  rawhal_ticket_t barrier = 0;
  ASSERT_OK(rawhal_queue_barrier(on, &dependency, 1, 0, &barrier, &error));
  ASSERT_OK(timeline(queue(), {}, {{s, 8}})); // more, by a queue: the process's thread sets it
  ASSERT_OK(wait(on, barrier));
  EXPECT_LE(load({later}), 0);
  EXPECT_EQ(rawhal_semaphore_export(s, 3, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

} // namespace
