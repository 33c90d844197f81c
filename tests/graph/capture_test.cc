// What a queue captures is what calls would add.
#include "graph_test.h"

#include <rawhal/transfer.h>

namespace {

constexpr uint32_t words = 64;

class GraphCapture : public GraphTest {
protected:
  void SetUp() override
  {
    GraphTest::SetUp();
    on = queue();
    for (rawhal_buffer_t *&each : memory)
      each = zeros(words * 4);
    timeline = semaphore();
  }

  // A submission: to the queue that is captured, and by a call to the other graph.
  void submit_both(Random &random, rawhal_graph_t *by_hand)
  {
    rawhal_ticket_t ticket = 7;
    rawhal_buffer_t *to = memory[below(random, 3)], *from = memory[below(random, 3)];
    rawhal_transfer_t transfer = {};
    transfer.to = to;
    transfer.bytes = words * 4;
    transfer.from = to == from ? nullptr : from;
    transfer.pattern_bytes = to == from ? 4 : 0;
    const rawhal_timepoint_t point = {timeline, ++value};
    const bool waits = below(random, 2);
    switch (below(random, 4)) {
    case 0:
      ASSERT_OK(rawhal_queue_transfer(on, &transfer, 1, RAWHAL_FOREVER, &ticket, &error));
      ASSERT_OK(rawhal_graph_add_transfers(by_hand, &transfer, 1, nullptr, nullptr,
                                           RAWHAL_GRAPH_ALL, nullptr, &error));
      break;
    case 1:
      ASSERT_OK(rawhal_queue_timeline(on, &point, waits, &point, !waits, RAWHAL_FOREVER, &ticket,
                                      &error));
      ASSERT_OK(rawhal_graph_add_timeline(by_hand, &point, waits, &point, !waits, nullptr, nullptr,
                                          RAWHAL_GRAPH_ALL, nullptr, &error));
      break;
    case 2:
      ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
      ASSERT_OK(
          rawhal_graph_add_barrier(by_hand, nullptr, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
      break;
    default:
      ASSERT_NO_FATAL_FAILURE(batch_both(random, by_hand, to, from, &ticket));
    }
    EXPECT_EQ(0u, ticket);
  }
  void batch_both(Random &random, rawhal_graph_t *by_hand, const rawhal_buffer_t *to,
                  const rawhal_buffer_t *from, rawhal_ticket_t *ticket)
  {
    std::vector<rawhal_dispatch_t> batch(1 + below(random, 3));
    std::vector<Mix> arguments(batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      arguments[i] = {rawhal_buffer_address(to), rawhal_buffer_address(from), words,
                      3 + 2 * below(random, 100)};
      batch[i] = mix_of(arguments[i], words, below(random, 2) ? "kernel" : nullptr);
      batch[i].flags = below(random, 3) ? 0 : RAWHAL_DISPATCH_OVERLAP;
    }
    ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, ticket, &error));
    ASSERT_OK(rawhal_graph_add_batch(by_hand, batch.data(), batch.size(), nullptr, &error));
  }

  void expect_same(const rawhal_graph_t *captured, const rawhal_graph_t *by_hand)
  {
    const size_t count = rawhal_graph_node_count(by_hand);
    ASSERT_EQ(count, rawhal_graph_node_count(captured));
    for (uint32_t i = 0; i < count; ++i) {
      rawhal_graph_node_info_t of[2] = {};
      ASSERT_OK(rawhal_graph_node(captured, i, &of[0], nullptr, 0, &error));
      ASSERT_OK(rawhal_graph_node(by_hand, i, &of[1], nullptr, 0, &error));
      EXPECT_EQ(0, memcmp(&of[0], &of[1], sizeof(of[0]))) << "node " << i;
    }
    rawhal_graph_exec_info_t info[2] = {};
    rawhal_graph_exec_info(instantiate(captured), &info[0]);
    rawhal_graph_exec_info(instantiate(by_hand), &info[1]);
    EXPECT_EQ(0, memcmp(&info[0], &info[1], sizeof(info[0])));
  }

