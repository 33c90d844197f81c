// Memory of the program that HIP registers: an address for the host and one for the device.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "hip.h"

namespace {

class HipRegister : public ::testing::Test {
protected:
  static constexpr uint32_t count = 5000;
  static constexpr size_t bytes = count * 4;

  void SetUp() override
  {
    std::ifstream stream(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v4.co",
                         std::ios::binary);
    std::string image((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    HIP_OK(hipModuleLoadData(&module_, image.data()));
    HIP_OK(hipModuleGetFunction(&add_, module_, "vector_add"));
    HIP_OK(hipMalloc((void **)&sums_, bytes));
  }

  void TearDown() override
  {
    EXPECT_EQ(hipFree(sums_), hipSuccess);
    EXPECT_EQ(hipModuleUnload(module_), hipSuccess);
  }

  // What a kernel reads at an address of the device, doubled: c = a + a.
  std::vector<float> doubled(void *device, void *sums, uint32_t n = count)
  {
    void *arguments[] = {&sums, &device, &device, &n};
    std::vector<float> back(n);
    EXPECT_EQ(hipModuleLaunchKernel(add_, (n + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments,
                                    nullptr),
              hipSuccess);
    EXPECT_EQ(hipMemcpy(back.data(), sums, n * 4, hipMemcpyDeviceToHost), hipSuccess);
    return back;
  }

  // Registers memory and lets the device and copies read and write it.
  void use(float *memory, uint32_t n = count)
  {
    for (uint32_t i = 0; i < n; ++i)
      memory[i] = (float)i + 0.5f;
    HIP_OK(hipHostRegister(memory, n * 4, hipHostRegisterDefault));
    void *device = nullptr;
    HIP_OK(hipHostGetDevicePointer(&device, memory, 0));
    EXPECT_NE(device, memory);
    std::vector<float> got = doubled(device, sums_, n);
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(got[i], 2 * memory[i]) << i;
    HIP_OK(hipMemcpy(sums_, memory, n * 4, hipMemcpyHostToDevice));
    HIP_OK(hipMemset(device, 0, n * 4));
    HIP_OK(hipDeviceSynchronize());
    EXPECT_EQ(memory[n / 2], 0);
    HIP_OK(hipMemcpy(memory, sums_, n * 4, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(memory[i], (float)i + 0.5f) << i;
    HIP_OK(hipHostUnregister(memory));
    EXPECT_NE(hipHostUnregister(memory), hipSuccess);
  }

  hipModule_t module_ = nullptr;
  hipFunction_t add_ = nullptr;
  float *sums_ = nullptr;
};

TEST_F(HipRegister, heap_and_stack)
{
  std::vector<float> heap(count);
  use(heap.data());
  float stack[count];
  use(stack);
  use(heap.data() + 3, count - 3); // at no page's start
  use(heap.data() + 1, 1);
}

TEST_F(HipRegister, mapped_memory_whose_address_is_given_out_again)
{
  void *before = nullptr;
  for (int i = 0; i < 5; ++i) {
    void *memory = mmap(before, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_TRUE(!before || memory == before);
    use((float *)memory);
    ASSERT_EQ(munmap(memory, bytes), 0);
    before = memory;
  }
}

// HIP 5.2.3 forgets the second registration of an address: what counts is that nothing ends.
TEST_F(HipRegister, twice_and_overlapping)
{
  std::vector<float> heap(2 * count, 1.5f);
  HIP_OK(hipHostRegister(heap.data(), bytes, hipHostRegisterDefault));
  (void)hipHostRegister(heap.data(), bytes, hipHostRegisterDefault);
  (void)hipHostRegister(heap.data() + count / 2, bytes, hipHostRegisterDefault);
  void *first = nullptr;
  HIP_OK(hipHostGetDevicePointer(&first, heap.data(), 0));
  EXPECT_EQ(doubled(first, sums_)[count - 1], 3.0f);
  HIP_OK(hipHostUnregister(heap.data()));
  (void)hipHostUnregister(heap.data() + count / 2);
  use(heap.data());
}

// Two pieces of one page, each with its own address, in every order of giving them up.
TEST_F(HipRegister, pieces_of_one_page)
{
  auto *page =
      (float *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  float *low = page, *high = page + 512;
  for (bool low_first : {true, false}) {
    for (int i = 0; i < 1024; ++i)
      page[i] = (float)i;
    void *first = nullptr, *second = nullptr;
    HIP_OK(hipHostRegister(low, 400, hipHostRegisterDefault));
    HIP_OK(hipHostRegister(high, 400, hipHostRegisterDefault));
    HIP_OK(hipHostGetDevicePointer(&first, low, 0));
    HIP_OK(hipHostGetDevicePointer(&second, high, 0));
    EXPECT_NE(first, second);
    EXPECT_EQ(doubled(first, first, 100)[99], 198);
    EXPECT_EQ(doubled(second, second, 100)[99], 1222);
    EXPECT_EQ(low[99], 198);
    EXPECT_EQ(high[99], 1222);
    EXPECT_EQ(page[100], 100); // not beyond what was registered
    HIP_OK(hipHostUnregister(low_first ? low : high));
    void *left = low_first ? second : first;
    EXPECT_EQ(doubled(left, left, 100)[99], low_first ? 2444 : 396);
    HIP_OK(hipHostUnregister(low_first ? high : low));
    use(page, 1024); // and again as a whole
  }
  ASSERT_EQ(munmap(page, 4096), 0);
}

TEST_F(HipRegister, what_is_not_there)
{
  void *gone = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  ASSERT_EQ(munmap(gone, bytes), 0);
  EXPECT_NE(hipHostRegister(gone, bytes, hipHostRegisterDefault), hipSuccess);
  std::vector<float> heap(count);
  use(heap.data());
}

// Copies pin what they copy, and keep it pinned for the next one.
TEST_F(HipRegister, large_copies_of_memory_that_comes_and_goes)
{
  const size_t large = 24 << 20;
  void *device = nullptr;
  HIP_OK(hipMalloc(&device, large));
  for (int i = 0; i < 6; ++i) {
    auto *from = (unsigned char *)mmap(nullptr, large, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(from, MAP_FAILED);
    memset(from, i + 1, large);
    HIP_OK(hipMemcpy(device, from, large, hipMemcpyHostToDevice));
    memset(from, 0, large);
    HIP_OK(hipMemcpy(from, device, large, hipMemcpyDeviceToHost));
    EXPECT_EQ(from[0], i + 1);
    EXPECT_EQ(from[large - 1], i + 1);
    ASSERT_EQ(munmap(from, large), 0);
  }
  // From memory that cannot be written to, and so not pinned.
  auto *constant = (unsigned char *)mmap(nullptr, large, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(constant, MAP_FAILED);
  memset(constant, 77, large);
  ASSERT_EQ(mprotect(constant, large, PROT_READ), 0);
  HIP_OK(hipMemcpy(device, constant, large, hipMemcpyHostToDevice));
  unsigned char back = 0;
  HIP_OK(hipMemcpy(&back, (char *)device + large - 1, 1, hipMemcpyDeviceToHost));
  EXPECT_EQ(back, 77);
  ASSERT_EQ(munmap(constant, large), 0);
  HIP_OK(hipFree(device));
}

} // namespace
