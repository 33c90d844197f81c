// The device at rest: idle, paused, shut down, forked.
#include "newer.h"
#include "runtime.h"
#include "tests/cancelled.h"
#include "tests/child.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace {

using std::chrono::milliseconds;

class Rest : public Runtime {
protected:
  void barrier(hsa_queue_t *q, hsa_signal_t completion)
  {
    hsa_barrier_and_packet_t packet{};
    packet.completion_signal = completion;
    submit(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  }

  static double cpu_seconds()
  {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  }
};

TEST_F(Rest, idle_queues_use_no_processor_time)
{
  SKIP_WITHOUT_INTERRUPTS();
  hsa_queue_t *queues[4];
  for (auto &q : queues) {
    q = queue();
    ASSERT_TRUE(reaches(submit_barrier(q), 0));
  }
  std::this_thread::sleep_for(milliseconds(50));
  double before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_LT(cpu_seconds() - before, 0.05);
}

TEST_F(Rest, a_sleeping_queue_wakes_for_every_doorbell)
{
  hsa_queue_t *q = queue();
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(milliseconds(i % 5)); // asleep, falling asleep, awake
    ASSERT_TRUE(reaches(submit_barrier(q), 0)) << i;
  }
}

// Queues that wait for each other's signals, 0 for 1, 1 for 2 and so on, on more queues than there
// are processors, so that most of them sleep when their turn comes.
class InTurn : public Rest {
protected:
  void run(size_t rounds)
  {
    constexpr size_t count = 5;
    hsa_queue_t *queues[count];
    for (auto &q : queues)
      q = queue(256);
    hsa_signal_t first = signal(1), before = first;
    for (size_t i = 0; i < rounds * count; ++i) {
      // One signal that is there from the beginning on, and the last: all of them count.
      hsa_barrier_and_packet_t packet{};
      packet.dep_signal[0] = i % 2 ? first : before;
      packet.dep_signal[1] = i % 2 ? before : first;
      packet.completion_signal = before = signal(1);
      submit(queues[i % count], &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
    }
    EXPECT_EQ(hsa->hsa_signal_load_scacquire(before), 1);
    hsa->hsa_signal_store_screlease(first, 0);
    EXPECT_TRUE(reaches(before, 0));
  }
};

TEST_F(InTurn, after_polling)
{
  run(200);
}

TEST_F(InTurn, without_polling)
{
  option("spin", 0);
  run(200);
}

TEST_F(InTurn, on_one_processor)
{
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &all))
      CPU_SET(i, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  run(200); // whose threads have it from this one
  EXPECT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

class Polling : public Rest {
  void configure() override { option("userfaultfd", 0); }
};

TEST_F(Polling, finds_packets_without_userfaultfd)
{
  softgpu_counters_t before{}, after{};
  hsa->counters(&before, sizeof(before));
  hsa_queue_t *q = queue();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(milliseconds(i % 5));
    ASSERT_TRUE(reaches(submit_barrier(q), 0)) << i;
  }
  hsa->counters(&after, sizeof(after));
  EXPECT_EQ(after.doorbell_wakeups, before.doorbell_wakeups);
}

TEST_F(Rest, paused_processors_leave_everything_alone)
{
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(2);
  hsa->pause();
  hsa->pause(); // calls nest
  for (int i = 0; i < 2; ++i)
    barrier(q, done);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 2);
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), 0u);
  hsa->resume();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), 0u);
  hsa->resume();
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Rest, doorbells_are_plain_memory_while_paused)
{
  hsa_queue_t *q = queue();
  ASSERT_TRUE(reaches(submit_barrier(q), 0));
  std::this_thread::sleep_for(milliseconds(20)); // asleep behind its doorbell
  softgpu_counters_t before{}, after{};
  hsa->counters(&before, sizeof(before));
  hsa->pause();
  ring(q, 0);
  hsa->counters(&after, sizeof(after));
  EXPECT_EQ(after.doorbell_wakeups, before.doorbell_wakeups);
  hsa->resume();
}

TEST_F(Rest, queues_come_and_go_while_paused)
{
  hsa->pause();
  hsa_queue_t *first = queue(), *second = queue();
  hsa_signal_t done = submit_barrier(second);
  queue_destroy(first);
  EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(second), 0u);
  hsa->resume();
  EXPECT_TRUE(reaches(done, 0));
}

// A driver's calls are no cancellation points: whoever is cancelled in one goes on, and leaves no lock.
TEST_F(Rest, a_cancelled_thread_waits_to_the_end)
{
  hsa_signal_t done = signal(1);
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    hsa->hsa_signal_store_screlease(done, 0);
  });
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    hsa_queue_t *mine = queue();
    EXPECT_EQ(hsa->hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                             HSA_WAIT_STATE_BLOCKED),
              0);
    hsa->pause();
    hsa->resume();
    queue_destroy(mine);
    release(host_memory(1 << 20));
  }));
  later.join();
  queue_destroy(queue());
}

TEST_F(Rest, starts_again_after_shutdown)
{
  for (int i = 0; i < 3; ++i) {
    TearDown();
    gpus.clear();
    SetUp();
    hsa_queue_t *q = queue();
    EXPECT_TRUE(reaches(submit_barrier(q), 0));
  }
}

TEST_F(Rest, a_forked_child_leaves_without_the_device)
{
  hsa_queue_t *q = queue();
  ASSERT_TRUE(reaches(submit_barrier(q), 0));
  EXPECT_EQ(in_exiting_child([&] {
              softgpu_fault_info_t info;
              if (hsa->queue_fault_info(q, &info, sizeof(info)))
                _exit(1);
              hsa->pause();
              hsa->resume();
            }),
            0);
  // The parent's device is none the worse.
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
}

TEST(exit, without_shutdown_is_clean)
{
  if (!functions())
    GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  EXPECT_EQ(in_exiting_child([] {
              const Functions *hsa = functions();
              if (hsa->hsa_init() != HSA_STATUS_SUCCESS)
                _exit(1);
              hsa_agent_t gpu{};
              hsa->hsa_iterate_agents(
                  [](hsa_agent_t agent, void *data) {
                    *static_cast<hsa_agent_t *>(data) = agent;
                    return HSA_STATUS_SUCCESS;
                  },
                  &gpu);
              hsa_queue_t *q = nullptr;
              if (hsa->hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0,
                                        &q) != HSA_STATUS_SUCCESS)
                _exit(2);
            }),
            0);
}

} // namespace
