// The registry of live allocations.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

extern "C" {
#include "softgpu/device/memory.h"
}

namespace {

// What is written is counted once, whoever says it; what the host has changed is written, too.
TEST(Written, IsWhatWasSaidOrHasChanged)
{
  alignas(4096) static unsigned char memory[8192];
  softgpu_written_t *written = softgpu_written_begin(memory, sizeof memory);
  ASSERT_NE(written, nullptr);
  EXPECT_FALSE(softgpu_written_has(written, 0, 4));
  softgpu_written_add(written, 1, 1);
  EXPECT_TRUE(softgpu_written_has(written, 1, 1));
  EXPECT_FALSE(softgpu_written_has(written, 0, 1) || softgpu_written_has(written, 2, 2));
  EXPECT_TRUE(softgpu_written_has(written, 0, 4)) << "a dword of which a byte was";
  EXPECT_FALSE(softgpu_written_has(written, 0, 8));
  softgpu_written_add(written, 60, 10); // in two words
  EXPECT_TRUE(softgpu_written_has(written, 60, 10));
  EXPECT_FALSE(softgpu_written_has(written, 59, 2) || softgpu_written_has(written, 69, 2));
  memory[100] ^= 1;
  EXPECT_TRUE(softgpu_written_has(written, 97, 14)) << "the host wrote nearby";
  EXPECT_FALSE(softgpu_written_has(written, 112, 4) || softgpu_written_has(written, 92, 4));
  // It ends elsewhere, where nothing is left beyond.
  softgpu_written_bound(written, 8192, 4002);
  EXPECT_FALSE(softgpu_written_is_all(written));
  softgpu_written_add(written, 0, 4002);
  EXPECT_TRUE(softgpu_written_is_all(written));
  softgpu_written_add(written, 0, 4002);
  EXPECT_TRUE(softgpu_written_is_all(written));
  softgpu_written_bound(written, 4002, 4096);
  EXPECT_FALSE(softgpu_written_is_all(written));
  EXPECT_TRUE(softgpu_written_has(written, 4001, 1));
  EXPECT_FALSE(softgpu_written_has(written, 4004, 4));
  softgpu_written_add(written, 4002, 94);
  EXPECT_TRUE(softgpu_written_is_all(written));
  softgpu_written_retire(written);
}

class Registry : public ::testing::Test {
protected:
  bool add(uint64_t base, uint64_t size, uint32_t flags = SOFTGPU_MEMORY_WRITE, uint32_t node = 1)
  {
    softgpu_allocation_t allocation = {base, size, flags, node, 0, 0, nullptr};
    bases.push_back(base);
    return softgpu_memory_add(&allocation);
  }

  // Base of what contains an address; 0 when nothing does.
  uint64_t base_of(uint64_t address)
  {
    softgpu_allocation_t found{};
    return softgpu_memory_find(address, &found) ? found.base : 0;
  }

  uint64_t nearest(uint64_t address)
  {
    softgpu_allocation_t found{};
    return softgpu_memory_nearest(address, &found) ? found.base : 0;
  }

  void TearDown() override
  {
    for (uint64_t base : bases)
      softgpu_memory_remove(base);
  }

