// Callbacks come once, in order, with the right result, whatever happens to their queue.
#include "held_test.h"
#include "tests/values.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <csignal>

namespace {

// Collects what callbacks are told.
class Journal {
public:
  struct Line {
    rawhal_ticket_t ticket;
    rawhal_status_t status;
    std::string message;
    std::thread::id thread;
  };

  static void write(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
  {
    Journal *journal = static_cast<Journal *>(context);
    std::lock_guard<std::mutex> guard(journal->lock);
    journal->lines.push_back({ticket, result->status, result->message, std::this_thread::get_id()});
    journal->more.notify_all();
  }

  std::vector<Line> read()
  {
    std::lock_guard<std::mutex> guard(lock);
    return lines;
  }

  // False when `count` lines do not come in ten seconds.
  bool wait(size_t count)
  {
    std::unique_lock<std::mutex> guard(lock);
    return more.wait_for(guard, std::chrono::seconds(10), [&] { return lines.size() >= count; });
  }

private:
  std::mutex lock;
  std::condition_variable more;
  std::vector<Line> lines;
};

using Callbacks = HeldTest;

TEST_F(Callbacks, ComeInTheOrderOfTicketsAndOnce)
{
  rawhal_queue_t *on = queue();
  rawhal_ticket_t first = submit(on, held());
  std::vector<rawhal_ticket_t> tickets = {first};
  for (int i = 0; i < 40; ++i)
    tickets.push_back(submit(on, empty()));
  Journal journal;
  for (size_t i = tickets.size(); i-- > 0;) // the last first
    ASSERT_OK(rawhal_queue_on_complete(on, tickets[i], Journal::write, &journal, &error));
  ASSERT_OK(rawhal_queue_on_complete(on, first, Journal::write, &journal, &error));
  EXPECT_TRUE(journal.read().empty());
  release();
  ASSERT_TRUE(journal.wait(42));
  std::vector<Journal::Line> lines = journal.read();
  ASSERT_EQ(lines.size(), 42u);
  tickets.insert(tickets.begin(), first);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].ticket, tickets[i]);
    EXPECT_EQ(lines[i].status, RAWHAL_OK);
    EXPECT_STREQ(lines[i].message.c_str(), "");
    EXPECT_NE(lines[i].thread, std::this_thread::get_id());
    EXPECT_EQ(lines[i].thread, lines[0].thread);
  }
}

TEST_F(Callbacks, OfATicketThatFinishedLongAgo)
{
  rawhal_queue_options_t small = {};
  small.submissions = 2;
  rawhal_queue_t *on = queue(small);
  rawhal_ticket_t first = submit(on, empty());
  for (int i = 0; i < 10; ++i) // its slot is another ticket's by now
    ASSERT_OK(run(on, empty()));
  Journal journal;
  ASSERT_OK(rawhal_queue_on_complete(on, first, Journal::write, &journal, &error));
  ASSERT_TRUE(journal.wait(1));
  EXPECT_EQ(journal.read()[0].status, RAWHAL_OK);
}

TEST_F(Callbacks, RefuseWhatIsNoTicket)
{
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = submit(on, empty());
  Journal journal;
  EXPECT_EQ(rawhal_queue_on_complete(on, 0, Journal::write, &journal, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_on_complete(on, ticket + 1, Journal::write, &journal, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_on_complete(on, ticket, nullptr, &journal, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_on_complete(nullptr, ticket, Journal::write, &journal, &error),
            RAWHAL_INVALID_ARGUMENT);
  queues.clear();
  rawhal_queue_destroy(on);
  EXPECT_TRUE(journal.read().empty());
}

// Waiters and the service thread share one signal, which the runtime lets one thread sleep on.
TEST_F(Callbacks, BesideThreadsThatWaitForTheSameTicket)
{
  for (bool callback_first : {true, false}) {
    rawhal_queue_t *on = queue();
    rawhal_ticket_t ticket = submit(on, held());
    Journal journal;
    if (callback_first)
      ASSERT_OK(rawhal_queue_on_complete(on, ticket, Journal::write, &journal, &error));
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i)
      waiters.emplace_back([&, i] {
        rawhal_error_t its = {};
        if (i == 0) { // gives up, and somebody else has to sleep in its place
          EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(5 * millisecond), &its),
                    RAWHAL_TIMED_OUT);
          return;
        }
        EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(10000 * millisecond), &its),
                  RAWHAL_OK)
            << its.message;
      });
    waiters[0].join();
    if (!callback_first)
      ASSERT_OK(rawhal_queue_on_complete(on, ticket, Journal::write, &journal, &error));
    release();
    for (size_t i = 1; i < waiters.size(); ++i)
      waiters[i].join();
    EXPECT_TRUE(journal.wait(1));
  }
}

