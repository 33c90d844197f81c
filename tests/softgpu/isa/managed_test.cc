// Memory of the program's own that devices use in place: in ranges side by side, with holes where the program has
// unmapped some.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/softgpu/isa/device.h"

namespace {

constexpr uint64_t page = 4096;

class Managed : public testing::TestWithParam<bool> {
protected:
  void SetUp() override
  {
    softgpu_engine_reference(GetParam());
    memory =
        (char *)mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    add(0, 2, SOFTGPU_MEMORY_USER | SOFTGPU_MEMORY_WRITE);
  }
  void TearDown() override
  {
    for (uint64_t first : {0, 2})
      softgpu_memory_remove((uintptr_t)memory + first * page);
    munmap(memory, 8 * page);
    softgpu_engine_reference(false);
  }

  void add(uint64_t first, uint64_t pages, uint32_t flags)
  {
    softgpu_allocation_t live = {
        (uintptr_t)memory + first * page, pages * page, flags, 0, 0, 0, nullptr};
    ASSERT_TRUE(softgpu_memory_add(&live));
  }

  // Loads four dwords, which lie half in the one range and half in the other: where to store the
  // third.
  softgpu_fault_t run(uint64_t to)
  {
    const uint64_t address = (uintptr_t)memory + to;
    memcpy(memory + 2 * page - 8, &address, 8);
    auto dispatch = device::dispatch(kernel.object(), memory + 2 * page - 8, 1, 1);
    return device::run(dispatch).fault;
  }

  char *memory = nullptr;
  const device::Kernel kernel{{
      0xc00a0100, 0,          // s_load_dwordx4 s[4:7], s[0:1], 0x0
      0xbf8c0000,             // s_waitcnt 0
      0x7e000204, 0x7e020205, // v_mov_b32 v0, s4; v_mov_b32 v1, s5
      0x7e040206,             // v_mov_b32 v2, s6
      0xdc708000, 0x007f0200, // global_store_dword v[0:1], v2, off
      0xbf810000,             // s_endpgm
  }};
};
INSTANTIATE_TEST_SUITE_P(Engines, Managed, testing::Bool(),
                         [](const auto &engine) { return engine.param ? "reference" : "fast"; });

TEST_P(Managed, RangesGoOnInEachOtherAndHolesAreOnlyWhereTheyAre)
{
  add(2, 6, SOFTGPU_MEMORY_USER | SOFTGPU_MEMORY_WRITE);
  memory[2 * page] = 42;
  ASSERT_EQ(munmap(memory + 5 * page, page), 0);
  for (uint64_t to : {0 * page, 3 * page, 5 * page - 4, 6 * page, 8 * page - 4}) {
    const softgpu_fault_t fault = run(to);
    ASSERT_EQ(fault.kind, SOFTGPU_FAULT_NONE) << to << " " << fault.text;
    EXPECT_EQ(memory[to], 42) << to;
  }
  for (uint64_t to : {5 * page - 2, 5 * page, 6 * page - 4, 6 * page - 2, 8 * page - 2})
    EXPECT_EQ(run(to).kind, SOFTGPU_FAULT_MEMORY) << to;
}

TEST_P(Managed, WhatGoesOnHasItsOwnRights)
{
  add(2, 6, SOFTGPU_MEMORY_USER);
  memory[2 * page] = 43;
  EXPECT_EQ(run(0).kind, SOFTGPU_FAULT_NONE);
  EXPECT_EQ(memory[0], 43);
  EXPECT_EQ(run(2 * page).kind, SOFTGPU_FAULT_READ_ONLY);
  EXPECT_EQ(run(2 * page - 2).kind, SOFTGPU_FAULT_MEMORY);
}

// Of what has bounds, the end is the end.
TEST_P(Managed, AllocationsDoNotGoOnInOthers)
{
  add(2, 6, SOFTGPU_MEMORY_WRITE);
  EXPECT_EQ(run(0).kind, SOFTGPU_FAULT_MEMORY);
}

} // namespace
