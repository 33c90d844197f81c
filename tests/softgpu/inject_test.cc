// Faults ordered by softgpu_inject(), as the tests of other folders order them.
#include "kernels.h"
#include "newer.h"

#include <chrono>
#include <thread>

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

class Inject : public Kernels {
protected:
  void TearDown() override
  {
    if (functions()) {
      for (const char *name :
           {"queue_error", "stall", "lost_doorbell", "allocation_failure", "event_failure"})
        EXPECT_TRUE(functions()->inject(name, nullptr, 0, 0));
    }
    Kernels::TearDown();
  }

  hsa_barrier_and_packet_t barrier(hsa_signal_t done)
  {
    hsa_barrier_and_packet_t packet{};
    packet.completion_signal = done;
    return packet;
  }

  uint64_t injected()
  {
    softgpu_counters_t counters{};
    hsa->counters(&counters, sizeof(counters));
    return counters.injected;
  }

  // Waits until one more fault has happened than `before`, at most ten seconds.
  bool injected_since(uint64_t before)
  {
    auto deadline = steady_clock::now() + std::chrono::seconds(10);
    while (injected() == before && steady_clock::now() < deadline)
      std::this_thread::yield();
    return injected() != before;
  }
};

TEST_F(Inject, refuses_what_makes_no_sense)
{
  hsa_queue_t *q = queue();
  EXPECT_FALSE(hsa->inject("gremlins", nullptr, 1, 0));
  EXPECT_FALSE(hsa->inject(nullptr, nullptr, 1, 0));
  for (uint64_t value : {0ull, 1ull, 512ull, 1024ull, 1ull << 32})
    EXPECT_FALSE(hsa->inject("queue_error", nullptr, 1, value)) << value;
  EXPECT_FALSE(hsa->inject("stall", nullptr, 1, 1ull << 32));
  EXPECT_FALSE(hsa->inject("allocation_failure", q, 1, 0));
  EXPECT_FALSE(hsa->inject("event_failure", q, 1, 0));
}

TEST_F(Inject, queue_error_at_the_third_packet)
{
  for (auto &[code, status] : kQueueErrors) {
    hsa_queue_t *q = queue(), *other = queue();
    uint64_t before = injected();
    ASSERT_TRUE(hsa->inject("queue_error", q, 3, code));
    EXPECT_TRUE(reaches(submit_barrier(other), 0)); // does not count
    EXPECT_TRUE(reaches(submit_barrier(q), 0));
    EXPECT_TRUE(reaches(submit_barrier(q), 0));
    hsa_signal_t never = submit_barrier(q);
    EXPECT_EQ(as_of_5_2(queue_error()), status) << code;
    EXPECT_TRUE(pending(never));
    EXPECT_EQ(fault_text(q), "packet 2: an injected error");
    softgpu_fault_info_t info{};
    ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
    EXPECT_EQ(info.queue_code, code);
    EXPECT_EQ(info.packet_index, 2u);
    EXPECT_EQ(injected(), before + 1);
    EXPECT_TRUE(reaches(submit_barrier(other), 0));
    queue_destroy(q);
    queue_destroy(other);
  }
}

TEST_F(Inject, a_packet_that_waits_counts_once)
{
  hsa_queue_t *q = queue();
  ASSERT_TRUE(hsa->inject("queue_error", q, 2, 32));
  hsa_signal_t dependency = signal(1), done = signal(1);
  auto packet = barrier(done);
  packet.dep_signal[0] = dependency;
  submit(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  std::this_thread::sleep_for(milliseconds(20)); // looked at many times
  EXPECT_EQ(hsa->queue_fault(q, nullptr, 0), 0u);
  hsa->hsa_signal_store_screlease(dependency, 0);
  EXPECT_TRUE(reaches(done, 0));
  submit_barrier(q);
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

TEST_F(Inject, an_order_can_be_cancelled)
{
  hsa_queue_t *q = queue();
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("queue_error", q, 1, 32));
  ASSERT_TRUE(hsa->inject("queue_error", nullptr, 0, 0));
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
  EXPECT_EQ(injected(), before);
}

TEST_F(Inject, one_queue_stalls)
{
  hsa_queue_t *q = queue(), *other = queue();
  ASSERT_TRUE(hsa->inject("stall", q, 1, 200));
  auto begun = steady_clock::now();
  hsa_signal_t late = submit_barrier(q);
  EXPECT_TRUE(reaches(submit_barrier(other), 0));
  EXPECT_TRUE(reaches(late, 0));
  EXPECT_GE(steady_clock::now() - begun, milliseconds(200));
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
}

TEST_F(Inject, the_device_stalls)
{
  hsa_queue_t *q = queue(), *other = queue();
  ASSERT_TRUE(hsa->inject("stall", nullptr, 1, 200));
  auto begun = steady_clock::now();
  uint64_t before = injected();
  hsa_signal_t late = submit_barrier(q);
  ASSERT_TRUE(injected_since(before));
  EXPECT_TRUE(reaches(submit_barrier(other), 0));
  EXPECT_GE(steady_clock::now() - begun, milliseconds(200));
  EXPECT_TRUE(reaches(late, 0));
}

TEST_F(Inject, a_stalled_queue_can_be_destroyed)
{
  hsa_queue_t *q = queue();
  ASSERT_TRUE(hsa->inject("stall", q, 1, UINT32_MAX));
  hsa_signal_t never = submit_barrier(q);
  queue_destroy(q);
  EXPECT_TRUE(pending(never));
}

TEST_F(Inject, a_lost_doorbell_is_made_good_by_the_next)
{
  hsa_queue_t *q = queue();
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("lost_doorbell", q, 1, 0));
  hsa_signal_t first = signal(1), second = signal(1);
  auto packet = barrier(first);
  uint64_t index = submit(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  ASSERT_TRUE(injected_since(before));
  packet = barrier(second); // published behind it, not rung
  uint64_t last = publish(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_TRUE(pending(first));
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), index);
  ring(q, last);
  EXPECT_TRUE(reaches(first, 0));
  EXPECT_TRUE(reaches(second, 0));
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
}

