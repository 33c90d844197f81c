// A program's queue and the device's behind it.
#include "tests/front/proxy_test.h"

#include <chrono>
#include <thread>

#include <rawhal/limit.h>

#include <unistd.h>

extern "C" { // of front/, whose headers have C's atomics
void ending_forward(void);
void queues_end(void);
void service_tell(void);
}

namespace {

constexpr uint16_t barrier_bit = 1 << HSA_PACKET_HEADER_BARRIER;

TEST_F(FrontProxy, ADispatchIsTheProgramsButForOurSignal)
{
  Start();
  hsa_kernel_dispatch_packet_t packet = Kernel(5);
  packet.kernarg_address = this;
  packet.group_segment_size = 77;
  packet.header |= barrier_bit;
  packet.setup = 3;
  Submit(packet);
  auto ran = Ran(1);
  ASSERT_EQ(1u, ran.size());
  EXPECT_NE(0u, ran[0].completion_signal);
  packet.completion_signal.handle = ran[0].completion_signal;
  EXPECT_EQ(0, memcmp(&packet, ran[0].words, sizeof(packet)));
  EXPECT_EQ(1u, Taken());
}

TEST_F(FrontProxy, TheProgramsSignalStaysWhereItIsAndABarrierFollows)
{
  Start();
  hsa_signal_t mine = Signal();
  hsa_kernel_dispatch_packet_t packet = Kernel(5, 1000, mine);
  Submit(packet);
  auto ran = Ran(2);
  ASSERT_EQ(2u, ran.size());
  EXPECT_EQ(0, memcmp(&packet, ran[0].words, sizeof(packet)));
  EXPECT_EQ(HSA_PACKET_TYPE_BARRIER_AND | barrier_bit, ran[1].header);
  EXPECT_NE(mine.handle, ran[1].completion_signal);
  EXPECT_NE(0u, ran[1].completion_signal);
  hsa_amd_profiling_dispatch_time_t time = {0, 0};
  Amd<decltype(hsa_amd_profiling_get_dispatch_time)>(48)(toy_agent(), mine, &time);
  EXPECT_EQ(1000u, time.end - time.start); // the kernel's, not the barrier's
  EXPECT_EQ(0, Core<decltype(hsa_signal_load_scacquire)>(336)(mine));
  EXPECT_EQ(1u, Taken());
  Drop(mine);
}

TEST_F(FrontProxy, OtherPacketsPassUnread)
{
  Start();
  for (uint16_t type : {0, 3, 4, 5, 6}) {
    SCOPED_TRACE(type);
    uint32_t words[16];
    for (uint32_t i = 0; i < 16; ++i)
      words[i] = 0x01010101u * (i + 1);
    words[0] = type | 0xab020000u | 0x1500u; // of type 0 one that waits for a value
    words[14] = words[15] = 0;
    Submit(words);
    auto ran = Ran(1);
    ASSERT_EQ(1u, ran.size());
    EXPECT_EQ(0, memcmp(words, ran[0].words, sizeof(words)));
  }
}

TEST_F(FrontProxy, WhatIsNotWrittenYetHoldsUpWhatComesAfter)
{
  Start();
  uint64_t first = Reserve(), second = Reserve();
  Write(second, Kernel(2));
  Ring(second);
  EXPECT_EQ(0u, Taken());
  Write(first, Kernel(1));
  Ring(first);
  auto ran = Ran(2);
  ASSERT_EQ(2u, ran.size());
  EXPECT_EQ(1u << 8, ran[0].kernel_object);
  EXPECT_EQ(2u << 8, ran[1].kernel_object);
}

TEST_F(FrontProxy, TheRingIsUsedAgainAndAgain)
{
  Start("100%", 16);
  hsa_signal_t mine = Signal();
  for (uint64_t i = 1; i <= 200; ++i)
    Submit(Kernel(i, 0, i % 2 ? mine : hsa_signal_t{0}));
  auto ran = Ran(300);
  ASSERT_EQ(300u, ran.size());
  uint64_t next = 1;
  for (const toy_packet_t &packet : ran)
    if ((packet.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      EXPECT_EQ(next++ << 8, packet.kernel_object);
    }
  EXPECT_EQ(201u, next);
  Drop(mine);
}

// Places are reserved before there is room for them: more is announced then than the ring has.
TEST_F(FrontProxy, WhatIsReservedBeyondTheRingIsNotThere)
{
  constexpr uint64_t size = 16, beyond = 8;
  Start("100%", size);
  hsa_kernel_dispatch_packet_t packet = Kernel(5, 1000);
  const auto write = [&](uint64_t index) {
    packet.kernarg_address = reinterpret_cast<void *>(index);
    Write(index, packet);
  };
  for (int i = 0; i < 70; ++i)
    Submit(packet); // from here on it is known how long it takes
  Ran(70);
  uint64_t first = Reserve();
  for (uint64_t i = 1; i < size + beyond; ++i)
    Reserve();
  for (uint64_t i = 0; i < size; ++i)
    write(first + i);
  Ring(first + size - 1);
  while (Taken() < first + size)
    usleep(100);
  for (uint64_t i = size; i < size + beyond; ++i)
    write(first + i);
  Ring(first + size + beyond - 1);
  auto ran = Ran(size + beyond);
  ASSERT_EQ(size + beyond, ran.size());
  for (uint64_t i = 0; i < size + beyond; ++i)
    EXPECT_EQ(first + i, ran[i].words[10]);
  EXPECT_EQ(first + size + beyond, Taken());
}

TEST_F(FrontProxy, TheLargestRingIsAsLargeAsItWas)
{
  Start("100%", 1024);
  ASSERT_EQ(1024u, queue_->size);
  toy_hold(true);
  hsa_signal_t mine = Signal();
  for (uint64_t i = 0; i < 1024; ++i)
    Write(Reserve(), Kernel(i + 1, 0, mine));
  Ring(1023);
  toy_hold(false);
  uint64_t next = 1;
  for (const toy_packet_t &packet : Ran(2048))
    if ((packet.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      EXPECT_EQ(next++ << 8, packet.kernel_object);
    }
  EXPECT_EQ(1025u, next);
  EXPECT_EQ(1024u, Taken());
  Drop(mine);
}

TEST_F(FrontProxy, DoorbellsThatSaySomethingElse)
{
  Start();
  Ring(0); // nothing is there
  Ring(UINT64_MAX);
  Ring(1000000);
  EXPECT_EQ(0u, Taken());
  uint64_t index = Reserve();
  Write(index, Kernel(1));
  Ring(1000000); // more than there is
  EXPECT_EQ(1u, Ran(1).size());
  Write(Reserve(), Kernel(2));
  Write(Reserve(), Kernel(3));
  Ring(0); // and less
  EXPECT_EQ(2u, Ran(2).size());
  EXPECT_EQ(3u, Taken());
}

// Not every program looks at the read index: a slot is free when what was in it has finished, and
// then the barrier behind it may still be in the device's ring.
TEST_F(FrontProxy, SlotsThatAreUsedAgainWhenTheirSignalsSaySo)
{
  constexpr uint64_t size = 32; // the device's ring is not larger than it must be
  Start("100%", size);
  hsa_signal_t mine = Signal();
  const auto next_of_device = [] {
    const auto *real = reinterpret_cast<const amd_queue_t *>(toy_queue());
    const uint64_t at = real->read_dispatch_id % real->hsa_queue.size;
    return std::string(static_cast<const char *>(real->hsa_queue.base_address) + at * 64, 64);
  };
  const auto write = [&](uint64_t number) {
    uint64_t index = Reserve();
    Write(index, Kernel(number, 0, mine));
    Ring(index);
  };
  toy_hold(true);
  for (uint64_t i = 1; i <= size; ++i)
    write(i);
  for (uint64_t i = 1; i <= 10 * size; ++i) {
    while (toy_dispatches() < i)
      if (!toy_step())
        usleep(100);
    const std::string barrier = next_of_device();
    write(size + i);
    ASSERT_TRUE(barrier == next_of_device()) << "written over, behind " << i;
  }
  toy_hold(false);
  while (toy_dispatches() < 11 * size) {
    toy_hold(false); // what comes later is run by who looks
    usleep(100);
  }
  uint64_t next = 1;
  for (const toy_packet_t &packet : Ran(22 * size))
    if ((packet.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      EXPECT_EQ(next++ << 8, packet.kernel_object);
    }
  EXPECT_EQ(11 * size + 1, next);
  Drop(mine);
}

// The runtime's header says where it is, and there are programs that look there.
TEST_F(FrontProxy, TheReadIndexIsWhereTheRuntimeHasIt)
{
  Start("100%", 16);
  const auto *whole = reinterpret_cast<const amd_queue_t *>(queue_);
  const auto taken = [&] { return __atomic_load_n(&whole->read_dispatch_id, __ATOMIC_ACQUIRE); };
  hsa_barrier_and_packet_t barrier = {};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
  for (uint64_t i = 0; i < 200; ++i) {
    while (i - taken() >= queue_->size)
      usleep(100);
    if (i % 2)
      Write(i, Kernel(i));
    else
      Write(i, barrier);
    Reserve();
    Ring(i);
  }
  while (taken() != 200)
    usleep(100);
  EXPECT_EQ(200u, Ran(200).size());
}

// The doorbell comes back at once; what was held back runs later, all of it, in order.
TEST_F(FrontProxy, WhatIsHeldBackRunsLater)
{
  Set("RAWHAL_GPU_BURST", "1ms");
  Start("50%");
  for (uint64_t i = 1; i <= 40; ++i)
    Submit(Kernel(i, 2000000));
  EXPECT_LT(Taken(), 40u);
  auto ran = Ran(40);
  for (uint64_t i = 0; i < 40; ++i)
    EXPECT_EQ((i + 1) << 8, ran[i].kernel_object);
  EXPECT_EQ(40u, Taken());
}

TEST_F(FrontProxy, NothingMoreGoesThanIsPaidForUntilItHasFinished)
{
  Start("50%");
  toy_hold(true);
  for (uint64_t i = 1; i <= 8; ++i)
    Submit(Kernel(3)); // never measured: one of it goes, until that is known
  EXPECT_TRUE(toy_step());
  toy_hold(false);
  EXPECT_EQ(8u, Ran(8).size());
}

TEST_F(FrontProxy, AQueueIsDestroyedWithPacketsHeldBack)
{
  Start("1%");
  for (uint64_t i = 1; i <= 16; ++i)
    Submit(Kernel(i, 50000000));
  Destroy();
}

TEST_F(FrontProxy, AndWithPacketsOnTheDevice)
{
  Start("50%");
  toy_hold(true);
  for (uint64_t i = 1; i <= 16; ++i)
    Submit(Kernel(i));
  Destroy();
}

// Threads of other queues tell each one what has finished: one that goes meanwhile stays until they
// have. Nothing but a sanitizer sees it if it does not.
TEST_F(FrontProxy, AQueueIsDestroyedWhileOthersTellIt)
{
  Start("1%");
  std::atomic<bool> ended{false};
  std::thread tells([&] {
    while (!ended)
      service_tell();
  });
  for (int round = 0; round < 200; ++round) {
    for (uint64_t i = 1; i <= 3; ++i)
      Submit(Kernel(i, 50000000));
    Destroy();
    ASSERT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, Failed,
                                                   this, 0, 0, &queue_));
  }
  ended = true;
  tells.join();
}

// While the process ends, threads that wait forward: with a queue's lease, to the device's ring.
TEST_F(FrontProxy, AQueueIsDestroyedWhileOthersForwardForIt)
{
  Start("50%");
  std::atomic<bool> ended{false};
  std::thread forwards([&] {
    while (!ended)
      ending_forward();
  });
  for (int round = 0; round < 100; ++round) {
    for (uint64_t i = 1; i <= 3; ++i)
      Submit(Kernel(i, 100000));
    queues_end();
    Destroy();
    ASSERT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, Failed,
                                                   this, 0, 0, &queue_));
  }
  ended = true;
  forwards.join();
}