TEST_F(Callbacks, HearWhatKilledTheQueue)
{
  rawhal_queue_t *on = queue();
  rawhal_ticket_t good = submit(on, empty()), slow = submit(on, held());
  Blob blob;
  blob.add(rawhal_buffer_address(flag)).add(int64_t{1} << 40).add(1u);
  rawhal_ticket_t bad =
      submit(on, dispatch_of(kernel("fault-gfx90a-v5.co", "fault_store"), 1, 1, blob));
  rawhal_ticket_t after = submit(on, empty());
  Journal journal;
  for (rawhal_ticket_t ticket : {good, slow, bad, after})
    ASSERT_OK(rawhal_queue_on_complete(on, ticket, Journal::write, &journal, &error));
  release();
  ASSERT_TRUE(journal.wait(4));
  std::vector<Journal::Line> lines = journal.read();
  EXPECT_EQ(lines[0].status, RAWHAL_OK);
  EXPECT_EQ(lines[1].status, RAWHAL_OK);
  for (size_t i : {2u, 3u}) {
    EXPECT_EQ(lines[i].status, RAWHAL_FAULT);
    EXPECT_NE(lines[i].message.find("kernel fault_store"), std::string::npos) << lines[i].message;
  }
  // And when it is dead already.
  ASSERT_OK(rawhal_queue_on_complete(on, after, Journal::write, &journal, &error));
  ASSERT_OK(rawhal_queue_on_complete(on, good, Journal::write, &journal, &error));
  ASSERT_TRUE(journal.wait(6));
  lines = journal.read();
  EXPECT_EQ(lines[4].status == RAWHAL_OK, lines[4].ticket == good);
  EXPECT_EQ(lines[5].status == RAWHAL_OK, lines[5].ticket == good);
  rawhal_queue_info_t info = queue_info(on);
  EXPECT_EQ(info.finished, slow); // and no ticket that failed
  EXPECT_EQ(info.last_ticket, after);
}

