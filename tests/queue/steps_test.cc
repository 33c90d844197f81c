// What happens between two steps of a queue's life, and what is left when it is over.
#include "steps.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace {

TEST_F(Steps, AQueueGivesBackAllThatItTook)
{
  toy_counts_t before = toy_counts();
  rawhal_queue_t *made = queue();
  toy_counts_t with = toy_counts();
  EXPECT_EQ(with.queues, before.queues + 1);
  EXPECT_GT(with.signals, before.signals + 100);
  EXPECT_EQ(with.pools, before.pools + 1);
  EXPECT_EQ(with.holds, before.holds + 1);
  // An image may run over the ring's end: as much again lies behind it.
  EXPECT_EQ(with.pool_bytes, 2 * queue_info(made).kernarg_bytes);
  Loaded kernel;
  rawhal_ticket_t ticket = submit(made, kernel.dispatch());
  ASSERT_OK(rawhal_queue_on_complete(
      made, ticket, [](void *, rawhal_ticket_t, const rawhal_error_t *) {}, nullptr, &error));
  rawhal_queue_destroy(made);
  toy_counts_t after = toy_counts();
  EXPECT_EQ(after.queues, before.queues);
  EXPECT_EQ(after.signals, before.signals);
  EXPECT_EQ(after.pools, before.pools);
  EXPECT_EQ(after.holds, before.holds);
}

TEST_F(Steps, InstructionsThatNobodyCountsAreUnsupported)
{
  Loaded kernel;
  rawhal_queue_t *on = queue();
  const rawhal_ticket_t ticket = submit(on, kernel.dispatch());
  uint64_t count = 1;
  EXPECT_EQ(rawhal_queue_instructions(on, ticket, &count, &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(count, 0u);
  EXPECT_STREQ(error.message, "the device does not count instructions; softgpu does");
  rawhal_queue_destroy(on);
}

// The caller may change a dispatch while it is submitted, when it is too late to refuse it: its
// packet is taken already. It must not stay invalid, or the device never gets past it.
TEST_F(Steps, ADispatchThatChangesOnTheWayStopsNothing)
{
  Loaded kernel(16, true);
  ASSERT_NE(kernel.loaded, nullptr);
  rawhal_queue_t *on = queue();
  for (size_t changed = 0; changed < 3; ++changed) {
    rawhal_dispatch_t batch[3] = {kernel.dispatch(), kernel.dispatch(), kernel.dispatch()};
    toy_step_in(
        TOY_WRITE_INDEX,
        [](void *context) { static_cast<rawhal_dispatch_t *>(context)->work_items[0] = 70000; },
        &batch[changed]);
    rawhal_ticket_t ticket = 99;
    EXPECT_EQ(rawhal_queue_submit(on, batch, 3, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE);
    EXPECT_EQ(ticket, 0u) << "a ticket for what has failed";
    rawhal_queue_info_t info = queue_info(on);
    EXPECT_EQ(info.finished, info.last_ticket) << "the device stands at dispatch " << changed;
    uint64_t ran[8];
    EXPECT_EQ(toy_kernargs(ran, 8), 2u) << "the other two ran";
    ASSERT_OK(rawhal_queue_wait(on, submit(on, kernel.dispatch()), 0, &error));
    EXPECT_EQ(toy_kernargs(ran, 8), 1u);
  }
  rawhal_queue_destroy(on);
}

// A batch has finished when everything in it has: what may overlap must signal, each for itself, and
// the last that may not signals for all before it.
TEST_F(Steps, WhatMayOverlapSignals)
{
  Loaded kernel;
  rawhal_queue_t *on = queue();
  const uint32_t o = RAWHAL_DISPATCH_OVERLAP;
  const struct {
    std::vector<uint32_t> flags;
    size_t first; // that signals the end; the first of all signals when the batch began
  } cases[] = {{{0}, 0}, {{0, 0, 0}, 2}, {{0, 0, o}, 1}, {{0, o, 0, o, o}, 2}, {{o, o, o}, 0}};
  bool signalled[8];
  toy_signalled(signalled, 8);
  for (bool launched : {false, true})
    for (const auto &one : cases) {
      std::vector<rawhal_dispatch_t> batch(one.flags.size(), kernel.dispatch());
      for (size_t i = 0; i < batch.size(); ++i)
        batch[i].flags = one.flags[i];
      rawhal_ticket_t ticket = 0;
      rawhal_graph_exec_t *exec = nullptr;
      if (launched) {
        ASSERT_OK(toy_graph(on, batch.data(), batch.size(), &exec, &error));
        ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
        rawhal_graph_exec_destroy(exec);
      } else {
        ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), 0, &ticket, &error));
      }
      ASSERT_EQ(toy_signalled(signalled, 8), batch.size());
      for (size_t i = 0; i < batch.size(); ++i)
        EXPECT_EQ(signalled[i], i >= one.first || i == 0) << i << " of " << batch.size();
      EXPECT_OK(rawhal_queue_wait(on, ticket, 0, &error));
    }
  rawhal_queue_destroy(on);
}

