// Memory as programs get it from the runtime.
#include "runtime.h"

#include <cstdlib>

namespace {

class Pools : public Runtime {};

TEST_F(Pools, device_memory_knows_its_owner_and_exact_size)
{
  void *memory = device_memory(12288);
  ASSERT_NE(memory, nullptr);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof(info);
  ASSERT_EQ(hsa->hsa_amd_pointer_info((char *)memory + 5000, &info, nullptr, nullptr, nullptr),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info.agentBaseAddress, memory);
  EXPECT_EQ(info.sizeInBytes, 12288u);
  EXPECT_EQ(info.agentOwner.handle, gpu.handle);
}

TEST_F(Pools, locked_host_memory_is_known_by_either_address)
{
  std::vector<char> bytes(10000);
  for (const bool same : {true, false}) {
    option("same_address", same);
    void *seen = nullptr;
    ASSERT_EQ(hsa->hsa_amd_memory_lock(bytes.data(), bytes.size(), &gpu, 1, &seen),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(seen == bytes.data(), same);
    for (const void *either : {(char *)seen + 100, bytes.data() + 100}) {
      hsa_amd_pointer_info_t info{};
      info.size = sizeof(info);
      uint32_t count = 0;
      hsa_agent_t *agents = nullptr;
      ASSERT_EQ(hsa->hsa_amd_pointer_info(either, &info, malloc, &count, &agents),
                HSA_STATUS_SUCCESS);
      EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
      EXPECT_EQ(info.hostBaseAddress, bytes.data());
      EXPECT_EQ(info.agentBaseAddress, seen);
      EXPECT_EQ(info.sizeInBytes, bytes.size());
      EXPECT_EQ(count, 1u);
      free(agents);
    }
    EXPECT_EQ(hsa->hsa_amd_memory_unlock(bytes.data()), HSA_STATUS_SUCCESS);
  }
}

class SmallPool : public Runtime {
  void configure() override { option("vram_mib", 64); }
};

TEST_F(SmallPool, refuses_more_than_there_is_and_takes_back)
{
  std::vector<void *> taken;
  while (void *memory = device_memory(4 << 20))
    taken.push_back(memory);
  // The runtime keeps a little for itself.
  EXPECT_GE(taken.size(), 14u);
  EXPECT_LE(taken.size(), 16u);
  release(taken.back());
  EXPECT_NE(device_memory(4 << 20), nullptr);
  EXPECT_EQ(device_memory(4 << 20), nullptr);
}

} // namespace
