// Transfers and steps of timelines in graphs: what they do beside kernels, what a launch may replace of them, and what stays
// as long as they need it.
#include "graph_test.h"
#include "tests/child.h"

#include <rawhal/transfer.h>

#include <atomic>
#include <thread>

namespace {

constexpr uint32_t words = 64;

class GraphParts : public GraphTest {
protected:
  void SetUp() override
  {
    GraphTest::SetUp();
    on = queue();
    for (rawhal_buffer_t **each : {&a, &b})
      *each = zeros(words * 4);
    first = semaphore();
    second = semaphore();
  }

  static uint32_t *of(const rawhal_buffer_t *buffer)
  {
    return static_cast<uint32_t *>(rawhal_buffer_host(buffer));
  }
  static rawhal_transfer_t copy(rawhal_buffer_t *to, const rawhal_buffer_t *from)
  {
    rawhal_transfer_t made = {};
    made.to = to;
    made.from = from;
    made.bytes = words * 4;
    return made;
  }
  static rawhal_transfer_t fill(rawhal_buffer_t *to, uint32_t value)
  {
    rawhal_transfer_t made = {};
    made.to = to;
    made.bytes = words * 4;
    memcpy(made.pattern, &value, made.pattern_bytes = sizeof(value));
    return made;
  }

