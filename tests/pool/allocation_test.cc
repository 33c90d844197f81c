// Every allocation of pools fails once, of the host's memory and of the device's.
#include "pool_fixture.h"

#include "tests/harness/aligned_allocation_failure.h"

namespace {

using PoolAllocation = PoolTest;

TEST_F(PoolAllocation, OfEverythingMayFail)
{
  rawhal_queue_t *on = queue();
  int refusals = 0;
  for (int allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 100);
    rawhal_pool_options_t options = {};
    options.slab_bytes = 64 << 10;
    rawhal_pool_t *made = nullptr;
    std::vector<Allocation> all;
    all.reserve(300);
    allocations_refused = 0;
    allocations_left = allowed;
    const rawhal_status_t created = rawhal_pool_create(device, &options, &made, &error);
    rawhal_status_t status = created;
    Allocation got = {};
    while (status == RAWHAL_OK && all.size() < 300) {
      got.address = 1;
      status = ask(made, on, 1000, 0, 0, 0, &got, &error, "a");
      if (status == RAWHAL_OK)
        all.push_back(got);
    }
    const bool refused = allocations_refused;
    allocations_left = -1;
    EXPECT_EQ(made != nullptr, created == RAWHAL_OK);
    EXPECT_EQ(refused, status != RAWHAL_OK) << "nothing else fails";
    if (status != RAWHAL_OK) {
      ++refusals;
      EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY) << error.message;
      EXPECT_EQ(got.address, 0u) << "what fails gives nothing";
    }
    if (made) { // what it has is whole, and goes on
      EXPECT_EQ(info(made).allocations, all.size());
      EXPECT_OK(rawhal_pool_allocate(made, on, 1000, 0, &got, &error));
      EXPECT_OK(rawhal_pool_free(made, on, &got, &error));
      for (const Allocation &each : all)
        EXPECT_OK(rawhal_pool_free(made, nullptr, &each, &error));
      EXPECT_EQ(info(made).used_bytes, 0u);
      EXPECT_EQ(rawhal_pool_trim(made, 0), info(made).peak_reserved_bytes);
    }
    rawhal_pool_destroy(made);
    if (status == RAWHAL_OK && !refused)
      break;
  }
  EXPECT_GE(refusals, 6); // the pool, its lane, the follower, a slab, its buffer, blocks
}

TEST_F(PoolAllocation, OfFreeingTheFirstTimeMayFail)
{
  rawhal_queue_t *on = queue();
  rawhal_pool_t *from = pool();
  const Allocation mine = allocate(from, nullptr, 100);
  for (int allowed = 0; allowed < 2; ++allowed) {
    allocations_left = allowed;
    const rawhal_status_t status = rawhal_pool_free(from, on, &mine, &error);
    allocations_left = -1;
    EXPECT_EQ(status, RAWHAL_OUT_OF_MEMORY);
    EXPECT_EQ(info(from).allocations, 1u);
  }
  give(from, on, mine);
  EXPECT_EQ(info(from).allocations, 0u);
}

// softgpu's allocation_failure: the device has no memory for the slab.
TEST_F(PoolAllocation, OfTheDevicesMemoryMayFail)
{
  rawhal_pool_t *from = pool(0, mib);
  const Allocation mine = allocate(from, nullptr, mib);
  ASSERT_TRUE(softgpu_order("allocation_failure", nullptr, 1, 8));
  EXPECT_EQ(refused(from, nullptr, mib), RAWHAL_OUT_OF_MEMORY);
  ASSERT_TRUE(softgpu_order("allocation_failure", nullptr, 0, 0));
  EXPECT_EQ(info(from).reserved_bytes, mib);
  give(from, nullptr, mine);
  EXPECT_EQ(allocate(from, nullptr, mib).address, mine.address);
}

} // namespace
