// Events, called as the runtime calls them.
#include <gtest/gtest.h>
#include <hsakmt.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

extern "C" {
#include "softgpu/device/event.h"
}

namespace {

using std::chrono::milliseconds;

class Events : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS); }
  void TearDown() override
  {
    for (HsaEvent *event : events)
      EXPECT_EQ(hsaKmtDestroyEvent(event), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  }

  HsaEvent *event(bool manual = false, bool signaled = false)
  {
    HsaEventDescriptor descriptor{};
    descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
    HsaEvent *made = nullptr;
    EXPECT_EQ(hsaKmtCreateEvent(&descriptor, manual, signaled, &made), HSAKMT_STATUS_SUCCESS);
    events.push_back(made);
    return made;
  }

  std::vector<HsaEvent *> events;
};

TEST_F(Events, auto_reset_is_consumed_by_one_wait)
{
  HsaEvent *e = event();
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(hsaKmtSetEvent(e), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, manual_reset_stays)
{
  HsaEvent *e = event(true, true);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtResetEvent(e), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, raising_wakes_everybody_who_waits_now)
{
  HsaEvent *e = event();
  std::atomic<int> started{0}, woken{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      ++started;
      woken += hsaKmtWaitOnEvent(e, 0xFFFFFFFF) == HSAKMT_STATUS_SUCCESS;
    });
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (woken < 4 && std::chrono::steady_clock::now() < deadline) {
    if (started == 4) // a waiter that comes late needs another one
      hsaKmtSetEvent(e);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(woken, 4);
  EXPECT_EQ(hsaKmtDestroyEvent(e), HSAKMT_STATUS_SUCCESS); // whoever still waits may go
  events.pop_back();
  for (auto &waiter : waiters)
    waiter.join();
}

// The runtime looks at a value, then waits for the event that announces a change of it. Signals of
// several queues share one event: what one thread takes in between is still news to the others.
TEST_F(Events, what_one_thread_takes_is_there_for_every_other)
{
  HsaEvent *e = event();
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT); // this thread has looked before
  EXPECT_EQ(hsaKmtSetEvent(e), HSAKMT_STATUS_SUCCESS);
  std::atomic<int> once{0}, twice{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      once += hsaKmtWaitOnEvent(e, 0) == HSAKMT_STATUS_SUCCESS;
      twice += hsaKmtWaitOnEvent(e, 0) == HSAKMT_STATUS_SUCCESS;
    }).join();
  }
  EXPECT_EQ(once, 3);
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, what_wakes_one_thread_is_there_for_one_that_comes_late)
{
  HsaEvent *e = event(), *never = event();
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  std::atomic<bool> woken{false};
  std::thread other([&] {
    HsaEvent *both[2] = {never, e};
    woken = hsaKmtWaitOnMultipleEvents(both, 2, false, 20000) == HSAKMT_STATUS_SUCCESS;
  });
  std::this_thread::sleep_for(milliseconds(20)); // until it sleeps, most likely
  EXPECT_EQ(hsaKmtSetEvent(e), HSAKMT_STATUS_SUCCESS);
  other.join();
  EXPECT_TRUE(woken);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, reset_is_for_every_thread)
{
  HsaEvent *e = event();
  EXPECT_EQ(hsaKmtSetEvent(e), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtResetEvent(e), HSAKMT_STATUS_SUCCESS);
  std::thread([&] { EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT); }).join();
  EXPECT_EQ(hsaKmtWaitOnEvent(e, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, wait_for_any_and_for_all)
{
  HsaEvent *all[3] = {event(), event(), event()};
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(all, 3, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  hsaKmtSetEvent(all[1]);
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(all, 3, false, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(all[1], 0), HSAKMT_STATUS_WAIT_TIMEOUT);

  std::thread setter([&] {
    for (HsaEvent *e : all) {
      std::this_thread::sleep_for(milliseconds(2));
      hsaKmtSetEvent(e);
    }
  });
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(all, 3, true, 20000), HSAKMT_STATUS_SUCCESS);
  setter.join();
}

TEST_F(Events, hundreds_in_one_wait)
{
  std::vector<HsaEvent *> many;
  for (int i = 0; i < 300; ++i)
    many.push_back(event());
  std::thread setter([&] {
    std::this_thread::sleep_for(milliseconds(5));
    softgpu_event_raise(many[299]->EventId);
  });
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(many.data(), 300, false, 10000), HSAKMT_STATUS_SUCCESS);
  setter.join();
}