  rawhal_status_t add(rawhal_graph_t *to, const rawhal_transfer_t &transfer, const char *label = "")
  {
    return rawhal_graph_add_transfers(to, &transfer, 1, label, nullptr, RAWHAL_GRAPH_ALL, nullptr,
                                      &error);
  }
  // Word i of `out` becomes out * factor + in + i.
  void add_mix(rawhal_graph_t *to, const rawhal_buffer_t *out, const rawhal_buffer_t *in,
               uint32_t factor, const char *label = nullptr)
  {
    const Mix arguments = {rawhal_buffer_address(out), rawhal_buffer_address(in), words, factor};
    const rawhal_dispatch_t dispatch = mix_of(arguments, words, label);
    ASSERT_OK(rawhal_graph_add_kernel(to, &dispatch, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
  }
  rawhal_status_t add_timeline(rawhal_graph_t *to, std::vector<rawhal_timepoint_t> waits,
                               std::vector<rawhal_timepoint_t> signals)
  {
    return rawhal_graph_add_timeline(to, waits.data(), waits.size(), signals.data(), signals.size(),
                                     "step", nullptr, RAWHAL_GRAPH_ALL, nullptr, &error);
  }
  rawhal_ticket_t launch(const rawhal_graph_exec_t *exec,
                         std::vector<rawhal_graph_binding_t> bindings = {})
  {
    rawhal_ticket_t ticket = 0;
    EXPECT_OK(rawhal_graph_launch(on, exec, bindings.data(), bindings.size(), RAWHAL_FOREVER,
                                  &ticket, &error));
    return ticket;
  }
  rawhal_status_t refused(const rawhal_graph_exec_t *exec, const rawhal_graph_binding_t &binding)
  {
    const rawhal_ticket_t before = queue_info(on).last_ticket;
    rawhal_ticket_t ticket = 7;
    const rawhal_status_t status =
        rawhal_graph_launch(on, exec, &binding, 1, RAWHAL_FOREVER, &ticket, &error);
    EXPECT_EQ(0u, ticket);
    EXPECT_EQ(before, queue_info(on).last_ticket);
    return status;
  }
  static rawhal_graph_exec_info_t info_of(const rawhal_graph_exec_t *exec)
  {
    rawhal_graph_exec_info_t info = {};
    rawhal_graph_exec_info(exec, &info);
    return info;
  }

  rawhal_queue_t *on = nullptr;
  rawhal_buffer_t *a = nullptr, *b = nullptr;
  rawhal_semaphore_t *first = nullptr, *second = nullptr;
};

TEST_F(GraphParts, ComeOneAfterTheOther)
{
  rawhal_graph_t *made = graph();
  ASSERT_OK(add(made, fill(a, 5)));
  add_mix(made, b, a, 3);
  ASSERT_OK(add(made, copy(a, b)));
  add_mix(made, b, a, 3);
  const rawhal_graph_exec_t *exec = instantiate(made);
  EXPECT_EQ(4u, info_of(exec).tickets);
  EXPECT_EQ(2u + 2 * 2, info_of(exec).packets);
  uint32_t expected[words] = {};
  for (int launches = 1; launches < 4; ++launches) {
    const rawhal_ticket_t ticket = launch(exec);
    EXPECT_EQ(4u * launches, ticket) << "that of the last part";
    ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
    uint64_t start = 0, end = 0;
    ASSERT_OK(rawhal_queue_timing(on, ticket, &start, &end, &error));
    for (uint32_t node = 0, dispatch = 9; node < 4; ++node) {
      rawhal_ticket_t its = 0;
      uint64_t began = 0, ended = 0;
      ASSERT_OK(rawhal_graph_exec_ticket(exec, ticket, node, &its, &dispatch, &error));
      EXPECT_EQ(ticket - 3 + node, its);
      EXPECT_EQ(0u, dispatch);
      ASSERT_OK(rawhal_queue_timing(on, its, &began, &ended, &error));
      EXPECT_LE(start, began);
      EXPECT_GE(end, ended);
    }
    for (uint32_t i = 0; i < words; ++i) {
      const uint32_t once = expected[i] * 3 + 5 + i;
      EXPECT_EQ(once, of(a)[i]);
      expected[i] = once * 3 + once + i;
      ASSERT_EQ(expected[i], of(b)[i]);
    }
  }
}

// What it executes is that of all its parts.
TEST_F(GraphParts, InstructionsAreThoseOfAllParts)
{
  rawhal_graph_t *alone = graph(), *both = graph();
  add_mix(alone, b, a, 3);
  add_mix(both, b, a, 3);
  ASSERT_OK(add(both, copy(a, b)));
  add_mix(both, b, a, 3);
  uint64_t of_one = 0, of_both = 0;
  for (auto [what, counted] : {std::pair(alone, &of_one), std::pair(both, &of_both)}) {
    const rawhal_ticket_t ticket = launch(instantiate(what));
    ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
    ASSERT_OK(rawhal_queue_instructions(on, ticket, counted, &error));
  }
  EXPECT_GT(of_one, 0u);
  EXPECT_EQ(2 * of_one, of_both);
}

TEST_F(GraphParts, TransfersThatAreNotOrderedGoTogether)
{
  rawhal_graph_t *made = graph();
  const rawhal_transfer_t both[] = {fill(a, 1), fill(b, 2)};
  rawhal_graph_node_t node = 0;
  for (const rawhal_transfer_t &each : both)
    ASSERT_OK(rawhal_graph_add_transfers(made, &each, 1, nullptr, nullptr, 0, &node, &error));
  EXPECT_EQ(1u, info_of(instantiate(made)).tickets);
  ASSERT_OK(rawhal_graph_add_transfers(made, both, 2, nullptr, &node, 1, &node, &error));
  const rawhal_graph_exec_t *exec = instantiate(made);
  EXPECT_EQ(2u, info_of(exec).tickets);
  ASSERT_NO_FATAL_FAILURE(finish(on, launch(exec)));
  EXPECT_EQ(1u, of(a)[words - 1]);
  EXPECT_EQ(2u, of(b)[words - 1]);
  rawhal_graph_node_info_t info = {};
  ASSERT_OK(rawhal_graph_node(made, node, &info, nullptr, 0, &error));
  EXPECT_EQ(RAWHAL_GRAPH_TRANSFERS, info.kind);
  EXPECT_EQ(2u, info.transfers);
}

// What is written is that of when the node was added, in children, too.
TEST_F(GraphParts, WhatIsWrittenIsCopied)
{
  rawhal_graph_t *child = graph(), *made = graph();
  std::vector<uint32_t> data(words);
  for (uint32_t i = 0; i < words; ++i)
    data[i] = 1000 + i;
  rawhal_transfer_t write = {};
  write.to = a;
  write.bytes = 16; // rows of a rectangle
  write.rows = words / 8;
  write.to_pitch = write.from_pitch = 32;
  write.from_host = data.data();
  ASSERT_OK(add(child, write));
  std::fill(data.begin(), data.end(), 0u);
  ASSERT_OK(rawhal_graph_add_child(made, child, nullptr, nullptr, 0, nullptr, nullptr, &error));
  rawhal_graph_destroy(child);
  graphs.erase(graphs.begin());
  const rawhal_graph_exec_t *exec = instantiate(made);
  rawhal_graph_destroy(made);
  graphs.clear();
  for (int launches = 0; launches < 2; ++launches) {
    memset(of(a), 0, words * 4);
    ASSERT_NO_FATAL_FAILURE(finish(on, launch(exec)));
    for (uint32_t i = 0; i < words; ++i)
      ASSERT_EQ(i % 8 < 4 ? 1000 + i : 0, of(a)[i]);
  }
}

TEST_F(GraphParts, WhatNoNodeCanDoIsRefused)
{
  rawhal_graph_t *made = graph();
  std::vector<uint32_t> data(words);
  rawhal_transfer_t read = {};
  read.from = a;
  read.to_host = data.data();
  read.bytes = words * 4;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, add(made, read));
  read.to_host = of(b); // which the device reaches
  EXPECT_OK(add(made, read));
  rawhal_transfer_t beyond = fill(a, 1);
  beyond.to_offset = 4;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, add(made, beyond));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_graph_add_transfers(made, nullptr, 1, nullptr, nullptr, 0, nullptr, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_graph_add_transfers(made, &read, 0, nullptr, nullptr, 0, nullptr, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, add_timeline(made, {}, {}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, add_timeline(made, {{nullptr, 1}}, {}));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            add_timeline(made,
                         std::vector<rawhal_timepoint_t>(RAWHAL_MAX_TIMEPOINTS + 1,
                                                         rawhal_timepoint_t{first, 1}),
                         {}));
  EXPECT_EQ(1u, rawhal_graph_node_count(made)) << "nothing was added";
  for (int i = 0; i < 2; ++i)
    EXPECT_OK(add_timeline(made,
                           std::vector<rawhal_timepoint_t>(RAWHAL_MAX_TIMEPOINTS / 2 + 1,
                                                           rawhal_timepoint_t{first, 1}),
                           {}));
  rawhal_graph_exec_t *exec = nullptr;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_graph_instantiate(made, nullptr, &exec, &error));
  EXPECT_EQ(nullptr, exec);
}

TEST_F(GraphParts, AreBoundForOneLaunchOrForAll)
{
  rawhal_graph_t *made = graph();
  rawhal_buffer_t *c = upload(std::vector<uint32_t>(words, 77));
  ASSERT_OK(add(made, fill(a, 5)));
  ASSERT_OK(add(made, copy(b, a)));
  rawhal_graph_exec_t *exec = instantiate(made);
  const rawhal_transfer_t from_c = copy(b, c), to_b = fill(b, 5);
  ASSERT_NO_FATAL_FAILURE(
      finish(on, launch(exec, {{RAWHAL_GRAPH_TRANSFER, 1, 0, sizeof(from_c), &from_c}})));
  EXPECT_EQ(5u, of(a)[3]);
  EXPECT_EQ(77u, of(b)[3]);
  ASSERT_NO_FATAL_FAILURE(finish(on, launch(exec)));
  EXPECT_EQ(5u, of(b)[3]) << "that was one launch's";
  const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_TRANSFER, 1, 0, sizeof(from_c), &from_c};
  ASSERT_OK(rawhal_graph_exec_bind(exec, &binding, 1, &error));
  ASSERT_NO_FATAL_FAILURE(
      finish(on, launch(exec, {{RAWHAL_GRAPH_TRANSFER, 0, 0, sizeof(to_b), &to_b}})));
  EXPECT_EQ(77u, of(b)[words - 1]);
  // Only what was made when the graph was.
  const rawhal_transfer_t other = fill(a, 6);
  rawhal_transfer_t shorter = fill(a, 5), write = {};
  shorter.bytes /= 2;
  write.to = a;
  write.bytes = 4;
  write.from_host = &shorter;
  for (const rawhal_transfer_t *each : {&other, &static_cast<const rawhal_transfer_t &>(shorter),
                                        &static_cast<const rawhal_transfer_t &>(write)})
    EXPECT_EQ(RAWHAL_UNSUPPORTED, refused(exec, {RAWHAL_GRAPH_TRANSFER, 0, 0, sizeof(other), each}))
        << error.message;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            refused(exec, {RAWHAL_GRAPH_TRANSFER, 0, 1, sizeof(other), &other}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(exec, {RAWHAL_GRAPH_TRANSFER, 0, 0, 8, &other}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(exec, {RAWHAL_GRAPH_ARGUMENT, 0, 0, 8, &other}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            refused(exec, {RAWHAL_GRAPH_TIMEPOINT, 0, 0, sizeof(rawhal_timepoint_t), &other}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(exec, {7, 0, 0, 8, &other}));
}

// A launch waits in its midst, and its signals are seen as it comes to them.
TEST_F(GraphParts, TimelinesWaitAndSignalInTheMidst)
{
  rawhal_graph_t *made = graph();
  ASSERT_OK(add(made, fill(a, 5)));
  ASSERT_OK(add_timeline(made, {}, {{first, 1}}));
  ASSERT_OK(add_timeline(made, {{second, 1}}, {}));
  ASSERT_OK(add(made, copy(b, a)));
  ASSERT_OK(add_timeline(made, {}, {{first, 2}}));
  const rawhal_graph_exec_t *exec = instantiate(made);
  const rawhal_ticket_t ticket = launch(exec);
  ASSERT_OK(rawhal_semaphore_wait(first, 1, rawhal_deadline_after(60000 * millisecond), &error));
  EXPECT_EQ(5u, of(a)[0]);
  EXPECT_EQ(0u, of(b)[0]);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, rawhal_semaphore_wait(first, 2, 0, &error));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, rawhal_queue_wait(on, ticket, 0, &error));
  ASSERT_OK(rawhal_semaphore_signal(second, 1, &error));
  ASSERT_OK(rawhal_semaphore_wait(first, 2, rawhal_deadline_after(60000 * millisecond), &error));
  EXPECT_EQ(5u, of(b)[0]);
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  // The same again cannot be: it has been reached.
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &error));
  EXPECT_EQ(ticket, queue_info(on).last_ticket);
  const rawhal_timepoint_t next[] = {{first, 3}, {first, 4}};
  ASSERT_NO_FATAL_FAILURE(
      finish(on, launch(exec, {{RAWHAL_GRAPH_TIMEPOINT, 1, 0, sizeof(next[0]), &next[0]},
                               {RAWHAL_GRAPH_TIMEPOINT, 4, 0, sizeof(next[1]), &next[1]}})));
  uint64_t value = 0;
  ASSERT_OK(rawhal_semaphore_value(first, &value, &error));
  EXPECT_EQ(4u, value);
}

