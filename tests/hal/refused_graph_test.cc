// Copies in graphs that the runtime does not start, or the device does not carry out.
#include "refusal_test.h"

#include <rawhal/graph.h>
#include <rawhal/transfer.h>

namespace {

class RefusedGraph : public Refusal {
protected:
  void SetUp() override
  {
    Refusal::SetUp();
    on = queue();
    for (rawhal_buffer_t *&each : of) {
      each = buffer(64);
      ASSERT_OK(rawhal_buffer_fill(each, 0, 0, 64, &error));
    }
    ASSERT_OK(rawhal_semaphore_create(device, 0, &semaphore, &error));
    ASSERT_OK(rawhal_graph_create(device, &graph, &error));
    for (uint32_t i = 0; i < 3; ++i) { // the last two signal
      rawhal_transfer_t fill = {};
      fill.to = of[i];
      fill.bytes = 64;
      fill.pattern_bytes = fill.pattern[0] = 1;
      const rawhal_timepoint_t point = {semaphore, i};
      ASSERT_OK(rawhal_graph_add_transfers(graph, &fill, 1, nullptr, nullptr, RAWHAL_GRAPH_ALL,
                                           nullptr, &error));
      if (i)
        ASSERT_OK(rawhal_graph_add_timeline(graph, nullptr, 0, &point, 1, nullptr, nullptr,
                                            RAWHAL_GRAPH_ALL, nullptr, &error));
    }
    ASSERT_OK(rawhal_graph_instantiate(graph, nullptr, &exec, &error));
  }
  void TearDown() override
  {
    rawhal_graph_exec_destroy(exec);
    rawhal_graph_destroy(graph);
    rawhal_semaphore_destroy(semaphore);
    Refusal::TearDown();
  }
  unsigned char byte(uint32_t which) { return download<unsigned char>(of[which], 64)[63]; }

  rawhal_queue_t *on = nullptr;
  rawhal_buffer_t *of[3] = {};
  rawhal_semaphore_t *semaphore = nullptr;
  rawhal_graph_t *graph = nullptr;
  rawhal_graph_exec_t *exec = nullptr;
};

// Nothing behind it runs, and what was to be signalled after it fails; the queue goes on.
TEST_F(RefusedGraph, ACopyThatDoesNotBeginEndsTheLaunch)
{
  rawhal_ticket_t ticket = 9;
  refuse("copies", 1);
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY,
            rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(0, strncmp(error.message, "node 1: starting a copy: ", 25)) << error.message;
  EXPECT_NE(0, error.hsa_status);
  EXPECT_EQ(0u, ticket);
  EXPECT_EQ(5u, queue_info(on).last_ticket) << "its places are used up";
  ASSERT_OK(rawhal_queue_wait(on, 1, rawhal_deadline_after(60000 * millisecond), &error));
  EXPECT_OK(rawhal_queue_wait(on, 5, rawhal_deadline_after(60000 * millisecond), &error));
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, rawhal_semaphore_wait(semaphore, 1, RAWHAL_FOREVER, &error));
  EXPECT_EQ(1, byte(0));
  EXPECT_EQ(0, byte(1));
  EXPECT_EQ(0, byte(2));
}

// The device may be done with all that is behind it before the call has returned: what was to be signalled has failed by
// then, and nothing else has.
TEST_F(RefusedGraph, WhatIsBehindACopyThatDoesNotBeginFailsAtOnce)
{
  constexpr int behind = 200;
  rawhal_graph_t *longer = nullptr;
  rawhal_graph_exec_t *made = nullptr;
  ASSERT_OK(rawhal_graph_create(device, &longer, &error));
  ASSERT_OK(rawhal_graph_add_child(longer, graph, nullptr, nullptr, 0, nullptr, nullptr, &error));
  rawhal_transfer_t fill = {};
  fill.to = of[0];
  fill.bytes = 64;
  fill.pattern_bytes = fill.pattern[0] = 2;
  for (int i = 0; i < behind; ++i)
    ASSERT_OK(rawhal_graph_add_transfers(longer, &fill, 1, nullptr, nullptr, RAWHAL_GRAPH_ALL,
                                         nullptr, &error));
  ASSERT_OK(rawhal_graph_instantiate(longer, nullptr, &made, &error));
  rawhal_graph_destroy(longer);
  for (const char *what : {"copies", "signals"}) {
    rawhal_semaphore_t *next = nullptr;
    uint64_t value = 9;
    ASSERT_OK(rawhal_semaphore_create(device, 0, &next, &error));
    const rawhal_timepoint_t points[] = {{next, 1}, {next, 2}};
    const rawhal_graph_binding_t bindings[] = {
        {RAWHAL_GRAPH_TIMEPOINT, 2, 0, sizeof(*points), &points[0]},
        {RAWHAL_GRAPH_TIMEPOINT, 4, 0, sizeof(*points), &points[1]}};
    on = queue();
    refuse(what, what[0] == 'c' ? 1 : 0);
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY,
              rawhal_graph_launch(on, made, bindings, 2, RAWHAL_FOREVER, nullptr, &error));
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, rawhal_semaphore_value(next, &value, &error));
    EXPECT_EQ(0u, value) << what;
    // The queue goes on.
    rawhal_ticket_t ticket = 0;
    const rawhal_timepoint_t later = {semaphore, what[0] == 'c' ? 7u : 8u};
    ASSERT_OK(rawhal_queue_timeline(on, nullptr, 0, &later, 1, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(60000 * millisecond), &error));
    rawhal_semaphore_destroy(next);
  }
  rawhal_graph_exec_destroy(made);
}

// In whichever part it is; the next launch is as if nothing had been.
TEST_F(RefusedGraph, ACopyThatTheDeviceFailsFailsTheLaunch)
{
  rawhal_graph_t *copies = nullptr;
  rawhal_graph_exec_t *both = nullptr;
  rawhal_transfer_t fill = {};
  fill.to = of[0];
  fill.bytes = 64;
  fill.pattern_bytes = fill.pattern[0] = 1;
  ASSERT_OK(rawhal_graph_create(device, &copies, &error));
  ASSERT_OK(rawhal_graph_add_transfers(copies, &fill, 1, nullptr, nullptr, 0, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_barrier(copies, nullptr, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
  ASSERT_OK(rawhal_graph_instantiate(copies, nullptr, &both, &error));
  rawhal_graph_destroy(copies);
  softgpu_call("softgpu_pause");
  rawhal_ticket_t bad = 0, good = 0;
  ASSERT_OK(rawhal_graph_launch(on, both, nullptr, 0, RAWHAL_FOREVER, &bad, &error));
  HSA(hsa_signal_subtract_screlease)({*number<std::atomic<uint64_t>>("last_copy")}, 2);
  softgpu_call("softgpu_resume");
  EXPECT_EQ(2u, bad);
  EXPECT_EQ(RAWHAL_DEVICE_LOST,
            rawhal_queue_wait(on, bad, rawhal_deadline_after(60000 * millisecond), &error));
  ASSERT_OK(rawhal_graph_launch(on, both, nullptr, 0, RAWHAL_FOREVER, &good, &error));
  EXPECT_OK(rawhal_queue_wait(on, good, rawhal_deadline_after(60000 * millisecond), &error));
  rawhal_graph_exec_destroy(both);
}

} // namespace
