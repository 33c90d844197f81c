// Queues, semaphores, and kernels that run until they are let go.
#ifndef RAWHAL_TESTS_QUEUE_TIMELINE_TEST_H
#define RAWHAL_TESTS_QUEUE_TIMELINE_TEST_H

#include "tests/hal/held_test.h"

class TimelineTest : public HeldTest {
protected:
  void TearDown() override
  {
    for (rawhal_semaphore_t *semaphore : semaphores)
      rawhal_semaphore_destroy(semaphore);
    HeldTest::TearDown();
  }

  rawhal_semaphore_t *semaphore(uint64_t value = 0, const char *label = nullptr)
  {
    rawhal_semaphore_t *made = own_semaphore(value, label);
    semaphores.push_back(made);
    return made;
  }

  // One that the test destroys.
  rawhal_semaphore_t *own_semaphore(uint64_t value = 0, const char *label = nullptr)
  {
    rawhal_semaphore_t *made = nullptr;
    EXPECT_OK(rawhal_semaphore_create(device, value, &made, &error));
    rawhal_semaphore_label(made, label);
    return made;
  }

  using points_t = std::vector<rawhal_timepoint_t>;

  rawhal_status_t timeline(rawhal_queue_t *on, const points_t &waits, const points_t &signals,
                           rawhal_ticket_t *ticket = nullptr)
  {
    return rawhal_queue_timeline(on, waits.data(), waits.size(), signals.data(), signals.size(),
                                 rawhal_deadline_after(10000 * millisecond), ticket, &error);
  }

  rawhal_status_t wait_value(rawhal_semaphore_t *of, uint64_t value)
  {
    return rawhal_semaphore_wait(of, value, rawhal_deadline_after(10000 * millisecond), &error);
  }

  uint64_t value(rawhal_semaphore_t *of, rawhal_status_t expected = RAWHAL_OK)
  {
    uint64_t is = UINT64_MAX;
    EXPECT_EQ(rawhal_semaphore_value(of, &is, &error), expected);
    return is;
  }

  // A kernel that faults.
  rawhal_dispatch_t wild()
  {
    faulting.bytes.clear();
    faulting.add(uint64_t{0}).add(int64_t{1} << 40).add(1u);
    return dispatch_of(kernel("fault-gfx90a-v5.co", "fault_store"), 1, 1, faulting);
  }

  bool says(const char *text) const { return strstr(error.message, text) != nullptr; }

  std::vector<rawhal_semaphore_t *> semaphores;
  Blob faulting;
};

#endif