// One part signals more than a later one, or another queue, waits for, and nobody signals just that.
TEST_F(GraphParts, APartMayPassOverWhatALaterOneWaitsFor)
{
  rawhal_graph_t *made = graph();
  ASSERT_OK(add_timeline(made, {}, {{first, 5}}));
  ASSERT_OK(add_timeline(made, {{first, 3}}, {}));
  ASSERT_OK(add(made, fill(a, 5)));
  const rawhal_graph_exec_t *exec = instantiate(made);
  ASSERT_NO_FATAL_FAILURE(finish(on, launch(exec)));
  const rawhal_timepoint_t waited = {first, 7}, signalled = {first, 9};
  rawhal_queue_t *other = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_timeline(other, &waited, 1, nullptr, 0, 0, &ticket, &error));
  launch(exec, {{RAWHAL_GRAPH_TIMEPOINT, 0, 0, sizeof(signalled), &signalled},
                {RAWHAL_GRAPH_TIMEPOINT, 1, 0, sizeof(waited), &waited}});
  ASSERT_NO_FATAL_FAILURE(finish(other, ticket));
}

// Two launches wait for each other's parts, which is no circle; where it is one, it is refused.
TEST_F(GraphParts, LaunchesMayWaitForEachOtherInTurns)
{
  rawhal_graph_t *ping = graph(), *pong = graph(), *circle = graph(), *late = graph();
  ASSERT_OK(add_timeline(ping, {}, {{first, 1}}));
  ASSERT_OK(add_timeline(ping, {{second, 1}}, {{first, 2}}));
  ASSERT_OK(add_timeline(pong, {{first, 1}}, {{second, 1}}));
  ASSERT_OK(add_timeline(pong, {{first, 2}}, {}));
  rawhal_queue_t *other = queue();
  rawhal_ticket_t of_ping = 0, of_pong = 0;
  ASSERT_OK(
      rawhal_graph_launch(other, instantiate(pong), nullptr, 0, RAWHAL_FOREVER, &of_pong, &error));
  ASSERT_OK(
      rawhal_graph_launch(on, instantiate(ping), nullptr, 0, RAWHAL_FOREVER, &of_ping, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, of_ping));
  ASSERT_NO_FATAL_FAILURE(finish(other, of_pong));
  ASSERT_OK(add_timeline(circle, {{first, 3}}, {}));
  ASSERT_OK(add_timeline(circle, {}, {{first, 3}}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_graph_launch(on, instantiate(circle), nullptr, 0, 0, nullptr, &error));
  ASSERT_OK(add_timeline(late, {}, {{first, 4}}));
  ASSERT_OK(add_timeline(late, {}, {{first, 3}}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_graph_launch(on, instantiate(late), nullptr, 0, 0, nullptr, &error));
  EXPECT_NE(nullptr, strstr(error.message, "do not ascend")) << error.message;
  EXPECT_EQ(of_ping, queue_info(on).last_ticket);
}

// Buffers and semaphores that a graph names are there until nothing needs them.
TEST_F(GraphParts, WhatIsNamedStaysUntilLaunchesHaveFinished)
{
  rawhal_buffer_t *from = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, words * 4, &from, &error));
  std::fill_n(of(from), words, 9u);
  rawhal_semaphore_t *gone = nullptr;
  ASSERT_OK(rawhal_semaphore_create(device, 0, &gone, &error));
  rawhal_graph_t *made = graph(), *signals = graph();
  ASSERT_OK(add_timeline(made, {{first, 1}}, {}));
  ASSERT_OK(add(made, copy(a, from)));
  ASSERT_OK(add(made, fill(b, 3)));
  ASSERT_OK(add_timeline(signals, {}, {{gone, 1}}));
  rawhal_graph_exec_t *exec = instantiate(made);
  rawhal_buffer_free(from);
  EXPECT_EQ(0u, rawhal_buffer_address(from)) << "it is not the program's any more";
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, add(graph(), copy(a, from)));
  rawhal_semaphore_destroy(gone);
  EXPECT_EQ(RAWHAL_DEVICE_LOST, rawhal_graph_launch(on, instantiate(signals), nullptr, 0,
                                                    RAWHAL_FOREVER, nullptr, &error));
  const rawhal_ticket_t ticket = launch(exec);
  rawhal_graph_exec_destroy(exec);
  execs.erase(execs.begin());
  rawhal_graph_destroy(made);
  graphs.erase(graphs.begin());
  ASSERT_OK(rawhal_semaphore_signal(first, 1, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  EXPECT_EQ(9u, of(a)[words - 1]);
  EXPECT_EQ(3u, of(b)[words - 1]);
}

// Memory is free again when the launch that needed it has finished, as far as the program can tell.
TEST_F(GraphParts, WhatIsNamedIsFreeWhenTheLastLaunchHasFinished)
{
  constexpr size_t most_of_it = 200 << 20;
  rawhal_buffer_t *named = nullptr, *next = nullptr;
  ASSERT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, most_of_it, &named, &error));
  rawhal_graph_t *made = graph();
  ASSERT_OK(add_timeline(made, {{first, 1}}, {}));
  ASSERT_OK(add(made, fill(named, 5)));
  const rawhal_ticket_t ticket = launch(instantiate(made));
  rawhal_graph_destroy(made);
  rawhal_graph_exec_destroy(execs.front());
  graphs.clear();
  execs.clear();
  rawhal_buffer_free(named);
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, most_of_it, &next, &error));
  ASSERT_OK(rawhal_semaphore_signal(first, 1, &error));
  ASSERT_NO_FATAL_FAILURE(finish(on, ticket));
  EXPECT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, most_of_it, &next, &error));
  rawhal_buffer_free(next);
}

