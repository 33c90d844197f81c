// Work that does not end by its signal, and work that has not ended yet, on a device's queues.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/hal/held_test.h"
#include "tests/limit/region_file.h"

namespace {

// Until when.
uint64_t Sleep(uint64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return rawhal_deadline_after(0);
}

class Unpaid : public HeldTest {
 protected:
  void SetUp() override {}  // each test has limits of its own
  void Start(const RegionFile::Limits &limits) {
    rawhal_limit_config_t config = file_.Config(limits);
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = softgpu_options();
    options.limits = &config;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
    ASSERT_NE(device, nullptr);
  }
  void StartAtTenPercent() {
    Start({{RAWHAL_LIMIT_GPU_SHARE, 100000}, {RAWHAL_LIMIT_BURST, 1 * millisecond}});
  }
  rawhal_limit_row_t Row(size_t index) {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[8] = {};
    EXPECT_OK(rawhal_limit_view_open(file_.path().c_str(), &view, &error));
    EXPECT_LT(index, rawhal_limit_view_read(view, rows, 8));
    rawhal_limit_view_close(view);
    return rows[index];
  }
  // For how long after `since` nothing more is admitted, ms.
  double HeldBack(uint64_t since) {
    rawhal_queue_t *on = queue();
    rawhal_dispatch_t dispatch = empty();
    rawhal_ticket_t ticket = 0;
    rawhal_status_t status = rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error);
    if (status == RAWHAL_OK) return 0;
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, status) << error.message;
    uint64_t retry = rawhal_queue_retry_at(on);
    return retry > since ? static_cast<double>(retry - since) / millisecond : 0;
  }
  // A queue that is destroyed in this test.
  rawhal_queue_t *OwnQueue() {
    rawhal_queue_t *made = nullptr;
    EXPECT_OK(rawhal_queue_create(device, nullptr, &made, &error));
    return made;
  }

  RegionFile file_;
};

TEST_F(Unpaid, ADestroyedQueuePaysForWhatRan) {
  StartAtTenPercent();
  rawhal_queue_t *on = OwnQueue();
  submit(on, held());
  uint64_t ran_until = Sleep(100);
  rawhal_queue_destroy(on);
  EXPECT_GE(HeldBack(ran_until), 850);
  EXPECT_GE(Row(2).gpu_ns, 99 * millisecond);
  EXPECT_EQ(0u, Row(2).open_ns);
}

TEST_F(Unpaid, ABatchWhoseLastKernelFaultsPays) {
  StartAtTenPercent();
  const rawhal_device_kernel_t *fault = kernel("fault-gfx90a-v5.co", "fault_store");
  rawhal_buffer_t *memory = buffer(4096);
  Blob wild = Blob().add(rawhal_buffer_address(memory)).add(int64_t{1} << 40).add(1u);
  rawhal_dispatch_t batch[] = {held(), dispatch_of(fault, 1, 1, wild)};
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch, 2, RAWHAL_FOREVER, &ticket, &error));
  uint64_t ran_until = Sleep(100);
  let_go();
  EXPECT_EQ(RAWHAL_FAULT, wait(on, ticket));
  EXPECT_GE(HeldBack(ran_until), 850);
  EXPECT_GE(Row(2).gpu_ns, 99 * millisecond);
}

// Nobody looks: the fault itself settles the account.
TEST_F(Unpaid, AFaultIsChargedWithoutBeingSeen) {
  StartAtTenPercent();
  const rawhal_device_kernel_t *fault = kernel("fault-gfx90a-v5.co", "fault_store");
  rawhal_buffer_t *memory = buffer(4096);
  Blob wild = Blob().add(rawhal_buffer_address(memory)).add(int64_t{1} << 40).add(1u);
  rawhal_dispatch_t batch[] = {held(), dispatch_of(fault, 1, 1, wild)};
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch, 2, RAWHAL_FOREVER, &ticket, &error));
  Sleep(50);
  let_go();
  for (int i = 0; i < 1000 && Row(2).open_ns; ++i) Sleep(10);
  EXPECT_EQ(0u, Row(2).open_ns);
  EXPECT_GE(Row(2).gpu_ns, 49 * millisecond);
  EXPECT_LE(Row(2).gpu_ns, 5000 * millisecond);
}

TEST_F(Unpaid, AKernelShowsWhileItRuns) {
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = held();
  uint64_t before = Row(2).gpu_ns;
  rawhal_ticket_t ticket = submit(on, dispatch);
  Sleep(300);
  for (size_t row : {0, 1, 2}) {
    EXPECT_GE(Row(row).gpu_ns, before + 299 * millisecond) << row;
    EXPECT_GE(Row(row).achieved_ppm[0], 290000u) << row;
    EXPECT_LE(Row(row).achieved_ppm[0], 1000000u) << row;
  }
  let_go();
  EXPECT_OK(wait(on, ticket));
}