TEST_F(FrontProxy, AnErrorIsTheProgramsQueues)
{
  Start();
  toy_fail(static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
  EXPECT_EQ(static_cast<int>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION), failed_);
  EXPECT_EQ(queue_, source_);
}

// A limit of what a single dispatch may be is an error of the queue.
TEST_F(FrontProxy, WhatNeverFitsStopsTheQueue)
{
  Set("RAWHAL_GRID_WORKGROUPS", "10");
  Start();
  hsa_kernel_dispatch_packet_t packet = Kernel(1);
  packet.grid_size_x = 11;
  Submit(packet);
  EXPECT_EQ(static_cast<int>(HSA_STATUS_ERROR_OUT_OF_RESOURCES), failed_);
  EXPECT_EQ(queue_, source_);
  EXPECT_NE(std::string::npos, Report().find("work-groups"));
}

// What was on the device then is cut off, and charged up to then, however long the program keeps its queue.
TEST_F(FrontProxy, WhatAStoppedQueueHadOnTheDeviceIsChargedUpToThen)
{
  Scratch scratch;
  const std::string region = scratch / "region";
  Set("RAWHAL_LIMIT_REGION", region);
  Set("RAWHAL_GRID_WORKGROUPS", "10");
  Start("90%");
  const uint64_t each = 100000;
  const auto began = std::chrono::steady_clock::now();
  hsa_kernel_dispatch_packet_t packet = Kernel(1, each);
  packet.grid_size_x = 9; // what it takes is known by powers of two
  Submit(packet);
  toy_hold(true);
  Submit(packet);
  packet.grid_size_x = 11;
  Submit(packet);
  ASSERT_NE(0, failed_);
  const std::chrono::nanoseconds lasted = std::chrono::steady_clock::now() - began;
  std::this_thread::sleep_for(2 * lasted + std::chrono::milliseconds(100));
  Destroy();
  rawhal_limit_view_t *view = nullptr;
  rawhal_limit_row_t rows[8] = {}, tenant = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(region.c_str(), &view, nullptr));
  const size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 8);
  for (size_t i = 0; i < count && i < 8; ++i)
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT)
      tenant = rows[i];
  rawhal_limit_view_close(view);
  EXPECT_EQ(2u, tenant.launches);
  EXPECT_LE(tenant.gpu_ns, each + static_cast<uint64_t>(lasted.count()));
}

