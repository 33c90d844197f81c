// A device without a time limit, and a kernel that runs until it is let go.
#ifndef RAWHAL_TESTS_HAL_HELD_TEST_H
#define RAWHAL_TESTS_HAL_HELD_TEST_H

#include "device_test.h"

class HeldTest : public DeviceTest {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,timeout_ms=0"; }

  void TearDown() override
  {
    if (flag)
      release();
    DeviceTest::TearDown();
  }

  rawhal_dispatch_t held()
  {
    flag = buffer(4, RAWHAL_MEMORY_HOST);
    EXPECT_OK(rawhal_buffer_fill(flag, 0, 0, 4, &error));
    hold.bytes.clear();
    hold.add(rawhal_buffer_address(flag));
    return dispatch_of(kernel("spin-gfx90a-v5.co", "spin"), 1, 1, hold);
  }

  void release()
  {
    __atomic_store_n(static_cast<uint32_t *>(rawhal_buffer_host(flag)), 1u, __ATOMIC_RELEASE);
  }

  rawhal_dispatch_t empty()
  {
    if (!nothing)
      nothing = kernel("empty-gfx90a-v5.co", "empty");
    return dispatch_of(nothing, 1, 1, none);
  }

  // Stores `value` to out[0].
  rawhal_dispatch_t store(const rawhal_device_kernel_t *write_ids, uint32_t value)
  {
    if (!out)
      out = buffer(4096);
    stored.bytes.clear();
    stored.add(rawhal_buffer_address(out)).add(1u).add(1u).add(value);
    return dispatch_of(write_ids, 1, 1, stored);
  }

  rawhal_ticket_t submit(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch)
  {
    rawhal_ticket_t ticket = 0;
    EXPECT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
    return ticket;
  }

  rawhal_status_t wait(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    return rawhal_queue_wait(on, ticket, rawhal_deadline_after(10000 * millisecond), &error);
  }

  // One that the test destroys.
  rawhal_queue_t *own_queue(rawhal_queue_options_t options = {})
  {
    rawhal_queue_t *made = nullptr;
    EXPECT_OK(rawhal_queue_create(device, &options, &made, &error));
    return made;
  }

  const rawhal_device_kernel_t *nothing = nullptr;
  rawhal_buffer_t *flag = nullptr, *out = nullptr;
  Blob none, hold, stored;
};

#endif
