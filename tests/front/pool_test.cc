// The memory for records of probed dispatches, on the toy runtime.
#include "tests/front/front_test.h"
#include "tests/front/pool.h"

#include <vector>

namespace {

constexpr uint64_t page = 4096, all = 256 << 20; // what a rule of small buffers may have

class ProbeMemory : public FrontTest {
protected:
  void Open(uint64_t each)
  {
    Set("RAWHAL_GPU_SHARE", "90%");
    Load();
    pool_ = pool_make(each);
  }
  void TearDown() override
  {
    for (void *memory : taken_)
      pool_give_back(pool_, memory);
    pool_end(pool_);
    FrontTest::TearDown();
  }
  // Its size; 0: there is none.
  uint64_t Take(uint64_t bytes)
  {
    uint64_t size;
    if (void *memory = pool_take(pool_, bytes, &size))
      taken_.push_back(memory);
    return size;
  }
  void GiveBack()
  {
    pool_give_back(pool_, taken_.back());
    taken_.pop_back();
  }

  void *pool_ = nullptr;
  std::vector<void *> taken_;
};

TEST_F(ProbeMemory, IsAPowerOfTwoOrAllThatADispatchMayHave)
{
  Open(10 * page + 1); // which is rounded, too
  EXPECT_EQ(page, Take(1));
  EXPECT_EQ(2 * page, Take(page + 1));
  EXPECT_EQ(8 * page, Take(5 * page));
  EXPECT_EQ(11 * page, Take(9 * page));
  EXPECT_EQ(11 * page, Take(11 * page));
  EXPECT_EQ(0u, Take(11 * page + 1));
}

TEST_F(ProbeMemory, IsUsedAgain)
{
  Open(16 * page);
  ASSERT_EQ(4 * page, Take(4 * page));
  void *const first = taken_.back();
  ASSERT_EQ(8 * page, Take(8 * page));
  EXPECT_NE(first, taken_.back());
  GiveBack();
  GiveBack();
  ASSERT_EQ(4 * page, Take(3 * page));
  EXPECT_EQ(first, taken_.back());
}

TEST_F(ProbeMemory, IsBoundedForAllTogether)
{
  Open(all / 4);
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(all / 4, Take(all / 4));
  EXPECT_EQ(0u, Take(1));
  GiveBack();
  EXPECT_EQ(page, Take(1)); // what is idle makes room for another size,
  EXPECT_EQ(0u, Take(all / 4));
  EXPECT_EQ(all / 8, Take(all / 8)); // and as much room as it took
  EXPECT_EQ(all / 16, Take(all / 16));
}

} // namespace
