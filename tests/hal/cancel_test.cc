// Threads that are cancelled while they are in a call: the call goes on to its end, all it held is
// let go, and everything can be used again.
#include "held_test.h"
#include "tests/cancelled.h"
#include "tests/graph_of.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

extern "C" {
#include "queue/limit/config.h"
}

namespace {

#ifdef __SANITIZE_THREAD__
constexpr int times = 40;
#else
constexpr int times = 200;
#endif

class Cancelled : public HeldTest {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=256,timeout_ms=0"; }

  // Runs `call` in a thread that is cancelled some time after it began, then `after`, and sees the
  // thread end as a cancelled one does.
  void cancel(const std::function<void()> &call, int delay_us, const std::function<void()> &after)
  {
    call_ = &call;
    begun_ = returned_ = false;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, run, this), 0);
    while (!begun_)
      sched_yield();
    usleep((useconds_t)delay_us);
    ASSERT_EQ(pthread_cancel(thread), 0);
    after();
    void *result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(returned_);
  }

  // In a submit() that goes on when the device does.
  void cancel_submit(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch, int delay_us)
  {
    rawhal_error_t mine = {};
    rawhal_status_t status = RAWHAL_RUNTIME;
    rawhal_ticket_t ticket = 0;
    cancel([&] { status = rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &mine); },
           delay_us, [&] { release(); });
    ASSERT_EQ(status, RAWHAL_OK) << mine.message;
    ASSERT_OK(wait(on, ticket));
  }

  void expect_usable(rawhal_queue_t *on) { EXPECT_OK(wait(on, submit(on, empty()))); }

  void hold_again()
  {
    __atomic_store_n((uint32_t *)rawhal_buffer_host(flag), 0u, __ATOMIC_RELEASE);
  }

private:
  static void *run(void *data)
  {
    auto *test = static_cast<Cancelled *>(data);
    test->begun_ = true;
    (*test->call_)();
    test->returned_ = true;
    for (;;)
      pause();
  }

  const std::function<void()> *call_ = nullptr;
  std::atomic<bool> begun_{false}, returned_{false};
};

TEST_F(Cancelled, InAWait)
{
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t spin = held();
  for (int i = 0; i < times; ++i) {
    hold_again();
    rawhal_ticket_t ticket = submit(on, spin);
    rawhal_error_t mine = {};
    rawhal_status_t status = RAWHAL_RUNTIME;
    cancel([&] { status = rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &mine); }, i * 10,
           [&] { release(); });
    ASSERT_EQ(status, RAWHAL_OK) << mine.message;
  }
  expect_usable(on);
}

// One sleeps on the signal, the others on that one.
TEST_F(Cancelled, AmongManyWhoWait)
{
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t spin = held();
  for (int i = 0; i < times / 10; ++i) {
    hold_again();
    rawhal_ticket_t ticket = submit(on, spin);
    std::atomic<int> waiting{0}, done{0};
    auto waiter = [&] {
      rawhal_error_t mine = {};
      ++waiting;
      done += rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &mine) == RAWHAL_OK;
    };
    std::vector<std::thread> others;
    for (int n = 0; n < 4; ++n)
      others.emplace_back(waiter);
    cancel(waiter, 500, [&] { release(); });
    for (std::thread &other : others)
      other.join();
    ASSERT_EQ(done, 5);
  }
  expect_usable(on);
}

TEST_F(Cancelled, InASubmitThatWaitsForRoom)
{
  rawhal_queue_options_t options = {};
  options.packets = 64;
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  rawhal_dispatch_t spin = held(), nothing_much = empty();
  for (int i = 0; i < times; ++i) {
    hold_again();
    submit(on, spin);
    while (rawhal_queue_submit(on, &nothing_much, 1, 0, nullptr, &error) == RAWHAL_OK)
      continue;
    ASSERT_NO_FATAL_FAILURE(cancel_submit(on, nothing_much, i * 10));
  }
  expect_usable(on);
}

TEST_F(Cancelled, InCopiesAndFills)
{
  const size_t bytes = 5 << 20; // more than one piece
  rawhal_buffer_t *one = buffer(bytes), *two = buffer(bytes);
  std::vector<char> values(bytes, 5);
  const std::function<void()> calls[] = {
      [&] { (void)!rawhal_buffer_write(one, 0, values.data(), bytes, nullptr); },
      [&] { (void)!rawhal_buffer_copy(two, 0, one, 0, bytes, nullptr); },
      [&] { (void)!rawhal_buffer_read(two, 0, values.data(), bytes, nullptr); },
      [&] { (void)!rawhal_buffer_fill(one, 0, 0x05050505, bytes, nullptr); },
  };
  for (int i = 0; i < times / 4; ++i)
    for (const auto &call : calls)
      cancel(call, i * 20, [] {});
  EXPECT_EQ(download<char>(two, bytes), std::vector<char>(bytes, 5));
}

