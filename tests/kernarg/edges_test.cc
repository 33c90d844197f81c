// Arguments that are wrong by one, or by one bit, in either direction.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernel_builder.h"

using namespace kernarg_test;

namespace {

TEST(Edges, EveryUnknownFlagOfABlobIsRefused)
{
  Kernel kernel(32);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  const char blob[28] = {};
  const uint32_t known = RAWHAL_KERNARG_CLAMP | RAWHAL_KERNARG_KEEP_HIDDEN;
  for (unsigned bit = 0; bit < 32; ++bit)
    EXPECT_EQ(rawhal_kernarg_check(layout.get(), blob, sizeof(blob), 1u << bit, nullptr),
              1u << bit & known ? RAWHAL_OK : RAWHAL_INVALID_ARGUMENT)
        << bit;
}

TEST(Edges, ThereIsAPointerForEachArgumentAndNoMore)
{
  Kernel kernel(32);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  uint64_t value = 1;
  const std::vector<const void *> pointers(6, &value);
  alignas(64) char image[64];
  for (size_t count = 0; count <= pointers.size(); ++count)
    EXPECT_EQ(rawhal_kernarg_write_pointers(layout.get(), pointers.data(), count, nullptr, image,
                                            sizeof(image), nullptr),
              count == 4 ? RAWHAL_OK : RAWHAL_INVALID_ARGUMENT)
        << count;
}

TEST(Edges, AnArgumentIsSetByJustAsManyBytes)
{
  Kernel kernel(32);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  const char value[16] = {};
  char blob[32];
  for (size_t size = 0; size <= sizeof(value); ++size) {
    memset(blob, 0x55, sizeof(blob));
    bool right = size == 4;
    EXPECT_EQ(rawhal_kernarg_set(layout.get(), 3, value, size, blob, 28, nullptr),
              right ? RAWHAL_OK : RAWHAL_INVALID_ARGUMENT)
        << size;
    EXPECT_EQ(blob[24], right ? 0 : 0x55);
    EXPECT_EQ(blob[28], 0x55) << "behind it";
  }
}

TEST(Edges, BindingsAndConstantsAreCounted)
{
  Kernel kernel(32);
  AddVectorAdd(kernel);
  Bindings layout = Project(kernel);
  ASSERT_TRUE(layout);
  const uint64_t bindings[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  char blob[32];
  for (size_t count = 0; count <= 8; ++count)
    for (size_t bytes = 0; bytes <= 8; ++bytes)
      EXPECT_EQ(rawhal_bindings_pack(layout.get(), bindings, count, bindings, bytes, blob,
                                     sizeof(blob), nullptr),
                count == 3 && bytes == 4 ? RAWHAL_OK : RAWHAL_INVALID_ARGUMENT)
          << count << ", " << bytes;
}

// Native arguments end within 4 GiB; at their natural alignment they may take more.
TEST(Edges, ConstantsBeyond32Bits)
{
  for (uint32_t shorter : {0u, 1u, 8u}) {
    Kernel kernel(UINT32_MAX);
    kernel.Arg("a", 0, 0x7fffffff).Arg("b", 0x7fffffff, 0x80000000u - shorter);
    Bindings layout = Project(kernel, shorter ? RAWHAL_OK : RAWHAL_CAP_EXCEEDED);
    if (layout) {
      EXPECT_EQ(rawhal_bindings_info(layout.get())->constant_bytes, UINT32_MAX - shorter + 1);
    }
  }
}

// Half of an address is none: a buffer of another size than 8 bytes is no binding.
TEST(Edges, ABindingHas8Bytes)
{
  for (uint32_t size : {4u, 8u, 16u}) {
    Kernel kernel(32);
    kernel.Arg("p", 0, size, RAWHAL_VALUE_GLOBAL_BUFFER);
    SCOPED_TRACE(size);
    EXPECT_EQ(Project(kernel, size == 8 ? RAWHAL_OK : RAWHAL_UNSUPPORTED) != nullptr, size == 8);
  }
}

// ---- Launches ----

TEST(Edges, UnusedDimensionsAreOfOne)
{
  Kernel kernel(32);
  for (uint8_t dimensions : {1, 2, 3, 0, 4})
    for (int d = 0; d < 3; ++d)
      for (bool grid : {false, true}) {
        rawhal_launch_t launch = {};
        for (int all = 0; all < 3; ++all)
          launch.work_items[all] = launch.workgroup[all] = 1;
        launch.dimensions = dimensions;
        if (grid)
          launch.work_items[d] = 2;
        else
          launch.workgroup[d] = 2;
        bool right = dimensions <= 3 && (dimensions == 0 || d < dimensions);
        EXPECT_EQ(rawhal_launch_check(kernel.facts(), &launch, nullptr),
                  right ? RAWHAL_OK : RAWHAL_INVALID_ARGUMENT)
            << int{dimensions} << " dimensions, " << d;
      }
}

TEST(Edges, WorkItemsOfAGroupAreMultipliedIn64Bits)
{
  Kernel kernel(32);
  rawhal_kernel_t *facts = kernel.facts();
  facts->max_flat_workgroup_size = 1024;
  rawhal_launch_t launch = {};
  for (int d = 0; d < 3; ++d) {
    launch.work_items[d] = 65535;
    launch.workgroup[d] = 32768; // 2^45
  }
  EXPECT_EQ(rawhal_launch_check(facts, &launch, nullptr), RAWHAL_OUT_OF_RANGE);
  launch.workgroup[2] = 4; // 2^32
  EXPECT_EQ(rawhal_launch_check(facts, &launch, nullptr), RAWHAL_OUT_OF_RANGE);
}

} // namespace