TEST_F(Steps, TimesAreThoseOfTheTicket)
{
  rawhal_queue_options_t small = {};
  small.submissions = 2;
  Loaded kernel;
  rawhal_queue_t *on = queue(here, small);
  for (rawhal_ticket_t ticket = 1; ticket <= 5; ++ticket) {
    ASSERT_EQ(submit(on, kernel.dispatch()), ticket);
    uint64_t start, end;
    EXPECT_OK(rawhal_queue_timing(on, ticket, &start, &end, &error));
    if (ticket > 1) {
      EXPECT_OK(rawhal_queue_timing(on, ticket - 1, &start, &end, &error));
    }
    for (rawhal_ticket_t gone = 1; gone + 2 <= ticket; ++gone)
      EXPECT_EQ(rawhal_queue_timing(on, gone, &start, &end, &error), RAWHAL_NOT_FOUND);
  }
  rawhal_queue_destroy(on);
}

// A device may fail at any moment, also when a queue is half gone.
TEST_F(Steps, AQueueThatIsBeingDestroyedDoesNotFailWithItsDevice)
{
  toy_counts_t before = toy_counts();
  Loaded kernel;
  rawhal_queue_t *on = queue(), *other = queue();
  toy_hold(true);
  rawhal_ticket_t never = submit(on, kernel.dispatch());
  struct Heard {
    rawhal_error_t result;
    int calls;
  } heard = {};
  ASSERT_OK(rawhal_queue_on_complete(
      on, never,
      [](void *context, rawhal_ticket_t, const rawhal_error_t *result) {
        Heard *to = static_cast<Heard *>(context);
        to->result = *result;
        ++to->calls;
      },
      &heard, &error));
  toy_step_in(
      TOY_QUEUE_DESTROY, [](void *) { toy_fail(here); }, nullptr);
  rawhal_queue_destroy(on);
  EXPECT_EQ(heard.calls, 1);
  EXPECT_EQ(heard.result.status, RAWHAL_DEVICE_LOST) << heard.result.message;
  EXPECT_NE(std::string(heard.result.message).find("destroyed"), std::string::npos)
      << heard.result.message;
  EXPECT_EQ(queue_info(other).status, RAWHAL_FAULT) << "the failure was one";
  rawhal_queue_destroy(other);
  EXPECT_EQ(toy_counts().signals, before.signals);
}

TEST_F(Steps, AFailureIsThatOfItsDeviceAndOfAllItsQueues)
{
  rawhal_queue_t *queues[4] = {queue(here), queue(elsewhere), queue(here), queue(here)};
  rawhal_queue_destroy(queues[2]); // out of the middle of the list
  toy_fail(here);
  EXPECT_EQ(queue_info(queues[0]).status, RAWHAL_FAULT);
  EXPECT_EQ(queue_info(queues[1]).status, RAWHAL_OK);
  EXPECT_EQ(queue_info(queues[3]).status, RAWHAL_FAULT);
  for (rawhal_queue_t *one : {queues[0], queues[1], queues[3]})
    rawhal_queue_destroy(one);
}

// Whoever is told of it asks what it was, and makes another queue, on another thread or on this one.
TEST_F(Steps, AFailureIsToldOfWithoutLocks)
{
  static rawhal_queue_t *failed;
  static std::thread other;
  static std::atomic<int> steps;
  static int got_on;
  failed = queue(here), steps = 0, got_on = 0;
  static const auto make = [] {
    rawhal_queue_t *made = nullptr;
    rawhal_error_t error;
    EXPECT_OK(toy_queue(here, nullptr, &made, &error));
    rawhal_queue_destroy(made);
    ++steps;
  };
  toy_when_told([](const char *) {
    other = std::thread(make);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!steps && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    got_on = steps;
    if (got_on)
      make();
    EXPECT_EQ(queue_info(failed).status, RAWHAL_FAULT);
  });
  toy_fail(here);
  toy_when_told(nullptr);
  other.join();
  EXPECT_EQ(got_on, 1);
  EXPECT_EQ(steps, 2);
  rawhal_queue_destroy(failed);
}

