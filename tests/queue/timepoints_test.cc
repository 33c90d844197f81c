// Waits and signals of a queue with a few packets.
#include "steps.h"

namespace {

class TimepointSteps : public Steps {
protected:
  static constexpr uint32_t packets = 8;

  void SetUp() override
  {
    Steps::SetUp();
    rawhal_queue_options_t options = {};
    options.packets = packets;
    on = queue(here, options);
    ASSERT_EQ(queue_info(on).packets, packets);
  }
  void TearDown() override
  {
    rawhal_queue_destroy(on);
    for (rawhal_semaphore_t *each : semaphores)
      rawhal_semaphore_destroy(each);
    Steps::TearDown();
  }
  std::vector<rawhal_timepoint_t> points(uint32_t count)
  {
    std::vector<rawhal_timepoint_t> made;
    for (uint32_t i = 0; i < count; ++i) {
      semaphores.push_back(nullptr);
      EXPECT_OK(toy_semaphore(here, 0, &semaphores.back(), &error));
      made.push_back({semaphores.back(), 1});
    }
    return made;
  }

  rawhal_queue_t *on = nullptr;
  std::vector<rawhal_semaphore_t *> semaphores;
};

// A packet for each wait and each signal, and one more where nothing is waited for.
TEST_F(TimepointSteps, MorePacketsThanTheQueueHasAreOutOfRange)
{
  const struct {
    uint32_t waits, signals;
    bool fits;
  } rows[] = {{packets, 0, true},      {packets + 1, 0, false}, {4, packets - 4, true},
              {4, packets - 3, false}, {0, packets - 1, true},  {0, packets, false}};
  for (const auto &row : rows) {
    SCOPED_TRACE(testing::Message() << row.waits << " and " << row.signals);
    const std::vector<rawhal_timepoint_t> waits = points(row.waits), signals = points(row.signals);
    const uint64_t before = queue_info(on).last_ticket;
    rawhal_ticket_t ticket = 9;
    toy_hold(true);
    const rawhal_status_t status = rawhal_queue_timeline(
        on, waits.data(), waits.size(), signals.data(), signals.size(), 0, &ticket, &error);
    if (row.fits) {
      EXPECT_OK(status);
      for (const rawhal_timepoint_t &wait : waits)
        EXPECT_OK(rawhal_semaphore_signal(wait.semaphore, wait.value, &error));
    } else {
      EXPECT_EQ(status, RAWHAL_OUT_OF_RANGE);
      EXPECT_STREQ(error.message, "it takes 9 packets, the queue has 8");
      EXPECT_EQ(ticket, 0u);
      EXPECT_EQ(queue_info(on).last_ticket, before);
      for (const rawhal_timepoint_t &signal : signals) // nobody else is to
        EXPECT_OK(rawhal_semaphore_signal(signal.semaphore, signal.value, &error));
    }
    toy_hold(false);
    if (row.fits)
      EXPECT_OK(rawhal_queue_wait(on, ticket, 0, &error));
    for (const rawhal_timepoint_t &signal : signals)
      EXPECT_OK(rawhal_semaphore_wait(signal.semaphore, signal.value, 0, &error));
  }
}

} // namespace
