// Rings that wrap, back-pressure, several threads, refusals.
#include "device_test.h"
#include "tests/values.h"

#include <dlfcn.h>
#include <numeric>
#include <thread>

namespace {

class Submission : public DeviceTest {
protected:
  // softgpu's packet processors stand still between pause() and resume().
  void pause()
  {
    call("softgpu_pause");
    paused = true;
  }
  void resume()
  {
    call("softgpu_resume");
    paused = false;
  }
  void TearDown() override
  {
    if (paused)
      resume();
    DeviceTest::TearDown();
  }

  // A dispatch of write_ids that stores `value` to out[index].
  rawhal_dispatch_t store(rawhal_buffer_t *out, uint64_t index, uint32_t value, Blob &blob)
  {
    if (!ids)
      ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    blob.bytes.clear();
    blob.add(rawhal_buffer_address(out) + 4 * index).add(1u).add(1u).add(value);
    return dispatch_of(ids, 1, 1, blob);
  }

  static rawhal_queue_options_t small(uint32_t packets, uint32_t submissions)
  {
    rawhal_queue_options_t options = {};
    options.packets = packets;
    options.submissions = submissions;
    options.kernarg_bytes = packets * 320; // five blocks: what write_ids takes
    return options;
  }

  const rawhal_device_kernel_t *ids = nullptr;

private:
  bool paused = false;

  void call(const char *name)
  {
    auto function = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, name));
    ASSERT_NE(function, nullptr);
    function();
  }
};

TEST_F(Submission, SizesAreRounded)
{
  rawhal_queue_options_t options = small(65, 3);
  options.kernarg_bytes = 1;
  rawhal_queue_info_t info = queue_info(queue(options));
  EXPECT_EQ(info.packets, 128u);
  EXPECT_EQ(info.submissions, 4u);
  EXPECT_EQ(info.kernarg_bytes, 128u * 128u);
  EXPECT_EQ(info.last_ticket, 0u);
  EXPECT_EQ(info.status, RAWHAL_OK);
  EXPECT_NE(info.hsa_queue, nullptr);
  info = queue_info(queue());
  EXPECT_EQ(info.packets, 1024u);
  EXPECT_EQ(info.submissions, 256u);
  EXPECT_EQ(info.kernarg_bytes, 1u << 20);
}

TEST_F(Submission, RingsWrapManyTimes)
{
  constexpr uint32_t count = 5000;
  rawhal_queue_t *on = queue(small(64, 16));
  rawhal_buffer_t *out = buffer(count * 4);
  Blob blob;
  rawhal_ticket_t ticket = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rawhal_dispatch_t dispatch = store(out, i, i ^ 0x5A5A, blob);
    ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
    ASSERT_EQ(ticket, i + 1u);
  }
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  ASSERT_OK(rawhal_queue_wait(on, 1, 0, &error)); // long gone, still known
  EXPECT_EQ(queue_info(on).finished, count);
  std::vector<uint32_t> got = download<uint32_t>(out, count);
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(got[i], i ^ 0x5A5A) << i;
}

TEST_F(Submission, BatchesOfEverySizeOverASmallRing)
{
  rawhal_queue_t *on = queue(small(64, 8));
  rawhal_buffer_t *out = buffer(64 * 65 / 2 * 4);
  uint32_t next = 0;
  rawhal_ticket_t ticket = 0;
  for (uint32_t size = 1; size <= 64; ++size) {
    std::vector<Blob> blobs(size);
    std::vector<rawhal_dispatch_t> batch;
    for (uint32_t i = 0; i < size; ++i, ++next)
      batch.push_back(store(out, next, next * 3 + 1, blobs[i]));
    for (rawhal_dispatch_t &dispatch : batch) // every third batch may overlap
      dispatch.flags = size % 3 == 0 ? RAWHAL_DISPATCH_OVERLAP : 0;
    ASSERT_OK(rawhal_queue_submit(on, batch.data(), size, RAWHAL_FOREVER, &ticket, &error));
  }
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  std::vector<uint32_t> got = download<uint32_t>(out, next);
  for (uint32_t i = 0; i < next; ++i)
    ASSERT_EQ(got[i], i * 3 + 1) << i;
}

