// Devices and memory as HIP shows them.
#include "hip.h"

#include <cstdlib>
#include <cstring>

namespace {

TEST(Hip, lists_the_device)
{
  int count = 0;
  HIP_OK(hipGetDeviceCount(&count));
  ASSERT_EQ(count, 1);
  hipDeviceProp_t facts{};
  HIP_OK(hipGetDeviceProperties(&facts, 0));
  EXPECT_STREQ(facts.name, "AMD Instinct MI210 (softgpu)");
  EXPECT_STREQ(facts.gcnArchName, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(facts.warpSize, 64);
  const char *units = getenv("SOFTGPU_COMPUTE_UNITS");
  EXPECT_EQ(facts.multiProcessorCount, units ? atoi(units) : 104);
  EXPECT_EQ(facts.totalGlobalMem, 8192ull << 20);
  EXPECT_EQ(facts.maxThreadsPerBlock, 1024);
  EXPECT_EQ(facts.sharedMemPerBlock, 64u << 10);
  EXPECT_EQ(hipSetDevice(1), hipErrorInvalidDevice);
}

TEST(Hip, runs_out_of_memory_and_goes_on)
{
  void *too_much = nullptr, *enough = nullptr;
  EXPECT_EQ(hipMalloc(&too_much, 9ull << 30), hipErrorOutOfMemory);
  HIP_OK(hipMalloc(&enough, 1 << 20));
  HIP_OK(hipFree(enough));
  EXPECT_NE(hipFree((char *)&too_much), hipSuccess);
}

class Copies : public ::testing::TestWithParam<size_t> {};

TEST_P(Copies, there_and_back)
{
  const size_t bytes = GetParam();
  std::vector<uint8_t> values(bytes), back(bytes);
  for (size_t i = 0; i < bytes; ++i)
    values[i] = (uint8_t)(i * 7 + 3);
  void *first = nullptr, *second = nullptr;
  HIP_OK(hipMalloc(&first, bytes));
  HIP_OK(hipMalloc(&second, bytes));
  HIP_OK(hipMemcpy(first, values.data(), bytes, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy(second, first, bytes, hipMemcpyDeviceToDevice));
  HIP_OK(hipMemcpy(back.data(), second, bytes, hipMemcpyDeviceToHost));
  EXPECT_EQ(back, values);
  HIP_OK(hipFree(first));
  HIP_OK(hipFree(second));
}

INSTANTIATE_TEST_SUITE_P(bytes, Copies, ::testing::Values(1, 4, 4097, 65536, (1 << 20) + 3),
                         testing::PrintToStringParamName());

TEST(Hip, copies_rectangles)
{
  const size_t width = 100 * 4, rows = 37;
  std::vector<uint32_t> values = ramp(100 * rows), back(128 * rows, 0xffffffff);
  void *device = nullptr;
  size_t pitch = 0;
  HIP_OK(hipMallocPitch(&device, &pitch, width, rows));
  ASSERT_GE(pitch, width);
  HIP_OK(hipMemcpy2D(device, pitch, values.data(), width, width, rows, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy2D(back.data(), 128 * 4, device, pitch, width, rows, hipMemcpyDeviceToHost));
  for (size_t y = 0; y < rows; ++y) {
    for (size_t x = 0; x < 128; ++x)
      ASSERT_EQ(back[y * 128 + x], x < 100 ? values[y * 100 + x] : 0xffffffff) << x << "," << y;
  }
  HIP_OK(hipFree(device));
}

TEST(Hip, fills_memory)
{
  const size_t count = 5000;
  std::vector<uint32_t> back(count);
  uint32_t *device = nullptr;
  HIP_OK(hipMalloc((void **)&device, count * 4));
  HIP_OK(hipMemset(device, 0xa5, count * 4));
  HIP_OK(hipMemsetD32((hipDeviceptr_t)(device + 10), 0x12345678, 20));
  // Not at an odd address: HIP 5.2.3 then fills all that follows, and the device objects.
  HIP_OK(hipMemset((char *)device + 208, 0, 3));
  HIP_OK(hipMemcpy(back.data(), device, count * 4, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < count; ++i) {
    uint32_t expected = i >= 10 && i < 30 ? 0x12345678 : i == 52 ? 0xa5000000 : 0xa5a5a5a5;
    ASSERT_EQ(back[i], expected) << i;
  }
  HIP_OK(hipMemset2D(device, 400, 1, 8, 3));
  HIP_OK(hipMemcpy(back.data(), device, count * 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(back[0], 0x01010101u);
  EXPECT_EQ(back[2], 0xa5a5a5a5u);
  EXPECT_EQ(back[201], 0x01010101u);
  HIP_OK(hipFree(device));
}

TEST(Hip, host_memory_of_both_kinds)
{
  const size_t count = 1000;
  uint32_t *pinned = nullptr, *managed = nullptr, *device = nullptr;
  std::vector<uint32_t> back(count);
  HIP_OK(hipMalloc((void **)&device, count * 4));
  HIP_OK(hipHostMalloc((void **)&pinned, count * 4, hipHostMallocDefault));
  HIP_OK(hipMallocManaged((void **)&managed, count * 4, hipMemAttachGlobal));
  for (uint32_t i = 0; i < count; ++i) {
    pinned[i] = i * 3;
    managed[i] = i * 5;
  }
  void *alias = nullptr;
  HIP_OK(hipHostGetDevicePointer(&alias, pinned, 0));
  EXPECT_EQ(alias, pinned);
  for (const uint32_t *source : {pinned, managed}) {
    HIP_OK(hipMemcpy(device, source, count * 4, hipMemcpyDefault));
    HIP_OK(hipMemcpy(back.data(), device, count * 4, hipMemcpyDeviceToHost));
    EXPECT_EQ(memcmp(back.data(), source, count * 4), 0);
  }
  HIP_OK(hipHostFree(pinned));
  HIP_OK(hipFree(managed));
  HIP_OK(hipFree(device));
}

} // namespace
