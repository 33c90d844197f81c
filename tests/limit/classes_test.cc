// What of a device's memory is counted, class by class: queues, scratch, imports; buffers and code are in device_test.cc.
#include "tests/hal/device_test.h"
#include "tests/values.h"

#include <dlfcn.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa_ext_amd.h>

#include "tests/graph_of.h"
#include "tests/limit/limited_device.h"

namespace {

constexpr uint64_t kMi = 1 << 20, kGranule = 4096;
enum Class { kBuffers, kCode, kQueues, kScratch, kImported };

class Classes : public LimitedDevice<DeviceTest> {
protected:
  void TearDown() override
  {
    for (rawhal_graph_exec_t *exec : execs_)
      rawhal_graph_exec_destroy(exec);
    DeviceTest::TearDown();
  }
  uint64_t Used(Class which)
  {
    rawhal_limit_row_t tenant = Row(1), process = Row(2);
    uint64_t sum = 0;
    for (uint64_t bytes : process.memory_by_class)
      sum += bytes;
    EXPECT_EQ(process.memory_used, sum);
    EXPECT_EQ(tenant.memory_used, sum);
    return process.memory_by_class[which];
  }
  // A dispatch of one work-group of a kernel whose private table is in scratch.
  rawhal_dispatch_t Scratch()
  {
    if (!kernel_) {
      kernel_ = kernel("scratch-gfx90a-v5.co", "scratch");
      out_ = buffer(64 * 4);
    }
    blob_ = Blob().add(rawhal_buffer_address(out_)).add(uint32_t{3});
    return dispatch_of(kernel_, 64, 64, blob_);
  }
  void ExpectTable()
  {
    std::vector<uint32_t> out = download<uint32_t>(out_, 64);
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t k = (i * 7 + 3) % 64;
      EXPECT_EQ(k * k + i, out[i]) << i;
    }
  }
  static const amd_queue_t *Amd(rawhal_queue_t *on)
  {
    return static_cast<const amd_queue_t *>(static_cast<const void *>(queue_info(on).hsa_queue));
  }

  Blob blob_;
  const rawhal_device_kernel_t *kernel_ = nullptr;
  rawhal_buffer_t *out_ = nullptr;
  std::vector<rawhal_graph_exec_t *> execs_;
};

// As much as lies at the kernel's address: the runtime's allocation for the loaded segments.
TEST_F(Classes, CodeIsWhatTheRuntimeAllocatesForIt)
{
  Start({{RAWHAL_LIMIT_MEMORY, 16 * kMi}});
  auto info_of = reinterpret_cast<decltype(hsa_amd_pointer_info) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_pointer_info"));
  ASSERT_TRUE(info_of);
  for (const char *fixture : {"vector_add", "mandelbrot", "scratch", "dump_implicit"}) {
    uint64_t before = Used(kCode);
    const rawhal_device_kernel_t *found = kernel(std::string(fixture) + "-gfx90a-v5.co", fixture);
    ASSERT_NE(nullptr, found) << fixture;
    hsa_amd_pointer_info_t info = {};
    info.size = sizeof(info);
    void *code = reinterpret_cast<void *>(rawhal_device_kernel_info(found)->kernel_object);
    ASSERT_EQ(HSA_STATUS_SUCCESS, info_of(code, &info, nullptr, nullptr, nullptr));
    uint64_t allocated = (info.sizeInBytes + kGranule - 1) / kGranule * kGranule;
    EXPECT_EQ(allocated, Used(kCode) - before) << fixture;
  }
}

// The driver's buffer for the ends of a queue's pipes; rings and kernargs are in host memory.
TEST_F(Classes, AQueueTakesAPageOfTheDevice)
{
  Start({{RAWHAL_LIMIT_MEMORY, 16 * kMi}});
  EXPECT_EQ(0u, Used(kQueues));
  rawhal_queue_t *made[3] = {};
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_OK(rawhal_queue_create(device, nullptr, &made[i], &error));
    EXPECT_EQ((i + 1) * kGranule, Used(kQueues));
  }
  for (rawhal_queue_t *each : made)
    rawhal_queue_destroy(each);
  EXPECT_EQ(0u, Used(kQueues));
}

