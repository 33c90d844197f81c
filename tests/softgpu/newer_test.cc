// A runtime newer than Debian 12's: the system's, or the one that RAWHAL_RUNTIME_LIBRARY names, which all tests of the
// runtime use then; those here want what 5.2.3 cannot.
#include "newer.h"
#include "runtime.h"

namespace {

class Newer : public Runtime, public ::testing::WithParamInterface<uint64_t> {
  void SetUp() override
  {
    ASSERT_NE(functions(), nullptr);
    if (!runtime_knows_gfx942())
      GTEST_SKIP() << "this runtime knows no gfx942";
    option("chip", GetParam());
    Runtime::SetUp();
  }
};

TEST_P(Newer, lists_the_chip_as_what_it_is)
{
  char name[64] = "", expected[16];
  hsa->hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name);
  snprintf(expected, sizeof(expected), "gfx%llx", (unsigned long long)GetParam());
  EXPECT_STREQ(name, expected);
  hsa_queue_t *q = queue();
  ASSERT_NE(q, nullptr);
  EXPECT_TRUE(reaches(submit_barrier(q), 0));
}

// By the runtime's own kernels and copy engines.
TEST_P(Newer, copies_there_and_back)
{
  const size_t size = 1 << 20;
  std::vector<uint32_t> words(size / 4), back(size / 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = (uint32_t)i * 2654435761u;
  auto *host = (uint32_t *)host_memory(size);
  void *first = device_memory(size), *second = device_memory(size);
  ASSERT_TRUE(host && first && second);
  memcpy(host, words.data(), size);
  EXPECT_EQ(hsa->hsa_memory_copy(first, host, size), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_memory_copy(second, first, size), HSA_STATUS_SUCCESS);
  memset(host, 0, size);
  hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa->hsa_amd_memory_async_copy(host, cpu, second, gpu, size, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_TRUE(reaches(done, 0));
  memcpy(back.data(), host, size);
  EXPECT_EQ(back, words);
  EXPECT_EQ(hsa->hsa_amd_memory_fill(first, 0x12345678, size / 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_memory_copy(host, first, size), HSA_STATUS_SUCCESS);
  EXPECT_EQ(host[size / 4 - 1], 0x12345678u);
}

INSTANTIATE_TEST_SUITE_P(chips, Newer, ::testing::Values(0x90a, 0x942), [](const auto &chip) {
  return chip.param == 0x90a ? "gfx90a" : "gfx942";
});

} // namespace