// Nor does the queue go away meanwhile.
TEST_F(Steps, AQueueThatIsToldOfIsDestroyedAfterwards)
{
  static std::atomic<bool> gone;
  static std::atomic<int> steps;
  rawhal_queue_t *on = queue(here);
  std::thread destroys;
  static std::thread *starts;
  static rawhal_queue_t *ends;
  gone = false, steps = 0, starts = &destroys, ends = on;
  toy_when_told([](const char *) {
    *starts = std::thread([] {
      ++steps;
      rawhal_queue_destroy(ends);
      gone = true;
    });
    for (int i = 0; i < 1000 || !steps; ++i) // it has every chance
      std::this_thread::yield();
    EXPECT_FALSE(gone);
  });
  toy_fail(here);
  toy_when_told(nullptr);
  destroys.join();
  EXPECT_TRUE(gone);
}

// Callbacks beyond the room that the first registration makes, on a ticket that never finishes.
TEST_F(Steps, AnyNumberOfCallbacksIsPending)
{
  Loaded kernel;
  rawhal_queue_t *on = queue();
  toy_hold(true);
  rawhal_ticket_t first = submit(on, kernel.dispatch()), second = submit(on, kernel.dispatch());
  std::vector<int> order;
  struct One {
    std::vector<int> *order;
    int number;
    static void call(void *context, rawhal_ticket_t, const rawhal_error_t *)
    {
      static_cast<One *>(context)->order->push_back(static_cast<One *>(context)->number);
    }
  };
  std::vector<One> ones;
  for (int i = 0; i < 100; ++i)
    ones.push_back({&order, i});
  for (int i = 50; i < 100; ++i) // the later ticket's first
    ASSERT_OK(rawhal_queue_on_complete(on, second, One::call, &ones[i], &error));
  for (int i = 0; i < 50; ++i)
    ASSERT_OK(rawhal_queue_on_complete(on, first, One::call, &ones[i], &error));
  rawhal_queue_destroy(on);
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[i], i);
}

TEST_F(Steps, ABarrierNamesTheDependencyThatFailed)
{
  Loaded kernel;
  rawhal_queue_t *on = queue(here), *sound = queue(here), *failed = queue(here);
  rawhal_dependency_t dependencies[2] = {{sound, submit(sound, kernel.dispatch()), 0, 0},
                                         {failed, 0, 0, 0}};
  toy_hold(true);
  dependencies[1].ticket = submit(failed, kernel.dispatch());
  rawhal_queue_destroy(on);
  toy_fail(here);
  on = queue(here); // a new one takes over
  rawhal_ticket_t ticket = 9;
  EXPECT_EQ(rawhal_queue_barrier(on, dependencies, 2, 0, &ticket, &error), RAWHAL_FAULT);
  EXPECT_EQ(std::string(error.message).rfind("dependency 1: ", 0), 0u) << error.message;
  EXPECT_EQ(ticket, 0u);
  dependencies[1].ticket = 77;
  EXPECT_EQ(rawhal_queue_barrier(on, dependencies, 2, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message).rfind("dependency 1: ", 0), 0u) << error.message;
  EXPECT_EQ(queue_info(on).last_ticket, 0u);
  for (rawhal_queue_t *one : {on, sound, failed})
    rawhal_queue_destroy(one);
}

// ---- Where images go ----

// Images that are aligned to more than a block never share one, and all lie in what was reserved.
void check_images(const std::vector<uint64_t> &images, uint64_t base, uint64_t ring_bytes,
                  uint64_t alignment, uint64_t size)
{
  for (uint64_t image : images) {
    EXPECT_EQ(image % alignment, 0u);
    EXPECT_GE(image, base);
    EXPECT_LE(image + size, base + 2 * ring_bytes);
  }
  std::vector<uint64_t> sorted;
  for (uint64_t image : images) // where it is in the ring
    sorted.push_back((image - base) % ring_bytes);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    EXPECT_GE(sorted[i] - sorted[i - 1], size) << "images " << i - 1 << " and " << i;
}

TEST_F(Steps, AlignedImagesShareNoBlock)
{
  for (uint32_t alignment : {16u, 64u, 128u, 512u}) {
    Loaded kernel(alignment);
    ASSERT_NE(kernel.loaded, nullptr) << kernel.error.message;
    rawhal_queue_t *on = queue();
    uint64_t ring_bytes = queue_info(on).kernarg_bytes;
    std::vector<rawhal_dispatch_t> batch(5, kernel.dispatch());
    std::vector<uint64_t> images(64);
    rawhal_ticket_t ticket = 0;
    toy_hold(true); // so that none may take the place of another
    for (int round = 0; round < 12; ++round)
      ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), 0, &ticket, &error));
    toy_hold(false);
    images.resize(toy_kernargs(images.data(), images.size()));
    ASSERT_EQ(images.size(), 60u);
    check_images(images, toy_kernarg_base(on), ring_bytes, alignment, 64);
    rawhal_queue_destroy(on);
  }
}

