// Every allocation fails once. The linker sends this program's malloc, calloc and realloc here.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tests/harness/allocation_failure.h"

using namespace kernarg_test;

// Unsorted arguments, so that the overlap check needs memory as well.
TEST(Allocation, EveryFailureIsReported)
{
  Kernel kernel(288);
  kernel.Arg("n", 24, 4).Pointer("c", 0).Pointer("b", 16).Pointer("a", 8);
  AddHiddenV5(kernel, 32);
  rawhal_kernel_t *facts = kernel.facts();
  int refused = 0;
  for (long allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 20);
    rawhal_kernarg_layout_t *layout = nullptr;
    rawhal_bindings_t *hal = nullptr;
    rawhal_error_t error = {};
    allocations_left = allowed;
    rawhal_status_t status = rawhal_kernarg_layout_create(facts, 0, &layout, &error);
    if (status == RAWHAL_OK)
      status = rawhal_bindings_create(layout, &hal, &error);
    allocations_left = -1;
    bool done = status == RAWHAL_OK;
    if (!done) {
      ++refused;
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status);
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, error.status);
      EXPECT_EQ(nullptr, hal);
    }
    rawhal_bindings_destroy(hal);
    rawhal_kernarg_layout_destroy(layout);
    if (done)
      break;
  }
  EXPECT_EQ(3, refused); // the layout, the order of its arguments, the bindings
}
