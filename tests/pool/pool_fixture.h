// Pools on a device of softgpu.
#ifndef RAWHAL_TESTS_POOL_POOL_FIXTURE_H
#define RAWHAL_TESTS_POOL_POOL_FIXTURE_H

#include <rawhal/pool.h>

#include "tests/hal/held_test.h"

constexpr uint64_t mib = 1 << 20;

class PoolTest : public HeldTest {
protected:
  using Allocation = rawhal_pool_allocation_t;

  void TearDown() override
  {
    if (flag)
      release();
    for (rawhal_queue_t *each : queues)
      rawhal_queue_destroy(each);
    queues.clear();
    for (rawhal_pool_t *each : pools)
      rawhal_pool_destroy(each);
    DeviceTest::TearDown();
  }

  rawhal_pool_t *pool(uint64_t budget = 0, uint64_t slab = 0,
                      rawhal_memory_kind_t kind = RAWHAL_MEMORY_DEVICE)
  {
    rawhal_pool_options_t options = {};
    options.size = sizeof(options);
    options.budget_bytes = budget;
    options.slab_bytes = slab;
    options.kind = kind;
    options.label = "weights";
    rawhal_pool_t *made = nullptr;
    EXPECT_OK(rawhal_pool_create(device, &options, &made, &error));
    pools.push_back(made);
    return made;
  }

  static rawhal_status_t ask(rawhal_pool_t *from, rawhal_queue_t *on, uint64_t bytes,
                             uint64_t alignment, uint32_t flags, uint64_t deadline,
                             Allocation *made, rawhal_error_t *failure, const char *label = nullptr)
  {
    const rawhal_pool_request_t request = {sizeof(request), bytes, alignment, flags, label};
    return rawhal_pool_allocate_with(from, on, &request, deadline, made, failure);
  }

  Allocation allocate(rawhal_pool_t *from, rawhal_queue_t *on, uint64_t bytes,
                      uint64_t alignment = 0, uint32_t flags = 0)
  {
    Allocation made = {};
    EXPECT_OK(ask(from, on, bytes, alignment, flags, 0, &made, &error));
    return made;
  }

  rawhal_status_t refused(rawhal_pool_t *from, rawhal_queue_t *on, uint64_t bytes,
                          uint64_t deadline = 0)
  {
    Allocation made = {};
    made.address = 1;
    const rawhal_status_t status = rawhal_pool_allocate(from, on, bytes, deadline, &made, &error);
    EXPECT_EQ(made.address, 0u);
    EXPECT_EQ(error.status, status);
    return status;
  }

  void give(rawhal_pool_t *to, rawhal_queue_t *on, const Allocation &allocation)
  {
    EXPECT_OK(rawhal_pool_free(to, on, &allocation, &error));
  }

  rawhal_pool_info_t info(rawhal_pool_t *of)
  {
    rawhal_pool_info_t now = {};
    now.size = sizeof(now);
    rawhal_pool_info(of, &now);
    return now;
  }

  std::vector<rawhal_pool_t *> pools;
};

#endif