  rawhal_queue_t *on = nullptr;
  rawhal_buffer_t *memory[3] = {};
  rawhal_semaphore_t *timeline = nullptr;
  uint64_t value = 0;
};

TEST_F(GraphCapture, IsWhatCallsWouldAdd)
{
  Random random(41);
  for (int number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    rawhal_graph_t *captured = graph(), *by_hand = graph();
    ASSERT_OK(rawhal_queue_capture_begin(on, captured, &error));
    for (uint32_t left = 1 + below(random, 12); left; --left)
      ASSERT_NO_FATAL_FAILURE(submit_both(random, by_hand));
    ASSERT_OK(rawhal_queue_capture_end(on, &error));
    ASSERT_NO_FATAL_FAILURE(expect_same(captured, by_hand));
  }
  EXPECT_EQ(0u, queue_info(on).last_ticket) << "nothing was submitted";
}

// The queue then does what it would have done at once.
TEST_F(GraphCapture, DoesWhenLaunchedWhatTheQueueWouldHaveDone)
{
  const auto submit = [&](rawhal_queue_t *to, rawhal_buffer_t *out) {
    const Mix arguments = {rawhal_buffer_address(out), rawhal_buffer_address(memory[1]), words, 5};
    const rawhal_dispatch_t dispatch = mix_of(arguments, words);
    ASSERT_OK(rawhal_queue_fill(to, out, 0, 7, words * 4, RAWHAL_FOREVER, nullptr, &error));
    ASSERT_OK(rawhal_queue_submit(to, &dispatch, 1, RAWHAL_FOREVER, nullptr, &error));
    std::vector<uint32_t> tail(4, 99);
    ASSERT_OK(rawhal_queue_write(to, out, words * 4 - 16, tail.data(), 16, RAWHAL_FOREVER, nullptr,
                                 &error));
    tail.assign(4, 0); // it has been copied
  };
  rawhal_graph_t *captured = graph();
  ASSERT_OK(rawhal_queue_capture_begin(on, captured, &error));
  ASSERT_NO_FATAL_FAILURE(submit(on, memory[0]));
  ASSERT_OK(rawhal_queue_capture_end(on, &error));
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(
      rawhal_graph_launch(on, instantiate(captured), nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  ASSERT_NO_FATAL_FAILURE(submit(on, memory[2]));
  ASSERT_NO_FATAL_FAILURE(finish(on, queue_info(on).last_ticket));
  EXPECT_EQ(0, memcmp(rawhal_buffer_host(memory[0]), rawhal_buffer_host(memory[2]), words * 4));
  EXPECT_EQ(99u, static_cast<uint32_t *>(rawhal_buffer_host(memory[0]))[words - 1]);
}

TEST_F(GraphCapture, RefusesWhatNoGraphHas)
{
  rawhal_graph_t *captured = graph();
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_queue_capture_end(on, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_queue_capture_begin(on, nullptr, &error));
  rawhal_ticket_t before = 0;
  ASSERT_OK(rawhal_queue_barrier(on, nullptr, 0, RAWHAL_FOREVER, &before, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, before));
  const Mix arguments = {rawhal_buffer_address(memory[0]), rawhal_buffer_address(memory[1]), words,
                         5};
  rawhal_dispatch_t dispatch = mix_of(arguments, words);
  rawhal_graph_t *other = graph();
  ASSERT_OK(rawhal_graph_add_batch(other, &dispatch, 1, nullptr, &error));
  const rawhal_graph_exec_t *exec = instantiate(other);
  ASSERT_OK(rawhal_queue_capture_begin(on, captured, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_queue_capture_begin(on, captured, &error));
  const rawhal_dependency_t dependency = {on, before, 0, 0};
  const rawhal_status_t refused[] = {
      rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, nullptr, &error),
      rawhal_queue_signal(on, 1, RAWHAL_FOREVER, nullptr, &error),
      rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &error),
      rawhal_graph_launch_blob(on, exec, &arguments, sizeof(arguments), RAWHAL_FOREVER, nullptr,
                               &error),
      rawhal_semaphore_import(timeline, 1, on, 1, 0, RAWHAL_FOREVER, nullptr, &error),
  };
  for (rawhal_status_t status : refused)
    EXPECT_EQ(RAWHAL_UNSUPPORTED, status);
  dispatch.work_items[0] = 0;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, nullptr, &error));
  EXPECT_OK(rawhal_queue_wait(on, before, 0, &error)); // what was submitted before is waited for
  ASSERT_OK(rawhal_queue_capture_end(on, &error));
  EXPECT_EQ(0u, rawhal_graph_node_count(captured));
  EXPECT_EQ(before, queue_info(on).last_ticket);
}

} // namespace
