// Memory that others allocated, as buffers: pinned for as long as they live.
#include "device_test.h"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <numeric>

namespace {

template <typename Function> Function *symbol(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

class Import : public DeviceTest {
protected:
  rawhal_buffer_t *import(void *pointer, size_t size)
  {
    rawhal_buffer_t *made = nullptr;
    EXPECT_OK(rawhal_buffer_import(device, pointer, size, &made, &error));
    buffers.push_back(made);
    return made;
  }

  rawhal_status_t try_import(void *pointer, size_t size)
  {
    rawhal_buffer_t *made = nullptr;
    rawhal_status_t status = rawhal_buffer_import(device, pointer, size, &made, &error);
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_buffer_free(made);
    return status;
  }

  static void softgpu_in_place(void *pointer, uint64_t size)
  {
    symbol<void(uint64_t, uint64_t)>("softgpu_memory_in_place")(
        reinterpret_cast<uintptr_t>(pointer), size);
  }

  // Has a kernel write first, first + 1, .. to `count` words at a device address.
  rawhal_status_t write_ids(uint64_t address, uint32_t count, uint32_t first)
  {
    if (!ids)
      ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    Blob blob;
    blob.add(address).add(count).add(1u).add(first);
    return run(queue(), dispatch_of(ids, count, 64, blob));
  }

  const rawhal_device_kernel_t *ids = nullptr;
};

TEST_F(Import, KernelsAndCopiesUseMallocedMemory)
{
  std::vector<uint32_t> memory(3000), expected(3000);
  std::iota(expected.begin(), expected.end(), 50);
  rawhal_buffer_t *mine = import(memory.data(), memory.size() * 4);
  EXPECT_EQ(rawhal_buffer_host(mine), memory.data());
  EXPECT_EQ(rawhal_buffer_size(mine), 12000u);
  ASSERT_OK(write_ids(rawhal_buffer_address(mine), 3000, 50));
  EXPECT_EQ(memory, expected);
  rawhal_buffer_t *local = buffer(12000);
  ASSERT_OK(rawhal_buffer_copy(local, 0, mine, 0, 12000, &error));
  ASSERT_OK(rawhal_buffer_fill(mine, 4, 7, 8, &error));
  EXPECT_EQ(memory[0], 50u);
  EXPECT_EQ(memory[1], 7u);
  EXPECT_EQ(memory[2], 7u);
  EXPECT_EQ(memory[3], 53u);
  EXPECT_EQ(download<uint32_t>(local, 3000), expected);
  ASSERT_OK(rawhal_buffer_copy(mine, 4, local, 4, 8, &error));
  EXPECT_EQ(memory, expected);
}

TEST_F(Import, ExactlyTheBytesGivenAndOnlyWhileItLives)
{
  std::vector<uint32_t> memory(64);
  rawhal_buffer_t *made = nullptr;
  char *odd = reinterpret_cast<char *>(memory.data()) + 12;
  ASSERT_OK(rawhal_buffer_import(device, odd, 40, &made, &error));
  uint64_t address = rawhal_buffer_address(made);
  ASSERT_OK(write_ids(address, 10, 1));
  EXPECT_EQ(memory[2], 0u);
  EXPECT_EQ(memory[3], 1u);
  EXPECT_EQ(memory[12], 10u);
  EXPECT_EQ(memory[13], 0u);
  EXPECT_EQ(write_ids(address, 11, 1), RAWHAL_FAULT); // softgpu knows the exact bounds
  rawhal_buffer_free(made);
  rawhal_buffer_free(made);
  EXPECT_EQ(write_ids(address, 1, 99), RAWHAL_FAULT);
  EXPECT_EQ(memory[3], 1u);
  ASSERT_OK(rawhal_buffer_import(device, odd, 40, &made, &error)); // and again
  ASSERT_OK(write_ids(rawhal_buffer_address(made), 1, 99));
  EXPECT_EQ(memory[3], 99u);
  rawhal_buffer_free(made);
}

TEST_F(Import, InPlaceTheDeviceHasTheHostsAddress)
{
  std::vector<uint32_t> memory(3000);
  rawhal_buffer_t *made = nullptr;
  ASSERT_OK(rawhal_buffer_import_in_place(device, &memory[3], 4000, &made, &error));
  EXPECT_EQ(rawhal_buffer_address(made), reinterpret_cast<uintptr_t>(&memory[3]));
  EXPECT_EQ(rawhal_buffer_host(made), &memory[3]);
  ASSERT_OK(write_ids(reinterpret_cast<uintptr_t>(&memory[3]), 1000, 7));
  EXPECT_EQ(memory[3], 7u);
  EXPECT_EQ(memory[1002], 1006u);
  EXPECT_EQ(write_ids(reinterpret_cast<uintptr_t>(&memory[3]), 1001, 7), RAWHAL_FAULT);
  EXPECT_EQ(memory[1003], 0u);
  rawhal_buffer_free(made);
  EXPECT_EQ(write_ids(reinterpret_cast<uintptr_t>(&memory[3]), 1, 9), RAWHAL_FAULT);
  // A device's own has one address anyhow; what is wrong with a plain import is wrong here, too.
  EXPECT_EQ(rawhal_buffer_import_in_place(device, nullptr, 4, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
}

TEST_F(Import, InPlaceIsRefusedWhereTheRuntimeCannot)
{
  std::vector<uint32_t> memory(3000);
  rawhal_buffer_t *made = nullptr;
  void *locked = nullptr; // by another library, which has the place
  softgpu_in_place(memory.data(), 100);
  ASSERT_EQ(HSA(hsa_amd_memory_lock)(memory.data(), 100, nullptr, 0, &locked), HSA_STATUS_SUCCESS);
  EXPECT_EQ(locked, memory.data());
  EXPECT_EQ(rawhal_buffer_import_in_place(device, memory.data(), 400, &made, &error),
            RAWHAL_UNSUPPORTED);
  EXPECT_EQ(made, nullptr);
  EXPECT_NE(std::string(error.message).find("ROCm 5.5"), std::string::npos) << error.message;
  EXPECT_EQ(HSA(hsa_amd_memory_unlock)(memory.data()), HSA_STATUS_SUCCESS);
  // It left no trace: nothing is pinned any more, and nothing asked for.
  ASSERT_OK(rawhal_buffer_import(device, memory.data(), 400, &made, &error));
  EXPECT_NE(rawhal_buffer_address(made), reinterpret_cast<uintptr_t>(memory.data()));
  rawhal_buffer_free(made);
  ASSERT_OK(rawhal_buffer_import_in_place(device, memory.data(), 400, &made, &error));
  EXPECT_EQ(rawhal_buffer_address(made), reinterpret_cast<uintptr_t>(memory.data()));
  rawhal_buffer_free(made);
}

TEST_F(Import, OverlapsAreRefused)
{
  std::vector<char> memory(8192);
  import(memory.data() + 1000, 1000);
  EXPECT_EQ(try_import(memory.data() + 1000, 1000), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("overlap"), std::string::npos) << error.message;
  EXPECT_EQ(try_import(memory.data() + 1999, 1), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(try_import(memory.data() + 999, 2), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(try_import(memory.data(), 8192), RAWHAL_INVALID_ARGUMENT);
  EXPECT_OK(try_import(memory.data() + 2000, 1000)); // neighbours
  EXPECT_OK(try_import(memory.data(), 1000));
  rawhal_buffer_t *own = buffer(4096, RAWHAL_MEMORY_HOST);
  EXPECT_EQ(try_import(rawhal_buffer_host(own), 64), RAWHAL_INVALID_ARGUMENT);
  rawhal_buffer_t *local = buffer(4096);
  EXPECT_EQ(try_import(reinterpret_cast<void *>(rawhal_buffer_address(local) + 64), 64),
            RAWHAL_INVALID_ARGUMENT);
}

// What another library got from the same runtime.
TEST_F(Import, MemoryOfTheRuntimes)
{
  struct Pools {
    hsa_agent_t gpu = {}, cpu = {};
    hsa_amd_memory_pool_t local = {}, host = {};
  } pools;
  symbol<decltype(hsa_iterate_agents)>("hsa_iterate_agents")(
      [](hsa_agent_t agent, void *data) {
        hsa_device_type_t type;
        symbol<decltype(hsa_agent_get_info)>("hsa_agent_get_info")(agent, HSA_AGENT_INFO_DEVICE,
                                                                   &type);
        Pools *to = static_cast<Pools *>(data);
        (type == HSA_DEVICE_TYPE_GPU ? to->gpu : to->cpu) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &pools);
  auto first = [](hsa_amd_memory_pool_t pool, void *data) {
    hsa_amd_segment_t segment;
    symbol<decltype(hsa_amd_memory_pool_get_info)>("hsa_amd_memory_pool_get_info")(
        pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    if (segment != HSA_AMD_SEGMENT_GLOBAL)
      return HSA_STATUS_SUCCESS;
    *static_cast<hsa_amd_memory_pool_t *>(data) = pool;
    return HSA_STATUS_INFO_BREAK;
  };
  auto pools_of =
      symbol<decltype(hsa_amd_agent_iterate_memory_pools)>("hsa_amd_agent_iterate_memory_pools");
  pools_of(pools.gpu, first, &pools.local);
  pools_of(pools.cpu, first, &pools.host);
  auto allocate = symbol<decltype(hsa_amd_memory_pool_allocate)>("hsa_amd_memory_pool_allocate");
  auto release = symbol<decltype(hsa_amd_memory_pool_free)>("hsa_amd_memory_pool_free");
  void *local = nullptr, *host = nullptr;
  ASSERT_EQ(allocate(pools.local, 8192, 0, &local), HSA_STATUS_SUCCESS);
  ASSERT_EQ(allocate(pools.host, 8192, 0, &host), HSA_STATUS_SUCCESS);

  EXPECT_EQ(try_import(local, 8193), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(try_import(static_cast<char *>(local) + 8000, 193), RAWHAL_OUT_OF_RANGE);
  rawhal_buffer_t *theirs = nullptr;
  ASSERT_OK(rawhal_buffer_import(device, static_cast<char *>(local) + 256, 4096, &theirs, &error));
  EXPECT_EQ(rawhal_buffer_address(theirs), reinterpret_cast<uintptr_t>(local) + 256);
  EXPECT_EQ(rawhal_buffer_host(theirs), nullptr); // a device's own
  ASSERT_OK(write_ids(rawhal_buffer_address(theirs), 1024, 3));
  std::vector<uint32_t> expected(1024);
  std::iota(expected.begin(), expected.end(), 3);
  EXPECT_EQ(download<uint32_t>(theirs, 1024), expected);
  rawhal_buffer_free(theirs);

  // Its owner gave the device no access, and only its owner may.
  EXPECT_EQ(try_import(host, 4096), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("access"), std::string::npos) << error.message;
  ASSERT_EQ(symbol<decltype(hsa_amd_agents_allow_access)>("hsa_amd_agents_allow_access")(
                1, &pools.gpu, nullptr, host),
            HSA_STATUS_SUCCESS);
  ASSERT_OK(rawhal_buffer_import(device, host, 4096, &theirs, &error));
  EXPECT_EQ(rawhal_buffer_host(theirs), host);
  ASSERT_OK(write_ids(rawhal_buffer_address(theirs), 1024, 3));
  EXPECT_EQ(memcmp(host, expected.data(), 4096), 0);
  rawhal_buffer_free(theirs);
  static_cast<uint32_t *>(host)[0] = 1; // still theirs
  EXPECT_EQ(release(local), HSA_STATUS_SUCCESS);
  EXPECT_EQ(release(host), HSA_STATUS_SUCCESS);
}

TEST_F(Import, MemoryThatAnotherLibraryPinned)
{
  std::vector<uint32_t> memory(2048);
  hsa_agent_t gpu = {};
  symbol<decltype(hsa_iterate_agents)>("hsa_iterate_agents")(
      [](hsa_agent_t agent, void *data) {
        *static_cast<hsa_agent_t *>(data) = agent; // the last is the GPU
        return HSA_STATUS_SUCCESS;
      },
      &gpu);
  void *locked = nullptr;
  ASSERT_EQ(symbol<decltype(hsa_amd_memory_lock)>("hsa_amd_memory_lock")(memory.data(), 8192, &gpu,
                                                                         1, &locked),
            HSA_STATUS_SUCCESS);
  rawhal_buffer_t *made = nullptr;
  ASSERT_OK(rawhal_buffer_import(device, &memory[16], 1024, &made, &error));
  EXPECT_EQ(rawhal_buffer_host(made), &memory[16]);
  ASSERT_OK(write_ids(rawhal_buffer_address(made), 256, 5));
  EXPECT_EQ(memory[16], 5u);
  EXPECT_EQ(memory[271], 260u);
  rawhal_buffer_free(made);
  ASSERT_OK(write_ids(reinterpret_cast<uintptr_t>(locked), 1, 8)); // theirs is untouched
  EXPECT_EQ(symbol<decltype(hsa_amd_memory_unlock)>("hsa_amd_memory_unlock")(memory.data()),
            HSA_STATUS_SUCCESS);
}

TEST_F(Import, NonsenseIsRefused)
{
  char byte = 0;
  rawhal_buffer_t *made = nullptr;
  EXPECT_EQ(try_import(nullptr, 1), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(try_import(&byte, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(try_import(&byte, SIZE_MAX), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_buffer_import(nullptr, &byte, 1, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import(device, &byte, 1, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

} // namespace