  std::vector<uint64_t> bases;
};

TEST_F(Registry, finds_by_any_byte_and_nothing_beside)
{
  ASSERT_TRUE(add(0x3000, 0x1000, SOFTGPU_MEMORY_EXECUTE, 2));
  ASSERT_TRUE(add(0x1000, 0x100));
  EXPECT_EQ(base_of(0xfff), 0u);
  EXPECT_EQ(base_of(0x1000), 0x1000u);
  EXPECT_EQ(base_of(0x10ff), 0x1000u);
  EXPECT_EQ(base_of(0x1100), 0u);
  EXPECT_EQ(base_of(0x3fff), 0x3000u);
  EXPECT_EQ(base_of(0x4000), 0u);
  EXPECT_EQ(base_of(UINT64_MAX), 0u);
  softgpu_allocation_t found{};
  ASSERT_TRUE(softgpu_memory_find(0x3800, &found));
  EXPECT_EQ(found.size, 0x1000u);
  EXPECT_EQ(found.flags, (uint32_t)SOFTGPU_MEMORY_EXECUTE);
  EXPECT_EQ(found.node, 2u);
}

TEST_F(Registry, refuses_overlap_emptiness_and_wrapping)
{
  ASSERT_TRUE(add(0x1000, 0x1000));
  EXPECT_FALSE(add(0x1fff, 1));
  EXPECT_FALSE(add(0x800, 0x801));
  EXPECT_FALSE(add(0x800, 0x10000));
  EXPECT_FALSE(add(0x3000, 0));
  EXPECT_FALSE(add(UINT64_MAX - 10, 20));
  EXPECT_TRUE(add(0x2000, 1));
  EXPECT_TRUE(add(0x800, 0x800));
}

TEST_F(Registry, reach_is_for_nodes_with_access)
{
  softgpu_allocation_t mine = {0x1000, 0x1000, SOFTGPU_MEMORY_WRITE, 1, 1 << 1 | 1 << 16,
                               0,      nullptr};
  softgpu_allocation_t yours = {0x2000, 0x1000, SOFTGPU_MEMORY_WRITE, 2, 1 << 2 | 1 << 16,
                                0,      nullptr};
  softgpu_allocation_t moved = {0x3000,   0x1000, SOFTGPU_MEMORY_WRITE, 0, 1 << 16,
                                0x500000, nullptr};
  for (const softgpu_allocation_t &each : {mine, yours, moved}) {
    bases.push_back(each.base);
    ASSERT_TRUE(softgpu_memory_add(&each));
  }
  EXPECT_EQ(softgpu_memory_reach(1, 0x1ff8, 8, true), (void *)0x1ff8);
  EXPECT_EQ(softgpu_memory_reach(1, 0x1ff8, 9, true), nullptr);
  EXPECT_EQ(softgpu_memory_reach(2, 0x1ff8, 9, true), nullptr);
  EXPECT_EQ(softgpu_memory_reach(16, 0x1ff8, 9, true), (void *)0x1ff8);
  EXPECT_EQ(softgpu_memory_reach(16, 0x3010, 8, true), (void *)0x503010);
  EXPECT_EQ(softgpu_memory_reach(16, 0x2ff8, 16, true), nullptr); // not one piece for the host
  softgpu_allocation_t found{};
  ASSERT_TRUE(softgpu_memory_find(0x3fff, &found));
  EXPECT_EQ(found.access, 1u << 16);
  EXPECT_EQ(found.shift, 0x500000u);
}

TEST_F(Registry, removal_is_by_base_and_counts)
{
  ASSERT_TRUE(add(0x1000, 0x1000));
  uint64_t before = softgpu_memory_generation();
  EXPECT_FALSE(softgpu_memory_remove(0x1800));
  EXPECT_EQ(softgpu_memory_generation(), before);
  EXPECT_TRUE(softgpu_memory_remove(0x1000));
  EXPECT_GT(softgpu_memory_generation(), before);
  EXPECT_EQ(base_of(0x1800), 0u);
  EXPECT_FALSE(softgpu_memory_remove(0x1000));
}

TEST_F(Registry, nearest_is_measured_in_bytes)
{
  EXPECT_EQ(nearest(0x5000), 0u);
  ASSERT_TRUE(add(0x1000, 0x1000));
  ASSERT_TRUE(add(0x4000, 0x1000));
  EXPECT_EQ(nearest(0), 0x1000u);
  EXPECT_EQ(nearest(0x1800), 0x1000u);
  EXPECT_EQ(nearest(0x2000), 0x1000u);
  EXPECT_EQ(nearest(0x3fff), 0x4000u);
  EXPECT_EQ(nearest(0x2400), 0x1000u);
  EXPECT_EQ(nearest(UINT64_MAX), 0x4000u);
}

TEST_F(Registry, coverage_joins_neighbours)
{
  ASSERT_TRUE(add(0x1000, 0x1000));
  ASSERT_TRUE(add(0x2000, 0x1000, 0));
  EXPECT_EQ(softgpu_memory_reach(0, 0x1800, 0x1000, false), (void *)0x1800);
  EXPECT_EQ(softgpu_memory_reach(0, 0x1800, 0x1000, true), nullptr); // the second is read-only
  EXPECT_EQ(softgpu_memory_reach(0, 0x1800, 0x1801, false), nullptr);
  EXPECT_EQ(softgpu_memory_reach(0, UINT64_MAX, 2, false), nullptr);
}

TEST_F(Registry, exchange_is_one_step_or_none)
{
  ASSERT_TRUE(add(0x1000, 0x1000));
  ASSERT_TRUE(add(0x2000, 0x1000));
  ASSERT_TRUE(add(0x8000, 0x1000));
  softgpu_allocation_t merged = {0x1000, 0x2000, 0, 0, 0, 0, nullptr};
  ASSERT_TRUE(softgpu_memory_exchange(0x1000, 0x3000, &merged, 1));
  EXPECT_EQ(base_of(0x2800), 0x1000u);
  softgpu_allocation_t split[2] = {{0x1000, 0x100, 0, 0, 0, 0, nullptr},
                                   {0x2000, 0x100, 0, 0, 0, 0, nullptr}};
  ASSERT_TRUE(softgpu_memory_exchange(0x1000, 0x3000, split, 2));
  EXPECT_EQ(base_of(0x1800), 0u);
  EXPECT_EQ(base_of(0x2080), 0x2000u);
  EXPECT_EQ(base_of(0x8000), 0x8000u);
  softgpu_allocation_t colliding = {0x1000, 0x8000, 0, 0, 0, 0, nullptr};
  EXPECT_FALSE(softgpu_memory_exchange(0x1000, 0x3000, &colliding, 1));
  EXPECT_EQ(base_of(0x2080), 0x2000u);
}

TEST_F(Registry, agrees_with_a_map)
{
  std::mt19937 random(7);
  std::map<uint64_t, uint64_t> model;
  for (int step = 0; step < 20000; ++step) {
    uint64_t base = (random() % 4096 + 1) * 16;
    if (random() % 3 == 0) {
      EXPECT_EQ(softgpu_memory_remove(base), model.erase(base) == 1);
    } else if (random() % 2 == 0) {
      uint64_t size = random() % 40 + 1;
      auto next = model.lower_bound(base);
      bool fits = next == model.end() || base + size <= next->first;
      if (next != model.begin())
        fits = fits && std::prev(next)->first + std::prev(next)->second <= base;
      ASSERT_EQ(add(base, size), fits) << step;
      if (fits)
        model[base] = size;
    } else {
      uint64_t address = random() % 70000;
      auto next = model.upper_bound(address);
      uint64_t expected = 0;
      if (next != model.begin() && address - std::prev(next)->first < std::prev(next)->second)
        expected = std::prev(next)->first;
      ASSERT_EQ(base_of(address), expected) << step;
    }
  }
}

TEST_F(Registry, lookups_never_see_half_a_change)
{
  // Allocations that stay, with others coming and going between them.
  const uint64_t stay = 64;
  for (uint64_t i = 0; i < stay; ++i)
    ASSERT_TRUE(add(0x100000 + i * 0x1000, 0x100, SOFTGPU_MEMORY_WRITE, (uint32_t)i));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random((unsigned)r);
      while (!stop) {
        uint64_t i = random() % stay;
        softgpu_allocation_t found{};
        if (!softgpu_memory_find(0x100000 + i * 0x1000 + random() % 0x100, &found) ||
            found.node != i || found.size != 0x100)
          ++wrong;
        if (softgpu_memory_find(0x100000 + i * 0x1000 + 0x800, &found) && found.node != 1000 + i)
          ++wrong;
      }
    });
  }
  for (uint32_t round = 0; round < 20000; ++round) {
    uint32_t i = round % stay;
    softgpu_allocation_t guest = {
        0x100000 + i * 0x1000ull + 0x400, 0x800, 0, 1000 + i, 0, 0, nullptr};
    ASSERT_TRUE(softgpu_memory_add(&guest));
    ASSERT_TRUE(softgpu_memory_remove(guest.base));
  }
  stop = true;
  for (auto &reader : readers)
    reader.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
