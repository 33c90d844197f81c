// Classes of sizes, and what an allocation costs.
#include "pool_fixture.h"

#include "heap_parts.h"
#include "tests/instructions.h"

#include <algorithm>

namespace {

TEST(PoolParts, ClassesGrowByAtMostAnEighth)
{
  EXPECT_STREQ(heap_check_classes(), nullptr);
}

TEST(PoolParts, TheIndexFindsTheNextLargerOne)
{
  EXPECT_STREQ(heap_check_index(), nullptr);
}

TEST(PoolParts, BlocksAreFoundByTheirNumbers)
{
  EXPECT_STREQ(heap_check_blocks(), nullptr);
}

#ifdef RAWHAL_COUNTS_INSTRUCTIONS
// In place of what is counted: one instruction each.
__attribute__((naked)) rawhal_status_t no_allocate(rawhal_pool_t *, rawhal_queue_t *, uint64_t,
                                                   uint64_t, rawhal_pool_allocation_t *,
                                                   rawhal_error_t *)
{
  __asm__("ret");
}
__attribute__((naked)) rawhal_status_t no_free(rawhal_pool_t *, rawhal_queue_t *,
                                               const rawhal_pool_allocation_t *, rawhal_error_t *)
{
  __asm__("ret");
}

class PoolCost : public PoolTest {
protected:
  template <typename Allocate, typename Free>
  static size_t pair(Allocate *takes, Free *frees, rawhal_pool_t *from, rawhal_queue_t *on)
  {
    Allocation mine = {};
    size_t least = SIZE_MAX;
    for (int i = 0; i < 20; ++i)
      least = std::min(least, instructions::count([&] {
                         (void)!takes(from, on, 4096, 0, &mine, nullptr);
                         (void)!frees(from, on, &mine, nullptr);
                       }));
    return least;
  }
};

TEST_F(PoolCost, AnAllocationAndItsEndAreAtMost200Instructions)
{
  rawhal_pool_t *from = pool();
  rawhal_queue_t *on = queue();
  give(from, on, allocate(from, on, 4096));
  const size_t both =
      pair(rawhal_pool_allocate, rawhal_pool_free, from, on) - pair(no_allocate, no_free, from, on);
  printf("instructions of allocating and freeing: %zu\n", both);
  EXPECT_LE(both, 200u);
  EXPECT_EQ(info(from).reused_allocations, 20u);
}
#endif

} // namespace
