// Faults ordered from softgpu: every way a queue can stop, stand still or not come to be. No call
// hangs, the right tickets fail, and what was refused leaves nothing behind.
#include "device_test.h"
#include "tests/graph_of.h"
#include "tests/softgpu/newer.h"
#include "tests/values.h"

#include "softgpu/softgpu.h"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <thread>

namespace {

constexpr uint64_t timeout = 10000 * millisecond;

class Injection : public DeviceTest {
protected:
  void TearDown() override
  {
    for (const char *name :
         {"queue_error", "stall", "lost_doorbell", "allocation_failure", "event_failure"})
      softgpu_order(name, nullptr, 0, 4);
    DeviceTest::TearDown();
  }

  static uint64_t injected()
  {
    auto ask = reinterpret_cast<softgpu_counters_fn *>(dlsym(RTLD_DEFAULT, "softgpu_counters"));
    softgpu_counters_t counters = {};
    if (ask)
      ask(&counters, sizeof(counters));
    return counters.injected;
  }

  // Stores `value` to out[index].
  rawhal_dispatch_t store(uint32_t index, uint32_t value, Blob &blob)
  {
    if (!ids)
      ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    if (!out) {
      out = buffer(4096);
      EXPECT_OK(rawhal_buffer_fill(out, 0, 0, 4096, &error));
    }
    blob.bytes.clear();
    blob.add(rawhal_buffer_address(out) + 4 * index).add(1u).add(1u).add(value);
    return dispatch_of(ids, 1, 1, blob);
  }

  rawhal_status_t wait(rawhal_queue_t *on, rawhal_ticket_t ticket, uint64_t within = timeout)
  {
    return rawhal_queue_wait(on, ticket, rawhal_deadline_after(within), &error);
  }

  const rawhal_device_kernel_t *ids = nullptr;
  rawhal_buffer_t *out = nullptr;
};

TEST_F(Injection, EveryQueueErrorFailsTheRightTickets)
{
  Blob blob;
  uint32_t value = 0;
  for (const auto &one : kQueueErrors) {
    SCOPED_TRACE(one.code);
    rawhal_queue_t *on = queue(), *other = queue();
    rawhal_dispatch_t dispatch = store(0, ++value, blob);
    ASSERT_TRUE(softgpu_order("queue_error", on, 3, one.code)); // the third packet
    rawhal_ticket_t tickets[4] = {};
    for (rawhal_ticket_t &ticket : tickets) // the queue may be dead before the last one comes
      if (rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error) != RAWHAL_OK) {
        EXPECT_EQ(error.status, RAWHAL_FAULT);
      }
    EXPECT_OK(wait(on, tickets[0]));
    EXPECT_OK(wait(on, tickets[1]));
    EXPECT_EQ(wait(on, tickets[2]), RAWHAL_FAULT);
    EXPECT_EQ(as_of_5_2(error.hsa_status), one.status) << error.message;
    if (tickets[3]) {
      EXPECT_EQ(wait(on, tickets[3]), RAWHAL_FAULT);
    }
    EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, 0, nullptr, &error), RAWHAL_FAULT);
    EXPECT_OK(run(other, dispatch));
    EXPECT_EQ(download<uint32_t>(out, 1)[0], value);
  }
}

TEST_F(Injection, AFaultInABatchFailsItsTicketAndNoEarlierOne)
{
  for (uint64_t nth : {1u, 4u, 8u}) { // of eight
    SCOPED_TRACE(nth);
    rawhal_queue_t *on = queue();
    std::vector<Blob> blobs(9);
    std::vector<rawhal_dispatch_t> batch;
    for (uint32_t i = 0; i < 8; ++i)
      batch.push_back(store(i, 1, blobs[i]));
    ASSERT_OK(rawhal_buffer_fill(out, 0, 0, 32, &error));
    rawhal_dispatch_t single = store(100, 1, blobs[8]);
    ASSERT_OK(run(on, single));
    ASSERT_TRUE(softgpu_order("queue_error", on, nth, 0x80000000));
    rawhal_ticket_t ticket = 0;
    ASSERT_OK(rawhal_queue_submit(on, batch.data(), 8, 0, &ticket, &error));
    EXPECT_EQ(wait(on, ticket), RAWHAL_FAULT);
    EXPECT_OK(wait(on, ticket - 1));
    std::vector<uint32_t> got = download<uint32_t>(out, 8);
    for (uint32_t i = 0; i < 8; ++i)
      EXPECT_EQ(got[i], i + 1 < nth ? 1u : 0u) << i;
  }
}

