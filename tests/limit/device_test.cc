// Limits where they matter: on queues, buffers and executables of a device, in real time.
#include "tests/hal/device_test.h"
#include "tests/extended.h"
#include "tests/values.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tests/graph_of.h"
#include "tests/limit/limited_device.h"

namespace {

constexpr uint64_t kMi = 1 << 20;

class Limited : public LimitedDevice<DeviceTest> {
protected:
  // A vector addition that takes softgpu a few hundred microseconds.
  rawhal_dispatch_t Addition(uint32_t n = 4096)
  {
    if (!add_) {
      add_ = kernel("vector_add-gfx90a-v5.co", "vector_add");
      memory_ = buffer(3 * 4096 * 64);
    }
    uint64_t at = rawhal_buffer_address(memory_);
    blob_ = Blob().add(at).add(at + 4096 * 64).add(at + 2 * 4096 * 64).add(uint32_t{n});
    return dispatch_of(add_, n, 64, blob_);
  }

  Blob blob_;
  const rawhal_device_kernel_t *add_ = nullptr;
  rawhal_buffer_t *memory_ = nullptr;
};

// One at a time, of all processes that run them: each takes as much of the machine as it gets.
class RealTime : public Limited, public testing::WithParamInterface<int> {
protected:
  void SetUp() override
  {
    ASSERT_GE(turn_, 0);
    ASSERT_EQ(0, flock(turn_, LOCK_EX));
    Limited::SetUp();
  }
  void TearDown() override
  {
    Limited::TearDown();
    close(turn_);
  }

private:
  int turn_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
};

struct Achieved {
  double share;     // percent of the time that the device worked, by the kernels' own times
  double stretched; // a kernel's mean time by the least: a software device is itself interrupted
};

// Kernels as fast as they are admitted, some ahead, until the device has worked for so long.
static Achieved Saturate(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch, uint64_t work)
{
  rawhal_error_t error = {};
  uint64_t busy = 0, least = UINT64_MAX, began = rawhal_deadline_after(0);
  std::vector<rawhal_ticket_t> tickets;
  size_t timed = 0;
  auto time_one = [&] {
    uint64_t from = 0, to = 0;
    EXPECT_OK(rawhal_queue_wait(on, tickets[timed], RAWHAL_FOREVER, &error));
    EXPECT_OK(rawhal_queue_timing(on, tickets[timed], &from, &to, &error));
    busy += to - from;
    least = std::min(least, to - from);
    ++timed;
  };
  while (busy < work) {
    rawhal_ticket_t ticket;
    rawhal_status_t status = rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error);
    EXPECT_OK(status);
    if (status != RAWHAL_OK)
      break;
    tickets.push_back(ticket);
    if (tickets.size() - timed > 32)
      time_one();
  }
  while (timed < tickets.size())
    time_one();
  const double total = static_cast<double>(busy),
               all = static_cast<double>(rawhal_deadline_after(0) - began);
  return {100.0 * total / all, total / static_cast<double>(timed) / static_cast<double>(least)};
}

// Nobody has more, for as much work as shows it. A software device on a machine that others use too may get less, and its
// kernels in flight may turn out longer than any before; that it gets its share is held in simulated time, and here only
// by who has asked for everything and waits for a quiet machine.
TEST_P(RealTime, SharesHold)
{
  const int percent = GetParam();
  Start({{RAWHAL_LIMIT_GPU_SHARE, static_cast<uint64_t>(percent) * 10000}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t addition = Addition();
  ASSERT_OK(run(on, addition));
  const uint64_t work =
      (is_extended_to_all() ? 50u : 10u) * static_cast<unsigned>(percent) * millisecond;
  bool held = false;
  for (int attempt = 0; attempt < (is_extended_to_all() ? 5 : 1) && !held; ++attempt) {
    Achieved achieved = Saturate(on, addition, work);
    printf("%d%%: %.2f%%, kernels stretched %.2f times\n", percent, achieved.share,
           achieved.stretched);
    EXPECT_LE(achieved.share, (percent + 5) * std::max(1.0, achieved.stretched / 1.5));
    held = std::abs(achieved.share - percent) <= 2;
  }
  EXPECT_TRUE(held || !is_extended_to_all());
}

INSTANTIATE_TEST_SUITE_P(Limits, RealTime, testing::Values(10, 30, 50),
                         testing::PrintToStringParamName());

TEST_F(Limited, BlockingIsUpToTheDeadline)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 10000}, {RAWHAL_LIMIT_BURST, 1 * millisecond}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t addition = Addition();
  rawhal_status_t status = RAWHAL_OK;
  uint64_t before = 0;
  for (int i = 0; i < 100 && status == RAWHAL_OK; ++i) {
    rawhal_ticket_t ticket;
    before = rawhal_deadline_after(0);
    status = rawhal_queue_submit(on, &addition, 1, 0, &ticket, &error);
    if (status == RAWHAL_OK) {
      EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
    }
  }
  ASSERT_EQ(RAWHAL_WOULD_BLOCK, status);
  EXPECT_NE(nullptr, strstr(error.message, "tenant's share")) << error.message;
  uint64_t retry = rawhal_queue_retry_at(on);
  EXPECT_GT(retry, before);
  rawhal_ticket_t ticket = 1;
  const uint64_t deadline = rawhal_deadline_after(millisecond);
  if (deadline < retry) { // or the machine was somebody else's for as long as that
    status = rawhal_queue_submit(on, &addition, 1, deadline, &ticket, &error);
    EXPECT_TRUE(status == RAWHAL_TIMED_OUT || rawhal_deadline_after(0) >= retry) << error.message;
    EXPECT_EQ(status == RAWHAL_OK, ticket != 0);
  }
  EXPECT_OK(rawhal_queue_submit(on, &addition, 1, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_GE(rawhal_deadline_after(0), retry);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

TEST_F(Limited, EverythingThatRunsIsCounted)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 990000}});
  rawhal_queue_t *on = queue();
  Addition();
  uint64_t before = Row(2).launches; // of copies and fills so far: none
  std::vector<Blob> blobs(5);
  std::vector<rawhal_dispatch_t> batch;
  for (Blob &blob : blobs) {
    rawhal_dispatch_t addition = Addition(64);
    blob = blob_;
    addition.blob = blob.bytes.data();
    batch.push_back(addition);
  }
  rawhal_ticket_t ticket;
  ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(before + 5, Row(2).launches);
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch.data(), batch.size(), &exec, &error));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  }
  EXPECT_EQ(before + 20, Row(2).launches);
  rawhal_graph_exec_destroy(exec);
  ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(before + 20, Row(2).launches); // nothing ran
  std::vector<char> bytes(100000);
  ASSERT_OK(rawhal_buffer_write(memory_, 0, bytes.data(), bytes.size(), &error));
  ASSERT_OK(rawhal_buffer_fill(memory_, 0, 7, 4096, &error));
  EXPECT_EQ(before + 22, Row(2).launches);
  EXPECT_GT(Row(2).gpu_ns, 0u);
  EXPECT_EQ(0u, Row(2).open_ns);
}

