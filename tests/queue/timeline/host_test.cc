// The host waits: for any and all, of semaphores and tickets, from several threads, with deadlines.
#include "timeline_test.h"
#include "waits_shim.h"

#include <atomic>
#include <thread>

namespace {

class HostWait : public TimelineTest {
protected:
  rawhal_status_t any(const std::vector<rawhal_wait_t> &waits,
                      uint64_t deadline = rawhal_deadline_after(10000 * millisecond))
  {
    return rawhal_wait_any(waits.data(), waits.size(), deadline, &which, &error);
  }
  rawhal_status_t all(const std::vector<rawhal_wait_t> &waits,
                      uint64_t deadline = rawhal_deadline_after(10000 * millisecond))
  {
    return rawhal_wait_all(waits.data(), waits.size(), deadline, &which, &error);
  }
  size_t which = 99;
};

TEST_F(HostWait, ForAnyAndForAll)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_semaphore_t *s = semaphore(), *t = semaphore(1);
  rawhal_ticket_t stays = submit(on, held()), goes = submit(other, empty());
  EXPECT_OK(any({{s, 1, nullptr, 0}, {nullptr, 0, on, stays}, {nullptr, 0, other, goes}}));
  EXPECT_EQ(which, 2u);
  EXPECT_OK(any({{nullptr, 0, on, stays}, {t, 1, nullptr, 0}}));
  EXPECT_EQ(which, 1u);
  EXPECT_EQ(any({{nullptr, 0, on, stays}, {s, 1, nullptr, 0}}, 0), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(which, 2u);
  uint64_t soon = rawhal_deadline_after(10 * millisecond);
  EXPECT_EQ(all({{t, 1, nullptr, 0}, {nullptr, 0, on, stays}, {s, 1, nullptr, 0}}, soon),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(which, 1u);
  ASSERT_OK(timeline(on, {}, {{s, 1}}));
  release();
  EXPECT_OK(all({{t, 1, nullptr, 0}, {nullptr, 0, on, stays}, {s, 1, nullptr, 0}}));
  EXPECT_EQ(which, 3u);
  EXPECT_OK(all({}));
  EXPECT_EQ(any({}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(any({{nullptr, 0, on, 1000}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(any({{nullptr, 0, nullptr, 0}}), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_wait_all(nullptr, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(HostWait, AnotherThreadSignals)
{
  rawhal_semaphore_t *there = semaphore(), *back = semaphore();
  std::thread other([&] {
    rawhal_error_t error;
    for (uint64_t i = 1; i <= 200; ++i) {
      EXPECT_OK(rawhal_semaphore_wait(there, i, RAWHAL_FOREVER, &error));
      EXPECT_OK(rawhal_semaphore_signal(back, i, &error));
    }
  });
  for (uint64_t i = 1; i <= 200; ++i) {
    ASSERT_OK(rawhal_semaphore_signal(there, i, &error));
    ASSERT_OK(wait_value(back, i));
  }
  other.join();
}

// What is waited for is submitted only when the threads sleep already.
TEST_F(HostWait, ManyThreadsAndASignalThatComesLater)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      rawhal_error_t error;
      EXPECT_OK(rawhal_semaphore_wait(s, i + 1, RAWHAL_FOREVER, &error));
      ++done;
    });
  while (shim_host_waits(s) < 6)
    std::this_thread::yield();
  EXPECT_EQ(done, 0);
  for (uint64_t i = 0; i < 6; ++i) {
    submit(on, empty());
    ASSERT_OK(timeline(on, {}, {{s, i + 1}}));
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(done, 6);
}

// One thread sleeps on the ticket by rawhal_queue_wait(), the other for the semaphore.
TEST_F(HostWait, BesideOneThatWaitsForTheTicket)
{
  rawhal_queue_t *on = queue();
  rawhal_semaphore_t *s = semaphore();
  rawhal_ticket_t ticket = 0;
  submit(on, held());
  ASSERT_OK(timeline(on, {}, {{s, 1}}, &ticket));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      rawhal_error_t error;
      if (i % 2)
        EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
      else
        EXPECT_OK(rawhal_semaphore_wait(s, 1, RAWHAL_FOREVER, &error));
    });
  EXPECT_EQ(rawhal_semaphore_wait(s, 1, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  release();
  for (std::thread &thread : threads)
    thread.join();
}

// The callbacks' thread is held up by what waits for a later ticket of the same queue.
TEST_F(HostWait, InACallbackOfTheQueueThatSignals)
{
  struct waits_t {
    rawhal_semaphore_t *s;
    std::atomic<int> status{-1};
  } waits{semaphore(), {}};
  rawhal_queue_t *on = queue();
  rawhal_ticket_t first = submit(on, empty());
  ASSERT_OK(rawhal_queue_on_complete(
      on, first,
      [](void *context, rawhal_ticket_t, const rawhal_error_t *) {
        auto *of = static_cast<waits_t *>(context);
        of->status = rawhal_semaphore_wait(of->s, 1, RAWHAL_FOREVER, nullptr);
      },
      &waits, &error));
  submit(on, empty());
  ASSERT_OK(timeline(on, {}, {{waits.s, 1}}));
  ASSERT_OK(wait_value(waits.s, 1));
  rawhal_queue_destroy(on); // after the callback
  queues.clear();
  EXPECT_EQ(waits.status, RAWHAL_OK);
}

TEST_F(HostWait, DestructionWakesThemAll)
{
  rawhal_semaphore_t *s = own_semaphore(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      rawhal_error_t error;
      EXPECT_OK(rawhal_semaphore_wait(s, 3, 0, &error));
      EXPECT_EQ(rawhal_semaphore_wait(s, 4, RAWHAL_FOREVER, &error), RAWHAL_DEVICE_LOST);
      EXPECT_NE(strstr(error.message, "destroyed"), nullptr) << error.message;
    });
  while (shim_host_waits(s) < 4)
    std::this_thread::yield();
  rawhal_semaphore_destroy(s);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