TEST_F(Cancelled, InWhatMakesAndFreesThings)
{
  std::vector<char> mine(8192);
  const std::vector<char> bytes = fixture_bytes("empty-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  const std::function<void()> calls[] = {
      [&] {
        rawhal_buffer_t *made = nullptr;
        (void)!rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 1 << 20, &made, nullptr);
        rawhal_buffer_free(made);
      },
      [&] {
        rawhal_buffer_t *made = nullptr;
        (void)!rawhal_buffer_import(device, mine.data(), mine.size(), &made, nullptr);
        rawhal_buffer_free(made);
      },
      [&] {
        rawhal_executable_t *made = nullptr;
        (void)!rawhal_executable_load(device, hsaco, &made, nullptr);
        rawhal_executable_destroy(made);
      },
  };
  for (int i = 0; i < times; ++i)
    for (const auto &call : calls)
      cancel(call, i, [] {});
  rawhal_hsaco_close(hsaco);
  expect_usable(queue());
}

// With a kernel on it that does not end, and a callback that is pending.
TEST_F(Cancelled, InCreatingAndDestroyingAQueue)
{
  rawhal_dispatch_t spin = held();
  for (int i = 0; i < times; ++i) {
    hold_again();
    int calls = 0;
    cancel(
        [&] {
          rawhal_queue_t *made = nullptr;
          rawhal_ticket_t ticket = 0;
          (void)!rawhal_queue_create(device, nullptr, &made, nullptr);
          (void)!rawhal_queue_submit(made, &spin, 1, RAWHAL_FOREVER, &ticket, nullptr);
          (void)!rawhal_queue_on_complete(
              made, ticket,
              [](void *data, rawhal_ticket_t, const rawhal_error_t *) { ++*(int *)data; }, &calls,
              nullptr);
          rawhal_queue_destroy(made);
        },
        i * 10, [] {});
    ASSERT_EQ(calls, 1);
  }
  expect_usable(queue());
}

class CancelledLimited : public Cancelled {
protected:
  void SetUp() override
  {
    rawhal_limit_config_t limits = {};
    rawhal_instance_options_t options = {};
    ASSERT_OK(rawhal_limit_config_set(&limits, RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1, &error));
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = softgpu_options();
    options.limits = &limits;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }
};

TEST_F(CancelledLimited, InASubmitThatIsHeldBack)
{
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t spin = held(), nothing_much = empty();
  for (int i = 0; i < times; ++i) {
    hold_again();
    submit(on, spin);
    ASSERT_NO_FATAL_FAILURE(cancel_submit(on, nothing_much, i * 10));
  }
  expect_usable(on);
}

// What a program does on a signal that it leaves to its threads, and Python on Ctrl-C: a handler notes it, and whoever
// waits looks at the note between two slices of a wait.
volatile sig_atomic_t noted;

TEST_F(Cancelled, AWaitInSlicesGoesOnToASignalWithinOne)
{
  struct sigaction handler = {}, before;
  handler.sa_handler = [](int) { noted = 1; };
  ASSERT_EQ(sigaction(SIGINT, &handler, &before), 0);
  noted = 0;
  rawhal_queue_t *on = queue();
  const rawhal_ticket_t ticket = submit(on, held());
  const pthread_t waiter = pthread_self();
  std::atomic<int> slices{0}, sent{0};
  std::thread other([&] {
    while (slices < 2)
      sched_yield();
    sent = slices.load();
    EXPECT_EQ(pthread_kill(waiter, SIGINT), 0);
  });
  rawhal_status_t status = RAWHAL_TIMED_OUT;
  for (; !noted && status == RAWHAL_TIMED_OUT; ++slices)
    status = rawhal_queue_wait(on, ticket, rawhal_deadline_after(50 * millisecond), &error);
  other.join();
  EXPECT_EQ(status, RAWHAL_TIMED_OUT) << error.message;
  EXPECT_LE(slices, sent + 2) << "the one that it came in, and one that had ended meanwhile";
  EXPECT_EQ(rawhal_queue_wait(on, ticket, 0, &error), RAWHAL_WOULD_BLOCK) << "it runs on";
  release();
  EXPECT_OK(wait(on, ticket)); // having timed out takes nothing from the ticket
  EXPECT_EQ(sigaction(SIGINT, &before, nullptr), 0);
}

// Its end may be that of the executable, of the instance, and of the runtime.
TEST(CancelledLast, DestroyingAGraphIsTheEndOfAll)
{
  class Last : public HeldTest {
  public:
    using HeldTest::HeldTest;
    void TestBody() override {}
    rawhal_graph_exec_t *what_outlives()
    {
      SetUp();
      rawhal_queue_t *on = queue();
      const rawhal_dispatch_t dispatch = empty();
      rawhal_graph_exec_t *exec = nullptr;
      EXPECT_OK(graph_of(device, on, &dispatch, 1, &exec, &error));
      TearDown();
      return exec;
    }
  };
  for (int i = 0; i < 20; ++i) {
    rawhal_graph_exec_t *exec = Last().what_outlives();
    EXPECT_TRUE(goes_on_though_cancelled([&] { rawhal_graph_exec_destroy(exec); }));
  }
}

} // namespace