// Where only that is limited, nothing is asked of the device besides.
TEST_F(FrontProxy, WithoutALimitOfTimePacketsGoAsTheyAre)
{
  Set("RAWHAL_GRID_WORKGROUPS", "10");
  Start(nullptr, 16);
  hsa_signal_t mine = Signal();
  hsa_kernel_dispatch_packet_t packet = Kernel(5, 1000, mine);
  packet.grid_size_x = 10;
  packet.header |= barrier_bit;
  for (int i = 0; i < 100; ++i) {
    packet.completion_signal = i % 2 ? mine : hsa_signal_t{0};
    Submit(packet);
    auto ran = Ran(1);
    ASSERT_EQ(1u, ran.size());
    EXPECT_EQ(0, memcmp(&packet, ran[0].words, sizeof(packet)));
  }
  EXPECT_EQ(100u, Taken());
  EXPECT_EQ(0, failed_);
  toy_hold(true); // a ring that is full is full
  for (int i = 0; i < 16; ++i) {
    Write(Reserve(), packet);
    Ring(100 + static_cast<uint64_t>(i));
  }
  EXPECT_EQ(100u, Taken());
  toy_hold(false);
  EXPECT_EQ(16u, Ran(16).size());
  packet.grid_size_y = 2;
  Submit(packet);
  EXPECT_EQ(static_cast<int>(HSA_STATUS_ERROR_OUT_OF_RESOURCES), failed_);
  EXPECT_NE(std::string::npos,
            Report().find("20 work-groups of a dispatch asked for, the limit is 10"));
  EXPECT_EQ(116u, Taken());
  Drop(mine);
}