// A child of fork() destroys its parent's graphs, whatever locks threads had that are not there, and their buffers stay.
TEST_F(GraphParts, WhatIsNamedStaysWhenAChildDestroysGraphs)
{
  constexpr int children = 10;
  rawhal_graph_t *made = graph();
  ASSERT_OK(add(made, fill(a, 5)));
  rawhal_graph_exec_t *exec = instantiate(made);
  std::atomic<bool> over{false};
  std::thread beside([&] {
    while (!over)
      (void)rawhal_buffer_size(b);
  });
  for (int i = 0; i < children && !HasFailure(); ++i)
    EXPECT_EQ(0, in_child([&] {
                rawhal_graph_exec_destroy(exec);
                rawhal_graph_destroy(made);
                return 0;
              }));
  over = true;
  beside.join();
  ASSERT_NO_FATAL_FAILURE(finish(on, launch(exec)));
  EXPECT_EQ(5u, of(a)[0]);
}

// A launch that can never fit, and one for which there is no room now.
TEST_F(GraphParts, LeaveNoTraceWithoutRoom)
{
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  options.packets = 64;
  on = queue(options);
  rawhal_graph_t *made = graph();
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(add_timeline(made, {{first, 1}}, {}));
  const rawhal_graph_exec_t *three = instantiate(made);
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(add_timeline(made, {{first, 1}}, {}));
  const rawhal_graph_exec_t *five = instantiate(made);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_graph_launch(on, five, nullptr, 0, RAWHAL_FOREVER, nullptr, &error));
  const rawhal_ticket_t ticket = launch(three);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, rawhal_graph_launch(on, three, nullptr, 0, 0, nullptr, &error));
  EXPECT_EQ(ticket, queue_info(on).last_ticket);
  rawhal_graph_t *within = graph(); // what one part signals a later one waits for
  ASSERT_OK(add_timeline(within, {}, {{second, 1}}));
  ASSERT_OK(add_timeline(within, {{second, 1}}, {}));
  const rawhal_graph_exec_t *both = instantiate(within);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(RAWHAL_WOULD_BLOCK, rawhal_graph_launch(on, both, nullptr, 0, 0, nullptr, &error));
  std::thread later([&] {
    rawhal_error_t mine = {};
    rawhal_ticket_t next = 0;
    EXPECT_EQ(RAWHAL_OK, rawhal_graph_launch(on, three, nullptr, 0, RAWHAL_FOREVER, &next, &mine));
    EXPECT_EQ(2 * ticket, next);
  });
  ASSERT_OK(rawhal_semaphore_signal(first, 1, &error));
  later.join();
  ASSERT_NO_FATAL_FAILURE(finish(on, 2 * ticket));
  ASSERT_NO_FATAL_FAILURE(finish(on, launch(both)));
}