TEST_F(Inject, a_doorbell_is_lost_also_while_the_queue_works)
{
  hsa_queue_t *q = queue();
  hsa_signal_t dependency = signal(1), done = signal(1);
  auto packet = barrier(done);
  packet.dep_signal[0] = dependency;
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("stall", q, 1, 0)); // shows when it is the packet's turn
  submit(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  ASSERT_TRUE(injected_since(before));
  ASSERT_TRUE(hsa->inject("lost_doorbell", q, 1, 0));
  hsa_signal_t lost = submit_barrier(q);
  hsa->hsa_signal_store_screlease(dependency, 0);
  ASSERT_TRUE(injected_since(before + 1));
  EXPECT_TRUE(reaches(done, 0));
  EXPECT_TRUE(pending(lost));
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
  EXPECT_TRUE(reaches(lost, 0));
}

// A queue that polls may begin a packet before its doorbell rings. That doorbell cannot be lost.
TEST_F(Inject, the_doorbell_of_a_packet_that_has_begun_is_not_lost)
{
  option("spin", 1000000000);
  hsa_queue_t *q = queue();
  hsa_signal_t dependency = signal(1), done = signal(1);
  auto packet = barrier(done);
  packet.dep_signal[0] = dependency;
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("stall", q, 1, 0)); // shows when it is the packet's turn
  uint64_t index = publish(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  ASSERT_TRUE(injected_since(before));
  ASSERT_TRUE(hsa->inject("lost_doorbell", q, 1, 0));
  ring(q, index);
  std::this_thread::sleep_for(milliseconds(20)); // looked at many times
  hsa_signal_t lost = submit_barrier(q);
  hsa->hsa_signal_store_screlease(dependency, 0);
  EXPECT_TRUE(reaches(done, 0));
  ASSERT_TRUE(injected_since(before + 1));
  EXPECT_TRUE(pending(lost));
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
  EXPECT_TRUE(reaches(lost, 0));
}

TEST_F(Inject, ringing_again_with_the_same_value_helps)
{
  hsa_queue_t *q = queue();
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("lost_doorbell", nullptr, 1, 0));
  hsa_signal_t done = signal(1);
  auto packet = barrier(done);
  uint64_t index = publish(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  ring(q, index);
  ASSERT_TRUE(injected_since(before));
  std::this_thread::sleep_for(milliseconds(20)); // until it sleeps
  EXPECT_TRUE(pending(done));
  ring(q, index);
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Inject, the_nth_allocation_fails)
{
  ASSERT_TRUE(hsa->inject("allocation_failure", nullptr, 3, 2));
  void *memory[5];
  for (int i = 0; i < 5; ++i)
    memory[i] = device_memory(4096);
  EXPECT_NE(memory[0], nullptr);
  EXPECT_NE(memory[1], nullptr);
  // The runtime may try twice before it gives up: both failures are its own.
  EXPECT_EQ(memory[2], nullptr);
  EXPECT_NE(memory[4], nullptr);
}

TEST_F(Inject, signals_outlive_the_events)
{
  SKIP_WITHOUT_INTERRUPTS();
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("event_failure", nullptr, 1, 1000000));
  std::vector<hsa_signal_t> made(100); // more than the runtime keeps events for
  size_t failed = 0;
  for (hsa_signal_t &one : made)
    failed += hsa->hsa_signal_create(1, 0, nullptr, &one) != HSA_STATUS_SUCCESS;
  EXPECT_GT(injected(), before);
  EXPECT_TRUE(hsa->inject("event_failure", nullptr, 0, 0));
  RecordProperty("failed", (int)failed);
  for (hsa_signal_t one : made) {
    if (one.handle != 0) {
      EXPECT_EQ(hsa->hsa_signal_destroy(one), HSA_STATUS_SUCCESS);
    }
  }
  // What was made without an event works all the same, by polling.
  hsa_queue_t *q = queue();
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
}

// The host knows a time that the kernel needs at least: from its start until it is let go.
TEST_F(Inject, a_slow_device)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  hsa_queue_t *q = queue();
  hsa->hsa_amd_profiling_set_profiler_enabled(q, 1);
  option("slowdown", 10);
  uint64_t before = injected();
  ASSERT_TRUE(hsa->inject("stall", q, 1, 0)); // shows when it is the packet's turn
  hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)flag}));
  ASSERT_TRUE(injected_since(before));
  std::this_thread::sleep_for(milliseconds(20));
  uint64_t released = 0;
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &released);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
  hsa_amd_profiling_dispatch_time_t time{};
  hsa->hsa_amd_profiling_get_dispatch_time(gpu, done, &time);
  // A tenth less, for the runtime interpolates between two readings of the clocks.
  EXPECT_GE((double)time.end - (double)time.start, 9 * ((double)released - (double)time.start));
}

} // namespace
