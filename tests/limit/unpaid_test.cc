// Work that does not end by its signal, and work that has not ended yet, on a device's queues.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/graph_of.h"
#include "tests/hal/held_test.h"
#include "tests/limit/limited_device.h"
#include "tests/values.h"

namespace {

// Until when. A busy machine begins a kernel late: who looks at what one had sleeps twice as long as that.
uint64_t Sleep(uint64_t ms)
{
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return rawhal_deadline_after(0);
}

class Unpaid : public LimitedDevice<HeldTest> {
protected:
  void StartAtTenPercent()
  {
    Start({{RAWHAL_LIMIT_GPU_SHARE, 100000}, {RAWHAL_LIMIT_BURST, 1 * millisecond}});
  }
  // For how long after `since` nothing more is admitted, ms.
  double HeldBack(uint64_t since)
  {
    rawhal_queue_t *on = queue();
    rawhal_dispatch_t dispatch = empty();
    rawhal_ticket_t ticket = 0;
    rawhal_status_t status = rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error);
    if (status == RAWHAL_OK)
      return 0;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, status) << error.message;
    uint64_t retry = rawhal_queue_retry_at(on);
    return retry > since ? static_cast<double>(retry - since) / millisecond : 0;
  }
  // A batch whose first kernel runs for that long, and whose second faults. Until when the first ran.
  uint64_t SubmitAndFault(rawhal_queue_t *on, uint64_t ms, rawhal_ticket_t *ticket)
  {
    const rawhal_device_kernel_t *fault = kernel("fault-gfx90a-v5.co", "fault_store");
    rawhal_buffer_t *memory = buffer(4096);
    Blob wild = Blob().add(rawhal_buffer_address(memory)).add(int64_t{1} << 40).add(1u);
    rawhal_dispatch_t batch[] = {held(), dispatch_of(fault, 1, 1, wild)};
    EXPECT_OK(rawhal_queue_submit(on, batch, 2, RAWHAL_FOREVER, ticket, &error));
    uint64_t until = Sleep(2 * ms);
    release();
    return until;
  }
  // One of 64 packets, without limits.
  rawhal_queue_t *SmallQueue()
  {
    HeldTest::SetUp();
    rawhal_queue_options_t small = {};
    small.packets = 64;
    return queue(small);
  }
  // A queue that is destroyed in this test.
  rawhal_queue_t *OwnQueue()
  {
    rawhal_queue_t *made = nullptr;
    EXPECT_OK(rawhal_queue_create(device, nullptr, &made, &error));
    return made;
  }
};

TEST_F(Unpaid, ADestroyedQueuePaysForWhatRan)
{
  StartAtTenPercent();
  rawhal_queue_t *on = OwnQueue();
  submit(on, held());
  uint64_t ran_until = Sleep(200);
  rawhal_queue_destroy(on);
  EXPECT_GE(HeldBack(ran_until), 850);
  EXPECT_GE(Row(2).gpu_ns, 99 * millisecond);
  EXPECT_EQ(0u, Row(2).open_ns);
}

TEST_F(Unpaid, ABatchWhoseLastKernelFaultsPays)
{
  StartAtTenPercent();
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = 0;
  uint64_t ran_until = SubmitAndFault(on, 100, &ticket);
  EXPECT_EQ(RAWHAL_FAULT, wait(on, ticket));
  EXPECT_GE(HeldBack(ran_until), 850);
  EXPECT_GE(Row(2).gpu_ns, 99 * millisecond);
}

// Nobody looks: the fault itself settles the account.
TEST_F(Unpaid, AFaultIsChargedWithoutBeingSeen)
{
  StartAtTenPercent();
  rawhal_ticket_t ticket = 0;
  SubmitAndFault(queue(), 50, &ticket);
  for (int i = 0; i < 1000 && Row(2).open_ns; ++i)
    Sleep(10);
  EXPECT_EQ(0u, Row(2).open_ns);
  EXPECT_GE(Row(2).gpu_ns, 49 * millisecond);
  EXPECT_LE(Row(2).gpu_ns, 5000 * millisecond);
}