TEST_F(Injection, ALaunchFailsLikeABatch)
{
  rawhal_queue_t *on = queue();
  Blob first, second;
  rawhal_dispatch_t batch[2] = {store(0, 1, first), store(1, 2, second)};
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, batch, 2, &exec, &error));
  ASSERT_TRUE(softgpu_order("queue_error", on, 4, 0x80000000)); // the last of the second launch
  rawhal_ticket_t good = 0, bad = 0;
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &good, &error));
  EXPECT_OK(wait(on, good));
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &bad, &error));
  EXPECT_EQ(wait(on, bad), RAWHAL_FAULT);
  EXPECT_EQ(rawhal_graph_launch(on, exec, nullptr, 0, 0, &bad, &error), RAWHAL_FAULT);
  EXPECT_EQ(bad, 0u);
  rawhal_graph_exec_destroy(exec);
}

TEST_F(Injection, AStallMissesDeadlinesAndLosesNothing)
{
  rawhal_queue_t *on = queue();
  Blob blob;
  rawhal_dispatch_t dispatch = store(0, 5, blob);
  ASSERT_OK(run(on, dispatch));
  ASSERT_TRUE(softgpu_order("stall", on, 1, 300));
  rawhal_ticket_t ticket = 0;
  dispatch = store(0, 6, blob);
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &ticket, &error));
  EXPECT_EQ(wait(on, ticket, 20 * millisecond), RAWHAL_TIMED_OUT);
  EXPECT_OK(wait(on, ticket));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 6u);
}

TEST_F(Injection, ALostDoorbellMissesTheDeadlineAndTheNextSubmissionFindsBoth)
{
  rawhal_queue_t *on = queue();
  Blob first, second;
  rawhal_dispatch_t dispatch = store(0, 1, first);
  ASSERT_OK(run(on, dispatch));
  uint64_t before = injected();
  ASSERT_TRUE(softgpu_order("lost_doorbell", on, 1, 0));
  rawhal_ticket_t lost = 0, next = 0;
  dispatch = store(0, 7, first);
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &lost, &error));
  EXPECT_EQ(wait(on, lost, 50 * millisecond), RAWHAL_TIMED_OUT);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (injected() == before && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(injected(), before + 1);
  dispatch = store(1, 8, second);
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, 0, &next, &error));
  EXPECT_OK(wait(on, next));
  EXPECT_OK(wait(on, lost, 0));
  EXPECT_EQ(download<uint32_t>(out, 2), (std::vector<uint32_t>{7, 8}));
}

// Fails the nth occasion of `fault` in `create`, for each n until none is left. What could not be
// created must not be there, and says why; afterwards creating works.
template <typename Create>
void sweep(const char *fault, Create create, bool (*order)(const char *, uint64_t),
           uint64_t (*happened)())
{
  for (uint64_t nth = 1; nth < 400; ++nth) {
    SCOPED_TRACE(nth);
    uint64_t before = happened();
    ASSERT_TRUE(order(fault, nth));
    rawhal_error_t error = {};
    rawhal_status_t status = create(&error);
    order(fault, 0);
    if (status != RAWHAL_OK) {
      EXPECT_STRNE(error.message, "");
    }
    if (happened() == before) {
      EXPECT_EQ(status, RAWHAL_OK) << error.message;
      return;
    }
  }
  ADD_FAILURE() << "no end of " << fault;
}

class Refused : public Injection {
protected:
  static bool order(const char *fault, uint64_t nth)
  {
    return softgpu_order(fault, nullptr, nth, 1);
  }

  rawhal_status_t make_queue(rawhal_error_t *why)
  {
    rawhal_queue_options_t options = {};
    options.submissions = 4;
    rawhal_queue_t *made = nullptr;
    rawhal_status_t status = rawhal_queue_create(device, &options, &made, why);
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_queue_destroy(made);
    return status;
  }

  rawhal_status_t make_executable(rawhal_error_t *why)
  {
    std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_executable_t *made = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    rawhal_status_t status = rawhal_executable_load(device, hsaco, &made, why);
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_hsaco_close(hsaco);
    rawhal_executable_destroy(made);
    return status;
  }

  rawhal_status_t make_buffer(rawhal_memory_kind_t kind, rawhal_error_t *why)
  {
    rawhal_buffer_t *made = nullptr;
    rawhal_status_t status = rawhal_buffer_allocate(device, kind, 1 << 16, &made, why);
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_buffer_free(made);
    return status;
  }
};

TEST_F(Refused, QueuesWithoutMemory)
{
  sweep(
      "allocation_failure", [this](rawhal_error_t *why) { return make_queue(why); }, order,
      injected);
}

TEST_F(Refused, QueuesWithoutSignals)
{
  sweep(
      "event_failure", [this](rawhal_error_t *why) { return make_queue(why); }, order, injected);
}

TEST_F(Refused, ExecutablesWithoutMemory)
{
  sweep(
      "allocation_failure", [this](rawhal_error_t *why) { return make_executable(why); }, order,
      injected);
}

TEST_F(Refused, BuffersWithoutMemory)
{
  for (rawhal_memory_kind_t kind : {RAWHAL_MEMORY_DEVICE, RAWHAL_MEMORY_HOST})
    sweep(
        "allocation_failure", [&](rawhal_error_t *why) { return make_buffer(kind, why); }, order,
        injected);
}

} // namespace
