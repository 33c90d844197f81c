// Each dispatch's own time, in batches and graphs, and what they executed.
#include "device_test.h"
#include "tests/graph_of.h"
#include "tests/values.h"

namespace {

class Times : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    out = buffer(4096);
    const rawhal_device_kernel_t *write_ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    for (uint32_t i = 0; i < 4; ++i) {
      blobs[i].add(rawhal_buffer_address(out)).add(1u).add(1u).add(100 + i);
      batch[i] = dispatch_of(write_ids, 64, 64, blobs[i]);
    }
  }

  rawhal_queue_t *timed()
  {
    rawhal_queue_options_t options = {};
    options.packets = 64;
    options.dispatch_times = true;
    return queue(options);
  }

  // Within the submission's, and in order where there are barriers between.
  void check(rawhal_queue_t *on, rawhal_ticket_t ticket, size_t count, bool in_order)
  {
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    uint64_t start = 0, end = 0, first = UINT64_MAX, last = 0, before = 0;
    ASSERT_OK(rawhal_queue_timing(on, ticket, &start, &end, &error));
    for (size_t i = 0; i < count; ++i) {
      uint64_t from = 0, to = 0;
      ASSERT_OK(rawhal_queue_dispatch_timing(on, ticket, i, &from, &to, &error));
      EXPECT_LT(from, to);
      if (in_order) {
        EXPECT_LE(before, from + clock_slack) << i;
      }
      before = to;
      first = std::min(first, from);
      last = std::max(last, to);
    }
    EXPECT_NEAR(static_cast<double>(start), static_cast<double>(first), clock_slack);
    EXPECT_NEAR(static_cast<double>(end), static_cast<double>(last), clock_slack);
    uint64_t from = 1, to = 1;
    EXPECT_EQ(rawhal_queue_dispatch_timing(on, ticket, count, &from, &to, &error),
              RAWHAL_OUT_OF_RANGE);
    EXPECT_EQ(from | to, 0u);
    EXPECT_EQ(rawhal_queue_dispatch_timing(on, ticket, SIZE_MAX, &from, &to, &error),
              RAWHAL_OUT_OF_RANGE);
  }

  uint64_t instructions(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    uint64_t count = 1;
    EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    EXPECT_OK(rawhal_queue_instructions(on, ticket, &count, &error));
    return count;
  }

  uint64_t submit(rawhal_queue_t *on, size_t count)
  {
    rawhal_ticket_t ticket = 0;
    EXPECT_OK(rawhal_queue_submit(on, batch, count, RAWHAL_FOREVER, &ticket, &error));
    return instructions(on, ticket);
  }

  // Of one work-group of one wave. By a count of softgpu's own, of the whole process.
  uint64_t one(rawhal_queue_t *on)
  {
    auto *counters =
        reinterpret_cast<void (*)(void *, size_t)>(dlsym(RTLD_DEFAULT, "softgpu_counters"));
    uint64_t before[2], after[2]; // dispatches, wave-instructions
    counters(before, sizeof before);
    const uint64_t count = submit(on, 1);
    counters(after, sizeof after);
    EXPECT_EQ(after[1] - before[1], count);
    EXPECT_GT(count, 4u);
    return count;
  }

  rawhal_buffer_t *out = nullptr;
  Blob blobs[4];
  rawhal_dispatch_t batch[4] = {};
};

TEST_F(Times, OfABatchsDispatches)
{
  rawhal_queue_t *on = timed();
  for (int round = 0; round < 200; ++round)
    for (size_t count : {4, 1, 3}) {
      rawhal_ticket_t ticket = 0;
      ASSERT_OK(rawhal_queue_submit(on, batch, count, RAWHAL_FOREVER, &ticket, &error));
      if (round % 20 == 0)
        check(on, ticket, count, true);
    }
}

TEST_F(Times, OfDispatchesThatOverlap)
{
  rawhal_queue_t *on = timed();
  for (rawhal_dispatch_t &dispatch : batch)
    dispatch.flags = RAWHAL_DISPATCH_OVERLAP;
  for (int round = 0; round < 20; ++round) {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_submit(on, batch, 4, RAWHAL_FOREVER, &ticket, &error));
    check(on, ticket, 4, false);
  }
}

TEST_F(Times, OfAGraphsNodes)
{
  rawhal_queue_t *on = timed();
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch, 4, &exec, &error));
  for (int round = 0; round < 30; ++round) {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
    check(on, ticket, 4, true);
  }
  rawhal_graph_exec_destroy(exec);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 103u);
}