TEST_F(Events, ids_and_mailboxes)
{
  HsaEvent *first = event(), *second = event();
  EXPECT_GE(first->EventId, 1u);
  EXPECT_NE(first->EventId, second->EventId);
  EXPECT_EQ(first->EventData.HWData3, first->EventId);
  // By value: the structures are packed to four bytes.
  uint64_t mailbox = first->EventData.HWData2, other = second->EventData.HWData2;
  EXPECT_NE(mailbox, other);
  EXPECT_EQ(mailbox % 8, 0u);
}

// The device library of Triton 3.5, and of ROCm's 5, gives the low 8 bits of the number to the interrupt, and all of it to the
// mailbox: a kernel that printed was never answered once there were 256 events.
TEST_F(Events, an_interrupt_may_have_the_low_bits_of_a_number)
{
  std::vector<HsaEvent *> many;
  for (int i = 0; i < 600; ++i)
    many.push_back(event());
  HsaEvent *meant = many.back(), *other = many[599 - 256];
  ASSERT_GT(other->EventId, 255u);
  uint64_t mailbox = meant->EventData.HWData2;
  *reinterpret_cast<uint64_t *>(mailbox) = meant->EventId;
  softgpu_event_interrupt(meant->EventId % 256);
  EXPECT_EQ(hsaKmtWaitOnEvent(meant, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(other, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  softgpu_event_interrupt(meant->EventId % 256); // once for each store to the mailbox
  EXPECT_EQ(hsaKmtWaitOnEvent(meant, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  softgpu_event_interrupt(other->EventId); // all of a number needs no mailbox
  EXPECT_EQ(hsaKmtWaitOnEvent(other, 0), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Events, run_out_and_come_back)
{
  HsaEventDescriptor descriptor{};
  HsaEvent *made = nullptr;
  while (hsaKmtCreateEvent(&descriptor, false, false, &made) == HSAKMT_STATUS_SUCCESS)
    events.push_back(made);
  EXPECT_EQ(events.size(), 4095u);
  EXPECT_EQ(hsaKmtDestroyEvent(events.back()), HSAKMT_STATUS_SUCCESS);
  events.pop_back();
  EXPECT_NE(event(), nullptr);
}

TEST_F(Events, bad_handles)
{
  HsaEvent stranger{};
  stranger.EventId = 1;
  EXPECT_EQ(hsaKmtSetEvent(nullptr), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtSetEvent(&stranger), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtWaitOnEvent(&stranger, 0), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtDestroyEvent(&stranger), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtCreateEvent(nullptr, false, false, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  softgpu_event_raise(0);
  softgpu_event_raise(4096);
}

TEST_F(Events, memory_faults_reach_their_event)
{
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_MEMORY;
  HsaEvent *made = nullptr;
  ASSERT_EQ(hsaKmtCreateEvent(&descriptor, true, false, &made), HSAKMT_STATUS_SUCCESS);
  events.push_back(made);
  softgpu_event_memory_fault(2, 0x123000, true);
  EXPECT_EQ(hsaKmtWaitOnEvent(made, 0), HSAKMT_STATUS_SUCCESS);
  const HsaMemoryAccessFault &fault = made->EventData.EventData.MemoryAccessFault;
  EXPECT_EQ(fault.NodeId, 2u);
  EXPECT_EQ((uint64_t)fault.VirtualAddress, 0x123000u);
  EXPECT_EQ((unsigned)fault.Failure.ReadOnly, 1u);
  EXPECT_EQ((unsigned)fault.Failure.NotPresent, 0u);
}

TEST(Closed, refuses)
{
  EXPECT_EQ(hsaKmtSetEvent(nullptr), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
  EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
}

} // namespace
