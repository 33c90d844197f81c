// Graphs of kernels: what a launch does is what a submission of the same dispatches does.
#include "graphs.h"

namespace {

TEST_F(Graphs, AThousandDispatchesAgainAndAgain)
{
  constexpr uint32_t count = 1000;
  rawhal_buffer_t *out = buffer(count * 4);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> dispatches = stores(out, count);
  rawhal_graph_exec_t *exec = graph(on, dispatches);
  blobs.clear(); // the graph has its own
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, count * 4, &error));
    launch(on, exec);
    std::vector<uint32_t> got = download<uint32_t>(out, count);
    for (uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(got[i], i + 1) << "round " << round;
  }
  EXPECT_EQ(queue_info(on).last_ticket, 5u);
}

TEST_F(Graphs, ArgumentsChangeBetweenLaunches)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  rawhal_graph_exec_t *exec = graph(on, stores(out, 3));
  for (uint32_t bias = 100; bias < 103; ++bias) {
    const rawhal_graph_binding_t binding = argument(1, 3, &bias);
    ASSERT_OK(rawhal_graph_exec_bind(exec, &binding, 1, &error));
    launch(on, exec);
    EXPECT_EQ(download<uint32_t>(out, 3), (std::vector<uint32_t>{1, bias, 3}));
  }
}

// For one launch alone, and the last of several for the same bytes.
TEST_F(Graphs, ALaunchHasItsOwnArguments)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  rawhal_graph_exec_t *exec = graph(on, stores(out, 3));
  const uint32_t first = 70, second = 80, last = 90;
  const uint64_t elsewhere = rawhal_buffer_address(out) + 40;
  Blob blob;
  blob.add(elsewhere).add(1u).add(1u).add(second);
  const std::vector<rawhal_graph_binding_t> rows[] = {
      {argument(1, 3, &first)},
      {argument(1, 3, &first), argument(1, 3, &last)},
      {argument(1, 3, &first), blob_of(1, blob), argument(1, 3, &last)},
      {argument(1, 3, &first), argument(1, 0, &elsewhere), blob_of(1, blob)},
      {argument(0, 3, &first), argument(2, 3, &last)}};
  const std::vector<uint32_t> words[] = {
      {1, 70, 3, 0}, {1, 90, 3, 0}, {1, 0, 3, 90}, {1, 0, 3, 80}, {70, 2, 90, 0}};
  for (size_t i = 0; i < std::size(rows); ++i) {
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
    launch(on, exec, rows[i]);
    std::vector<uint32_t> got = download<uint32_t>(out, 11);
    EXPECT_EQ((std::vector<uint32_t>{got[0], got[1], got[2], got[10]}), words[i]) << i;
  }
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
  launch(on, exec);
  EXPECT_EQ(download<uint32_t>(out, 3), (std::vector<uint32_t>{1, 2, 3})) << "as it was made";
}