TEST_F(Steps, AlignedImagesOfGraphsShareNoBlock)
{
  Loaded strict(256), plain(16);
  rawhal_queue_t *on = queue();
  std::vector<rawhal_dispatch_t> batch = {plain.dispatch(), strict.dispatch(), plain.dispatch(),
                                          strict.dispatch()};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(toy_graph(on, batch.data(), batch.size(), &exec, &error));
  std::vector<uint64_t> images(64);
  rawhal_ticket_t ticket = 0;
  toy_hold(true);
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
    rawhal_dispatch_t single = plain.dispatch(); // so that launches begin at any block
    ASSERT_OK(rawhal_queue_submit(on, &single, 1, 0, &ticket, &error));
  }
  toy_hold(false);
  images.resize(toy_kernargs(images.data(), images.size()));
  ASSERT_EQ(images.size(), 25u);
  check_images(images, toy_kernarg_base(on), queue_info(on).kernarg_bytes, 16, 64);
  for (size_t i = 0; i < images.size(); i += 5)
    for (size_t aligned : {i + 1, i + 3})
      EXPECT_EQ(images[aligned] % 256, 0u) << aligned;
  rawhal_graph_exec_destroy(exec);
  rawhal_queue_destroy(on);
}

// What can never fit is refused, whatever the deadline; what just fits is not.
TEST_F(Steps, ABatchThatCanNeverFitIsRefusedAtOnce)
{
  rawhal_queue_options_t small = {};
  small.packets = 8;
  small.kernarg_bytes = 1;
  rawhal_queue_t *on = queue(here, small);
  rawhal_queue_info_t info = queue_info(on);
  ASSERT_EQ(info.packets, 8u);
  ASSERT_EQ(info.kernarg_bytes, 16u * 64) << "kernargs never run out before packets";
  Loaded kernel, large(16, false, 4 * 64);
  std::vector<rawhal_dispatch_t> batch(9, kernel.dispatch());
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch.data(), 8, 0, &ticket, &error));
  EXPECT_EQ(rawhal_queue_submit(on, batch.data(), 9, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_RANGE);
  batch.assign(5, large.dispatch());
  ASSERT_OK(rawhal_queue_submit(on, batch.data(), 4, 0, &ticket, &error));
  EXPECT_EQ(rawhal_queue_submit(on, batch.data(), 5, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_RANGE);
  batch[4] = kernel.dispatch(); // one block too many
  EXPECT_EQ(rawhal_queue_submit(on, batch.data(), 5, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_RANGE);
  rawhal_graph_exec_t *exec = nullptr;
  EXPECT_EQ(toy_graph(on, batch.data(), 5, &exec, &error), RAWHAL_OK);
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_RANGE);
  rawhal_graph_exec_destroy(exec);
  rawhal_queue_destroy(on);
}

// ---- What is refused ----

TEST_F(Steps, ArgumentsComeFromOnePlace)
{
  Loaded kernel;
  rawhal_queue_t *on = queue();
  uint64_t value = 0;
  const void *pointers[4] = {&value, &value, &value, &value};
  rawhal_dispatch_t dispatch = kernel.dispatch();
  dispatch.arguments = pointers;
  dispatch.argument_count = 4;
  const std::pair<const void *, size_t> blobs[] = {
      {kernel.bytes, 28}, {kernel.bytes, 0}, {nullptr, 28}, {nullptr, 0}};
  for (const auto &[blob, size] : blobs) {
    dispatch.blob = blob;
    dispatch.blob_size = size;
    EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, 0, nullptr, &error),
              blob || size ? RAWHAL_INVALID_ARGUMENT : RAWHAL_OK)
        << blob << ", " << size;
  }
  rawhal_queue_destroy(on);
}

// Of a caller whose header has more members than ours.
struct LaterDispatch {
  rawhal_dispatch_t known;
  uint64_t more;
};
struct LaterDependency {
  rawhal_dependency_t known;
  uint64_t more;
};