TEST_F(FrontProxy, TheProgramsQueueIsItsOwn)
{
  Start();
  EXPECT_EQ(64u, queue_->size);
  EXPECT_EQ(7u, queue_->id);
  Core<decltype(hsa_queue_store_write_index_relaxed)>(136)(queue_, 5);
  EXPECT_EQ(5u, Core<decltype(hsa_queue_load_write_index_relaxed)>(128)(queue_));
  auto cas = Core<decltype(hsa_queue_cas_write_index_scacq_screl)>(152);
  EXPECT_EQ(5u, cas(queue_, 4, 9));
  EXPECT_EQ(5u, cas(queue_, 5, 6));
  EXPECT_EQ(6u, Core<decltype(hsa_queue_load_write_index_scacquire)>(120)(queue_));
  EXPECT_EQ(0u, Taken());
}

// A runtime may wait while it makes a queue, which is where a thread is cancelled.
class FrontProxyCancelled : public FrontProxy {
protected:
  void Prepare() override
  {
    make_ = Core<decltype(hsa_queue_create)>(72);
    toy_replace_core(72, reinterpret_cast<void *>(Make));
  }
  static hsa_status_t Make(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                           void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                           uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
  {
    pthread_testcancel();
    return make_(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  }
  static inline decltype(hsa_queue_create) *make_;
};

TEST_F(FrontProxyCancelled, LeavesNothingLocked)
{
  Start();
  const auto create = Core<decltype(hsa_queue_create)>(72);
  const auto another = [&](hsa_queue_t **made) {
    return create(toy_agent(), 64, HSA_QUEUE_TYPE_COOPERATIVE, nullptr, nullptr, 0, 0, made);
  };
  hsa_queue_t *made[2] = {};
  std::thread([&] {
    pthread_cancel(pthread_self());
    EXPECT_EQ(HSA_STATUS_SUCCESS, another(&made[0]));
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); // so that it ends as others do
  }).join();
  ASSERT_EQ(HSA_STATUS_SUCCESS, another(&made[1]));
  for (hsa_queue_t *each : made)
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(each));
}

TEST_F(FrontProxy, SeveralThreadsSubmit)
{
  Start("100%", 64);
  constexpr uint64_t threads = 4, each = 500;
  std::vector<std::thread> all;
  for (uint64_t t = 0; t < threads; ++t)
    all.emplace_back([this, t] {
      for (uint64_t i = 0; i < each; ++i)
        Submit(Kernel(t * each + i + 1));
    });
  for (std::thread &thread : all)
    thread.join();
  auto ran = Ran(threads * each);
  ASSERT_EQ(threads * each, ran.size());
  std::vector<uint64_t> last(threads, 0);
  for (const toy_packet_t &packet : ran) {
    uint64_t number = (packet.kernel_object >> 8) - 1;
    EXPECT_LT(last[number / each], number % each + 1); // each thread's own in order, each once
    last[number / each] = number % each + 1;
  }
}

} // namespace