TEST_F(Callbacks, AreCalledByDestroyWhenPending)
{
  rawhal_queue_t *on = own_queue();
  rawhal_ticket_t done = submit(on, empty());
  ASSERT_OK(rawhal_queue_wait(on, done, RAWHAL_FOREVER, &error));
  rawhal_ticket_t never = submit(on, held()), behind = submit(on, empty());
  struct Last {
    rawhal_queue_t *queue;
    Journal journal;
    rawhal_error_t error = {};
    static void call(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
    {
      Last *last = static_cast<Last *>(context);
      Journal::write(&last->journal, ticket, result);
      EXPECT_EQ(rawhal_queue_on_complete(last->queue, ticket, call, context, &last->error),
                RAWHAL_DEVICE_LOST);
      rawhal_dispatch_t nothing = {};
      EXPECT_EQ(rawhal_queue_submit(last->queue, &nothing, 1, 0, nullptr, &last->error),
                RAWHAL_DEVICE_LOST);
    }
  } last = {on, {}};
  ASSERT_OK(rawhal_queue_on_complete(on, never, Last::call, &last, &error));
  ASSERT_OK(rawhal_queue_on_complete(on, behind, Last::call, &last, &error));
  rawhal_queue_destroy(on);
  std::vector<Journal::Line> lines = last.journal.read();
  ASSERT_EQ(lines.size(), 2u); // never after destroy has returned
  for (const Journal::Line &line : lines) {
    EXPECT_EQ(line.status, RAWHAL_DEVICE_LOST);
    EXPECT_NE(line.message.find("destroyed"), std::string::npos) << line.message;
    EXPECT_EQ(line.thread, std::this_thread::get_id());
  }
  EXPECT_EQ(lines[0].ticket, never);
}

TEST_F(Callbacks, MaySubmitAndRegisterAgain)
{
  struct Chain {
    rawhal_queue_t *queue;
    rawhal_dispatch_t dispatch;
    Journal journal;
    int left;
    static void call(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
    {
      Chain *chain = static_cast<Chain *>(context);
      rawhal_error_t error = {};
      if (--chain->left > 0) {
        EXPECT_EQ(rawhal_queue_submit(chain->queue, &chain->dispatch, 1, 0, &ticket, &error),
                  RAWHAL_OK);
        EXPECT_EQ(rawhal_queue_on_complete(chain->queue, ticket, call, context, &error), RAWHAL_OK);
      } else {
        Journal::write(&chain->journal, ticket, result);
      }
    }
  } chain = {queue(), empty(), {}, 100};
  ASSERT_OK(rawhal_queue_on_complete(chain.queue, submit(chain.queue, chain.dispatch), Chain::call,
                                     &chain, &error));
  ASSERT_TRUE(chain.journal.wait(1));
  EXPECT_EQ(chain.journal.read()[0].ticket, 100u);
}

TEST_F(Callbacks, MayDestroyTheirOwnQueue)
{
  struct End {
    rawhal_queue_t *queue;
    Journal journal;
    static void call(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
    {
      End *end = static_cast<End *>(context);
      rawhal_queue_destroy(end->queue);
      Journal::write(&end->journal, ticket, result);
    }
  } end = {own_queue(), {}};
  rawhal_ticket_t first = submit(end.queue, held()), second = submit(end.queue, empty());
  ASSERT_OK(rawhal_queue_on_complete(end.queue, first, End::call, &end, &error));
  ASSERT_OK(rawhal_queue_on_complete(end.queue, second, Journal::write, &end.journal, &error));
  release();
  ASSERT_TRUE(end.journal.wait(2));
  EXPECT_EQ(end.journal.read()[0].ticket, second); // destroy was still in the first one's call
  EXPECT_EQ(end.journal.read()[1].status, RAWHAL_OK);
}

TEST_F(Callbacks, RunWithTheProgramsSignalsMasked)
{
  struct Mask {
    Journal journal;
    bool blocked = false;
    static void call(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
    {
      Mask *mask = static_cast<Mask *>(context);
      sigset_t set;
      pthread_sigmask(SIG_SETMASK, nullptr, &set);
      mask->blocked = sigismember(&set, SIGTERM) && sigismember(&set, SIGALRM);
      Journal::write(&mask->journal, ticket, result);
    }
  } mask;
  rawhal_queue_t *on = queue();
  ASSERT_OK(rawhal_queue_on_complete(on, submit(on, empty()), Mask::call, &mask, &error));
  ASSERT_TRUE(mask.journal.wait(1));
  EXPECT_TRUE(mask.blocked);
}

// Producers register for each of their tickets while others wait and the queue wraps around.
TEST_F(Callbacks, UnderLoad)
{
  constexpr int each = 1000;
  rawhal_queue_options_t small = {};
  small.submissions = 8;
  rawhal_queue_t *on = own_queue(small);
  rawhal_dispatch_t dispatch = empty();
  std::atomic<int> called{0}, wrong{0};
  struct Count {
    std::atomic<int> *called, *wrong;
  } count = {&called, &wrong};
  auto work = [&] {
    rawhal_error_t its = {};
    for (int i = 0; i < each; ++i) {
      rawhal_ticket_t ticket = 0;
      if (rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &its) != RAWHAL_OK ||
          rawhal_queue_on_complete(
              on, ticket,
              [](void *context, rawhal_ticket_t, const rawhal_error_t *result) {
                Count *to = static_cast<Count *>(context);
                ++*to->called;
                *to->wrong += result->status != RAWHAL_OK && result->status != RAWHAL_DEVICE_LOST;
              },
              &count, &its) != RAWHAL_OK ||
          (i % 7 == 0 && rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &its) != RAWHAL_OK))
        ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  rawhal_queue_destroy(on);
  EXPECT_EQ(called, 3 * each);
  EXPECT_EQ(wrong, 0);
}

} // namespace