TEST_F(Times, InstructionsAreThoseOfTheDispatches)
{
  rawhal_queue_options_t options = {};
  options.packets = 64;
  for (rawhal_queue_t *on : {timed(), queue(options)}) {
    const bool is_timed = on == queues[0];
    const uint64_t count = one(on);
    EXPECT_EQ(one(on), count) << "the same each time";
    EXPECT_EQ(submit(on, 4), 4 * count);
    for (unsigned last = 0; last < 2;
         ++last) { // of one that all overlap the first signal is the last one's
      for (rawhal_dispatch_t &dispatch : batch)
        dispatch.flags = &dispatch >= &batch[1 - last] ? RAWHAL_DISPATCH_OVERLAP : 0;
      for (int round = 0; round < 100; ++round) // slots of the ring come again
        ASSERT_EQ(submit(on, 3), 3 * count) << is_timed << last << round;
    }
    for (rawhal_dispatch_t &dispatch : batch)
      dispatch.flags = 0;
    // A wave more, in another work-group of one of four, and in the same one.
    batch[1].work_items[0] = 128;
    rawhal_ticket_t tickets[4] = {};
    ASSERT_OK(rawhal_queue_submit(on, batch, 4, RAWHAL_FOREVER, &tickets[0], &error));
    EXPECT_EQ(instructions(on, tickets[0]), 5 * count);
    for (size_t i = 0; i < 5; ++i) {
      uint64_t own = 1;
      const rawhal_status_t expected = is_timed && i < 4 ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE;
      EXPECT_EQ(rawhal_queue_dispatch_instructions(on, tickets[0], i, &own, &error), expected);
      EXPECT_EQ(own, expected != RAWHAL_OK ? 0 : i == 1 ? 2 * count : count);
    }
    rawhal_graph_exec_t *exec = nullptr;
    ASSERT_OK(graph_of(device, on, batch, 4, &exec, &error));
    ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &tickets[1], &error));
    EXPECT_EQ(instructions(on, tickets[1]), 5 * count);
    rawhal_graph_exec_destroy(exec);
    ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, 0, &tickets[2], &error));
    EXPECT_EQ(instructions(on, tickets[2]), 0u);
    ASSERT_OK(rawhal_queue_fill(on, out, 0, 1, 64, RAWHAL_FOREVER, &tickets[3], &error));
    EXPECT_EQ(instructions(on, tickets[3]), 0u);
    batch[1].work_items[0] = 64;
    EXPECT_EQ(one(on), count);
    EXPECT_EQ(rawhal_queue_instructions(on, tickets[0], nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  }
}

TEST_F(Times, InstructionsAreTheSameOnTheReferenceEngineAndOnAnyNumberOfThreads)
{
  auto *set =
      reinterpret_cast<bool (*)(const char *, uint64_t)>(dlsym(RTLD_DEFAULT, "softgpu_option_set"));
  rawhal_queue_t *on = queue();
  batch[0].work_items[0] = 64 * 16; // all that `out` has room for
  const uint64_t count = submit(on, 1);
  EXPECT_EQ(count % 16, 0u);
  for (const char *option : {"threads", "reference"}) {
    ASSERT_TRUE(set(option, 1));
    EXPECT_EQ(submit(on, 1), count);
  }
  EXPECT_TRUE(set("reference", 0) && set("threads", 0));
}

TEST_F(Times, InstructionsOfWhatIsNotKnown)
{
  rawhal_queue_options_t options = {};
  options.packets = 64;
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  uint64_t count = 1;
  EXPECT_EQ(rawhal_queue_instructions(on, 7, &count, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(count, 0u);
  for (rawhal_dispatch_t &dispatch : batch)
    dispatch.flags = RAWHAL_DISPATCH_OVERLAP;
  const uint64_t first = submit(on, 2); // of the queue's first ticket there is none before
  EXPECT_GT(first, 0u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(submit(on, 2), first);
  EXPECT_OK(rawhal_queue_instructions(on, 1, &count, &error));
  EXPECT_EQ(submit(on, 2), first);
  EXPECT_EQ(rawhal_queue_instructions(on, 1, &count, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(rawhal_queue_instructions(on, 2, &count, &error), RAWHAL_NOT_FOUND)
      << "where it begins is overwritten";
}

TEST_F(Times, BarriersAndCopiesHaveNoDispatches)
{
  rawhal_queue_t *on = timed();
  rawhal_ticket_t tickets[2] = {};
  ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, 0, &tickets[0], &error));
  ASSERT_OK(rawhal_queue_fill(on, out, 0, 1, 64, 0, &tickets[1], &error));
  for (rawhal_ticket_t ticket : tickets) {
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    uint64_t start = 0, end = 0;
    EXPECT_EQ(rawhal_queue_dispatch_timing(on, ticket, 0, &start, &end, &error),
              RAWHAL_OUT_OF_RANGE);
    ASSERT_OK(rawhal_queue_timing(on, ticket, &start, &end, &error));
    EXPECT_LE(start, end);
  }
}

TEST_F(Times, AQueueWithoutThemSaysSoAndABatchLeavesRoomForTheirPacket)
{
  rawhal_queue_t *plain = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(plain, batch, 4, 0, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(plain, ticket, rawhal_deadline_after(20000 * millisecond), &error));
  uint64_t start = 0, end = 0;
  EXPECT_EQ(rawhal_queue_dispatch_timing(plain, ticket, 0, &start, &end, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_STREQ(error.message, "there is no dispatch 0: 0 have times");
  rawhal_queue_t *on = timed();
  std::vector<rawhal_dispatch_t> many(64, batch[0]);
  EXPECT_EQ(rawhal_queue_submit(on, many.data(), 64, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE);
  ASSERT_OK(rawhal_queue_submit(on, many.data(), 63, 0, &ticket, &error));
  check(on, ticket, 63, true);
}

} // namespace
