// Recordings: what a replay does is what a submission of the same dispatches does.
#include "device_test.h"
#include "tests/values.h"

#include <atomic>
#include <thread>

#include <dlfcn.h>

namespace {

class Recording : public DeviceTest {
protected:
  void TearDown() override
  {
    for (rawhal_recording_t *recording : recordings)
      rawhal_recording_destroy(recording);
    DeviceTest::TearDown();
  }

  rawhal_recording_t *record(rawhal_queue_t *on, const std::vector<rawhal_dispatch_t> &dispatches)
  {
    rawhal_recording_t *made = nullptr;
    EXPECT_OK(rawhal_recording_create(on, dispatches.data(), dispatches.size(), &made, &error));
    recordings.push_back(made);
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

  void replay(rawhal_queue_t *on, const rawhal_recording_t *recording)
  {
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_replay(on, recording, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_NE(ticket, 0u);
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
  }

  std::vector<rawhal_recording_t *> recordings;
  std::vector<Blob> blobs;
};

TEST_F(Recording, AThousandDispatchesAgainAndAgain)
{
  constexpr uint32_t count = 1000;
  rawhal_buffer_t *out = buffer(count * 4);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> dispatches = stores(out, count);
  rawhal_recording_t *recording = record(on, dispatches);
  blobs.clear(); // the recording has its own
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, count * 4, &error));
    replay(on, recording);
    std::vector<uint32_t> got = download<uint32_t>(out, count);
    for (uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(got[i], i + 1) << "round " << round;
  }
  EXPECT_EQ(queue_info(on).last_ticket, 5u);
}

TEST_F(Recording, HiddenArgumentsAreThoseOfASubmission)
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
  replay(on, record(on, {dispatch}));
  EXPECT_EQ(download<uint32_t>(out, words), submitted);
  EXPECT_EQ(submitted[0], 1u);        // hidden_block_count_x: 100 / 64
  EXPECT_EQ(submitted[4] >> 16, 36u); // hidden_remainder_x, byte 18: 100 % 64
  EXPECT_EQ(submitted[10], 7u);       // hidden_global_offset_x, byte 40
}

// Offsets of AMDGPUUsage, "Code Object V5 Metadata", hidden arguments, from the block's start.
TEST_F(Recording, HiddenArgumentsPointToTheQueuesServices)
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
  for (bool recorded : {false, true}) {
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, words * 4, &error));
    if (recorded)
      replay(on, record(on, {dispatch}));
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

TEST_F(Recording, ArgumentsChangeBetweenReplays)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  rawhal_recording_t *recording = record(on, stores(out, 3));
  for (uint32_t bias = 100; bias < 103; ++bias) {
    ASSERT_OK(rawhal_recording_set(recording, 1, 3, &bias, sizeof(bias), &error));
    replay(on, recording);
    EXPECT_EQ(download<uint32_t>(out, 3), (std::vector<uint32_t>{1, bias, 3}));
  }
  uint32_t value = 0;
  EXPECT_EQ(rawhal_recording_set(recording, 3, 3, &value, 4, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_recording_set(recording, 0, 99, &value, 4, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_recording_set(recording, 0, 3, &value, 8, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recording_set(recording, 0, 4, &value, 4, &error), RAWHAL_INVALID_ARGUMENT)
      << "a hidden argument is the launch's";
  EXPECT_EQ(rawhal_recording_set(nullptr, 0, 3, &value, 4, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Recording, OneDispatchTakesABlobOfEachReplaysOwn)
{
  constexpr uint32_t count = 500;
  rawhal_buffer_t *out = buffer(count * 4);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  rawhal_recording_t *recording = record(on, {stores(out, 1)});
  std::vector<rawhal_dispatch_t> all = stores(out, count);
  rawhal_ticket_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<char> blob(blobs[i].bytes); // read during the call only
    ASSERT_OK(rawhal_queue_replay_blob(on, recording, blob.data(), blob.size(), RAWHAL_FOREVER,
                                       &last, &error));
    std::fill(blob.begin(), blob.end(), 0x55);
  }
  EXPECT_EQ(count, last);
  ASSERT_OK(rawhal_queue_wait(on, last, rawhal_deadline_after(20000 * millisecond), &error));
  std::vector<uint32_t> got = download<uint32_t>(out, count);
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(i + 1, got[i]);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, count * 4, &error));
  replay(on, recording); // which has its own as before
  got = download<uint32_t>(out, 2);
  EXPECT_EQ(1u, got[0]);
  EXPECT_EQ(0u, got[1]);
}

TEST_F(Recording, ManyThreadsReplayWithBlobsOfTheirOwn)
{
  constexpr uint32_t threads = 4, each = 200;
  rawhal_buffer_t *out = buffer(threads * each * 4);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  const std::vector<rawhal_dispatch_t> all = stores(out, threads * each);
  const rawhal_recording_t *recording = record(on, {all[0]});
  std::vector<std::thread> running;
  std::atomic<uint32_t> failed{0};
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      rawhal_error_t why;
      for (uint32_t i = t * each; i < (t + 1) * each; ++i)
        failed += rawhal_queue_replay_blob(on, recording, all[i].blob, all[i].blob_size,
                                           RAWHAL_FOREVER, nullptr, &why) != RAWHAL_OK;
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
TEST_F(Recording, ABlobsReplayIsItsSubmission)
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
    rawhal_recording_t *recording = record(on, {dispatch});
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_replay_blob(on, recording, blob.bytes.data(), row.size, RAWHAL_FOREVER,
                                       &ticket, &error));
    ASSERT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    const std::vector<uint32_t> replayed = download<uint32_t>(out, words);
    // Without KEEP_HIDDEN what lies between hidden arguments is not the caller's to give.
    uint32_t compared = 0;
    for (uint32_t i = 0; i < words; ++i) {
      if (!(row.flags & RAWHAL_DISPATCH_KEEP_HIDDEN) && submitted[i] != others[i])
        continue;
      EXPECT_EQ(submitted[i], replayed[i]) << row.size << " " << row.flags << ": word " << i;
      ++compared;
    }
    EXPECT_GT(compared, 10u);
  }
}

