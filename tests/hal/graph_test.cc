// Graphs of kernels: what a launch does is what a submission of the same dispatches does.
#include "device_test.h"
#include "tests/graph_of.h"
#include "tests/instructions.h"
#include "tests/values.h"

#include <atomic>
#include <thread>

#include <dlfcn.h>

namespace {

class Graphs : public DeviceTest {
protected:
  void TearDown() override
  {
    for (rawhal_graph_exec_t *exec : execs)
      rawhal_graph_exec_destroy(exec);
    DeviceTest::TearDown();
  }

  rawhal_graph_exec_t *graph(rawhal_queue_t *on, const std::vector<rawhal_dispatch_t> &dispatches)
  {
    rawhal_graph_exec_t *made = nullptr;
    EXPECT_OK(graph_of(device, on, dispatches.data(), dispatches.size(), &made, &error));
    execs.push_back(made);
    return made;
  }

  // One work-item of write_ids(out, width, height, bias) for each of `count` words: word i = i + 1.
  std::vector<rawhal_dispatch_t> stores(rawhal_buffer_t *out, uint32_t count)
  {
    const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    blobs.assign(count, Blob());
    std::vector<rawhal_dispatch_t> dispatches;
    for (uint32_t i = 0; i < count; ++i) {
      blobs[i].add(rawhal_buffer_address(out) + 4 * i).add(1u).add(1u).add(i + 1);
      dispatches.push_back(dispatch_of(ids, 1, 1, blobs[i]));
    }
    return dispatches;
  }

  template <typename T>
  static rawhal_graph_binding_t argument(rawhal_graph_node_t node, uint32_t index, const T *value)
  {
    return {RAWHAL_GRAPH_ARGUMENT, node, index, sizeof(T), value};
  }
  static rawhal_graph_binding_t blob_of(rawhal_graph_node_t node, const Blob &blob)
  {
    return {RAWHAL_GRAPH_BLOB, node, 0, static_cast<uint32_t>(blob.bytes.size()),
            blob.bytes.data()};
  }

  void launch(rawhal_queue_t *on, const rawhal_graph_exec_t *exec,
              const std::vector<rawhal_graph_binding_t> &bindings = {})
  {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_graph_launch(on, exec, bindings.data(), bindings.size(), RAWHAL_FOREVER,
                                  &ticket, &error));
    ASSERT_NE(ticket, 0u);
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
  }

  std::vector<rawhal_graph_exec_t *> execs;
  std::vector<Blob> blobs;
};

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

TEST_F(Graphs, OneNodeTakesABlobOfEachLaunchesOwn)
{
  constexpr uint32_t count = 500;
  rawhal_buffer_t *out = buffer(count * 4);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  rawhal_graph_exec_t *exec = graph(on, {stores(out, 1)});
  std::vector<rawhal_dispatch_t> all = stores(out, count);
  rawhal_ticket_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<char> blob(blobs[i].bytes); // read during the call only
    ASSERT_OK(rawhal_graph_launch_blob(on, exec, blob.data(), blob.size(), RAWHAL_FOREVER, &last,
                                       &error));
    std::fill(blob.begin(), blob.end(), 0x55);
  }
  EXPECT_EQ(count, last);
  ASSERT_OK(rawhal_queue_wait(on, last, rawhal_deadline_after(20000 * millisecond), &error));
  std::vector<uint32_t> got = download<uint32_t>(out, count);
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(i + 1, got[i]);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, count * 4, &error));
  launch(on, exec); // which has its own as before
  got = download<uint32_t>(out, 2);
  EXPECT_EQ(1u, got[0]);
  EXPECT_EQ(0u, got[1]);
}

TEST_F(Graphs, ManyThreadsLaunchWithBlobsOfTheirOwn)
{
  constexpr uint32_t threads = 4, each = 200;
  rawhal_buffer_t *out = buffer(threads * each * 4);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  const std::vector<rawhal_dispatch_t> all = stores(out, threads * each);
  const rawhal_graph_exec_t *exec = graph(on, {all[0]});
  std::vector<std::thread> running;
  std::atomic<uint32_t> failed{0};
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      rawhal_error_t why;
      for (uint32_t i = t * each; i < (t + 1) * each; ++i)
        failed += rawhal_graph_launch_blob(on, exec, all[i].blob, all[i].blob_size, RAWHAL_FOREVER,
                                           nullptr, &why) != RAWHAL_OK;
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_EQ(0u, failed);
  const rawhal_ticket_t last = queue_info(on).last_ticket;
  EXPECT_EQ(threads * each, last);
  ASSERT_OK(rawhal_queue_wait(on, last, rawhal_deadline_after(20000 * millisecond), &error));
  const std::vector<uint32_t> got = download<uint32_t>(out, threads * each);
  for (uint32_t i = 0; i < threads * each; ++i)
    ASSERT_EQ(i + 1, got[i]);
}