TEST_F(Unpaid, AKernelShowsWhileItRuns)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = held();
  uint64_t before = Row(2).gpu_ns;
  rawhal_ticket_t ticket = submit(on, dispatch);
  Sleep(600);
  for (size_t row : {0, 1, 2}) {
    EXPECT_GE(Row(row).gpu_ns, before + 299 * millisecond) << row;
    EXPECT_GE(Row(row).achieved_ppm[0], 290000u) << row;
    EXPECT_LE(Row(row).achieved_ppm[0], 1000000u) << row;
  }
  release();
  EXPECT_OK(wait(on, ticket));
}

// What a batch takes is known from its first packet to its last.
TEST_F(Unpaid, BatchesAndGraphsAreTimedAsAWhole)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t batch[] = {held(), empty(), empty()};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch, 3, &exec, &error));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK(rawhal_buffer_fill(flag, 0, 0, 4, &error));
    uint64_t before = Row(2).gpu_ns, from = 0, to = 0;
    rawhal_ticket_t ticket = 0;
    if (round == 0)
      ASSERT_OK(rawhal_queue_submit(on, batch, 3, RAWHAL_FOREVER, &ticket, &error));
    else
      ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    Sleep(120);
    release();
    ASSERT_OK(wait(on, ticket));
    ASSERT_OK(rawhal_queue_timing(on, ticket, &from, &to, &error));
    EXPECT_GE(to - from, 50 * millisecond) << round;
    EXPECT_GE(Row(2).gpu_ns, before + (to - from)) << round;
    EXPECT_LE(Row(2).gpu_ns, before + (to - from) + millisecond) << round;
  }
  rawhal_graph_exec_destroy(exec);
}

// Of dispatches that may overlap nobody knows which began first: the time is the queue's.
TEST_F(Unpaid, ABatchThatOverlapsPaysForAllOfIt)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t batch[] = {held(), empty(), empty()};
  for (rawhal_dispatch_t &dispatch : batch)
    dispatch.flags |= RAWHAL_DISPATCH_OVERLAP;
  uint64_t before = Row(2).gpu_ns;
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch, 3, RAWHAL_FOREVER, &ticket, &error));
  Sleep(120);
  release();
  ASSERT_OK(wait(on, ticket));
  EXPECT_GE(Row(2).gpu_ns, before + 55 * millisecond);
  EXPECT_LE(Row(2).gpu_ns, before + 5000 * millisecond);
}

// The program lets the first kernel go only when the second has run.
TEST_F(Unpaid, AKernelThatWaitsForTheProgramDoesNotStopIt)
{
  StartAtTenPercent();
  rawhal_queue_t *first = queue(), *second = queue();
  rawhal_ticket_t waiting = submit(first, held());
  uint64_t began = rawhal_deadline_after(0);
  EXPECT_OK(run(second, empty()));
  EXPECT_LT(rawhal_deadline_after(0) - began, 5000 * millisecond);
  release();
  EXPECT_OK(wait(first, waiting));
  EXPECT_GE(HeldBack(rawhal_deadline_after(0)), 3000); // more than half a second of the device
}

// Another process of the tenant waits for what is in flight here, and nobody here calls again.
TEST_F(Unpaid, PeersLearnWhatFinishedThoughNobodyLooks)
{
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 400000},
                                     {RAWHAL_LIMIT_BURST, 20 * millisecond}};
  Start(limits);
  rawhal_limit_config_t config = file_.Config(limits);
  rawhal_limiter_t *peer = nullptr;
  limit_lease_t *lease = nullptr;
  ASSERT_OK(rawhal_limiter_open(&config, Row(0).name, &peer, &error));
  ASSERT_OK(shim_lease(peer, nullptr, nullptr, RAWHAL_UNLIMITED, &lease, &error));
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = held();
  Sleep(50);
  submit(on, dispatch);
  shim_cost_t cost = {77, 64, 0, 1};
  shim_grant_t grant;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, shim_admit(lease, &cost, 0, &grant, &error));
  release();
  EXPECT_OK(shim_admit(lease, &cost, rawhal_deadline_after(5000 * millisecond), &grant, &error));
  shim_cancel(lease, &grant);
  shim_lease_destroy(lease);
  rawhal_limiter_close(peer);
}