TEST_F(Recording, ABlobIsForWhatWasRecordedWithOneOfThatSize)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> two = stores(out, 2);
  rawhal_recording_t *one = record(on, {two[0]}), *both = record(on, two);
  const uint64_t address = rawhal_buffer_address(out);
  const uint32_t word = 1;
  const void *pointers[] = {&address, &word, &word, &word};
  rawhal_dispatch_t pointed = two[0];
  pointed.blob = nullptr;
  pointed.blob_size = 0;
  pointed.arguments = pointers;
  pointed.argument_count = 4;
  rawhal_recording_t *by_pointers = record(on, {pointed});
  const std::vector<char> &blob = blobs[0].bytes;
  const struct {
    rawhal_queue_t *queue;
    rawhal_recording_t *recording;
    const void *blob;
    size_t size;
    const char *why;
  } rows[] = {{nullptr, one, blob.data(), blob.size(), "queue is NULL"},
              {on, nullptr, blob.data(), blob.size(), "recording is NULL"},
              {on, one, nullptr, blob.size(), "blob is NULL"},
              {on, one, blob.data(), blob.size() - 1,
               "a blob of 19 bytes, the dispatch was recorded with 20"},
              {on, one, blob.data(), SIZE_MAX, "the dispatch was recorded with 20"},
              {on, both, blob.data(), blob.size(), "of one dispatch, not of 2"},
              {on, by_pointers, blob.data(), blob.size(), "array of arguments"},
              {queue(), one, blob.data(), blob.size(), "another queue"}};
  for (const auto &row : rows) {
    rawhal_ticket_t ticket = 9;
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_queue_replay_blob(row.queue, row.recording, row.blob,
                                                                row.size, 0, &ticket, &error));
    EXPECT_NE(nullptr, strstr(error.message, row.why)) << error.message;
    EXPECT_EQ(0u, ticket);
  }
  EXPECT_EQ(0u, queue_info(on).last_ticket);
}

TEST_F(Recording, RefusesWhatASubmissionRefuses)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> dispatches = stores(out, 2);
  rawhal_recording_t *recording = nullptr;
  dispatches[1].blob_size = 19;
  EXPECT_EQ(rawhal_recording_create(on, dispatches.data(), 2, &recording, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(recording, nullptr);
  std::string recorded = error.message;
  EXPECT_EQ(rawhal_queue_submit(on, dispatches.data(), 2, 0, nullptr, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(recorded, error.message);
  EXPECT_EQ(rawhal_recording_create(on, nullptr, 2, &recording, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recording_create(on, dispatches.data(), 0, &recording, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recording_create(nullptr, dispatches.data(), 1, &recording, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recording_create(on, dispatches.data(), 1, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  rawhal_recording_t *good = record(on, {dispatches[0]});
  rawhal_ticket_t ticket = 9;
  EXPECT_EQ(rawhal_queue_replay(queue(), good, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(rawhal_queue_replay(on, nullptr, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_recording_destroy(nullptr);
}

TEST_F(Recording, AFullRingRefusesAReplayWithoutTrace)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  rawhal_queue_t *on = queue(sizes);
  rawhal_recording_t *recording = record(on, stores(out, 25));
  replay(on, recording); // the next begin at packet 25, so the third would wrap
  softgpu_call("softgpu_pause");
  rawhal_ticket_t second = 0, third = 0, fourth = 0;
  EXPECT_OK(rawhal_queue_replay(on, recording, 0, &second, &error));
  EXPECT_OK(rawhal_queue_replay(on, recording, 0, &third, &error));
  EXPECT_EQ(rawhal_queue_replay(on, recording, 0, &fourth, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(fourth, 0u);
  EXPECT_EQ(queue_info(on).last_ticket, third);
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_queue_wait(on, third, RAWHAL_FOREVER, &error));
  for (int i = 0; i < 50; ++i) // through every place of both rings
    replay(on, recording);
  std::vector<uint32_t> got = download<uint32_t>(out, 25);
  for (uint32_t i = 0; i < 25; ++i)
    EXPECT_EQ(got[i], i + 1);
}

} // namespace