TEST_F(Steps, ANewerCallersDispatchesAreTakenAsLongAsTheySayNothingNew)
{
  Loaded kernel;
  rawhal_queue_t *on = queue();
  LaterDispatch batch[3] = {{kernel.dispatch(), 0}, {kernel.dispatch(), 0}, {kernel.dispatch(), 0}};
  const size_t size = sizeof(*batch);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit_sized(on, &batch->known, size, 3, 0, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, 0, &error));
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(toy_graph_sized(on, &batch->known, size, 3, &exec, &error));
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error));
  rawhal_graph_exec_destroy(exec);
  LaterDependency after[2] = {{{on, ticket, 0, 0}, 0}, {{on, ticket, 0, 0}, 0}};
  ASSERT_OK(rawhal_queue_barrier_sized(on, &after->known, sizeof(*after), 2, 0, nullptr, &error));
  const uint64_t last = queue_info(on).last_ticket;

  batch[2].more = after[1].more = 1;
  EXPECT_EQ(RAWHAL_UNSUPPORTED,
            rawhal_queue_submit_sized(on, &batch->known, size, 3, 0, &ticket, &error));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, toy_graph_sized(on, &batch->known, size, 3, &exec, &error));
  EXPECT_EQ(RAWHAL_UNSUPPORTED,
            rawhal_queue_barrier_sized(on, &after->known, sizeof(*after), 2, 0, nullptr, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_queue_submit_sized(on, &batch->known, offsetof(rawhal_dispatch_t, label) - 8, 1,
                                      0, &ticket, &error));
  EXPECT_EQ(queue_info(on).last_ticket, last) << "none of them left a trace";
  rawhal_queue_destroy(on);
}

TEST_F(Steps, AnImageOfManyBytesIsCheckedWithoutATrace)
{
  Loaded kernel(16, true, 8192); // beyond what the check keeps at hand
  ASSERT_NE(kernel.loaded, nullptr);
  rawhal_queue_t *on = queue();
  ASSERT_OK(rawhal_queue_wait(on, submit(on, kernel.dispatch()), 0, &error));
  rawhal_dispatch_t wide = kernel.dispatch();
  wide.work_items[0] = 70000;
  rawhal_ticket_t ticket = 7;
  EXPECT_EQ(rawhal_queue_submit(on, &wide, 1, 0, &ticket, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(ticket, 0u);
  rawhal_queue_info_t info = queue_info(on);
  EXPECT_EQ(info.last_ticket, 1u) << "it was refused before it took anything";
  rawhal_queue_destroy(on);
}

TEST_F(Steps, AlignmentsAndSizesThatCannotBeGiven)
{
  EXPECT_NE(Loaded(4096).loaded, nullptr);
  Loaded beyond(8192);
  EXPECT_EQ(beyond.loaded, nullptr);
  EXPECT_EQ(beyond.error.status, RAWHAL_UNSUPPORTED);
  rawhal_queue_t *made = nullptr;
  rawhal_queue_options_t options = {};
  options.packets = 4096;
  ASSERT_OK(toy_queue(here, &options, &made, &error));
  rawhal_queue_destroy(made);
  for (uint32_t packets : {4097u, 8192u, 8193u, UINT32_MAX}) {
    options.packets = packets;
    EXPECT_EQ(toy_queue(here, &options, &made, &error), RAWHAL_OUT_OF_RANGE) << packets;
    EXPECT_EQ(made, nullptr);
  }
  options = {};
  options.packets = 8;
  for (uint64_t bytes : {1, 512, 513, 1023, 1024}) { // packets run out before kernargs do
    options.kernarg_bytes = bytes;
    ASSERT_OK(toy_queue(here, &options, &made, &error));
    EXPECT_EQ(queue_info(made).kernarg_bytes, 1024u) << bytes;
    rawhal_queue_destroy(made);
  }
  for (uint64_t bytes : {(uint64_t{1} << 30) + 1, uint64_t{1} << 40, UINT64_MAX}) {
    options.kernarg_bytes = bytes;
    EXPECT_EQ(toy_queue(here, &options, &made, &error), RAWHAL_OUT_OF_RANGE) << bytes;
  }
}

TEST_F(Steps, AShareNeedsADeviceThatHasLimits)
{
  rawhal_queue_options_t options = {};
  rawhal_queue_t *made = nullptr;
  for (uint64_t share : {uint64_t{1}, uint64_t{300000}, UINT64_MAX}) {
    options.share_ppm = share;
    EXPECT_EQ(toy_queue(here, &options, &made, &error), RAWHAL_INVALID_ARGUMENT) << share;
    EXPECT_EQ(made, nullptr);
  }
}

} // namespace