// What a batch takes is known from its first packet to its last.
TEST_F(Unpaid, BatchesAndRecordingsAreTimedAsAWhole) {
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t batch[] = {held(), empty(), empty()};
  rawhal_recording_t *recording = nullptr;
  ASSERT_OK(rawhal_recording_create(on, batch, 3, &recording, &error));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK(rawhal_buffer_fill(flag, 0, 0, 4, &error));
    uint64_t before = Row(2).gpu_ns, from = 0, to = 0;
    rawhal_ticket_t ticket = 0;
    if (round == 0)
      ASSERT_OK(rawhal_queue_submit(on, batch, 3, RAWHAL_FOREVER, &ticket, &error));
    else
      ASSERT_OK(rawhal_queue_replay(on, recording, RAWHAL_FOREVER, &ticket, &error));
    Sleep(60);
    let_go();
    ASSERT_OK(wait(on, ticket));
    ASSERT_OK(rawhal_queue_timing(on, ticket, &from, &to, &error));
    EXPECT_GE(to - from, 50 * millisecond) << round;
    EXPECT_GE(Row(2).gpu_ns, before + (to - from)) << round;
    EXPECT_LE(Row(2).gpu_ns, before + (to - from) + millisecond) << round;
  }
  rawhal_recording_destroy(recording);
}

// Of dispatches that may overlap nobody knows which began first: the time is the queue's.
TEST_F(Unpaid, ABatchThatOverlapsPaysForAllOfIt) {
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t batch[] = {held(), empty(), empty()};
  for (rawhal_dispatch_t &dispatch : batch) dispatch.flags |= RAWHAL_DISPATCH_OVERLAP;
  uint64_t before = Row(2).gpu_ns;
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch, 3, RAWHAL_FOREVER, &ticket, &error));
  Sleep(60);
  let_go();
  ASSERT_OK(wait(on, ticket));
  EXPECT_GE(Row(2).gpu_ns, before + 55 * millisecond);
  EXPECT_LE(Row(2).gpu_ns, before + 5000 * millisecond);
}

// The program lets the first kernel go only when the second has run.
TEST_F(Unpaid, AKernelThatWaitsForTheProgramDoesNotStopIt) {
  StartAtTenPercent();
  rawhal_queue_t *first = queue(), *second = queue();
  rawhal_ticket_t waiting = submit(first, held());
  uint64_t began = rawhal_deadline_after(0);
  EXPECT_OK(run(second, empty()));
  EXPECT_LT(rawhal_deadline_after(0) - began, 5000 * millisecond);
  let_go();
  EXPECT_OK(wait(first, waiting));
  EXPECT_GE(HeldBack(rawhal_deadline_after(0)), 3000);  // more than half a second of the device
}

// Another process of the tenant waits for what is in flight here, and nobody here calls again.
TEST_F(Unpaid, PeersLearnWhatFinishedThoughNobodyLooks) {
  const RegionFile::Limits limits = {{RAWHAL_LIMIT_GPU_SHARE, 400000}, {RAWHAL_LIMIT_BURST, 20 * millisecond}};
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
  let_go();
  EXPECT_OK(shim_admit(lease, &cost, rawhal_deadline_after(5000 * millisecond), &grant, &error));
  shim_cancel(lease, &grant);
  shim_lease_destroy(lease);
  rawhal_limiter_close(peer);
}

// Room is given out in order of arrival: many single ones do not keep out a full batch.
TEST_F(Unpaid, AFullBatchGetsItsTurn) {
  HeldTest::SetUp();
  rawhal_queue_options_t small = {};
  small.packets = 64;
  rawhal_queue_t *on = queue(small);
  rawhal_dispatch_t one = empty();
  std::vector<rawhal_dispatch_t> batch(64, one);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> singles{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      rawhal_error_t mine = {};
      while (!stop) {
        EXPECT_EQ(RAWHAL_OK, rawhal_queue_submit(on, &one, 1, RAWHAL_FOREVER, nullptr, &mine)) << mine.message;
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
  for (std::thread &thread : threads) thread.join();
  // Those that came before it was among those who wait; the processor may have been somebody else's just then.
  printf("at most %llu single submissions went before a batch\n", static_cast<unsigned long long>(most));
  EXPECT_LE(most, 5000u);
}

}  // namespace
