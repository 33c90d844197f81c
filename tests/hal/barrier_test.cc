// Barriers and markers: order where the barrier bit gives none, within a queue and across queues.
#include "device_test.h"
#include "tests/values.h"

namespace {

class Barrier : public DeviceTest {
protected:
  // A kernel that ends when it finds `flag` set; times out after the device's limit.
  rawhal_dispatch_t held(Blob &blob)
  {
    flag = buffer(4096, RAWHAL_MEMORY_HOST);
    memset(rawhal_buffer_host(flag), 0, 4096);
    blob.add(rawhal_buffer_address(flag));
    return dispatch_of(kernel("spin-gfx90a-v5.co", "spin"), 1, 1, blob);
  }
  void release()
  {
    __atomic_store_n(static_cast<uint32_t *>(rawhal_buffer_host(flag)), 1u, __ATOMIC_RELEASE);
  }

  // Stores `value` to out[0].
  rawhal_dispatch_t store(uint32_t value, Blob &blob)
  {
    if (!out)
      out = buffer(4096);
    blob.add(rawhal_buffer_address(out)).add(1u).add(1u).add(value);
    return dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 1, 1, blob);
  }

  rawhal_ticket_t submit(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch)
  {
    rawhal_ticket_t ticket = 0;
    EXPECT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error));
    return ticket;
  }

  rawhal_status_t wait(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    return rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error);
  }

  rawhal_buffer_t *flag = nullptr, *out = nullptr;
};

TEST_F(Barrier, AMarkerFinishesAfterWhatCameBefore)
{
  Blob blob;
  rawhal_queue_t *on = queue();
  rawhal_dispatch_t spin = held(blob);
  rawhal_ticket_t marker = 0, first = submit(on, spin);
  ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, 0, &marker, &error));
  EXPECT_EQ(marker, first + 1);
  EXPECT_EQ(rawhal_queue_wait(on, marker, 0, &error), RAWHAL_WOULD_BLOCK);
  release();
  ASSERT_OK(wait(on, marker));
  EXPECT_OK(rawhal_queue_wait(on, first, 0, &error));
}

TEST_F(Barrier, AMarkerIsAnEventWithATimeOfItsOwn)
{
  Blob blobs[2];
  rawhal_queue_t *on = queue();
  rawhal_ticket_t tickets[3] = {submit(on, store(1, blobs[0])), 0, 0};
  ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, 0, &tickets[1], &error));
  tickets[2] = submit(on, store(2, blobs[1]));
  ASSERT_OK(wait(on, tickets[2]));
  uint64_t start[3], end[3];
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(rawhal_queue_timing(on, tickets[i], &start[i], &end[i], &error));
  EXPECT_LE(end[0], start[1] + clock_slack);
  EXPECT_LE(start[1], end[1]);
  EXPECT_LE(end[1], start[2] + clock_slack);
  EXPECT_GT(start[1], 0u);
}

TEST_F(Barrier, AQueueWaitsForOthers)
{
  Blob spinning, storing;
  rawhal_queue_t *first = queue(), *second = queue(), *third = queue();
  rawhal_dispatch_t spin = held(spinning), dispatch = store(77, storing);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
  rawhal_ticket_t gone = submit(second, dispatch);
  ASSERT_OK(wait(second, gone));
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
  rawhal_dependency_t dependencies[] = {{first, submit(first, spin), 0, 0}, {second, gone, 0, 0}};
  rawhal_ticket_t barrier = 0;
  ASSERT_OK(rawhal_queue_barrier(third, dependencies, 2, 0, &barrier, &error));
  dispatch.flags = RAWHAL_DISPATCH_OVERLAP;
  rawhal_ticket_t after = submit(third, dispatch);
  EXPECT_EQ(rawhal_queue_wait(third, after, rawhal_deadline_after(30 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 0u);
  release();
  ASSERT_OK(wait(third, after));
  EXPECT_OK(rawhal_queue_wait(third, barrier, 0, &error));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 77u);
}

TEST_F(Barrier, ManyAcrossTwoQueuesWithSmallRings)
{
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  sizes.submissions = 4; // slots are used again and again
  rawhal_queue_t *queues[2] = {queue(sizes), queue(sizes)};
  Blob blobs[2];
  rawhal_dispatch_t even = store(2, blobs[0]), odd = store(1, blobs[1]);
  rawhal_ticket_t last = 0;
  for (uint32_t i = 0; i < 500; ++i) { // each waits for the one before, on the other queue
    rawhal_queue_t *on = queues[i % 2];
    rawhal_dependency_t before = {queues[(i + 1) % 2], last, 0, 0};
    if (i)
      ASSERT_OK(rawhal_queue_barrier(on, &before, 1, RAWHAL_FOREVER, nullptr, &error));
    ASSERT_OK(rawhal_queue_submit(on, i % 2 ? &odd : &even, 1, RAWHAL_FOREVER, &last, &error));
  }
  ASSERT_OK(wait(queues[1], last));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 1u); // the last one's
}

TEST_F(Barrier, RefusesWhatCannotBeWaitedFor)
{
  rawhal_queue_t *on = queue(), *other = queue();
  rawhal_ticket_t ticket = 5;
  rawhal_dependency_t never = {other, 1, 0, 0}, nobody = {nullptr, 1, 0, 0};
  EXPECT_EQ(rawhal_queue_barrier(on, &never, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(ticket, 0u);
  EXPECT_NE(std::string(error.message).find("dependency 0"), std::string::npos);
  EXPECT_EQ(rawhal_queue_barrier(on, &nobody, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_barrier(on, nullptr, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_barrier(nullptr, nullptr, 0, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  std::vector<rawhal_dependency_t> many(RAWHAL_MAX_DEPENDENCIES + 1, never);
  EXPECT_EQ(rawhal_queue_barrier(on, many.data(), many.size(), 0, &ticket, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
}

TEST_F(Barrier, AFailedDependencyIsRefusedOrPassed)
{
  rawhal_queue_t *bad = queue(), *on = queue();
  Blob blob;
  blob.add(uint64_t{0}).add(int64_t{1} << 40).add(1u);
  rawhal_dispatch_t wild = dispatch_of(kernel("fault-gfx90a-v5.co", "fault_store"), 1, 1, blob);
  rawhal_dependency_t dependency = {bad, submit(bad, wild), 0, 0};
  rawhal_ticket_t barrier = 0;
  rawhal_status_t status = rawhal_queue_barrier(on, &dependency, 1, 0, &barrier, &error);
  if (status == RAWHAL_OK) // it had not failed yet
    EXPECT_OK(wait(on, barrier));
  EXPECT_EQ(wait(bad, dependency.ticket), RAWHAL_FAULT);
  EXPECT_EQ(rawhal_queue_barrier(on, &dependency, 1, 0, &barrier, &error), RAWHAL_FAULT);
  EXPECT_EQ(queue_info(on).status, RAWHAL_OK);
}

} // namespace