TEST_F(Classes, AQueueBeyondTheQuotaIsNotMade)
{
  Start({{RAWHAL_LIMIT_MEMORY, kGranule}});
  rawhal_queue_t *first = queue(), *second = nullptr;
  ASSERT_NE(nullptr, first);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, rawhal_queue_create(device, nullptr, &second, &error));
  EXPECT_EQ(nullptr, second);
  EXPECT_STREQ(
      "4096 bytes of device memory asked for (queues); 4096 of the tenant's 4096 are in use",
      error.message);
  EXPECT_EQ(kGranule, Used(kQueues));
}

// The runtime itself says what it took.
TEST_F(Classes, ScratchIsWhatTheRuntimeTakesForAQueue)
{
  Start({{RAWHAL_LIMIT_MEMORY, 200 * kMi}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = Scratch();
  EXPECT_EQ(0u, Used(kScratch));
  ASSERT_OK(run(on, dispatch));
  ExpectTable();
  uint64_t taken = Used(kScratch);
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(Amd(on)->scratch_backing_memory_byte_size, taken);
  uint64_t wave = (uint64_t{rawhal_device_kernel_info(kernel_)->private_segment_size} * 64 + 1023) /
                  1024 * 1024;
  EXPECT_EQ(wave * 32 * (Amd(on)->max_cu_id + 1), taken);
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(run(on, dispatch));
  EXPECT_EQ(taken, Used(kScratch)); // once for a queue
  rawhal_queue_t *other = nullptr;
  ASSERT_OK(rawhal_queue_create(device, nullptr, &other, &error));
  ASSERT_OK(run(other, dispatch));
  EXPECT_EQ(2 * taken, Used(kScratch));
  rawhal_queue_destroy(other);
  EXPECT_EQ(2 * taken, Used(kScratch)); // the runtime keeps it for the next that needs as much
  ASSERT_OK(run(queue(), dispatch));
  EXPECT_EQ(2 * taken, Used(kScratch));
  ASSERT_OK(run(queue(), dispatch));
  EXPECT_EQ(3 * taken, Used(kScratch));
}

// One that the program made goes on with what it has: nobody takes that over but who uses the same one again.
TEST_F(Classes, ScratchOfAQueueThatTheProgramMadeStaysWithIt)
{
  Start({{RAWHAL_LIMIT_MEMORY, 200 * kMi}});
  auto make =
      reinterpret_cast<decltype(hsa_queue_create) *>(dlsym(RTLD_DEFAULT, "hsa_queue_create"));
  auto destroy =
      reinterpret_cast<decltype(hsa_queue_destroy) *>(dlsym(RTLD_DEFAULT, "hsa_queue_destroy"));
  ASSERT_TRUE(make && destroy);
  rawhal_queue_options_t options = {};
  options.size = sizeof(options);
  hsa_queue_t *mine = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, make({rawhal_device_info(device)->agent}, 64, HSA_QUEUE_TYPE_MULTI,
                                     nullptr, nullptr, UINT32_MAX, UINT32_MAX, &mine));
  options.hsa_queue = mine;
  const rawhal_dispatch_t dispatch = Scratch();
  uint64_t taken = 0;
  for (int i = 0; i < 2; ++i) {
    rawhal_queue_t *on = nullptr;
    ASSERT_OK(rawhal_queue_create(device, &options, &on, &error));
    ASSERT_OK(run(on, dispatch));
    taken = taken ? taken : Used(kScratch);
    rawhal_queue_destroy(on);
    EXPECT_EQ(taken, Used(kScratch));
  }
  ASSERT_OK(run(queue(), dispatch));
  EXPECT_EQ(2 * taken, Used(kScratch));
  EXPECT_EQ(HSA_STATUS_SUCCESS, destroy(mine));
}

TEST_F(Classes, GraphsAndBatchesTakeScratchToo)
{
  Start({{RAWHAL_LIMIT_MEMORY, 200 * kMi}});
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_dispatch_t batch[] = {Scratch(), Scratch()};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch, 2, &exec, &error));
  execs_.push_back(exec);
  EXPECT_EQ(0u, Used(kScratch));
  rawhal_ticket_t ticket;
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(8000 * millisecond), &error));
  uint64_t taken = Used(kScratch);
  EXPECT_GT(taken, 0u);
  ASSERT_OK(rawhal_queue_submit(other, batch, 2, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(other, ticket, rawhal_deadline_after(8000 * millisecond), &error));
  EXPECT_EQ(2 * taken, Used(kScratch));
}