TEST_F(Graphs, WhatIsBoundIsChecked)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  rawhal_graph_t *made = nullptr;
  ASSERT_OK(rawhal_graph_create(device, &made, &error));
  std::vector<rawhal_dispatch_t> two = stores(out, 2);
  two[1].label = "second";
  const uint64_t address = rawhal_buffer_address(out);
  const uint32_t word = 1;
  const void *pointers[] = {&address, &word, &word, &word};
  rawhal_dispatch_t pointed = two[0];
  pointed.blob = nullptr;
  pointed.blob_size = 0;
  pointed.arguments = pointers;
  pointed.argument_count = 4;
  ASSERT_OK(rawhal_graph_add_batch(made, two.data(), 2, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_kernel(made, &pointed, nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
  ASSERT_OK(rawhal_graph_add_barrier(made, "join", nullptr, RAWHAL_GRAPH_ALL, nullptr, &error));
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(rawhal_graph_instantiate(made, nullptr, &exec, &error));
  rawhal_graph_destroy(made);
  execs.push_back(exec);
  rawhal_graph_grid_t none = {{0, 1, 1}, {1, 1, 1}, 0, 0, 0, {}},
                      strange = {{1, 1, 1}, {1, 1, 1}, 1, 0, 0, {}},
                      wide = {{1, 1, 1}, {2000, 1, 1}, 0, 0, 0, {}};
  const char bytes[64] = {};
  const struct {
    rawhal_graph_binding_t binding;
    rawhal_status_t status;
    const char *why;
  } wrong[] = {
      {{RAWHAL_GRAPH_ARGUMENT, 4, 3, 4, &word},
       RAWHAL_OUT_OF_RANGE,
       "node 4 of a graph that has 4"},
      {{RAWHAL_GRAPH_ARGUMENT, 3, 3, 4, &word},
       RAWHAL_INVALID_ARGUMENT,
       "node 3 'join': node 3 runs no kernel"},
      {{RAWHAL_GRAPH_ARGUMENT, 0, 99, 4, &word},
       RAWHAL_OUT_OF_RANGE,
       "argument 99 of a kernel that has"},
      {{RAWHAL_GRAPH_ARGUMENT, 1, 3, 8, &word},
       RAWHAL_INVALID_ARGUMENT,
       "binding 1, node 1 'second': argument 3"},
      {{RAWHAL_GRAPH_ARGUMENT, 0, 4, 4, &word}, RAWHAL_INVALID_ARGUMENT, "is hidden"},
      {{RAWHAL_GRAPH_ARGUMENT, 0, 3, 4, nullptr}, RAWHAL_INVALID_ARGUMENT, "value is NULL"},
      {{RAWHAL_GRAPH_BLOB, 0, 0, 19, bytes},
       RAWHAL_INVALID_ARGUMENT,
       "a blob of 19 bytes, the node was made with 20"},
      {{RAWHAL_GRAPH_BLOB, 2, 0, 20, bytes}, RAWHAL_INVALID_ARGUMENT, "array of arguments"},
      {{RAWHAL_GRAPH_GRID, 0, 0, 4, &word}, RAWHAL_INVALID_ARGUMENT, "rawhal_graph_grid_t"},
      {{RAWHAL_GRAPH_GRID, 0, 0, sizeof(none), &none},
       RAWHAL_INVALID_ARGUMENT,
       "binding 1, node 0"},
      {{RAWHAL_GRAPH_GRID, 0, 0, sizeof(wide), &wide}, RAWHAL_OUT_OF_RANGE, "2000"},
      {{RAWHAL_GRAPH_GRID, 0, 0, sizeof(strange), &strange}, RAWHAL_UNSUPPORTED, "reserved"},
      {{77, 0, 0, 4, &word}, RAWHAL_INVALID_ARGUMENT, "77 is no kind of binding"}};
  const uint32_t bias = 55;
  for (const auto &row : wrong) {
    const rawhal_graph_binding_t both[] = {argument(0, 3, &bias), row.binding};
    rawhal_ticket_t ticket = 9;
    EXPECT_EQ(rawhal_graph_launch(on, exec, both, 2, 0, &ticket, &error), row.status) << row.why;
    EXPECT_NE(std::string(error.message).find(row.why), std::string::npos) << error.message;
    EXPECT_EQ(ticket, 0u);
    EXPECT_EQ(rawhal_graph_exec_bind(exec, both, 2, &error), row.status) << row.why;
  }
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_exec_bind(nullptr, nullptr, 0, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(queue_info(on).last_ticket, 0u) << "none of them left a trace";
  launch(on, exec);
  EXPECT_EQ(download<uint32_t>(out, 2), (std::vector<uint32_t>{1, 2})) << "nor bound anything";
}

TEST_F(Graphs, RefusesWhatASubmissionRefuses)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> dispatches = stores(out, 2);
  rawhal_graph_t *made = nullptr;
  ASSERT_OK(rawhal_graph_create(device, &made, &error));
  dispatches[1].blob_size = 19;
  rawhal_graph_node_t first = 77;
  EXPECT_EQ(rawhal_graph_add_batch(made, dispatches.data(), 2, &first, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_node_count(made), 0u) << "all or none";
  std::string added = error.message;
  EXPECT_EQ(rawhal_queue_submit(on, dispatches.data(), 2, 0, nullptr, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(added, error.message);
  EXPECT_EQ(rawhal_graph_add_kernel(made, &dispatches[1], nullptr, 0, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_add_batch(made, nullptr, 2, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_batch(made, dispatches.data(), 0, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_batch(nullptr, dispatches.data(), 1, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_add_kernel(made, nullptr, nullptr, 0, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  rawhal_graph_exec_t *exec = reinterpret_cast<rawhal_graph_exec_t *>(1);
  EXPECT_EQ(rawhal_graph_instantiate(made, nullptr, &exec, &error), RAWHAL_INVALID_ARGUMENT)
      << "there are no nodes";
  EXPECT_EQ(exec, nullptr);
  EXPECT_EQ(rawhal_graph_instantiate(nullptr, nullptr, &exec, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_instantiate(made, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_create(device, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  ASSERT_OK(rawhal_graph_add_kernel(made, &dispatches[0], nullptr, 0, &first, &error));
  EXPECT_EQ(first, 0u);
  const rawhal_graph_node_t self[] = {0, 1};
  EXPECT_EQ(rawhal_graph_add_barrier(made, nullptr, &self[1], 1, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_add_barrier(made, nullptr, self, 2, nullptr, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_add_barrier(made, nullptr, nullptr, 1, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_node_count(made), 1u);
  rawhal_graph_destroy(made);
  rawhal_ticket_t ticket = 9;
  EXPECT_EQ(rawhal_graph_launch(on, nullptr, nullptr, 0, 0, &ticket, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(
      rawhal_graph_launch(nullptr, graph(on, {dispatches[0]}), nullptr, 0, 0, &ticket, &error),
      RAWHAL_INVALID_ARGUMENT);
  rawhal_graph_exec_destroy(nullptr);
  rawhal_graph_destroy(nullptr);
  EXPECT_EQ(rawhal_graph_node_count(nullptr), 0u);
}

TEST_F(Graphs, ARingThatCanNeverHoldOneIsTooSmall)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *small = queue(sizes), *large = queue();
  rawhal_graph_exec_t *exec = graph(small, stores(out, 65));
  rawhal_graph_exec_info_t info = {};
  info.size = sizeof(info);
  rawhal_graph_exec_info(exec, &info);
  EXPECT_EQ(info.nodes, 65u);
  EXPECT_EQ(info.packets, 65u);
  EXPECT_EQ(info.overlapping, 0u);
  EXPECT_EQ(info.kernarg_bytes % 64, 0u);
  EXPECT_GE(info.kernarg_bytes, 65u * 64);
  EXPECT_EQ(rawhal_graph_launch(small, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  launch(large, exec);
  EXPECT_EQ(download<uint32_t>(out, 65)[64], 65u);
}

// Nodes can be looked at, so that two graphs can be compared.
TEST_F(Graphs, NodesAreAsTheyWereAdded)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_graph_t *made = nullptr;
  ASSERT_OK(rawhal_graph_create(device, &made, &error));
  std::vector<rawhal_dispatch_t> dispatches = stores(out, 4);
  dispatches[0].label = "a";
  dispatches[1].flags = dispatches[2].flags = RAWHAL_DISPATCH_OVERLAP;
  rawhal_graph_node_t first = 77, join = 77;
  ASSERT_OK(rawhal_graph_add_batch(made, dispatches.data(), 4, &first, &error));
  EXPECT_EQ(first, 0u);
  const rawhal_graph_node_t after[] = {2, 0};
  ASSERT_OK(rawhal_graph_add_barrier(made, "join", after, 2, &join, &error));
  EXPECT_EQ(join, 4u);
  const struct {
    rawhal_graph_node_kind_t kind;
    const char *label;
    uint32_t prefix, after_count;
  } is[] = {{RAWHAL_GRAPH_KERNEL, "a", 0, 0},
            {RAWHAL_GRAPH_KERNEL, "", 0, 0},
            {RAWHAL_GRAPH_KERNEL, "", 0, 0},
            {RAWHAL_GRAPH_KERNEL, "", 3, 0},
            {RAWHAL_GRAPH_BARRIER, "join", 0, 2}};
  for (uint32_t i = 0; i < 5; ++i) {
    rawhal_graph_node_info_t info = {};
    info.size = sizeof(info);
    rawhal_graph_node_t got[2] = {9, 9};
    ASSERT_OK(rawhal_graph_node(made, i, &info, got, 2, &error));
    EXPECT_EQ(info.kind, is[i].kind);
    EXPECT_STREQ(info.label, is[i].label);
    EXPECT_EQ(info.prefix, is[i].prefix) << i;
    EXPECT_EQ(info.after_count, is[i].after_count);
    EXPECT_EQ(info.kernel, i < 4 ? dispatches[i].kernel : nullptr);
    EXPECT_EQ(info.work_items[0], i < 4 ? 1u : 0u);
    if (i == 4) {
      EXPECT_EQ(std::vector<rawhal_graph_node_t>(got, got + 2),
                std::vector<rawhal_graph_node_t>(after, after + 2));
    }
  }
  rawhal_graph_node_info_t info = {};
  EXPECT_EQ(rawhal_graph_node(made, 5, &info, nullptr, 0, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_graph_node(nullptr, 0, &info, nullptr, 0, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_graph_destroy(made);
}

// Its launches go on.
TEST_F(Graphs, AnExecMayBeDestroyedWhileItRuns)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  rawhal_graph_exec_t *exec = graph(on, stores(out, 25));
  softgpu_call("softgpu_pause");
  rawhal_ticket_t ticket = 0;
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
  execs.clear();
  rawhal_graph_exec_destroy(exec);
  for (rawhal_executable_t *executable : executables)
    rawhal_executable_destroy(executable);
  executables.clear();
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(download<uint32_t>(out, 25)[24], 25u);
}

TEST_F(Graphs, AFullRingRefusesALaunchWithoutTrace)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  rawhal_graph_exec_t *exec = graph(on, stores(out, 25));
  launch(on, exec); // the next begin at packet 25, so the third would wrap
  softgpu_call("softgpu_pause");
  rawhal_ticket_t second = 0, third = 0, fourth = 0;
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &second, &error));
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &third, &error));
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 0, 0, &fourth, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(fourth, 0u);
  EXPECT_EQ(queue_info(on).last_ticket, third);
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_queue_wait(on, third, RAWHAL_FOREVER, &error));
  for (int i = 0; i < 50; ++i) // through every place of both rings
    launch(on, exec);
  std::vector<uint32_t> got = download<uint32_t>(out, 25);
  for (uint32_t i = 0; i < 25; ++i)
    EXPECT_EQ(got[i], i + 1);
}

} // namespace