// What had finished when a kernel failed, of launches of several parts.
TEST_F(GraphParts, AKernelThatFailsStopsThePartsBehindIt)
{
  rawhal_graph_t *made = graph();
  ASSERT_OK(add(made, fill(a, 5), "fill"));
  add_mix(made, b, a, 3, "good");
  add_mix(made, b, a, 3, "bad");
  ASSERT_OK(add(made, copy(a, b), "copy"));
  ASSERT_OK(add_timeline(made, {}, {{first, 1}}));
  const rawhal_graph_exec_t *exec = instantiate(made);
  const uint64_t nowhere = uint64_t{1} << 46;
  const rawhal_ticket_t ticket =
      launch(exec, {{RAWHAL_GRAPH_ARGUMENT, 2, mix_out, sizeof(nowhere), &nowhere}});
  EXPECT_EQ(RAWHAL_FAULT, rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_NE(nullptr, strstr(error.message, "bad")) << error.message;
  rawhal_graph_failure_t failure = {};
  ASSERT_OK(rawhal_graph_failure(exec, on, ticket, &failure, &error));
  EXPECT_EQ(2u, failure.failed);
  EXPECT_STREQ("bad", failure.label);
  EXPECT_EQ(2u, failure.finished);
  EXPECT_EQ(3u, failure.begun);
  EXPECT_EQ(5u, of(a)[0]);
  EXPECT_EQ(RAWHAL_FAULT, rawhal_semaphore_wait(first, 1, RAWHAL_FOREVER, &error))
      << "what it was to signal fails with it";
}

// A wait that fails lets the launch go, and says so: of its ticket, and to whoever waits for what it was to signal after that.
TEST_F(GraphParts, AWaitThatFailsSpoilsTheLaunch)
{
  rawhal_graph_t *made = graph();
  ASSERT_OK(add(made, fill(a, 5)));
  ASSERT_OK(add_timeline(made, {{second, 1}}, {}));
  ASSERT_OK(add(made, fill(b, 6)));
  ASSERT_OK(add_timeline(made, {}, {{first, 1}}));
  const rawhal_graph_exec_t *exec = instantiate(made);
  const rawhal_ticket_t ticket = launch(exec);
  rawhal_error_t cause = {};
  cause.status = RAWHAL_OUT_OF_MEMORY;
  strcpy(cause.message, "none was left");
  ASSERT_OK(rawhal_semaphore_fail(second, &cause, &error));
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY,
            rawhal_queue_wait(on, ticket, rawhal_deadline_after(60000 * millisecond), &error));
  EXPECT_NE(nullptr, strstr(error.message, "none was left")) << error.message;
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, rawhal_semaphore_wait(first, 1, RAWHAL_FOREVER, &error));
  EXPECT_OK(rawhal_queue_wait(on, ticket - 3, 0, &error)); // what came before the wait
  EXPECT_EQ(5u, of(a)[0]);
  // Another one would signal what is never to be reached: nothing is submitted.
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY,
            rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &error));
  EXPECT_EQ(ticket, queue_info(on).last_ticket);
}

} // namespace