TEST_F(Submission, ArgumentsOfEverySizeRunOverTheRingsEnd)
{
  // `layouts` kernels copy their own segment to `out`; the odd sizes move the images through every
  // position of the kernarg ring.
  rawhal_executable_t *executable = load("layouts-gfx90a-v5.co");
  ASSERT_NE(executable, nullptr);
  const rawhal_device_kernel_t *big = nullptr;
  std::string name = "hidden_unaligned";
  ASSERT_OK(rawhal_executable_kernel(executable, {name.data(), name.size()}, 0, &big, &error));
  const rawhal_kernarg_info_t *info =
      rawhal_kernarg_layout_info(rawhal_device_kernel_info(big)->layout);
  ASSERT_GT(info->block_count, 2u);
  rawhal_queue_t *on = queue(small(64, 64));
  rawhal_buffer_t *out = buffer(4096);
  std::vector<char> blob(info->explicit_end);
  uint64_t address = rawhal_buffer_address(out);
  memcpy(blob.data(), &address, sizeof(address));
  Blob nothing;
  for (int i = 0; i < 300; ++i) {
    for (size_t k = 8; k < blob.size(); ++k)
      blob[k] = static_cast<char>(k * 7 + static_cast<size_t>(i));
    rawhal_dispatch_t dispatch = dispatch_of(big, 64, 64, nothing);
    dispatch.blob = blob.data();
    dispatch.blob_size = blob.size();
    ASSERT_OK(run(on, dispatch));
    std::vector<char> seen = download<char>(out, blob.size());
    ASSERT_EQ(seen, blob) << i;
  }
}

TEST_F(Submission, FullRingsRefuseOrTimeOutWithoutTrace)
{
  rawhal_queue_t *on = queue(small(64, 64));
  rawhal_buffer_t *out = buffer(4096);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
  Blob blob;
  rawhal_dispatch_t dispatch = store(out, 0, 1, blob);
  ASSERT_OK(run(on, dispatch));
  pause();
  rawhal_ticket_t ticket = 0, last = 0;
  for (uint32_t i = 0; i < 64; ++i) {
    dispatch = store(out, i, i + 1, blob);
    ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &last, &error));
  }
  dispatch = store(out, 100, 99, blob);
  EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(ticket, 0u);
  uint64_t deadline = rawhal_deadline_after(20 * millisecond);
  EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, deadline, &ticket, &error), RAWHAL_TIMED_OUT);
  EXPECT_GE(rawhal_deadline_after(0), deadline);
  EXPECT_EQ(rawhal_queue_wait(on, last, 0, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(rawhal_queue_wait(on, last, rawhal_deadline_after(10 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  EXPECT_EQ(queue_info(on).last_ticket, last);
  resume();
  ASSERT_OK(rawhal_queue_wait(on, last, RAWHAL_FOREVER, &error));
  std::vector<uint32_t> got = download<uint32_t>(out, 101);
  EXPECT_EQ(got[63], 64u);
  EXPECT_EQ(got[100], 0u);
}

TEST_F(Submission, ABlockedSubmitGoesOnWhenThereIsRoom)
{
  rawhal_queue_t *on = queue(small(64, 4));
  rawhal_buffer_t *out = buffer(4096);
  rawhal_ticket_t ticket = 0;
  Blob blob;
  store(out, 0, 0, blob); // loads the kernel, for which the device must run
  pause();
  for (uint32_t i = 0; i < 4; ++i) {
    rawhal_dispatch_t dispatch = store(out, i, i, blob);
    ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, nullptr, &error));
  }
  std::thread other([&] {
    Blob mine;
    rawhal_error_t its = {};
    rawhal_dispatch_t dispatch = store(out, 5, 55, mine);
    EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &its), RAWHAL_OK)
        << its.message;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  resume();
  other.join();
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(download<uint32_t>(out, 6)[5], 55u);
}

TEST_F(Submission, ThreadsShareAQueue)
{
  constexpr uint32_t threads = 4, each = 1500;
  rawhal_queue_t *on = queue(small(64, 32));
  rawhal_buffer_t *out = buffer(threads * each * 4), *last = buffer(threads * 4);
  Blob blob;
  store(out, 0, 0, blob); // loads the kernel
  std::vector<std::thread> producers;
  for (uint32_t t = 0; t < threads; ++t)
    producers.emplace_back([&, t] {
      rawhal_error_t its = {};
      rawhal_ticket_t ticket = 0, former = 0;
      Blob one, two;
      for (uint32_t i = 0; i < each; ++i) {
        uint32_t id = t * each + i;
        rawhal_dispatch_t pair[2] = {store(out, id, id + 1, one), store(last, t, i, two)};
        ASSERT_EQ(rawhal_queue_submit(on, pair, 2, RAWHAL_FOREVER, &ticket, &its), RAWHAL_OK)
            << its.message;
        ASSERT_GT(ticket, former);
        former = ticket;
        if (i % 100 == t) {
          ASSERT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &its), RAWHAL_OK) << its.message;
        }
      }
      ASSERT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &its), RAWHAL_OK) << its.message;
    });
  for (std::thread &producer : producers)
    producer.join();
  EXPECT_EQ(queue_info(on).last_ticket, uint64_t{threads} * each);
  std::vector<uint32_t> got = download<uint32_t>(out, threads * each), expected(threads * each);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(got, expected);
  EXPECT_EQ(download<uint32_t>(last, threads), std::vector<uint32_t>(threads, each - 1));
}

