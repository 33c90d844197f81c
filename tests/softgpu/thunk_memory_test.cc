// Memory of the thunk: freed while in use, registered twice, mapped in parts.
#include <gtest/gtest.h>
#include <hsakmt.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "softgpu/softgpu.h"

extern "C" {
#include "softgpu/device/memory.h"
#include "softgpu/device/option.h"
#include "softgpu/device/retire.h"
}

namespace {

class ThunkMemory : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS); }
  void TearDown() override { EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS); }

  char *allocate(uint64_t size, uint32_t node = 1, HsaMemFlags flags = {})
  {
    void *memory = nullptr;
    EXPECT_EQ(hsaKmtAllocMemory(node, size, flags, &memory), HSAKMT_STATUS_SUCCESS);
    return (char *)memory;
  }

  static bool live(const void *address, uint64_t size = 1, uint32_t node = 0)
  {
    return softgpu_memory_reach(node, (uintptr_t)address, size, true);
  }

  // Registers and maps; the address for devices.
  static char *pin(void *memory, uint64_t size)
  {
    HSAuint64 device = 0;
    EXPECT_EQ(hsaKmtRegisterMemory(memory, size), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(hsaKmtMapMemoryToGPU(memory, size, &device), HSAKMT_STATUS_SUCCESS);
    return (char *)device;
  }

  static bool mapped(const void *address) { return msync((void *)address, 4096, MS_ASYNC) == 0; }
};

