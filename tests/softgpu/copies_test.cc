// Copies by the SDMA engines.
#include "newer.h"
#include "runtime.h"

#include <numeric>

namespace {

class Copies : public Runtime {
protected:
  void SetUp() override
  {
    Runtime::SetUp();
    if (HasFatalFailure() || IsSkipped())
      return;
    host = (uint32_t *)host_memory(bytes);
    device = (uint32_t *)device_memory(bytes);
    back = (uint32_t *)host_memory(bytes);
    ASSERT_TRUE(host && device && back);
    std::iota(host, host + count, 1u);
    memset(back, 0, bytes);
  }

  void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size,
            std::vector<hsa_signal_t> after = {})
  {
    hsa_signal_t done = signal(1);
    ASSERT_EQ(hsa->hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size,
                                             (uint32_t)after.size(),
                                             after.empty() ? nullptr : after.data(), done),
              HSA_STATUS_SUCCESS);
    EXPECT_TRUE(reaches(done, 0));
  }

  static constexpr size_t count = (9 << 20) / 4, bytes = count * 4; // more than two packets
  uint32_t *host = nullptr, *device = nullptr, *back = nullptr;
};

TEST_F(Copies, host_to_device_and_back)
{
  softgpu_counters_t before{}, after{};
  hsa->counters(&before, sizeof(before));
  copy(device, gpu, host, cpu, bytes);
  copy(back, cpu, device, gpu, bytes);
  hsa->counters(&after, sizeof(after));
  EXPECT_EQ(memcmp(host, back, bytes), 0);
  EXPECT_EQ(after.copied_bytes - before.copied_bytes, 2 * bytes);
}

TEST_F(Copies, odd_sizes_and_offsets)
{
  for (size_t size : {1u, 3u, 63u, 4095u, 4097u}) {
    memset(back, 0xee, 8192);
    copy((char *)device + 1, gpu, (char *)host + 5, cpu, size);
    copy((char *)back + 3, cpu, (char *)device + 1, gpu, size);
    EXPECT_EQ(memcmp((char *)back + 3, (char *)host + 5, size), 0) << size;
    EXPECT_EQ(((uint8_t *)back)[2], 0xee);
    EXPECT_EQ(((uint8_t *)back)[3 + size], 0xee);
  }
}

TEST_F(Copies, wait_for_their_dependencies)
{
  hsa_signal_t gate = signal(1), done = signal(1);
  memset(device, 0, 64);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy(device, gpu, host, cpu, 64, 1, &gate, done),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
  hsa->hsa_signal_store_screlease(gate, 0);
  EXPECT_TRUE(reaches(done, 0));
  copy(back, cpu, device, gpu, 64);
  EXPECT_EQ(memcmp(back, host, 64), 0);
}

TEST_F(Copies, rectangles)
{
  // 3 layers of 5 rows of 24 bytes out of a 256-byte pitch, into a 64-byte pitch.
  hsa_pitched_ptr_t from{host, 256, 256 * 8}, to{device, 64, 64 * 8};
  hsa_dim3_t from_at{16, 2, 0}, to_at{8, 1, 0}, range{24, 5, 3};
  hsa_signal_t done = signal(1);
  memset(device, 0, 64 * 8 * 4);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy_rect(&to, &to_at, &from, &from_at, &range, gpu,
                                                hsaHostToDevice, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  ASSERT_TRUE(reaches(done, 0));
  std::vector<uint8_t> expected(64 * 8 * 4);
  for (size_t z = 0; z < 3; ++z) {
    for (size_t y = 0; y < 5; ++y)
      memcpy(&expected[8 + 64 * (1 + y) + 512 * z], (uint8_t *)host + 16 + 256 * (2 + y) + 2048 * z,
             24);
  }
  copy(back, cpu, device, gpu, expected.size());
  EXPECT_EQ(memcmp(back, expected.data(), expected.size()), 0);
}

TEST_F(Copies, are_timed_on_the_systems_clock)
{
  ASSERT_EQ(hsa->hsa_amd_profiling_async_copy_enable(true), HSA_STATUS_SUCCESS);
  uint64_t before = 0, after = 0;
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before);
  hsa_signal_t done = signal(1);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy(device, gpu, host, cpu, bytes, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  ASSERT_TRUE(reaches(done, 0));
  hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after);
  hsa_amd_profiling_async_copy_time_t time{};
  ASSERT_EQ(hsa->hsa_amd_profiling_get_async_copy_time(done, &time), HSA_STATUS_SUCCESS);
  EXPECT_GE(time.start + 2000, before);
  EXPECT_LT(time.start, time.end);
  EXPECT_LE(time.end, after + 2000);
  hsa->hsa_amd_profiling_async_copy_enable(false);
}

TEST_F(Copies, beyond_live_memory_are_a_memory_fault_of_the_device)
{
  SKIP_WITHOUT_INTERRUPTS();
  MemoryFault seen;
  notice(&seen);
  hsa_signal_t done = signal(1);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy(device, gpu, (void *)0x1000, cpu, 64, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  for (int i = 0; i < 5000 && !seen.is_seen; ++i)
    usleep(1000);
  EXPECT_TRUE(seen.is_seen);
  EXPECT_EQ(seen.address, 0x1000u);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
}

} // namespace
