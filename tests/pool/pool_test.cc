// What a pool gives out, counts, refuses and gives back.
#include "pool_fixture.h"

#include "tests/child.h"

#include <map>
#include <random>

namespace {

using Pools = PoolTest;

TEST_F(Pools, AnAllocationIsPartOfABuffer)
{
  rawhal_pool_t *from = pool();
  const Allocation first = allocate(from, nullptr, 1000), second = allocate(from, nullptr, 1000);
  ASSERT_NE(first.buffer, nullptr);
  EXPECT_EQ(first.buffer, second.buffer);
  EXPECT_EQ(first.address, rawhal_buffer_address(first.buffer) + first.offset);
  EXPECT_EQ(first.bytes, 1000u);
  EXPECT_EQ(first.host, nullptr);
  EXPECT_EQ(first.after, 0u);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(first.address % 256, 0u);
  EXPECT_TRUE(first.offset + 1000 <= second.offset || second.offset + 1000 <= first.offset);
  std::vector<char> sent(1000, 'a'), got(1000);
  ASSERT_OK(rawhal_buffer_write(first.buffer, first.offset, sent.data(), 1000, &error));
  ASSERT_OK(
      rawhal_buffer_copy(second.buffer, second.offset, first.buffer, first.offset, 1000, &error));
  ASSERT_OK(rawhal_buffer_read(second.buffer, second.offset, got.data(), 1000, &error));
  EXPECT_EQ(got, sent);
  rawhal_buffer_free(first.buffer); // is the pool's
  EXPECT_EQ(rawhal_buffer_address(first.buffer) + first.offset, first.address);
}

TEST_F(Pools, EveryAlignmentAndSize)
{
  rawhal_pool_t *from = pool(0, 8 * mib);
  std::map<uint64_t, uint64_t> taken;
  for (uint64_t alignment = 1; alignment <= 2 * mib; alignment *= 2)
    for (uint64_t bytes : {1, 255, 256, 257, 4095, 4097, 70000}) {
      const Allocation made = allocate(from, nullptr, bytes, alignment);
      ASSERT_EQ(made.address & (alignment - 1), 0u) << alignment;
      ASSERT_LE(made.offset + bytes, rawhal_buffer_size(made.buffer));
      const auto next = taken.lower_bound(made.address);
      ASSERT_TRUE(next == taken.end() || made.address + bytes <= next->first);
      ASSERT_TRUE(next == taken.begin() ||
                  std::prev(next)->first + std::prev(next)->second <= made.address);
      taken[made.address] = bytes;
    }
  EXPECT_EQ(info(from).allocations, taken.size());
}

TEST_F(Pools, WhatIsWrong)
{
  rawhal_pool_t *from = pool(mib), *other = pool(mib);
  rawhal_pool_t *made = nullptr;
  rawhal_pool_options_t options = {};
  options.size = sizeof(options);
  options.budget_bytes = mib;
  options.slab_bytes = 2 * mib;
  EXPECT_EQ(rawhal_pool_create(device, &options, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  options = {};
  options.kind = static_cast<rawhal_memory_kind_t>(77);
  EXPECT_EQ(rawhal_pool_create(device, &options, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_create(nullptr, nullptr, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_create(device, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);

  Allocation got = {};
  const auto wants = [&](uint64_t bytes, uint64_t alignment, uint32_t flags) {
    return ask(from, nullptr, bytes, alignment, flags, 0, &got, &error);
  };
  EXPECT_EQ(wants(0, 0, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(wants(1, 3, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(wants(1, 4 * mib, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(wants(1, 0, 2), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(wants(UINT64_MAX, 0, 0), RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(wants(UINT64_C(1) << 46, 0, 0), RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(rawhal_pool_allocate(nullptr, nullptr, 1, 0, &got, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_allocate(from, nullptr, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);

  EXPECT_EQ(rawhal_pool_allocate_with(from, nullptr, nullptr, 0, &got, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_allocate(from, nullptr, 0, 0, &got, &error), RAWHAL_INVALID_ARGUMENT);

  const Allocation mine = allocate(from, nullptr, 100), theirs = allocate(other, nullptr, 100);
  EXPECT_EQ(rawhal_pool_free(from, nullptr, &theirs, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(strstr(error.message, "perhaps another pool's"), nullptr) << error.message;
  give(from, nullptr, mine); // it was left alone
  EXPECT_EQ(rawhal_pool_free(from, nullptr, &mine, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(strstr(error.message, "freed already"), nullptr) << error.message;
  Allocation again = allocate(from, nullptr, 100);
  EXPECT_EQ(again.address, mine.address);
  EXPECT_EQ(rawhal_pool_free(from, nullptr, &mine, &error), RAWHAL_INVALID_ARGUMENT);
  again.id = 0;
  EXPECT_EQ(rawhal_pool_free(from, nullptr, &again, &error), RAWHAL_INVALID_ARGUMENT);
  again.id = UINT64_MAX;
  EXPECT_EQ(rawhal_pool_free(from, nullptr, &again, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_free(from, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_pool_trim(nullptr, 0), 0u);
  rawhal_pool_destroy(nullptr);
  EXPECT_EQ(info(nullptr).size, sizeof(rawhal_pool_info_t));
}

TEST_F(Pools, TheBudgetIsNeverExceeded)
{
  rawhal_pool_t *from = pool(3 * mib, mib);
  std::vector<Allocation> all;
  for (int i = 0; i < 3; ++i)
    all.push_back(allocate(from, nullptr, mib));
  EXPECT_EQ(refused(from, nullptr, 1), RAWHAL_OUT_OF_MEMORY);
  EXPECT_NE(strstr(error.message, "256 bytes asked for of the pool 'weights'; of its budget of "
                                  "3145728 bytes 3145728 are reserved, and 3145728 of these"),
            nullptr)
      << error.message;
  EXPECT_EQ(info(from).reserved_bytes, 3 * mib);
  give(from, nullptr, all[1]);
  EXPECT_EQ(allocate(from, nullptr, mib).address, all[1].address);
  EXPECT_EQ(refused(from, nullptr, 4 * mib), RAWHAL_OUT_OF_MEMORY);
  // Three free slabs are none of two, until they have gone.
  for (const Allocation &each : all)
    (void)!rawhal_pool_free(from, nullptr, &each, &error);
  const rawhal_pool_info_t before = info(from);
  EXPECT_EQ(before.allocations, 1u); // the one that took all[1]'s place
  const Allocation large = allocate(from, nullptr, 2 * mib);
  EXPECT_EQ(large.bytes, 2 * mib);
  EXPECT_EQ(info(from).reserved_bytes, 3 * mib);
  EXPECT_EQ(info(from).peak_reserved_bytes, 3 * mib);
}

TEST_F(Pools, WhatIsJoinedAgainIsGivenBack)
{
  rawhal_pool_t *from = pool(0, mib);
  std::mt19937 random(5);
  std::vector<Allocation> live;
  uint64_t used = 0, peak = 0;
  const auto rounded = [](uint64_t bytes) { // at most an eighth more, from 4096 bytes on
    uint64_t step = 256;
    while (step * 16 <= bytes - 1)
      step *= 2;
    return (bytes + step - 1) / step * step;
  };
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 200 && random() % 2) {
      const uint64_t bytes = 1 + random() % (random() % 8 ? 5000 : 200000);
      live.push_back(allocate(from, nullptr, bytes, random() % 10 ? 0 : 1024));
      used += rounded(bytes);
      peak = std::max(peak, used);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      give(from, nullptr, live.back());
      used -= rounded(live.back().bytes);
      live.pop_back();
    }
    if (i % 1000 == 0) {
      const rawhal_pool_info_t now = info(from);
      ASSERT_EQ(now.used_bytes, used);
      ASSERT_EQ(now.peak_used_bytes, peak);
      ASSERT_EQ(now.allocations, live.size());
      ASSERT_EQ(now.waiting_bytes, 0u);
      std::map<uint64_t, uint64_t> places;
      for (const Allocation &each : live)
        places[each.address] = each.bytes;
      ASSERT_EQ(places.size(), live.size());
      for (auto at = places.begin(); std::next(at) != places.end() && !places.empty(); ++at)
        ASSERT_LE(at->first + at->second, std::next(at)->first);
    }
  }
  for (const Allocation &each : live)
    give(from, nullptr, each);
  const rawhal_pool_info_t end = info(from);
  EXPECT_EQ(end.used_bytes, 0u);
  EXPECT_GT(end.slabs, 1u);
  EXPECT_EQ(rawhal_pool_trim(from, end.reserved_bytes - 1), mib); // whole slabs are free again
  EXPECT_EQ(rawhal_pool_trim(from, 0), end.reserved_bytes - mib);
  EXPECT_EQ(info(from).reserved_bytes, 0u);
  EXPECT_EQ(info(from).slabs, 0u);
}

TEST_F(Pools, TrimmingLeavesWhatIsAllocated)
{
  rawhal_pool_t *from = pool(0, mib);
  const Allocation first = allocate(from, nullptr, mib), kept = allocate(from, nullptr, 256),
                   third = allocate(from, nullptr, mib);
  give(from, nullptr, first);
  give(from, nullptr, third);
  EXPECT_EQ(rawhal_pool_trim(from, 3 * mib), 0u);
  EXPECT_EQ(rawhal_pool_trim(from, 2 * mib), mib);
  EXPECT_EQ(rawhal_pool_trim(from, 0), mib);
  EXPECT_EQ(rawhal_pool_trim(from, 0), 0u);
  EXPECT_EQ(info(from).reserved_bytes, mib);
  EXPECT_NE(rawhal_buffer_address(kept.buffer), 0u);
}

TEST_F(Pools, AChildHasNone)
{
  rawhal_pool_t *from = pool(mib);
  rawhal_queue_t *on = queue();
  const Allocation mine = allocate(from, on, 256);
  const int status = in_child([&] {
    Allocation got = {};
    if (rawhal_pool_allocate(from, on, 1, 0, &got, &error) != RAWHAL_DEVICE_LOST)
      return 1;
    if (rawhal_pool_free(from, on, &mine, &error) != RAWHAL_DEVICE_LOST)
      return 2;
    rawhal_pool_t *made = nullptr;
    if (rawhal_pool_create(device, nullptr, &made, &error) != RAWHAL_DEVICE_LOST || made)
      return 3;
    if (rawhal_pool_trim(from, 0) || info(from).reserved_bytes)
      return 4;
    rawhal_pool_destroy(from);
    return 0;
  });
  EXPECT_EQ(status, 0);
  give(from, on, mine);
  EXPECT_EQ(info(from).reserved_bytes, mib);
}

} // namespace