// Nor does anybody ring a bell: whether nothing was in flight before or something was, whether others sleep on the same
// ticket or not, what has finished is known.
TEST_F(Unpaid, EachTicketIsPaidForThoughNobodyLooks)
{
  Start({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}});
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  rawhal_dispatch_t batch[3] = {empty(), empty(), empty()};
  uint64_t submitted = 0;
  for (unsigned round = 0; round < 300; ++round) {
    rawhal_ticket_t ticket = 0;
    for (unsigned i = 0; i <= round % 4; ++i) {
      for (rawhal_dispatch_t &dispatch : batch)
        dispatch.flags = round & 4 ? RAWHAL_DISPATCH_OVERLAP : 0;
      size_t count = 1 + (round + i) % 3;
      ASSERT_OK(rawhal_queue_submit(on, batch, count, RAWHAL_FOREVER, &ticket, &error));
      submitted += count;
    }
    if (round % 8 > 5)
      ASSERT_OK(wait(on, ticket));
    if (round % 16 == 3)
      Sleep(1);
    uint64_t deadline = rawhal_deadline_after(10000 * millisecond), now = 0;
    while (Row(2).launches < submitted && now < deadline)
      now = rawhal_deadline_after(0);
    ASSERT_EQ(Row(2).launches, submitted) << round;
  }
}

// What runs on may wait for others, who wait for what has finished before it.
TEST_F(Unpaid, WhatFinishedIsPaidForThoughTheLastDoesNot)
{
  Start({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t one = empty();
  auto never = [](void *, rawhal_ticket_t, const rawhal_error_t *) {};
  uint64_t finished = 0;
  for (bool wanted : {false, true})
    for (int round = 0; round < 5; ++round) {
      rawhal_dispatch_t last = held();
      for (int i = 0; i < 3; ++i)
        submit(on, one);
      rawhal_ticket_t ticket = submit(on, last);
      if (wanted)
        ASSERT_OK(rawhal_queue_on_complete(on, ticket, never, nullptr, &error));
      finished += 3;
      uint64_t deadline = rawhal_deadline_after(10000 * millisecond);
      while (Row(2).launches < finished && rawhal_deadline_after(0) < deadline)
        Sleep(1);
      EXPECT_EQ(Row(2).launches, finished) << wanted;
      release();
      ASSERT_OK(wait(on, ticket));
      ++finished;
    }
}

// Who cannot wait does not go before those who do.
TEST_F(Unpaid, NobodyGoesBeforeAFullBatch)
{
  rawhal_queue_t *on = SmallQueue();
  rawhal_dispatch_t one = empty();
  std::vector<rawhal_dispatch_t> batch(64, one);
  rawhal_ticket_t first = submit(on, held()), last = 0;
  std::atomic<bool> begun{false};
  std::thread waiter([&] {
    rawhal_error_t mine = {};
    begun = true;
    EXPECT_EQ(RAWHAL_OK,
              rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &last, &mine))
        << mine.message;
  });
  while (!begun)
    Sleep(1);
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; i < 5000 && status == RAWHAL_OK;
       ++i) { // once the batch waits, though there is room for more
    Sleep(1);
    status = i < 60 ? rawhal_queue_submit(on, &one, 1, 0, nullptr, &error) : RAWHAL_TIMED_OUT;
  }
  uint64_t submitted = queue_info(on).last_ticket;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, status) << "after " << submitted;
  EXPECT_LT(submitted, 60u);
  release();
  waiter.join();
  EXPECT_OK(wait(on, last));
  EXPECT_OK(wait(on, first));
}

// Room is given out in order of arrival: many single ones do not keep out a full batch.
TEST_F(Unpaid, AFullBatchGetsItsTurn)
{
  rawhal_queue_t *on = SmallQueue();
  rawhal_dispatch_t one = empty();
  std::vector<rawhal_dispatch_t> batch(64, one);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> singles{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      rawhal_error_t mine = {};
      while (!stop) {
        EXPECT_EQ(RAWHAL_OK, rawhal_queue_submit(on, &one, 1, RAWHAL_FOREVER, nullptr, &mine))
            << mine.message;
        ++singles;
      }
    });
  uint64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    rawhal_ticket_t ticket = 0;
    uint64_t before = singles;
    ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &ticket, &error));
    most = std::max(most, singles - before);
    ASSERT_OK(wait(on, ticket));
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  // Those that came before it was among those who wait; the processor may have been somebody else's just then.
  printf("at most %llu single submissions went before a batch\n",
         static_cast<unsigned long long>(most));
  EXPECT_LE(most, 5000u);
}

} // namespace
