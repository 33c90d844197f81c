// Device memory behind the front: refused beyond the quota, and given back.
#include "tests/front/front_test.h"
#include "tests/front/toy_memory.h"

namespace {

class FrontMemory : public FrontTest {
protected:
  void Start()
  {
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    Load();
  }

  hsa_status_t Allocate(size_t size, void **memory)
  {
    return Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(toy_pool(), size, 0, memory);
  }

  hsa_status_t Free(void *memory) { return Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory); }
};

TEST_F(FrontMemory, AQuotaIsKept)
{
  Start();
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(40 * mi, &first));
  EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, Allocate(24 * mi + 1, &second));
  EXPECT_EQ(40 * mi, toy_live_bytes());
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(24 * mi, &second));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(first));
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(40 * mi, &first));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(first));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(second));
  EXPECT_EQ(0u, toy_live_bytes());
}

// What is said goes to a terminal, and has names of files and of kernels in it.
TEST_F(FrontMemory, WhatIsNotUnderstoodIsRefusedAndSaidInPlainText)
{
  Set("RAWHAL_CHECK", "\x1b[2J\x7f");
  Load();
  for (int i = 0; i < 3; ++i) // programs try more than once, and one line will do
    EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, Core<decltype(hsa_init)>(16)());
  EXPECT_EQ("rawhal: there is no device: RAWHAL_CHECK: expected off, warn, report or refuse, got "
            "'?[2J?'\n",
            Report());
  auto agents = Core<decltype(hsa_iterate_agents)>(56);
  const auto nobody = [](hsa_agent_t, void *) { return HSA_STATUS_SUCCESS; };
  EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, agents(nobody, nullptr));
}

TEST_F(FrontMemory, BuffersAreRecordedOnlyWithARecording)
{
  Set("RAWHAL_RECORD_BUFFERS", "1");
  Load();
  EXPECT_NE(std::string::npos,
            Report().find(
                "RAWHAL_RECORD_BUFFERS='1': the value must be 1, and RAWHAL_RECORD must be set"));
}

TEST_F(FrontMemory, MemoryOfTheHostIsNotCounted)
{
  Start();
  void *memory = nullptr;
  auto allocate = Amd<decltype(hsa_amd_memory_pool_allocate)>(120);
  ASSERT_EQ(HSA_STATUS_SUCCESS, allocate(hsa_amd_memory_pool_t{1}, 65 * mi, 0, &memory));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(memory));
}

TEST_F(FrontMemory, TheDeviceSeemsToHaveTheQuota)
{
  Start();
  size_t size = 0;
  auto pool_info = Amd<decltype(hsa_amd_memory_pool_get_info)>(104);
  ASSERT_EQ(HSA_STATUS_SUCCESS, pool_info(toy_pool(), HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
  EXPECT_EQ(64 * mi, size);
  void *memory = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Allocate(16 * mi, &memory));
  uint64_t available = 0;
  auto agent_info = Core<decltype(hsa_agent_get_info)>(64);
  ASSERT_EQ(HSA_STATUS_SUCCESS,
            agent_info(toy_agent(), static_cast<hsa_agent_info_t>(0xA015), &available));
  EXPECT_EQ(48 * mi, available);
  EXPECT_EQ(HSA_STATUS_SUCCESS, Free(memory));
}

} // namespace