TEST_F(Classes, ADispatchWhoseScratchIsBeyondTheQuotaIsRefused)
{
  Start({{RAWHAL_LIMIT_MEMORY, 1 * kMi}});
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t dispatch = Scratch();
  rawhal_ticket_t ticket = 1;
  uint64_t before = Used(kBuffers);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_NE(nullptr, strstr(error.message, "(scratch)")) << error.message;
  EXPECT_EQ(0u, ticket);
  EXPECT_EQ(0u, queue_info(on).last_ticket);
  EXPECT_EQ(0u, Used(kScratch));
  EXPECT_EQ(before, Used(kBuffers));
  ASSERT_OK(
      rawhal_limiter_set(rawhal_device_limiter(device), RAWHAL_LIMIT_MEMORY, 200 * kMi, &error));
  ASSERT_OK(run(on, dispatch));
  ExpectTable();
}

TEST_F(Classes, MemoryOfOthersCountsWhileItIsImported)
{
  Start({{RAWHAL_LIMIT_MEMORY, 16 * kMi}});
  // Memory the runtime knows, but not from us: a buffer's own pool, found by way of a buffer.
  auto info_of = reinterpret_cast<decltype(hsa_amd_pointer_info) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_pointer_info"));
  auto pools = reinterpret_cast<decltype(hsa_amd_agent_iterate_memory_pools) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_agent_iterate_memory_pools"));
  auto allocate = reinterpret_cast<decltype(hsa_amd_memory_pool_allocate) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_memory_pool_allocate"));
  auto release = reinterpret_cast<decltype(hsa_amd_memory_pool_free) *>(
      dlsym(RTLD_DEFAULT, "hsa_amd_memory_pool_free"));
  ASSERT_TRUE(info_of && pools && allocate && release);
  rawhal_buffer_t *mine = buffer(kGranule);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof(info);
  ASSERT_EQ(HSA_STATUS_SUCCESS, info_of(reinterpret_cast<void *>(rawhal_buffer_address(mine)),
                                        &info, nullptr, nullptr, nullptr));
  hsa_amd_memory_pool_t pool = {};
  auto first = [](hsa_amd_memory_pool_t found, void *into) {
    *static_cast<hsa_amd_memory_pool_t *>(into) = found;
    return HSA_STATUS_INFO_BREAK;
  };
  ASSERT_EQ(HSA_STATUS_INFO_BREAK, pools(info.agentOwner, first, &pool));
  void *theirs = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, allocate(pool, 3 * kMi, 0, &theirs));

  rawhal_buffer_t *imported = nullptr;
  ASSERT_OK(rawhal_buffer_import(device, theirs, 3 * kMi, &imported, &error));
  EXPECT_EQ(3 * kMi, Used(kImported));
  EXPECT_EQ(kGranule, Used(kBuffers));
  EXPECT_EQ(13 * kMi - kGranule, device_memory(device).available);
  rawhal_buffer_t *again = nullptr; // once
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_buffer_import(device, theirs, 3 * kMi, &again, &error));
  EXPECT_EQ(3 * kMi, Used(kImported));
  rawhal_buffer_free(imported);
  EXPECT_EQ(0u, Used(kImported));

  ASSERT_OK(
      rawhal_limiter_set(rawhal_device_limiter(device), RAWHAL_LIMIT_MEMORY, 1 * kMi, &error));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_buffer_import(device, theirs, 3 * kMi, &imported, &error));
  EXPECT_EQ(nullptr, imported);
  EXPECT_NE(nullptr, strstr(error.message, "(imported)")) << error.message;
  std::vector<char> host(2 * kMi); // none of the device's
  ASSERT_OK(rawhal_buffer_import(device, host.data(), host.size(), &imported, &error));
  EXPECT_EQ(0u, Used(kImported));
  rawhal_buffer_free(imported);
  EXPECT_EQ(HSA_STATUS_SUCCESS, release(theirs));
}

} // namespace
