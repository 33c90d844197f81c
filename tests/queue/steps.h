// Queues on the toy runtime, and a kernel that they run.
#ifndef RAWHAL_TESTS_QUEUE_STEPS_H
#define RAWHAL_TESTS_QUEUE_STEPS_H

#include "tests/values.h"
#include "toy_runtime.h"

#include <gtest/gtest.h>

#include "tests/assert_ok.h"
#include "tests/kernarg/kernel_builder.h"

inline constexpr uint64_t here = 1, elsewhere = 2;

// A kernel of vector_add's arguments; with `narrow`, its work-groups are counted in two bytes.
struct Loaded {
  explicit Loaded(uint32_t alignment = 16, bool narrow = false, uint32_t size = 32)
      : kernel(size, alignment)
  {
    AddVectorAdd(kernel);
    if (narrow)
      kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 28, 2);
    layout = Compile(kernel);
    rawhal_device_kernel_info_t info = {};
    info.kernel = kernel.facts();
    info.layout = layout.get();
    loaded = toy_kernel(here, &info, &error);
  }
  ~Loaded() { toy_kernel_free(loaded); }
  rawhal_dispatch_t dispatch() const
  {
    rawhal_dispatch_t made = {};
    made.kernel = loaded;
    for (int d = 0; d < 3; ++d)
      made.work_items[d] = made.workgroup[d] = 1;
    made.blob = bytes;
    made.blob_size = 28;
    return made;
  }
  kernarg_test::Kernel kernel;
  kernarg_test::Layout layout;
  rawhal_device_kernel_t *loaded = nullptr;
  rawhal_error_t error = {};
  char bytes[64] = {};
};

class Steps : public testing::Test {
protected:
  rawhal_queue_t *queue(uint64_t agent = here, rawhal_queue_options_t options = {})
  {
    rawhal_queue_t *made = nullptr;
    EXPECT_EQ(toy_queue(agent, &options, &made, &error), RAWHAL_OK) << error.message;
    return made;
  }
  rawhal_ticket_t submit(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch)
  {
    rawhal_ticket_t ticket = 0;
    EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error), RAWHAL_OK)
        << error.message;
    return ticket;
  }
  void TearDown() override
  {
    toy_hold(false);
    uint64_t none[1];
    toy_kernargs(none, 0);
  }
  rawhal_error_t error = {};
};

#endif
