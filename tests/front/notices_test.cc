// The program's handlers of its queues, whoever calls them, and what becomes of queues meanwhile.
#include "tests/front/proxy_test.h"

#include <memory>
#include <thread>

#include <unistd.h>

extern "C" { // of front/, whose headers have C's atomics
void ending_forward(void);
void queues_end(void);
}

namespace {

enum Teller {
  kRings,   // a thread of the program's that rings
  kServes,  // ours, that forwards what was held back
  kEnds,    // a thread of the program's that waits while the process ends
  kRuntime, // the runtime's
  kPlain,   // the same, of a queue that has no proxy
};

class FrontNotices : public FrontProxy, public testing::WithParamInterface<Teller> {
protected:
  void Prepare() override { toy_replace_amd(288, reinterpret_cast<void *>(&Register)); }
  static hsa_status_t Register(hsa_amd_system_event_callback_t, void *)
  {
    return HSA_STATUS_SUCCESS;
  }

  // Has the handler called, sooner or later.
  void Fail(std::function<void()> handler)
  {
    if (GetParam() == kPlain)
      Set("RAWHAL_FAULTS", "text");
    else
      Set("RAWHAL_GRID_WORKGROUPS", "10");
    handler_ = std::move(handler);
    Start(GetParam() == kPlain ? nullptr : "50%");
    if (GetParam() == kServes || GetParam() == kEnds)
      HoldBack();
    teller_ = std::thread([this] { Tell(); });
  }

  void HoldBack()
  {
    toy_hold(true);
    Submit(Kernel(1)); // never measured: one of it goes, until that is known
    Submit(Kernel(1));
    Submit(TooLarge());
    if (GetParam() == kEnds)
      queues_end();
    toy_hold(false);
  }

  static hsa_kernel_dispatch_packet_t TooLarge()
  {
    hsa_kernel_dispatch_packet_t packet = Kernel(2);
    packet.grid_size_x = 11;
    return packet;
  }

  void Tell()
  {
    if (GetParam() == kRings)
      Submit(TooLarge());
    else if (GetParam() == kEnds)
      while (!failed_)
        ending_forward();
    else if (GetParam() != kServes)
      toy_fail(static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
  }

  void Wait()
  {
    while (!failed_)
      usleep(1000);
    teller_.join();
  }

  std::thread teller_;
};

TEST_P(FrontNotices, ReachAHandlerThatUsesTheQueue)
{
  Fail([this] {
    const uint64_t index = Reserve();
    Write(index, Kernel(3));
    Ring(index);
    (void)Taken();
  });
  Wait();
  for (const toy_packet_t &ran : Ran(0))
    EXPECT_EQ(GetParam() == kPlain, ran.kernel_object == 3u << 8);
}

// What the handler has may go when its queue has.
TEST_P(FrontNotices, AreOverWhenTheQueueIsDestroyed)
{
  std::atomic<bool> entered{false}, destroyed{false};
  auto over = std::make_unique<int>(0);
  Fail([&] {
    entered = true;
    for (int i = 0; i < 200 && !destroyed; ++i)
      usleep(100);
    if (!destroyed)
      *over = 1;
  });
  while (!entered)
    usleep(100);
  Destroy();
  destroyed = true;
  EXPECT_EQ(1, *over);
  over.reset();
  Wait();
}

TEST_P(FrontNotices, ReachAHandlerThatDestroysTheQueue)
{
  Fail([this] { Destroy(); });
  Wait();
  EXPECT_EQ(0u, toy_live_queues());
}

// Whoever ends the threads that serve queues waits for a handler that one of them calls.
TEST_P(FrontNotices, ReachAHandlerThatDestroysTheQueueWhileTheProcessEnds)
{
  std::atomic<bool> entered{false}, ended{false};
  Fail([&] {
    entered = true;
    for (int i = 0; i < 200 && !ended; ++i)
      usleep(100);
    EXPECT_TRUE(ended);
    Destroy();
  });
  while (!entered)
    usleep(100);
  queues_end();
  ended = true;
  Wait();
  EXPECT_EQ(0u, toy_live_queues());
}

TEST_P(FrontNotices, ReachAHandlerThatEndsTheRuntime)
{
  Fail([this] {
    if (GetParam() == kPlain) // it is the runtime's to destroy
      Destroy();
    queue_ = nullptr;
    Unload();
  });
  Wait();
  EXPECT_EQ(0u, toy_live_queues());
}

// A thread that ends in a handler has left it.
TEST_P(FrontNotices, AreOverWhenTheirThreadEnds)
{
  if (GetParam() == kServes || GetParam() == kEnds)
    GTEST_SKIP() << "the thread is not the program's to end, or ends in a visit of all queues";
  Fail([] {});
  teller_.join();
  handler_ = [] { pthread_exit(nullptr); };
  pthread_t thread;
  ASSERT_EQ(0, pthread_create(
                   &thread, nullptr,
                   [](void *) -> void * {
                     toy_fail(static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
                     return nullptr;
                   },
                   nullptr));
  pthread_join(thread, nullptr);
  Destroy();
}

std::string NameOf(const testing::TestParamInfo<Teller> &teller)
{
  const char *const names[] = {"Rings", "Serves", "Ends", "Runtime", "Plain"};
  return names[teller.param];
}

INSTANTIATE_TEST_SUITE_P(Tellers, FrontNotices,
                         testing::Values(kRings, kServes, kEnds, kRuntime, kPlain), NameOf);

} // namespace