// Whatever of a blob a submission takes: rounded up, longer than it need be, or with hidden arguments in it.
TEST_F(Graphs, ABlobsLaunchIsItsSubmission)
{
  constexpr uint32_t words = 64;
  const rawhal_device_kernel_t *dump = kernel("dump_implicit-gfx90a-v5.co", "dump_implicit");
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(dump)->layout;
  const size_t whole = rawhal_kernarg_layout_info(layout)->effective_size;
  ASSERT_EQ(16u + 256, whole);
  rawhal_buffer_t *out = buffer(words * 4);
  rawhal_queue_t *on = queue();
  const struct {
    size_t size;
    uint32_t flags;
  } rows[] = {{12, 0},
              {16, 0},
              {16, RAWHAL_DISPATCH_KEEP_HIDDEN},
              {24, RAWHAL_DISPATCH_KEEP_HIDDEN},
              {100, 0},
              {100, RAWHAL_DISPATCH_KEEP_HIDDEN},
              {whole, 0},
              {whole, RAWHAL_DISPATCH_KEEP_HIDDEN},
              {whole + 300, RAWHAL_DISPATCH_CLAMP},
              {whole + 300, RAWHAL_DISPATCH_CLAMP | RAWHAL_DISPATCH_KEEP_HIDDEN}};
  for (const auto &row : rows) {
    Blob blob, zeros;
    blob.add(rawhal_buffer_address(out)).add(words);
    zeros.add(rawhal_buffer_address(out)).add(words);
    for (uint32_t i = 0; blob.bytes.size() < whole + 300; ++i) {
      blob.add(i * 0x01010101u + 0x80);
      zeros.add(0u);
    }
    rawhal_dispatch_t dispatch = dispatch_of(dump, 100, 64, blob);
    dispatch.blob_size = row.size;
    dispatch.flags = row.flags;
    ASSERT_OK(run(on, dispatch));
    const std::vector<uint32_t> submitted = download<uint32_t>(out, words);
    dispatch.blob = zeros.bytes.data();
    ASSERT_OK(run(on, dispatch));
    const std::vector<uint32_t> others = download<uint32_t>(out, words);
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
    rawhal_graph_exec_t *exec = graph(on, {dispatch});
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_graph_launch_blob(on, exec, blob.bytes.data(), row.size, RAWHAL_FOREVER,
                                       &ticket, &error));
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    const std::vector<uint32_t> launched = download<uint32_t>(out, words);
    // Without KEEP_HIDDEN what lies between hidden arguments is not the caller's to give.
    uint32_t compared = 0;
    for (uint32_t i = 0; i < words; ++i) {
      if (!(row.flags & RAWHAL_DISPATCH_KEEP_HIDDEN) && submitted[i] != others[i])
        continue;
      EXPECT_EQ(submitted[i], launched[i]) << row.size << " " << row.flags << ": word " << i;
      ++compared;
    }
    EXPECT_GT(compared, 10u);
  }
}

TEST_F(Graphs, ABlobIsForWhatWasMadeWithOneOfThatSize)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> two = stores(out, 2);
  rawhal_graph_exec_t *one = graph(on, {two[0]}), *both = graph(on, two);
  const uint64_t address = rawhal_buffer_address(out);
  const uint32_t word = 1;
  const void *pointers[] = {&address, &word, &word, &word};
  rawhal_dispatch_t pointed = two[0];
  pointed.blob = nullptr;
  pointed.blob_size = 0;
  pointed.arguments = pointers;
  pointed.argument_count = 4;
  rawhal_graph_exec_t *by_pointers = graph(on, {pointed});
  const std::vector<char> &blob = blobs[0].bytes;
  const struct {
    rawhal_queue_t *queue;
    rawhal_graph_exec_t *exec;
    const void *blob;
    size_t size;
    const char *why;
  } rows[] = {
      {nullptr, one, blob.data(), blob.size(), "queue is NULL"},
      {on, nullptr, blob.data(), blob.size(), "exec is NULL"},
      {on, one, nullptr, blob.size(), "blob is NULL"},
      {on, one, blob.data(), blob.size() - 1, "a blob of 19 bytes, the node was made with 20"},
      {on, one, blob.data(), SIZE_MAX, "the node was made with 20"},
      {on, both, blob.data(), blob.size(), "of one kernel node, not of 2 nodes"},
      {on, by_pointers, blob.data(), blob.size(), "array of arguments"}};
  for (const auto &row : rows) {
    rawhal_ticket_t ticket = 9;
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_graph_launch_blob(row.queue, row.exec, row.blob,
                                                                row.size, 0, &ticket, &error));
    EXPECT_NE(nullptr, strstr(error.message, row.why)) << error.message;
    EXPECT_EQ(0u, ticket);
  }
  EXPECT_EQ(0u, queue_info(on).last_ticket);
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

