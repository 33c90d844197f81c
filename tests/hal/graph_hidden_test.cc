// Hidden arguments of graphs, and grids, which some of them tell: those of a submission.
#include "graphs.h"

namespace {

TEST_F(Graphs, HiddenArgumentsAreThoseOfASubmission)
{
  constexpr uint32_t words = 64; // the 256 bytes of the V5 block
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  rawhal_buffer_t *out = buffer(words * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(words);
  rawhal_dispatch_t dispatch = dispatch_of(dump, 100, 64, blob);
  dispatch.global_offset[0] = 7;
  rawhal_queue_t *on = queue();
  ASSERT_OK(run(on, dispatch));
  std::vector<uint32_t> submitted = download<uint32_t>(out, words);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
  launch(on, graph(on, {dispatch}));
  EXPECT_EQ(download<uint32_t>(out, words), submitted);
  EXPECT_EQ(submitted[0], 1u);        // hidden_block_count_x: 100 / 64
  EXPECT_EQ(submitted[4] >> 16, 36u); // hidden_remainder_x, byte 18: 100 % 64
  EXPECT_EQ(submitted[10], 7u);       // hidden_global_offset_x, byte 40
}

// Offsets of AMDGPUUsage, "Code Object V5 Metadata", hidden arguments, from the block's start.
TEST_F(Graphs, HiddenArgumentsPointToTheQueuesServices)
{
  constexpr uint32_t words = 64;
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  rawhal_buffer_t *out = buffer(words * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(words);
  rawhal_queue_services_t services = {};
  rawhal_queue_options_t options = {};
  options.services = &services;
  services.hostcall_buffer = 0x1111222233334444;
  services.multigrid_sync = 0x5555666677778888;
  services.heap = 0x99990000AAAA1111;
  services.default_queue = 0xBBBB2222CCCC3333;
  services.completion_action = 0xDDDD4444EEEE5555;
  rawhal_queue_t *on = queue(options);
  uint64_t own = reinterpret_cast<uintptr_t>(queue_info(on).hsa_queue);
  rawhal_dispatch_t dispatch = dispatch_of(dump, 64, 64, blob);
  for (bool launched : {false, true}) {
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
    if (launched)
      launch(on, graph(on, {dispatch}));
    else
      ASSERT_OK(run(on, dispatch));
    std::vector<uint64_t> got = download<uint64_t>(out, words / 2);
    EXPECT_EQ(got[80 / 8], services.hostcall_buffer);
    EXPECT_EQ(got[88 / 8], services.multigrid_sync);
    EXPECT_EQ(got[96 / 8], services.heap);
    EXPECT_EQ(got[104 / 8], services.default_queue);
    EXPECT_EQ(got[112 / 8], services.completion_action);
    EXPECT_EQ(got[200 / 8], own); // hidden_queue_ptr
  }
}

// The same exec on queues with services of their own; with and without one that it was made for.
TEST_F(Graphs, HiddenArgumentsAreThoseOfTheQueueThatLaunches)
{
  constexpr uint32_t words = 64;
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  rawhal_buffer_t *out = buffer(words * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(words);
  const rawhal_dispatch_t dispatch = dispatch_of(dump, 100, 64, blob);
  rawhal_queue_services_t services[2] = {};
  std::vector<rawhal_queue_t *> on;
  for (rawhal_queue_services_t &each : services) {
    rawhal_queue_options_t options = {};
    options.services = &each;
    const uint64_t base = on.empty() ? 0x1000 : 0x2000000000;
    each.hostcall_buffer = base + 1;
    each.multigrid_sync = base + 2;
    each.heap = base + 3;
    each.default_queue = base + 4;
    each.completion_action = base + 5;
    on.push_back(queue(options));
  }
  for (rawhal_queue_t *home : {on[0], on[1], static_cast<rawhal_queue_t *>(nullptr)}) {
    rawhal_graph_exec_t *exec = graph(home, {dispatch, dispatch});
    for (rawhal_queue_t *each : {on[0], on[1], on[0]}) {
      ASSERT_OK(run(each, dispatch));
      const std::vector<uint32_t> submitted = download<uint32_t>(out, words);
      ASSERT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
      launch(each, exec);
      EXPECT_EQ(download<uint32_t>(out, words), submitted);
    }
  }
}

// What a dispatch of that grid has, hidden arguments included, on the queue that launches.
TEST_F(Graphs, AGridIsThatOfTheLaunch)
{
  constexpr uint32_t words = 64;
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  rawhal_buffer_t *out = buffer(words * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(words);
  rawhal_dispatch_t dispatch = dispatch_of(dump, 100, 64, blob),
                    other = dispatch_of(dump, 70, 32, blob);
  other.global_offset[0] = 9;
  other.dynamic_lds = 256;
  const rawhal_graph_grid_t grid = {{70, 1, 1}, {32, 1, 1}, 0, 256, 0, {9, 0, 0}};
  const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_GRID, 0, 0, sizeof(grid), &grid};
  rawhal_queue_t *home = queue(), *away = queue();
  rawhal_graph_exec_t *exec = graph(home, {dispatch});
  const auto words_of = [&](auto run_it) { // what it does not write is 0
    EXPECT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
    run_it();
    return download<uint32_t>(out, words);
  };
  for (rawhal_queue_t *on : {home, away}) {
    const std::vector<uint32_t> as_made = words_of([&] { ASSERT_OK(run(on, dispatch)); });
    const std::vector<uint32_t> as_bound = words_of([&] { ASSERT_OK(run(on, other)); });
    ASSERT_NE(as_made, as_bound);
    EXPECT_EQ(words_of([&] { launch(on, exec, {binding}); }), as_bound);
    EXPECT_EQ(words_of([&] { launch(on, exec); }), as_made);
  }
  ASSERT_OK(rawhal_graph_exec_bind(exec, &binding, 1, &error));
  for (rawhal_queue_t *on : {home, away}) {
    const std::vector<uint32_t> as_bound = words_of([&] { ASSERT_OK(run(on, other)); });
    EXPECT_EQ(words_of([&] { launch(on, exec); }), as_bound);
  }
}

// A kernel has left the grid of the next launch in host memory.
TEST_F(Graphs, AGridIsReadFromMemoryWhenItIsLaunched)
{
  constexpr uint32_t words = 64;
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  rawhal_buffer_t *out = buffer(words * 4), *counts = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *groups = static_cast<uint32_t *>(rawhal_buffer_host(counts));
  rawhal_queue_t *on = queue();
  for (rawhal_dispatch_t one : stores(counts, 3)) // 1, 2 and 3 work-groups
    ASSERT_OK(run(on, one));
  ASSERT_EQ(std::vector<uint32_t>(groups, groups + 3), (std::vector<uint32_t>{1, 2, 3}));
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(words);
  rawhal_graph_exec_t *exec = graph(on, {dispatch_of(dump, 100, 64, blob)});
  const rawhal_graph_binding_t binding = {RAWHAL_GRAPH_INDIRECT, 0, 0, 12, groups};
  launch(on, exec, {binding});
  std::vector<uint32_t> got = download<uint32_t>(out, words);
  EXPECT_EQ((std::vector<uint32_t>{got[0], got[1], got[2]}),
            (std::vector<uint32_t>{1, 2, 3})); // hidden_block_count
  groups[2] = 5;
  launch(on, exec, {binding});
  EXPECT_EQ(download<uint32_t>(out, words)[2], 5u);
  launch(on, exec);
  got = download<uint32_t>(out, words);
  EXPECT_EQ(got[1], 1u) << "as it was made";
  EXPECT_EQ(got[4] >> 16, 36u) << "100 % 64";

  const uint64_t last = queue_info(on).last_ticket;
  const struct {
    uint32_t groups[3];
    rawhal_status_t status;
    const char *why;
  } wrong[] = {{{0, 1, 1}, RAWHAL_INVALID_ARGUMENT, "binding 0, node 0"},
               {{1u << 26, 1, 1}, RAWHAL_OUT_OF_RANGE, "67108864 work-groups x, of 64 work-items"}};
  for (const auto &row : wrong) {
    memcpy(groups, row.groups, sizeof(row.groups));
    EXPECT_EQ(rawhal_graph_launch(on, exec, &binding, 1, 0, nullptr, &error), row.status);
    EXPECT_NE(std::string(error.message).find(row.why), std::string::npos) << error.message;
  }
  groups[0] = 1;
  rawhal_graph_binding_t cut = binding;
  cut.bytes = 8;
  EXPECT_EQ(rawhal_graph_launch(on, exec, &cut, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  cut = binding;
  cut.value = reinterpret_cast<const char *>(groups) + 2;
  EXPECT_EQ(rawhal_graph_launch(on, exec, &cut, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  const std::vector<rawhal_graph_binding_t> many(RAWHAL_GRAPH_MAX_INDIRECT + 1, binding);
  EXPECT_EQ(rawhal_graph_launch(on, exec, many.data(), many.size(), 0, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(queue_info(on).last_ticket, last) << "none of them left a trace";
  launch(on, exec, {many.begin(), many.end() - 1});
}

} // namespace
