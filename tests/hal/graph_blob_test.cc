// Graphs of one node that are launched with blobs.
#include "graphs.h"

#include <atomic>
#include <thread>

namespace {

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

} // namespace