TEST_F(ThunkMemory, freed_memory_is_gone_at_once)
{
  char *memory = allocate(8192);
  EXPECT_TRUE(live(memory, 8192));
  ASSERT_EQ(hsaKmtFreeMemory(memory, 8192), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(live(memory));
  EXPECT_FALSE(mapped(memory));
  EXPECT_EQ(hsaKmtFreeMemory(memory, 8192), HSAKMT_STATUS_INVALID_PARAMETER);
}

TEST_F(ThunkMemory, pages_outlive_the_dispatches_that_may_use_them)
{
  char *first = allocate(4096), *second = allocate(4096);
  memset(first, 1, 4096);
  unsigned before = softgpu_retire_enter();
  hsaKmtFreeMemory(first, 4096);
  EXPECT_FALSE(live(first));
  EXPECT_TRUE(mapped(first));
  EXPECT_EQ(*(volatile char *)first, 0); // given back, only the addresses are kept
  unsigned after = softgpu_retire_enter();
  hsaKmtFreeMemory(second, 4096);
  softgpu_retire_leave(before);
  EXPECT_FALSE(mapped(first)); // `after` began when it was gone already
  EXPECT_TRUE(mapped(second));
  softgpu_retire_leave(after);
  EXPECT_FALSE(mapped(second));
}

TEST_F(ThunkMemory, overlapping_dispatches_let_memory_go_in_the_end)
{
  unsigned running = softgpu_retire_enter();
  std::vector<char *> freed;
  for (int i = 0; i < 50; ++i) { // never a moment without a dispatch
    freed.push_back(allocate(4096));
    unsigned next = softgpu_retire_enter();
    hsaKmtFreeMemory(freed.back(), 4096);
    softgpu_retire_leave(running);
    running = next;
  }
  // At most the last ones wait.
  EXPECT_FALSE(mapped(freed[40]));
  softgpu_retire_leave(running);
  for (char *memory : freed)
    EXPECT_FALSE(mapped(memory));
}

TEST_F(ThunkMemory, large_allocations_are_aligned)
{
  char *memory = allocate(6 << 20);
  EXPECT_EQ((uintptr_t)memory % (2 << 20), 0u);
  EXPECT_EQ(hsaKmtFreeMemory(memory, 6 << 20), HSAKMT_STATUS_SUCCESS);
}

TEST_F(ThunkMemory, flags_decide_what_kernels_may_do)
{
  HsaMemFlags flags{};
  flags.ui32.ReadOnly = 1;
  flags.ui32.ExecuteAccess = 1;
  char *memory = allocate(4096, 1, flags);
  softgpu_allocation_t found{};
  ASSERT_TRUE(softgpu_memory_find((uintptr_t)memory, &found));
  EXPECT_EQ(found.flags, (uint32_t)(SOFTGPU_MEMORY_EXECUTE | SOFTGPU_MEMORY_VRAM));
  EXPECT_EQ(found.node, 1u);
  hsaKmtFreeMemory(memory, 4096);
}

TEST_F(ThunkMemory, fixed_addresses)
{
  char *memory = allocate(4096);
  hsaKmtFreeMemory(memory, 4096);
  HsaMemFlags flags{};
  flags.ui32.FixedAddress = 1;
  void *again = memory;
  EXPECT_EQ(hsaKmtAllocMemory(0, 4096, flags, &again), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(again, memory);
  EXPECT_EQ(hsaKmtAllocMemory(0, 4096, flags, &again), HSAKMT_STATUS_NO_MEMORY);
  EXPECT_EQ(hsaKmtFreeMemory(memory, 4096), HSAKMT_STATUS_SUCCESS);
}

TEST_F(ThunkMemory, bad_requests)
{
  void *memory = nullptr;
  HsaMemFlags flags{};
  EXPECT_EQ(hsaKmtAllocMemory(1, 100, flags, &memory), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtAllocMemory(1, 0, flags, &memory), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtAllocMemory(2, 4096, flags, &memory), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(hsaKmtAllocMemory(1, 9000ull << 20, flags, &memory), HSAKMT_STATUS_NO_MEMORY);
  EXPECT_EQ(hsaKmtAllocMemory(0, ~4095ull, flags, &memory), HSAKMT_STATUS_NO_MEMORY);
  EXPECT_EQ(hsaKmtDeregisterMemory(&flags), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
}

TEST_F(ThunkMemory, scratch_pools_are_live_only_where_mapped)
{
  HsaMemFlags flags{};
  flags.ui32.Scratch = 1;
  char *pool = allocate(1ull << 32, 1, flags);
  EXPECT_FALSE(live(pool));
  HSAuint64 alternate = 0;
  ASSERT_EQ(hsaKmtMapMemoryToGPU(pool, 65536, &alternate), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtMapMemoryToGPU(pool + (1 << 20), 65536, &alternate), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(alternate, (uintptr_t)pool + (1 << 20));
  EXPECT_TRUE(live(pool, 65536));
  EXPECT_FALSE(live(pool + 65536));
  EXPECT_TRUE(live(pool + (1 << 20), 65536));
  EXPECT_EQ(hsaKmtUnmapMemoryToGPU(pool), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(live(pool));
  EXPECT_EQ(hsaKmtFreeMemory(pool, 1ull << 32), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(live(pool + (1 << 20)));
}

TEST_F(ThunkMemory, mapping_is_what_gives_access)
{
  char *memory = allocate(4096);
  EXPECT_FALSE(live(memory, 4096, 1));
  HSAuint64 device = 0;
  HSAuint32 nodes[] = {1};
  ASSERT_EQ(hsaKmtMapMemoryToGPUNodes(memory, 4096, &device, {}, 1, nodes), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(live(memory, 4096, 1));
  EXPECT_FALSE(live(memory, 4096, 2));
  EXPECT_EQ(hsaKmtUnmapMemoryToGPU(memory + 64), HSAKMT_STATUS_SUCCESS); // somebody's pinned part
  EXPECT_TRUE(live(memory, 4096, 1));
  EXPECT_EQ(hsaKmtUnmapMemoryToGPU(memory), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(live(memory, 4096, 1));
  EXPECT_EQ(hsaKmtUnmapMemoryToGPU(nodes), HSAKMT_STATUS_INVALID_PARAMETER);
  hsaKmtFreeMemory(memory, 4096);
}

// As by a driver with SVM, and as by others: what is registered has an address of its own.
class Registered : public ThunkMemory, public ::testing::WithParamInterface<bool> {
protected:
  void SetUp() override
  {
    softgpu_option_store(SOFTGPU_OPTION_SAME_ADDRESS, GetParam());
    ThunkMemory::SetUp();
  }

  void TearDown() override
  {
    ThunkMemory::TearDown();
    softgpu_option_store(SOFTGPU_OPTION_SAME_ADDRESS, 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Addresses, Registered, ::testing::Bool(), [](const auto &address) {
  return std::string(address.param ? "same" : "own");
});

TEST_P(Registered, ranges_overlap_and_have_exact_bounds)
{
  std::vector<char> bytes(1000);
  char *base = bytes.data();
  char *first = pin(base + 100, 200), *second = pin(base + 250, 200), *third = pin(base + 100, 50);
  EXPECT_EQ(first == base + 100, GetParam());
  EXPECT_NE(second, base + 250) << "a part of it is the first's";
  EXPECT_EQ(pin(base + 250, 200), second); // the same again
  for (char *each : {first, second, third})
    EXPECT_FALSE(live(each - 1, 1, 1));
  EXPECT_EQ(softgpu_memory_reach(1, (uintptr_t)first, 200, true), base + 100);
  EXPECT_EQ(softgpu_memory_reach(1, (uintptr_t)second, 200, true), base + 250);
  EXPECT_FALSE(live(first, 201, 1));
  EXPECT_EQ(live(base + 100, 1, 1), GetParam());
  for (bool is_last : {false, true}) {
    EXPECT_EQ(hsaKmtUnmapMemoryToGPU(base + 250), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(live(second, 200, 1), !is_last);
    EXPECT_EQ(hsaKmtDeregisterMemory(base + 250), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(live(second, 200), !is_last);
  }
  EXPECT_EQ(hsaKmtDeregisterMemory(base + 100), HSAKMT_STATUS_SUCCESS); // the 50 bytes
  EXPECT_FALSE(live(third, 50));
  EXPECT_TRUE(live(first, 200, 1));
  EXPECT_EQ(hsaKmtDeregisterMemory(base + 100), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(live(first, 200));
  EXPECT_EQ(hsaKmtDeregisterMemory(base + 100), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
  char *neighbours[] = {pin(base + 100, 200), pin(base + 300, 4)};
  EXPECT_EQ(neighbours[1] == base + 300, GetParam()) << "no byte is both's";
  for (char *each : {base + 100, base + 300})
    EXPECT_EQ(hsaKmtDeregisterMemory(each), HSAKMT_STATUS_SUCCESS);
}

// By a thread, for its next registration, of just these bytes.
TEST_P(Registered, at_the_hosts_address_when_asked)
{
  std::vector<char> bytes(1000);
  char *base = bytes.data();
  softgpu_memory_in_place((uintptr_t)base, 100);
  EXPECT_EQ(pin(base, 100), base);
  softgpu_memory_in_place((uintptr_t)base + 200, 100);
  EXPECT_EQ(pin(base + 200, 101) == base + 200, GetParam()) << "other bytes";
  EXPECT_EQ(pin(base + 400, 100) == base + 400, GetParam()) << "nobody asked";
  softgpu_memory_in_place((uintptr_t)base + 600, 100);
  std::thread([&] { EXPECT_EQ(pin(base + 600, 100) == base + 600, GetParam()); }).join();
  for (int at : {0, 200, 400, 600})
    EXPECT_EQ(hsaKmtDeregisterMemory(base + at), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(pin(base + 600, 100), base + 600) << "it still is this thread's wish";
  EXPECT_EQ(hsaKmtDeregisterMemory(base + 600), HSAKMT_STATUS_SUCCESS);
}

// As HIP does, which keeps what it pinned for a copy pinned for the next.
TEST_P(Registered, addresses_may_be_given_out_while_they_are)
{
  const uint64_t size = 1 << 20;
  void *stale = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stale, MAP_FAILED);
  char *pinned = pin(stale, size);
  ASSERT_EQ(munmap(stale, size), 0);
  HsaMemFlags flags{};
  flags.ui32.FixedAddress = 1;
  void *memory = stale;
  ASSERT_EQ(hsaKmtAllocMemory(1, size, flags, &memory), HSAKMT_STATUS_SUCCESS);
  HSAuint64 device = 0;
  EXPECT_FALSE(live(memory, 1, 1)) << "it is new, and mapped to no device";
  ASSERT_EQ(hsaKmtMapMemoryToGPU(memory, size, &device), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(device, (uintptr_t)memory);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo(memory, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_ALLOCATED);
  EXPECT_EQ(hsaKmtDeregisterMemory(stale),
            GetParam() ? HSAKMT_STATUS_MEMORY_NOT_REGISTERED : HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(live(pinned), GetParam()) << "where what is new is now";
  EXPECT_TRUE(live(memory, size, 1));
  EXPECT_EQ(hsaKmtFreeMemory(memory, size), HSAKMT_STATUS_SUCCESS);
}

TEST_F(ThunkMemory, registering_what_was_allocated_changes_nothing)
{
  char *memory = allocate(4096, 0);
  EXPECT_EQ(hsaKmtRegisterMemory(memory + 64, 128), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDeregisterMemory(memory + 64), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(live(memory, 4096));
  EXPECT_EQ(hsaKmtFreeMemory(memory, 4096), HSAKMT_STATUS_SUCCESS);
}

TEST_F(ThunkMemory, pointer_info)
{
  char *memory = allocate(8192);
  HSAuint32 nodes[] = {1};
  HSAuint64 alternate = 0;
  HsaMemMapFlags map_flags{};
  ASSERT_EQ(hsaKmtMapMemoryToGPUNodes(memory, 8192, &alternate, map_flags, 1, nodes),
            HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(alternate, (uintptr_t)memory);
  int user = 0;
  ASSERT_EQ(hsaKmtSetMemoryUserData(memory + 10, &user), HSAKMT_STATUS_SUCCESS);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo(memory + 8191, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_ALLOCATED);
  EXPECT_EQ(info.Node, 1u);
  EXPECT_EQ((char *)info.CPUAddress, memory); // by value: packed to four bytes
  EXPECT_EQ((uint64_t)info.SizeInBytes, 8192u);
  EXPECT_EQ((int *)info.UserData, &user);
  ASSERT_EQ(info.NMappedNodes, 1u);
  EXPECT_EQ(info.MappedNodes[0], 1u);
  EXPECT_NE(hsaKmtQueryPointerInfo(&user, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_UNKNOWN);
  hsaKmtFreeMemory(memory, 8192);
}

TEST_F(ThunkMemory, closing_releases_what_was_left)
{
  char *memory = allocate(4096);
  std::vector<char> bytes(100);
  char *pinned = pin(bytes.data(), 100);
  TearDown();
  EXPECT_FALSE(live(memory));
  EXPECT_FALSE(live(pinned));
  SetUp();
}

} // namespace
