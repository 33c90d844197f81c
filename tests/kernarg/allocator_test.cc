// Layouts in the memory of their kernel's object.
#include "kernel_builder.h"
#include "tests/harness/allocator.h"

#include <fstream>
#include <iterator>

using namespace kernarg_test;

namespace {

std::string fixture(const char *name)
{
  std::ifstream file(RAWHAL_SOURCE_DIR "/tests/fixtures/" + std::string(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

rawhal_hsaco_t *open(const std::string &bytes, const rawhal_allocator_t *from)
{
  rawhal_hsaco_options_t options = {};
  options.size = sizeof(options);
  options.allocator = from;
  rawhal_hsaco_t *hsaco = nullptr;
  EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr));
  return hsaco;
}

} // namespace

TEST(OwnAllocator, OfLayoutsIsTheObjectsAndOutlivesIt)
{
  const std::string bytes = fixture("layouts-gfx90a-v5.co");
  Allocator own;
  rawhal_hsaco_t *hsaco = open(bytes, own.hook());
  ASSERT_NE(nullptr, hsaco);
  size_t objects = own.live(), kernels = rawhal_hsaco_info(hsaco)->kernel_count;
  std::vector<rawhal_kernarg_layout_t *> layouts(kernels);
  std::vector<rawhal_bindings_t *> all_bindings;
  for (size_t i = 0; i < kernels; ++i) {
    rawhal_bindings_t *bindings = nullptr;
    ASSERT_EQ(RAWHAL_OK,
              rawhal_kernarg_layout_create(rawhal_hsaco_kernel(hsaco, i), 0, &layouts[i], nullptr));
    if (rawhal_bindings_create(layouts[i], &bindings, nullptr) == RAWHAL_OK)
      all_bindings.push_back(bindings);
  }
  EXPECT_GT(all_bindings.size(), 0u);
  EXPECT_EQ(objects + kernels + all_bindings.size(), own.live());
  rawhal_hsaco_close(hsaco);
  EXPECT_EQ(kernels + all_bindings.size(), own.live());
  for (rawhal_kernarg_layout_t *layout : layouts)
    rawhal_kernarg_layout_destroy(layout);
  for (rawhal_bindings_t *bindings : all_bindings)
    rawhal_bindings_destroy(bindings);
  EXPECT_EQ(0u, own.live());
}

// Arguments in another order, which need a table to be sorted.
TEST(OwnAllocator, OfLayoutsMayFail)
{
  const std::string bytes = fixture("layouts-gfx90a-v5.co");
  Allocator own;
  rawhal_hsaco_t *hsaco = open(bytes, own.hook());
  ASSERT_NE(nullptr, hsaco);
  Kernel kernel(32);
  kernel.Arg("n", 24, 4).Pointer("c", 0).Pointer("b", 16).Pointer("a", 8);
  rawhal_kernel_t *facts = kernel.facts();
  facts->object = hsaco;
  size_t before = own.live();
  int refused = 0;
  for (long allowed = 0; allowed < 10; ++allowed) {
    rawhal_kernarg_layout_t *layout = nullptr;
    rawhal_bindings_t *bindings = nullptr;
    rawhal_error_t error = {};
    own.left = allowed;
    rawhal_status_t status = rawhal_kernarg_layout_create(facts, 0, &layout, &error);
    if (status == RAWHAL_OK)
      status = rawhal_bindings_create(layout, &bindings, &error);
    own.left = -1;
    EXPECT_EQ(bindings != nullptr, status == RAWHAL_OK);
    if (status != RAWHAL_OK) {
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, error.status);
      ++refused;
    }
    rawhal_bindings_destroy(bindings);
    rawhal_kernarg_layout_destroy(layout);
    EXPECT_EQ(before, own.live());
  }
  EXPECT_EQ(3, refused); // the layout, the order of its arguments, the bindings
  rawhal_hsaco_close(hsaco);
}