// As a dispatch does: whoever waits looks again and again whether its turn has come.
TEST_F(Limited, ACopyThatIsHeldBackCountsOnce)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 10000}, {RAWHAL_LIMIT_BURST, 1 * millisecond}});
  rawhal_buffer_t *on = buffer(1 << 18);
  for (uint64_t copies = 1; Row(2).waits < 2; ++copies) {
    ASSERT_OK(rawhal_buffer_fill(on, 0, 7, 1 << 18, &error));
    ASSERT_LE(Row(2).would_block, copies);
  }
  EXPECT_EQ(Row(2).waits, Row(2).would_block);
}

TEST_F(Limited, InFlightIsCappedAndAllOfItRuns)
{
  Start({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 4}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t addition = Addition(64);
  rawhal_ticket_t last = 0;
  std::vector<rawhal_event_t> held;
  rawhal_subscription_t *subscription = nullptr;
  ASSERT_OK(rawhal_events_subscribe(
      RAWHAL_EVENT_BIT(RAWHAL_EVENT_THROTTLE),
      [](void *context, const rawhal_event_t *event) {
        static_cast<std::vector<rawhal_event_t> *>(context)->push_back(*event);
      },
      &held, &subscription, &error));
  for (int i = 0; i < 200; ++i)
    ASSERT_OK(rawhal_queue_submit(on, &addition, 1, RAWHAL_FOREVER, &last, &error));
  rawhal_events_unsubscribe(subscription);
  ASSERT_FALSE(held.empty());
  const auto *hsa_queue = static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue);
  EXPECT_EQ(held[0].queue_id, hsa_queue->id);
  EXPECT_GT(held[0].nanoseconds, 0u);
  ASSERT_OK(rawhal_queue_wait(on, last, RAWHAL_FOREVER, &error));
  EXPECT_EQ(200u, Row(2).launches);
  std::vector<rawhal_dispatch_t> five(5, addition);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_queue_submit(on, five.data(), five.size(), RAWHAL_FOREVER, &last, &error));
}

TEST_F(Limited, MemoryIsWhatTheQuotaSays)
{
  Start({{RAWHAL_LIMIT_MEMORY, 16 * kMi}});
  EXPECT_EQ(16 * kMi, device_memory(device).total);
  EXPECT_EQ(16 * kMi, device_memory(device).available);
  rawhal_buffer_t *most = buffer(12 * kMi);
  EXPECT_EQ(4 * kMi, device_memory(device).available);
  rawhal_buffer_t *more = nullptr;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 5 * kMi, &more, &error));
  EXPECT_EQ(nullptr, more);
  EXPECT_STREQ("5242880 bytes of device memory asked for (buffers); 12582912 of the tenant's "
               "16777216 are in use",
               error.message);
  EXPECT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 5 * kMi, &more, &error));
  rawhal_buffer_free(more);
  EXPECT_EQ(4 * kMi, device_memory(device).available);
  rawhal_executable_t *code = load("vector_add-gfx90a-v5.co");
  EXPECT_GT(Row(2).memory_by_class[1], 0u);
  rawhal_executable_destroy(code);
  executables.clear();
  EXPECT_EQ(0u, Row(2).memory_by_class[1]);
  rawhal_buffer_free(most);
  buffers.clear();
  EXPECT_EQ(16 * kMi, device_memory(device).available);
  EXPECT_EQ(0u, Row(2).memory_used);
  ASSERT_OK(
      rawhal_limiter_set(rawhal_device_limiter(device), RAWHAL_LIMIT_MEMORY, 1 * kMi, &error));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 2 * kMi, &more, &error));
}