#ifdef RAWHAL_COUNTS_INSTRUCTIONS
#ifdef NDEBUG
constexpr bool is_release = true;
#else
constexpr bool is_release = false;
#endif

class GraphCost : public Graphs {
protected:
  // Of the second launch, by when functions of the runtime have been found.
  template <typename Launch> size_t cost(rawhal_queue_t *on, Launch launch)
  {
    size_t counted = 0;
    for (int i = 0; i < 2; ++i) {
      rawhal_ticket_t ticket = 0;
      rawhal_status_t status = RAWHAL_OK;
      counted = instructions::count([&] { status = launch(&ticket); });
      EXPECT_OK(status);
      EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    }
    return counted;
  }
  size_t cost(rawhal_queue_t *on, const rawhal_graph_exec_t *exec,
              const std::vector<rawhal_graph_binding_t> &bindings = {})
  {
    const rawhal_graph_binding_t *const all = bindings.data();
    const size_t count = bindings.size();
    rawhal_error_t *const why = &error;
    return cost(on, [=](rawhal_ticket_t *ticket) {
      return rawhal_graph_launch_sized(on, exec, all, sizeof(*all), count, 0, ticket, why);
    });
  }
};

// What recordings took before graphs took their place, between launches of 40 dispatches and of 20: 70.0 each with 28 bytes
// of arguments, 123.0 with hidden ones; and with a blob 483 and 535 for one. Of a release build.
TEST_F(GraphCost, IsThatOfRecordings)
{
  constexpr uint32_t some = 20;
  const double slack = is_release ? 1 : 4;
  const struct {
    const char *fixture;
    double each, blob;
  } rows[] = {{"vector_add-gfx90a-v4.co", 70, 483}, {"vector_add-gfx90a-v5.co", 123, 535}};
  Blob blob;
  for (int i = 0; i < 7; ++i)
    blob.add(0u);
  rawhal_queue_t *on = queue(), *away = queue();
  for (const auto &row : rows) {
    const rawhal_dispatch_t one = dispatch_of(kernel(row.fixture, "vector_add"), 1, 1, blob);
    const rawhal_graph_exec_t *single = graph(on, {one}),
                              *few = graph(on, std::vector<rawhal_dispatch_t>(some, one)),
                              *more = graph(on, std::vector<rawhal_dispatch_t>(2 * some, one));
    const void *const bytes = blob.bytes.data();
    const size_t size = blob.bytes.size(), of_few = cost(on, few), of_more = cost(on, more);
    rawhal_error_t *const why = &error;
    size_t of_blob = 0;
    for (int i = 0; i < 2;
         ++i) { // as it was counted for recordings: for code that is not optimised this counts
      rawhal_ticket_t ticket = 0;
      rawhal_status_t status = RAWHAL_OK;
      of_blob = instructions::count(
          [&] { status = rawhal_graph_launch_blob(on, single, bytes, size, 0, &ticket, why); });
      EXPECT_OK(status);
      EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), why));
    }
    const double each = static_cast<double>(of_more - of_few) / some;
    const uint32_t word = 0;
    const uint64_t address = 0;
    std::vector<rawhal_graph_binding_t> all;
    for (uint32_t i = 0; i < 2 * some; ++i)
      all.push_back(i % 2 ? argument(i, 3, &word) : argument(i, 1, &address));
    const size_t bound = cost(on, more, all);
    all.resize(some);
    const double binding = static_cast<double>(bound - cost(on, more, all)) / some;
    const double elsewhere = static_cast<double>(cost(away, more) - cost(away, few)) / some - each;
    printf(
        "%s: %.1f instructions per dispatch, %zu for one with a blob, %.1f per binding, %.1f more "
        "per dispatch on another queue\n",
        row.fixture, each, of_blob, binding, elsewhere);
    EXPECT_LE(each, row.each * slack);
    EXPECT_LE(static_cast<double>(of_blob), row.blob * slack);
    EXPECT_LE(binding, 40 * slack);
  }
}
#endif

} // namespace
