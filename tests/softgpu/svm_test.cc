// Ranges of the program's memory that devices use in place.
#include <gtest/gtest.h>
#include <hsakmt.h>
#include <sys/mman.h>

#include <vector>

#include "softgpu/softgpu.h"

extern "C" {
#include "softgpu/device/memory.h"
}

namespace {

constexpr uint64_t page = 4096;
constexpr uint32_t nowhere = UINT32_MAX;

class Svm : public ::testing::Test {
protected:
  void SetUp() override
  {
    ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
    memory = (char *)mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                          -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
  }

  void TearDown() override
  {
    munmap(memory, 16 * page);
    EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
    EXPECT_FALSE(softgpu_memory_reach(1, (uintptr_t)memory, 1, false));
  }

  HSAKMT_STATUS set(uint64_t first, uint64_t pages, uint32_t type, uint32_t value)
  {
    HSA_SVM_ATTRIBUTE attribute = {type, value};
    return hsaKmtSVMSetAttr(memory + first * page, pages * page, 1, &attribute);
  }

  HSA_SVM_ATTRIBUTE get(uint64_t first, uint64_t pages, uint32_t type, uint32_t value = 0)
  {
    HSA_SVM_ATTRIBUTE attribute = {type, value};
    EXPECT_EQ(hsaKmtSVMGetAttr(memory + first * page, pages * page, 1, &attribute),
              HSAKMT_STATUS_SUCCESS);
    return attribute;
  }

  bool reach(uint64_t first, uint64_t pages, bool write = true)
  {
    void *host = softgpu_memory_reach(1, (uintptr_t)memory + first * page, pages * page, write);
    EXPECT_TRUE(!host || host == memory + first * page);
    return host != nullptr;
  }

