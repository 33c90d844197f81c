// Beside the program's own HSA objects: its queues, and signals in both directions.
#include "held_test.h"
#include "tests/cancelled.h"
#include "tests/graph_of.h"
#include "tests/values.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <thread>

namespace {

class Shared : public HeldTest {
protected:
  void SetUp() override
  {
    HeldTest::SetUp();
    HSA(hsa_iterate_agents)
    (
        [](hsa_agent_t each, void *found) {
          hsa_device_type_t type;
          HSA(hsa_agent_get_info)(each, HSA_AGENT_INFO_DEVICE, &type);
          if (type == HSA_DEVICE_TYPE_GPU)
            *static_cast<hsa_agent_t *>(found) = each;
          return HSA_STATUS_SUCCESS;
        },
        &agent);
  }

  void TearDown() override
  {
    if (flag)
      release();
    for (rawhal_queue_t *each : queues)
      rawhal_queue_destroy(each);
    queues.clear();
    if (theirs)
      HSA(hsa_queue_destroy)(theirs);
    for (hsa_signal_t signal : signals)
      HSA(hsa_signal_destroy)(signal);
    HeldTest::TearDown();
  }

  hsa_signal_t signal(hsa_signal_value_t value)
  {
    hsa_signal_t made = {};
    EXPECT_EQ(HSA(hsa_signal_create)(value, 0, nullptr, &made), HSA_STATUS_SUCCESS);
    signals.push_back(made);
    return made;
  }

  // The program's queue, and ours on it.
  rawhal_queue_t *join(uint32_t packets, rawhal_queue_options_t options = {})
  {
    EXPECT_EQ(HSA(hsa_queue_create)(
                  agent, packets, HSA_QUEUE_TYPE_MULTI,
                  [](hsa_status_t status, hsa_queue_t *, void *data) {
                    (void)!rawhal_queue_report(*static_cast<rawhal_queue_t **>(data), status,
                                               nullptr);
                  },
                  &reported, UINT32_MAX, UINT32_MAX, &theirs),
              HSA_STATUS_SUCCESS);
    options.hsa_queue = theirs;
    return reported = queue(options);
  }

  // A packet of the program's: its value is subtracted from the signal.
  void their_barrier(hsa_signal_t done)
  {
    uint64_t index = HSA(hsa_queue_add_write_index_screlease)(theirs, 1);
    const auto *amd = reinterpret_cast<const amd_queue_t *>(theirs);
    while (index - __atomic_load_n(&amd->read_dispatch_id, __ATOMIC_ACQUIRE) >= theirs->size)
      std::this_thread::yield();
    auto *packet = static_cast<hsa_barrier_and_packet_t *>(theirs->base_address) +
                   (index & (theirs->size - 1));
    hsa_barrier_and_packet_t body = {};
    body.completion_signal = done;
    memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&body) + 4, 60);
    const uint32_t header = HSA_PACKET_TYPE_BARRIER_AND | 1u << HSA_PACKET_HEADER_BARRIER |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(reinterpret_cast<uint32_t *>(packet), header, __ATOMIC_RELEASE);
    HSA(hsa_signal_store_screlease)
    (theirs->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  hsa_agent_t agent = {};
  hsa_queue_t *theirs = nullptr;
  rawhal_queue_t *reported = nullptr;
  std::vector<hsa_signal_t> signals;
};

TEST_F(Shared, PacketsOfBothInOneQueue)
{
  constexpr int rounds = 2000;
  rawhal_queue_t *on = join(64);
  EXPECT_EQ(queue_info(on).packets, 64u);
  EXPECT_EQ(queue_info(on).hsa_queue, theirs);
  const rawhal_device_kernel_t *write_ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_dispatch_t one = store(write_ids, 11);
  hsa_signal_t count = signal(2 * rounds);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round)
        their_barrier(count);
    });
  rawhal_ticket_t last = 0;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      rawhal_error_t mine = {};
      for (int round = 0; round < rounds; ++round) {
        rawhal_dispatch_t batch[3] = {one, one, one};
        rawhal_ticket_t ticket = 0;
        ASSERT_EQ(RAWHAL_OK,
                  rawhal_queue_submit(on, batch, 1 + round % 3, RAWHAL_FOREVER, &ticket, &mine))
            << mine.message;
        ASSERT_NE(ticket, 0u);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  last = queue_info(on).last_ticket;
  ASSERT_OK(wait(on, last));
  EXPECT_EQ(last, 2u * rounds);
  EXPECT_EQ(HSA(hsa_signal_wait_scacquire)(count, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                           HSA_WAIT_STATE_BLOCKED),
            0);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 11u);
  uint64_t start = 0, end = 0;
  ASSERT_OK(rawhal_queue_timing(on, last, &start, &end, &error));
  EXPECT_LT(start, end);
}