TEST_F(Limited, ACodeObjectBeyondTheQuotaIsRefused)
{
  Start({{RAWHAL_LIMIT_MEMORY, 0}});
  std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_executable_t *executable = nullptr;
  ASSERT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, rawhal_executable_load(device, hsaco, &executable, &error));
  EXPECT_NE(nullptr, strstr(error.message, "(code)")) << error.message;
  rawhal_hsaco_close(hsaco);
}

TEST_F(Limited, AQueuesOwnShareAndADeadQueue)
{
  Start({{RAWHAL_LIMIT_GPU_SHARE, 900000}});
  rawhal_queue_options_t options = {};
  options.share_ppm = 10000;
  rawhal_queue_t *small = queue(options), *large = queue();
  rawhal_dispatch_t addition = Addition();
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(run(small, addition));
  // The fault of one queue leaves nothing of it in flight.
  const rawhal_device_kernel_t *fault = kernel("fault-gfx90a-v5.co", "fault_store");
  Blob wild = Blob().add(rawhal_buffer_address(memory_)).add(int64_t{1} << 40).add(1u);
  rawhal_dispatch_t store = dispatch_of(fault, 1, 1, wild);
  EXPECT_EQ(RAWHAL_FAULT, run(small, store));
  for (int i = 0; i < 100; ++i)
    ASSERT_OK(run(large, addition));
  EXPECT_EQ(0u, Row(2).open_ns);
  rawhal_queue_destroy(small);
  queues.erase(queues.begin());
}

TEST_F(Limited, ConfigurationIsStrictAndBelongsToTheFirstInstance)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = softgpu_options();
  setenv("RAWHAL_MEMORY_LIMIT", "lots", 1);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_instance_create(&options, &instance, &error));
  EXPECT_EQ(0, strncmp(error.message, "RAWHAL_MEMORY_LIMIT: ", 21)) << error.message;
  setenv("RAWHAL_MEMORY_LIMIT", "25%", 1);
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  unsetenv("RAWHAL_MEMORY_LIMIT");
  device = rawhal_instance_device(instance, 0);
  EXPECT_EQ(64 * kMi, device_memory(device).total);
  rawhal_limit_config_t config = {};
  rawhal_instance_t *second = nullptr;
  options.limits = &config;
  options.softgpu_options = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_instance_create(&options, &second, &error));
  EXPECT_NE(nullptr, strstr(error.message, "limits")) << error.message;
  options.limits = nullptr;
  ASSERT_OK(rawhal_instance_create(&options, &second, &error));
  rawhal_instance_destroy(second);
}

TEST_F(Limited, AMaskOfComputeUnitsIsCheckedAndSet)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = softgpu_options();
  setenv("ROC_GLOBAL_CU_MASK", "0x0", 1);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_instance_create(&options, &instance, &error));
  EXPECT_STREQ("ROC_GLOBAL_CU_MASK: the mask selects no compute unit", error.message);
  setenv("ROC_GLOBAL_CU_MASK", "0x1", 1);
  setenv("AMD_TASK_PRIORITY", "0", 1);
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  unsetenv("ROC_GLOBAL_CU_MASK");
  unsetenv("AMD_TASK_PRIORITY");
  device = rawhal_instance_device(instance, 0);
  ASSERT_NE(nullptr, rawhal_device_limiter(device));
  EXPECT_EQ(unsigned{RAWHAL_PRIORITY_HIGH},
            rawhal_limiter_get(rawhal_device_limiter(device), RAWHAL_LIMIT_PRIORITY));
  rawhal_queue_t *on = queue();
  EXPECT_OK(run(on, Addition()));
  auto get_mask = reinterpret_cast<decltype(hsa_amd_queue_cu_get_mask) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_queue_cu_get_mask"));
  ASSERT_NE(nullptr, get_mask);
  uint32_t mask[4] = {};
  ASSERT_EQ(HSA_STATUS_SUCCESS,
            get_mask(static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue), 128, mask));
  EXPECT_EQ(1u, mask[0]);
  EXPECT_EQ(0u, mask[1] | mask[2] | mask[3]);
}

TEST_F(Limited, WithoutLimitsThereIsNoLimiter)
{
  DeviceTest::SetUp();
  EXPECT_EQ(nullptr, rawhal_device_limiter(device));
  EXPECT_EQ(device ? rawhal_device_info(device)->memory_bytes : 0, device_memory(device).total);
  EXPECT_EQ(0u, rawhal_queue_retry_at(queue()));
  rawhal_queue_options_t options = {};
  options.share_ppm = 500000;
  rawhal_queue_t *none = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_queue_create(device, &options, &none, &error));
}

} // namespace