  char *memory = nullptr;
};

TEST_F(Svm, a_device_has_what_it_was_given)
{
  EXPECT_FALSE(reach(0, 1));
  ASSERT_EQ(set(2, 4, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(2, 4));
  EXPECT_FALSE(reach(1, 2));
  EXPECT_FALSE(reach(5, 2));
  ASSERT_EQ(set(3, 1, HSA_SVM_ATTR_NO_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(2, 1));
  EXPECT_FALSE(reach(3, 1));
  EXPECT_TRUE(reach(4, 2));
  ASSERT_EQ(set(0, 16, HSA_SVM_ATTR_ACCESS_IN_PLACE, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(0, 16));
}

TEST_F(Svm, attributes_are_those_that_all_pages_have)
{
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_PREFERRED_LOC).value, nowhere);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_PREFETCH_LOC).value, nowhere);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_GRANULARITY).value, 9u);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_SET_FLAGS).value,
            (uint32_t)(HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT));
  ASSERT_EQ(set(0, 8, HSA_SVM_ATTR_PREFERRED_LOC, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get(0, 8, HSA_SVM_ATTR_PREFERRED_LOC).value, 1u);
  EXPECT_EQ(get(0, 9, HSA_SVM_ATTR_PREFERRED_LOC).value, nowhere);
  ASSERT_EQ(set(0, 16, HSA_SVM_ATTR_PREFETCH_LOC, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_PREFETCH_LOC).value, 0u);
  ASSERT_EQ(set(4, 4, HSA_SVM_ATTR_SET_FLAGS, HSA_SVM_FLAG_GPU_READ_MOSTLY), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(set(5, 1, HSA_SVM_ATTR_CLR_FLAGS, HSA_SVM_FLAG_COHERENT), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get(4, 4, HSA_SVM_ATTR_SET_FLAGS).value,
            (uint32_t)(HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_GPU_READ_MOSTLY));
  EXPECT_FALSE(get(4, 4, HSA_SVM_ATTR_CLR_FLAGS).value & HSA_SVM_FLAG_COHERENT);
  EXPECT_TRUE(get(5, 1, HSA_SVM_ATTR_CLR_FLAGS).value & HSA_SVM_FLAG_COHERENT);
  ASSERT_EQ(set(0, 8, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(set(8, 8, HSA_SVM_ATTR_ACCESS_IN_PLACE, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get(0, 8, HSA_SVM_ATTR_ACCESS, 1).type, (uint32_t)HSA_SVM_ATTR_ACCESS);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_ACCESS, 1).type, (uint32_t)HSA_SVM_ATTR_ACCESS_IN_PLACE);
  ASSERT_EQ(set(15, 1, HSA_SVM_ATTR_NO_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get(0, 16, HSA_SVM_ATTR_ACCESS, 1).type, (uint32_t)HSA_SVM_ATTR_NO_ACCESS);
}

TEST_F(Svm, kernels_write_where_they_and_the_program_may)
{
  ASSERT_EQ(set(0, 8, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(set(2, 2, HSA_SVM_ATTR_SET_FLAGS, HSA_SVM_FLAG_GPU_RO), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(reach(2, 1));
  EXPECT_TRUE(reach(2, 1, false));
  EXPECT_TRUE(reach(4, 1));
  ASSERT_EQ(mprotect(memory + 8 * page, page, PROT_READ), 0);
  ASSERT_EQ(set(8, 1, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(8, 1, false));
  EXPECT_FALSE(reach(8, 1));
  ASSERT_EQ(mprotect(memory + 9 * page, page, PROT_NONE), 0);
  EXPECT_EQ(set(9, 1, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_ERROR);
}

TEST_F(Svm, what_is_gone_is_not_reached_and_what_takes_its_place_is_new)
{
  ASSERT_EQ(set(0, 16, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(munmap(memory + 4 * page, 4 * page), 0);
  EXPECT_FALSE(reach(4, 1));
  EXPECT_TRUE(reach(3, 1));
  EXPECT_EQ(set(0, 16, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_ERROR);
  // An allocation there: of the same place, and no longer the program's.
  HsaMemFlags flags{};
  flags.ui32.FixedAddress = 1;
  void *at = memory + 5 * page;
  ASSERT_EQ(hsaKmtAllocMemory(1, page, flags, &at), HSAKMT_STATUS_SUCCESS);
  EXPECT_FALSE(reach(5, 1)); // not mapped to the device yet
  EXPECT_EQ(set(5, 1, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_ERROR);
  EXPECT_FALSE(reach(5, 1));
  EXPECT_TRUE(reach(8, 8));
  EXPECT_TRUE(reach(0, 4));
  ASSERT_EQ(hsaKmtFreeMemory(at, page), HSAKMT_STATUS_SUCCESS);
}

// Of pages that somebody locked, the attributes count from then on: the lock may be of memory that
// was there before them. What is locked later has an address of its own.
TEST_F(Svm, attributes_come_before_locks)
{
  HSAuint64 first = 0, second = 0;
  softgpu_memory_in_place((uintptr_t)memory + 100, page);
  ASSERT_EQ(hsaKmtRegisterMemory(memory + 100, page), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtMapMemoryToGPU(memory + 100, page, &first), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(first, (uintptr_t)memory + 100);
  ASSERT_EQ(set(1, 2, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(1, 2));
  EXPECT_FALSE(softgpu_memory_reach(1, first, 1, false));
  softgpu_memory_in_place((uintptr_t)memory + 100, page);
  ASSERT_EQ(hsaKmtRegisterMemory(memory + 100, page), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtMapMemoryToGPU(memory + 100, page, &second), HSAKMT_STATUS_SUCCESS);
  EXPECT_NE(second, (uintptr_t)memory + 100);
  EXPECT_EQ(softgpu_memory_reach(1, second, page, true), memory + 100);
  EXPECT_EQ(hsaKmtDeregisterMemory(memory + 100), HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(reach(1, 2));
}

TEST_F(Svm, refuses_what_makes_no_sense)
{
  HSA_SVM_ATTRIBUTE access = {HSA_SVM_ATTR_ACCESS, 1};
  EXPECT_EQ(hsaKmtSVMSetAttr(nullptr, page, 1, &access), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(memory + 1, page, 1, &access), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(memory, page + 1, 1, &access), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(memory, 0, 1, &access), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(memory, -page, 1, &access), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(memory, page, 1, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(set(0, 1, HSA_SVM_ATTR_ACCESS, 0), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(set(0, 1, HSA_SVM_ATTR_ACCESS, 2), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(set(0, 1, HSA_SVM_ATTR_PREFERRED_LOC, 2), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(set(0, 1, HSA_SVM_ATTR_PREFETCH_LOC, nowhere), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(set(0, 1, 99, 0), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_FALSE(reach(0, 1));
}

// Every page by itself: splits, and back.
TEST_F(Svm, agrees_with_a_list_of_pages)
{
  uint32_t seed = 12345;
  auto random = [&](uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
  };
  std::vector<uint32_t> preferred(16, nowhere);
  std::vector<bool> access(16);
  for (int step = 0; step < 400; ++step) {
    uint32_t first = random(16), count = 1 + random(16 - first), what = random(4);
    uint32_t type = what < 2    ? HSA_SVM_ATTR_PREFERRED_LOC
                    : what == 2 ? HSA_SVM_ATTR_ACCESS
                                : HSA_SVM_ATTR_NO_ACCESS;
    ASSERT_EQ(set(first, count, type, what < 2 ? what : 1), HSAKMT_STATUS_SUCCESS);
    for (uint32_t i = first; i < first + count; ++i) {
      if (what < 2)
        preferred[i] = what;
      else
        access[i] = what == 2;
    }
    for (uint32_t i = 0; i < 16; ++i) {
      ASSERT_EQ(get(i, 1, HSA_SVM_ATTR_PREFERRED_LOC).value, preferred[i]) << step << " " << i;
      ASSERT_EQ(reach(i, 1), access[i]) << step << " " << i;
    }
  }
}

} // namespace