TEST_F(Submission, WrongDispatchesAreNamedAndLeaveNoTrace)
{
  rawhal_queue_t *on = queue(small(64, 16));
  rawhal_buffer_t *out = buffer(4096);
  Blob blob;
  rawhal_dispatch_t good = store(out, 0, 1, blob);
  const uint32_t max_lds = rawhal_device_info(device)->lds_bytes;
  const struct {
    const char *what;
    void (*spoil)(rawhal_dispatch_t *);
    rawhal_status_t status;
    const char *message;
  } cases[] = {
      {"no kernel", [](rawhal_dispatch_t *d) { d->kernel = nullptr; }, RAWHAL_INVALID_ARGUMENT,
       "kernel is NULL"},
      {"zero grid", [](rawhal_dispatch_t *d) { d->work_items[1] = 0; }, RAWHAL_INVALID_ARGUMENT,
       "grid size y is 0"},
      {"large group", [](rawhal_dispatch_t *d) { d->workgroup[0] = 1025; }, RAWHAL_OUT_OF_RANGE,
       "1025"},
      {"flat group",
       [](rawhal_dispatch_t *d) { d->workgroup[0] = d->workgroup[1] = d->workgroup[2] = 256; },
       RAWHAL_OUT_OF_RANGE, "16777216"},
      {"LDS", [](rawhal_dispatch_t *d) { d->dynamic_lds = 65537; }, RAWHAL_OUT_OF_RANGE, "65536"},
      {"short blob", [](rawhal_dispatch_t *d) { d->blob_size = 19; }, RAWHAL_OUT_OF_RANGE,
       "blob ends at 19"},
      {"NULL blob", [](rawhal_dispatch_t *d) { d->blob = nullptr; }, RAWHAL_INVALID_ARGUMENT,
       "NULL"},
      {"flags", [](rawhal_dispatch_t *d) { d->flags = 1u << 30; }, RAWHAL_INVALID_ARGUMENT,
       "unknown dispatch flags"},
      {"both",
       [](rawhal_dispatch_t *d) {
         static const void *none[4];
         d->arguments = none;
         d->argument_count = 4;
       },
       RAWHAL_INVALID_ARGUMENT, "both"},
      {"pointer count",
       [](rawhal_dispatch_t *d) {
         static const void *none[3];
         d->blob = nullptr;
         d->blob_size = 0;
         d->arguments = none;
         d->argument_count = 3;
       },
       RAWHAL_INVALID_ARGUMENT, "3 arguments given, the kernel has 4"},
  };
  ASSERT_EQ(max_lds, 65536u);
  for (const auto &c : cases) {
    rawhal_dispatch_t batch[2] = {good, good};
    c.spoil(&batch[1]);
    rawhal_ticket_t ticket = 9;
    EXPECT_EQ(rawhal_queue_submit(on, batch, 2, 0, &ticket, &error), c.status) << c.what;
    EXPECT_EQ(ticket, 0u);
    EXPECT_NE(std::string(error.message).find("dispatch 1: "), std::string::npos) << error.message;
    EXPECT_NE(std::string(error.message).find(c.message), std::string::npos) << error.message;
  }
  EXPECT_EQ(rawhal_queue_submit(on, &good, 0, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_submit(on, nullptr, 1, 0, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  std::vector<rawhal_dispatch_t> many(65, good);
  EXPECT_EQ(rawhal_queue_submit(on, many.data(), 65, RAWHAL_FOREVER, nullptr, &error),
            RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
  EXPECT_EQ(rawhal_queue_wait(on, 0, 0, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_wait(on, 1, 0, &error), RAWHAL_INVALID_ARGUMENT);
  ASSERT_OK(run(on, good)); // the queue is as good as new
}

TEST_F(Submission, QueueOptionsOutOfRange)
{
  rawhal_queue_t *made = nullptr;
  rawhal_queue_options_t options = small(UINT32_MAX, 1);
  EXPECT_EQ(rawhal_queue_create(device, &options, &made, &error), RAWHAL_OUT_OF_RANGE);
  options = small(64, 1u << 20);
  EXPECT_EQ(rawhal_queue_create(device, &options, &made, &error), RAWHAL_OUT_OF_RANGE);
  options = small(64, 1);
  options.kernarg_bytes = UINT64_MAX;
  EXPECT_EQ(rawhal_queue_create(device, &options, &made, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_queue_create(nullptr, nullptr, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
}

} // namespace