TEST_F(Shared, AFullQueueIsWaitedForAndLeavesNothing)
{
  rawhal_queue_t *on = join(64);
  hsa_signal_t count = signal(63);
  rawhal_ticket_t first = submit(on, held());
  for (int i = 0; i < 63; ++i) // theirs, and so the ring is full
    their_barrier(count);
  rawhal_dispatch_t nothing = empty();
  rawhal_ticket_t ticket = 5;
  EXPECT_EQ(rawhal_queue_submit(on, &nothing, 1, 0, &ticket, &error), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(
      rawhal_queue_submit(on, &nothing, 1, rawhal_deadline_after(5 * millisecond), &ticket, &error),
      RAWHAL_TIMED_OUT);
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    release();
  });
  rawhal_status_t status = RAWHAL_RUNTIME;
  EXPECT_TRUE(goes_on_though_cancelled(
      [&] { status = rawhal_queue_submit(on, &nothing, 1, RAWHAL_FOREVER, &ticket, &error); }));
  later.join();
  ASSERT_OK(status);
  ASSERT_OK(wait(on, ticket));
  EXPECT_OK(rawhal_queue_wait(on, first, 0, &error));
}

TEST_F(Shared, CopiesAndGraphsGoThere)
{
  rawhal_queue_t *on = join(64);
  rawhal_buffer_t *to = buffer(4096);
  const rawhal_device_kernel_t *write_ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_dispatch_t one = store(write_ids, 3);
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(graph_of(device, on, &one, 1, &exec, &error));
  hsa_signal_t count = signal(1);
  rawhal_ticket_t ticket = 0;
  their_barrier(count);
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, nullptr, &error));
  ASSERT_OK(copy_in(on, {0, to, 0, out, 0, 4}, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  rawhal_graph_exec_destroy(exec);
  EXPECT_EQ(download<uint32_t>(to, 1)[0], 3u);
}

TEST_F(Shared, InstructionsAreOfOursAlone)
{
  rawhal_queue_t *on = join(64);
  const rawhal_dispatch_t one = store(kernel("write_ids-gfx90a-v5.co", "write_ids"), 3);
  rawhal_dispatch_t batch[2] = {one, one};
  rawhal_ticket_t ticket = submit(on, one);
  uint64_t count = 0, both = 0;
  ASSERT_OK(wait(on, ticket));
  ASSERT_OK(rawhal_queue_instructions(on, ticket, &count, &error));
  EXPECT_GT(count, 0u);
  ASSERT_OK(rawhal_queue_submit(on, batch, 2, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  ASSERT_OK(rawhal_queue_instructions(on, ticket, &both, &error));
  EXPECT_EQ(both, 2 * count);
  batch[0].flags = batch[1].flags = RAWHAL_DISPATCH_OVERLAP;
  ASSERT_OK(rawhal_queue_submit(on, batch, 2, 0, &ticket, &error));
  ASSERT_OK(wait(on, ticket));
  EXPECT_EQ(rawhal_queue_instructions(on, ticket, &both, &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(both, 0u);
}

TEST_F(Shared, FaultsAreReportedByTheProgram)
{
  rawhal_queue_t *on = join(64);
  Blob blob;
  blob.add(uint64_t{0}).add(int64_t{1} << 40).add(1u);
  rawhal_ticket_t lost =
      submit(on, dispatch_of(kernel("fault-gfx90a-v5.co", "fault_store"), 1, 1, blob));
  EXPECT_EQ(wait(on, lost), RAWHAL_FAULT);
  EXPECT_EQ(rawhal_queue_report(on, HSA_STATUS_ERROR, &error), RAWHAL_FAULT)
      << "the first cause counts";
  EXPECT_EQ(rawhal_queue_report(nullptr, HSA_STATUS_ERROR, &error), RAWHAL_INVALID_ARGUMENT);
}

// The program's log may be a file: whoever is cancelled leaves no queue that is still dying.
TEST(SharedLog, ReportsOfACancelledThreadGoOn)
{
  class Logging : public HeldTest {
  public:
    void TestBody() override {}
    void SetUp() override
    {
      rawhal_instance_options_t options = {};
      options.backend = RAWHAL_BACKEND_SOFTGPU;
      options.softgpu_options = softgpu_options();
      options.log = [](void *, rawhal_severity_t, const char *message) {
        const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)!write(file, message, strlen(message));
        close(file);
      };
      ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
      device = rawhal_instance_device(instance, 0);
    }
    void TearDown() override { HeldTest::TearDown(); }
    void report()
    {
      rawhal_queue_t *on = queue();
      EXPECT_TRUE(goes_on_though_cancelled(
          [&] { (void)!rawhal_queue_report(on, HSA_STATUS_ERROR, nullptr); }));
      const rawhal_dispatch_t dispatch = empty();
      EXPECT_EQ(rawhal_queue_submit(on, &dispatch, 1, 0, nullptr, &error), RAWHAL_FAULT);
    }
  } logging;
  logging.SetUp();
  logging.report();
  logging.TearDown();
}

TEST_F(Shared, TheSizeIsTheProgramsQueues)
{
  rawhal_queue_options_t options = {};
  join(128);
  options.hsa_queue = theirs;
  options.packets = 64;
  rawhal_queue_t *made = nullptr;
  EXPECT_EQ(rawhal_queue_create(device, &options, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "64 packets asked for, the queue given has 128");
  options.packets = 128;
  ASSERT_OK(rawhal_queue_create(device, &options, &made, &error));
  rawhal_queue_destroy(made); // theirs goes on
  hsa_signal_t count = signal(1);
  their_barrier(count);
  EXPECT_EQ(HSA(hsa_signal_wait_scacquire)(count, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                           HSA_WAIT_STATE_BLOCKED),
            0);
}

TEST_F(Shared, ABarrierWaitsForTheProgramsSignal)
{
  rawhal_queue_t *on = queue();
  hsa_signal_t theirs = signal(3);
  rawhal_dependency_t dependency = {nullptr, 0, theirs.handle, 1};
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_barrier(on, &dependency, 1, 0, &ticket, &error));
  EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  HSA(hsa_signal_store_screlease)(theirs, 2);
  EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  HSA(hsa_signal_store_screlease)(theirs, 1);
  ASSERT_OK(wait(on, ticket));
  for (rawhal_dependency_t wrong : {rawhal_dependency_t{nullptr, 1, theirs.handle, 0},
                                    rawhal_dependency_t{nullptr, 0, theirs.handle, INT64_MAX}})
    EXPECT_EQ(rawhal_queue_barrier(on, &wrong, 1, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Shared, TheProgramsSignalTellsWhatHasFinished)
{
  rawhal_queue_t *on = queue();
  hsa_signal_t theirs = signal(1);
  submit(on, held());
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_signal(on, theirs.handle, 0, &ticket, &error));
  EXPECT_EQ(HSA(hsa_signal_wait_scacquire)(theirs, HSA_SIGNAL_CONDITION_LT, 1, 1000000,
                                           HSA_WAIT_STATE_BLOCKED),
            1);
  release();
  EXPECT_EQ(HSA(hsa_signal_wait_scacquire)(theirs, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                           HSA_WAIT_STATE_BLOCKED),
            0);
  ASSERT_OK(wait(on, ticket));
  EXPECT_EQ(rawhal_queue_signal(on, 0, 0, &ticket, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_signal(nullptr, theirs.handle, 0, &ticket, &error),
            RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Shared, ATicketsSignalIsTheProgramsToWaitFor)
{
  rawhal_queue_options_t small = {};
  small.submissions = 2;
  rawhal_queue_t *on = queue(small);
  uint64_t handle = 0;
  int64_t value = 0;
  rawhal_ticket_t ticket = submit(on, held());
  ASSERT_OK(rawhal_queue_ticket_signal(on, ticket, &handle, &value, &error));
  const hsa_signal_t exported = {handle};
  auto wait_for = [&](int64_t target, uint64_t ticks) {
    return HSA(hsa_signal_wait_scacquire)(exported, HSA_SIGNAL_CONDITION_LT, target + 1, ticks,
                                          HSA_WAIT_STATE_BLOCKED) <= target;
  };
  EXPECT_FALSE(wait_for(value, 1000000));
  release();
  EXPECT_TRUE(wait_for(value, UINT64_MAX));
  for (int i = 0; i < 10; ++i) // the slot is used again; what has finished stays so
    submit(on, empty());
  EXPECT_TRUE(wait_for(value, UINT64_MAX));
  int64_t later = 0;
  ASSERT_OK(rawhal_queue_ticket_signal(on, ticket, &handle, &later, &error));
  EXPECT_LE(later, value);
  EXPECT_EQ(rawhal_queue_ticket_signal(on, 99, &handle, &value, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(handle, 0u);
}

} // namespace
