// AQL packets other than kernel dispatches, and the signals they complete.
#include "runtime.h"

#include <chrono>
#include <thread>

namespace {

class Packets : public Runtime {
protected:
  hsa_barrier_and_packet_t barrier(std::vector<hsa_signal_t> dependencies, hsa_signal_t completion)
  {
    hsa_barrier_and_packet_t packet{};
    for (size_t i = 0; i < dependencies.size(); ++i)
      packet.dep_signal[i] = dependencies[i];
    packet.completion_signal = completion;
    return packet;
  }

  // Whether a signal is still at `value` after everything had time to go wrong.
  bool stays(hsa_signal_t watched, hsa_signal_value_t value)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return hsa->hsa_signal_load_scacquire(watched) == value;
  }

  const uint32_t all = packet_header(HSA_PACKET_TYPE_BARRIER_AND);
  const uint32_t any = packet_header(HSA_PACKET_TYPE_BARRIER_OR);
};

TEST_F(Packets, barrier_and_waits_for_every_dependency)
{
  hsa_queue_t *q = queue();
  hsa_signal_t a = signal(1), b = signal(1), done = signal(1);
  auto packet = barrier({a, {}, b}, done);
  submit(q, &packet, all);
  EXPECT_TRUE(stays(done, 1));
  hsa->hsa_signal_store_screlease(a, 0);
  EXPECT_TRUE(stays(done, 1));
  hsa->hsa_signal_store_screlease(b, 0);
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Packets, barrier_or_waits_for_one_dependency)
{
  hsa_queue_t *q = queue();
  hsa_signal_t a = signal(1), b = signal(5), done = signal(1);
  auto packet = barrier({a, b}, done);
  submit(q, &packet, any);
  EXPECT_TRUE(stays(done, 1));
  hsa->hsa_signal_store_screlease(b, 0);
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Packets, barriers_without_dependencies_complete)
{
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(2);
  auto packet = barrier({}, done);
  submit(q, &packet, all);
  submit(q, &packet, any);
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Packets, barrier_value_knows_every_condition)
{
  struct {
    hsa_signal_condition32_t condition;
    hsa_signal_value_t mask, reference, unmet, met;
  } cases[] = {
      {HSA_SIGNAL_CONDITION_EQ, -1, 7, 6, 7},
      {HSA_SIGNAL_CONDITION_EQ, 0xff, 7, 0x108, 0x107},
      {HSA_SIGNAL_CONDITION_NE, -1, 7, 7, 8},
      {HSA_SIGNAL_CONDITION_LT, -1, 0, 0, -1},
      {HSA_SIGNAL_CONDITION_GTE, -1, -3, -4, -3},
      {HSA_SIGNAL_CONDITION_GTE, -1, 1ll << 40, 1, 1ll << 40},
  };
  hsa_queue_t *q = queue();
  for (auto &test : cases) {
    hsa_signal_t watched = signal(test.unmet), done = signal(1);
    hsa_amd_barrier_value_packet_t packet{};
    packet.signal = watched;
    packet.value = test.reference;
    packet.mask = test.mask;
    packet.cond = test.condition;
    packet.completion_signal = done;
    submit(q, &packet, vendor_header(HSA_AMD_PACKET_TYPE_BARRIER_VALUE));
    EXPECT_TRUE(stays(done, 1)) << test.condition << " " << test.reference;
    hsa->hsa_signal_store_screlease(watched, test.met);
    EXPECT_TRUE(reaches(done, 0)) << test.condition << " " << test.reference;
  }
}

TEST_F(Packets, an_unpublished_packet_holds_up_the_queue)
{
  hsa_queue_t *q = queue();
  hsa_signal_t first = signal(1), second = signal(1);
  uint64_t reserved = hsa->hsa_queue_add_write_index_relaxed(q, 1);
  auto packet = barrier({}, second);
  submit(q, &packet, all);
  EXPECT_TRUE(stays(second, 1));
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), reserved);
  auto *slot = (uint8_t *)q->base_address + (reserved % q->size) * 64;
  packet = barrier({}, first);
  memcpy(slot + 4, (uint8_t *)&packet + 4, 60);
  __atomic_store_n((uint32_t *)(void *)slot, all, __ATOMIC_RELEASE);
  ring(q, reserved);
  EXPECT_TRUE(reaches(first, 0));
  EXPECT_TRUE(reaches(second, 0));
}

TEST_F(Packets, the_ring_wraps_and_slots_come_back_invalid)
{
  hsa_queue_t *q = queue(64);
  const int total = 1000;
  hsa_signal_t done = signal(total);
  auto packet = barrier({}, done);
  for (int i = 0; i < total; ++i)
    submit(q, &packet, all);
  EXPECT_TRUE(reaches(done, 0));
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), (uint64_t)total);
  for (uint32_t i = 0; i < q->size; ++i)
    EXPECT_EQ(__atomic_load_n((uint16_t *)q->base_address + i * 32, __ATOMIC_RELAXED),
              HSA_PACKET_TYPE_INVALID);
}

TEST_F(Packets, many_producers_one_queue)
{
  hsa_queue_t *q = queue(128);
  const int threads = 4, each = 500;
  hsa_signal_t done = signal(threads * each);
  auto packet = barrier({}, done);
  std::vector<std::thread> producers;
  for (int t = 0; t < threads; ++t) {
    producers.emplace_back([&] {
      for (int i = 0; i < each; ++i)
        submit(q, &packet, all);
    });
  }
  for (auto &producer : producers)
    producer.join();
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Packets, queues_wait_for_each_other)
{
  hsa_queue_t *left = queue(), *right = queue();
  hsa_signal_t last = signal(0);
  std::vector<hsa_signal_t> chain{last};
  for (int i = 0; i < 20; ++i) {
    hsa_signal_t next = signal(1);
    auto packet = barrier({chain.back()}, next);
    submit(i % 2 == 0 ? left : right, &packet, all);
    chain.push_back(next);
  }
  EXPECT_TRUE(reaches(chain.back(), 0));
}

TEST_F(Packets, several_threads_wait_for_one_signal)
{
  hsa_queue_t *q = queue();
  hsa_signal_t gate = signal(1), done = signal(1);
  std::atomic<int> woken{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i)
    waiters.emplace_back([&] { woken += reaches(done, 0); });
  auto packet = barrier({gate}, done);
  submit(q, &packet, all);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  hsa->hsa_signal_store_screlease(gate, 0);
  for (auto &waiter : waiters)
    waiter.join();
  EXPECT_EQ(woken, 3);
}

TEST_F(Packets, signals_carry_times_on_the_systems_clock)
{
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(1);
  uint64_t before = 0, after = 0;
  hsa->hsa_amd_profiling_set_profiler_enabled(q, 1);
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before);
  auto packet = barrier({}, done);
  submit(q, &packet, all);
  ASSERT_TRUE(reaches(done, 0));
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after);
  hsa_amd_profiling_dispatch_time_t time{};
  ASSERT_EQ(hsa->hsa_amd_profiling_get_dispatch_time(gpu, done, &time), HSA_STATUS_SUCCESS);
  // The device counts in steps of 10 ns, and the runtime interpolates between two readings.
  EXPECT_GE(time.start + 2000, before);
  EXPECT_LE(time.start, time.end);
  EXPECT_LE(time.end, after + 2000);
}

TEST_F(Packets, a_queue_goes_away_while_its_barrier_waits)
{
  hsa_queue_t *q = queue();
  hsa_signal_t never = signal(1), done = signal(1);
  auto packet = barrier({never}, done);
  submit(q, &packet, all);
  queue_destroy(q);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
}

} // namespace
