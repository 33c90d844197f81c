// What the runtime refuses to do (refusing_runtime.c): the call fails and leaves nothing behind, and everything goes on.
#include "refusal_test.h"

#include <hsa/hsa_ext_amd.h>
#include <hsakmt.h>

#include <atomic>
#include <thread>

#include "tests/tools/process.h"

static HSA_QUEUE_PRIORITY told; // the device, by the runtime

// Stands before the thunk's.
extern "C" __attribute__((visibility("default"))) HSAKMT_STATUS
hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority, void *ring,
                  HSAuint64 bytes, HsaEvent *event)
{
  told = priority;
  auto *itself =
      reinterpret_cast<decltype(hsaKmtUpdateQueue) *>(dlsym(RTLD_NEXT, "hsaKmtUpdateQueue"));
  return itself(id, percentage, priority, ring, bytes, event);
}

namespace {

// What newer runtimes tell: 1 is of a device that was reset, 2 of an error of memory. Who claims one keeps the runtime from
// ending the process.
hsa_status_t tell_event(uint32_t type)
{
  hsa_amd_event_t event = {};
  const auto take = [](hsa_agent_t agent, void *data) {
    hsa_device_type_t kind = HSA_DEVICE_TYPE_CPU;
    (void)HSA(hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, &kind);
    *static_cast<hsa_agent_t *>(data) = agent;
    return kind == HSA_DEVICE_TYPE_GPU ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(HSA(hsa_iterate_agents)(take, &event.memory_fault.agent), HSA_STATUS_INFO_BREAK);
  memcpy(&event.event_type, &type, sizeof(type));
  auto *handler =
      static_cast<hsa_amd_system_event_callback_t *>(dlsym(RTLD_DEFAULT, "event_handler"));
  auto *data = static_cast<void **>(dlsym(RTLD_DEFAULT, "event_data"));
  return (*handler)(&event, *data);
}

TEST_F(Refusal, ADeviceThatWasReset)
{
  rawhal_queue_t *on = queue();
  const rawhal_ticket_t ticket = submit(on, held());
  EXPECT_NE(tell_event(2), HSA_STATUS_SUCCESS);
  EXPECT_NE(tell_event(3), HSA_STATUS_SUCCESS);
  EXPECT_EQ(queue_info(on).status, RAWHAL_OK);
  EXPECT_EQ(tell_event(1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(wait(on, ticket), RAWHAL_DEVICE_LOST) << error.message;
  EXPECT_NE(strstr(error.message, "reset"), nullptr) << error.message;
  rawhal_fault_t fault = {};
  ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_DEVICE_LOST);
  EXPECT_EQ(fault.hsa_status, 0);
  ASSERT_GT(fault.cause_count, 0u);
  EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_DEVICE_LOST) << fault.causes[0].text;
}

TEST_F(Refusal, AReadIsNotDeliveredLater)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(16, 7));
  for (const char *what : {"copies", "signals"}) {
    SCOPED_TRACE(what);
    std::vector<uint32_t> got(16, 1);
    submit(on, held()); // nothing finishes before the call has returned
    rawhal_ticket_t ticket = 99;
    refuse(what);
    EXPECT_EQ(rawhal_queue_read(on, from, 0, got.data(), 64, RAWHAL_FOREVER, &ticket, &error),
              RAWHAL_OUT_OF_MEMORY)
        << error.message;
    EXPECT_EQ(ticket, 0u);
    release();
    EXPECT_OK(wait(on, submit(on, empty())));
    EXPECT_EQ(got, std::vector<uint32_t>(16, 1));
    EXPECT_OK(rawhal_queue_read(on, from, 0, got.data(), 64, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(wait(on, ticket));
    EXPECT_EQ(got, std::vector<uint32_t>(16, 7));
  }
}

TEST_F(Refusal, AFillStopsWhereItIs)
{
  rawhal_queue_t *on = queue();
  const size_t size = 2 << 20; // more than a piece
  rawhal_buffer_t *to = buffer(size);
  ASSERT_OK(rawhal_buffer_fill(to, 0, 1, size, &error));
  rawhal_ticket_t ticket = 99;
  refuse("copies", 1);
  EXPECT_EQ(rawhal_queue_fill(on, to, 0, 2, size, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(ticket, 0u);
  EXPECT_OK(wait(on, submit(on, empty())));
  EXPECT_EQ(download<uint32_t>(to, size / 4).back(), 1u);
  EXPECT_OK(rawhal_queue_fill(on, to, 0, 3, size, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_OK(wait(on, ticket));
  EXPECT_EQ(download<uint32_t>(to, size / 4), std::vector<uint32_t>(size / 4, 3));
}

// 8 rows of 16 bytes, 32 bytes apart, which are 0, 1, 2.. there.
struct Rows {
  std::vector<unsigned char> expected() const
  {
    std::vector<unsigned char> made(256);
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < 16; ++i)
        made[row * 32 + i] = static_cast<unsigned char>(row * 32 + i);
    return made;
  }

  size_t rows = 8; // of them, that are there
};

class RowsRefused : public Refusal {
protected:
  void SetUp() override
  {
    Refusal::SetUp();
    on = queue();
    std::vector<unsigned char> values(256);
    for (size_t i = 0; i < 256; ++i)
      values[i] = static_cast<unsigned char>(i);
    copy.from = upload(values);
    copy.to = buffer(256);
    copy.bytes = 16;
    copy.rows = 8;
    copy.to_pitch = copy.from_pitch = 32;
    ASSERT_OK(rawhal_buffer_fill(copy.to, 0, 0, 256, &error));
    set("copies", 0);
    set("rectangles", 0);
  }

  int begun(const char *what) { return *number(what); }
  std::vector<unsigned char> got() { return download<unsigned char>(copy.to, 256); }

  rawhal_queue_t *on = nullptr;
  rawhal_transfer_t copy = {};
};

TEST_F(RowsRefused, AreOneCopyWhereTheyCanBe)
{
  struct {
    uint64_t bytes, to_offset, to_pitch, from_pitch;
    int copies, rectangles;
  } const cases[] = {
      {16, 0, 32, 32, 0, 1}, {13, 3, 16, 20, 0, 1}, {16, 0, 16, 16, 1, 0},
      {16, 0, 17, 32, 8, 0}, {14, 3, 16, 32, 8, 0},
  };
  for (const auto &each : cases) {
    for (const bool queued : {true, false}) {
      set("copies", 0);
      set("rectangles", 0);
      copy.bytes = each.bytes;
      copy.to_offset = each.to_offset;
      copy.to_pitch = each.to_pitch;
      copy.from_pitch = each.from_pitch;
      rawhal_ticket_t ticket = 0;
      if (queued) {
        ASSERT_OK(rawhal_queue_transfer(on, &copy, 1, RAWHAL_FOREVER, &ticket, &error));
        ASSERT_OK(wait(on, ticket));
      } else {
        ASSERT_OK(rawhal_buffer_transfer(&copy, &error));
      }
      EXPECT_EQ(begun("copies"), each.copies) << each.bytes << ", " << each.to_pitch;
      EXPECT_EQ(begun("rectangles"), each.rectangles) << each.bytes << ", " << each.to_pitch;
    }
  }
}

TEST_F(RowsRefused, AreCopiedOneByOne)
{
  for (const bool queued : {true, false}) {
    ASSERT_OK(rawhal_buffer_fill(copy.to, 0, 0, 256, &error));
    rawhal_ticket_t ticket = 0;
    refuse("rectangles");
    if (queued) {
      ASSERT_OK(rawhal_queue_transfer(on, &copy, 1, RAWHAL_FOREVER, &ticket, &error));
      ASSERT_OK(wait(on, ticket));
    } else {
      ASSERT_OK(rawhal_buffer_transfer(&copy, &error));
    }
    EXPECT_EQ(begun("rectangles"), 0);
    EXPECT_EQ(got(), Rows{}.expected());
  }
}

TEST_F(RowsRefused, StopWhereTheyAre)
{
  for (const bool queued : {true, false}) {
    ASSERT_OK(rawhal_buffer_fill(copy.to, 0, 0, 256, &error));
    rawhal_ticket_t ticket = 99;
    refuse("rectangles");
    refuse("copies", 3);
    EXPECT_EQ(queued ? rawhal_queue_transfer(on, &copy, 1, RAWHAL_FOREVER, &ticket, &error)
                     : rawhal_buffer_transfer(&copy, &error),
              RAWHAL_OUT_OF_MEMORY);
    EXPECT_EQ(ticket, queued ? 0u : 99u);
    EXPECT_OK(wait(on, submit(on, empty())));
    EXPECT_EQ(got(), Rows{3}.expected());
    EXPECT_OK(rawhal_buffer_transfer(&copy, &error));
    EXPECT_EQ(got(), Rows{}.expected());
  }
}

TEST_F(RowsRefused, OfSeveralTransfersItIsSaidWhich)
{
  rawhal_buffer_t *to[3] = {buffer(64), buffer(64), buffer(64)};
  rawhal_transfer_t all[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_OK(rawhal_buffer_fill(to[i], 0, 0, 64, &error));
    all[i].to = to[i];
    all[i].from = copy.from;
    all[i].bytes = 64;
  }
  rawhal_ticket_t ticket = 99;
  refuse("copies", 1);
  EXPECT_EQ(rawhal_queue_transfer(on, all, 3, RAWHAL_FOREVER, &ticket, &error),
            RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(strncmp(error.message, "transfer 1 of 3: starting a copy: ", 34), 0) << error.message;
  EXPECT_NE(error.hsa_status, 0);
  EXPECT_EQ(ticket, 0u);
  EXPECT_OK(wait(on, submit(on, empty())));
  EXPECT_EQ(download<unsigned char>(to[0], 64), download<unsigned char>(copy.from, 64));
  EXPECT_EQ(download<unsigned char>(to[1], 64), std::vector<unsigned char>(64));
  EXPECT_EQ(download<unsigned char>(to[2], 64), std::vector<unsigned char>(64));
}

TEST_F(Refusal, EverySlotCanBeUsedAgain)
{
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(16, 7)), *to = buffer(64);
  for (int i = 0; i < 20; ++i) {
    const rawhal_copy_t copy = {0, to, 0, from, 0, 64};
    rawhal_ticket_t ticket = 0;
    refuse(i % 2 ? "copies" : "signals");
    rawhal_status_t status = copy_in(on, copy, RAWHAL_FOREVER, nullptr, &error);
    EXPECT_TRUE(status == RAWHAL_OUT_OF_MEMORY || (status == RAWHAL_OK && i % 2 == 0))
        << i; // the slot has its signals
    set("refused_signals", 0);
    EXPECT_OK(copy_in(on, copy, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(wait(on, ticket));
  }
  EXPECT_EQ(download<uint32_t>(to, 16), std::vector<uint32_t>(16, 7));
}

TEST_F(Refusal, BlockingCopiesGoOnAfterwards)
{
  rawhal_buffer_t *to = buffer(64);
  const std::vector<uint32_t> values(16, 7);
  for (const char *what : {"signals", "copies"}) {
    refuse(what);
    EXPECT_EQ(rawhal_buffer_write(to, 0, values.data(), 64, &error), RAWHAL_OUT_OF_MEMORY)
        << error.message;
    EXPECT_OK(rawhal_buffer_write(to, 0, values.data(), 64, &error));
    EXPECT_EQ(download<uint32_t>(to, 16), values);
  }
}

// ---- Copies under limits ----

// A device that is given up with at once, and whose use is written down.
class Charged : public Refusal {
protected:
  uint64_t copy_timeout_ns() override { return 1; }
  void SetUp() override
  {
    setenv("RAWHAL_LIMIT_REGION", region().c_str(), 1);
    setenv("RAWHAL_GPU_SHARE", "50%", 1);
    Refusal::SetUp();
    const size_t size = 8 << 20; // which takes longer than it takes to give up
    from = buffer(size);
    to = buffer(size);
    extra = buffer(4);
    before = tenant();
  }
  void TearDown() override
  {
    Refusal::TearDown();
    *number<std::atomic<uint64_t>>("copies_await") = 0;
    unsetenv("RAWHAL_LIMIT_REGION");
    unsetenv("RAWHAL_GPU_SHARE");
  }

  // Large, and not seen to end.
  rawhal_status_t copy() { return rawhal_buffer_copy(to, 0, from, 0, 8 << 20, &error); }
  rawhal_status_t write()
  {
    const uint32_t value = 7;
    return rawhal_buffer_write(extra, 0, &value, sizeof(value), &error);
  }
  // Waits for what was given up.
  void free_one()
  {
    rawhal_buffer_free(extra);
    buffers.pop_back();
  }

  std::string region() const { return scratch_ / "region"; }
  rawhal_limit_row_t tenant() const
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[2] = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(region().c_str(), &view, nullptr));
    EXPECT_GE(rawhal_limit_view_read(view, rows, sizeof(*rows), 2), 2u);
    rawhal_limit_view_close(view);
    EXPECT_EQ(RAWHAL_LIMIT_LEVEL_TENANT, rows[1].level);
    return rows[1];
  }

  template <typename Function> static Function *hsa(const char *name)
  {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
  }
  // Waits for the last copy without librawhal.
  hsa_signal_t done() const
  {
    const hsa_signal_t done = {*number<std::atomic<uint64_t>>("last_copy")};
    while (hsa<decltype(hsa_signal_load_scacquire)>("hsa_signal_load_scacquire")(done) > 0)
      std::this_thread::yield();
    return done;
  }
  // How long the device took for it.
  uint64_t took() const
  {
    hsa_amd_profiling_async_copy_time_t time = {};
    EXPECT_EQ(HSA_STATUS_SUCCESS, hsa<decltype(hsa_amd_profiling_get_async_copy_time)>(
                                      "hsa_amd_profiling_get_async_copy_time")(done(), &time));
    return (time.end - time.start) * (1000000000 / rawhal_device_info(device)->timestamp_hz);
  }
  // Copies begin when it is 0.
  hsa_signal_t hold_copies()
  {
    hsa_signal_t opens = {};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              hsa<decltype(hsa_signal_create)>("hsa_signal_create")(1, 0, nullptr, &opens));
    *number<std::atomic<uint64_t>>("copies_await") = opens.handle;
    return opens;
  }

  rawhal_buffer_t *from = nullptr, *to = nullptr, *extra = nullptr;
  rawhal_limit_row_t before = {};

private:
  Scratch scratch_;
};

TEST_F(Charged, ACopyThatWasGivenUpIsPaidWhenMemoryIsFreed)
{
  ASSERT_EQ(copy(), RAWHAL_TIMED_OUT);
  const uint64_t ns = took();
  free_one();
  EXPECT_NEAR(static_cast<double>(tenant().gpu_ns - before.gpu_ns), static_cast<double>(ns),
              clock_slack);
  EXPECT_EQ(tenant().no_timestamps, before.no_timestamps);
}

TEST_F(Charged, WhenAnotherWaitsForIt)
{
  ASSERT_EQ(copy(), RAWHAL_TIMED_OUT);
  const uint64_t ns = took();
  (void)!write(); // which may be given up, too
  EXPECT_GE(tenant().gpu_ns - before.gpu_ns + clock_slack, ns);
  EXPECT_GE(tenant().launches, before.launches + 1);
}

// And no kernel waits for a copy that nobody asks about.
TEST_F(Charged, WhenAKernelIsHeldBack)
{
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t kernel = empty();
  ASSERT_EQ(copy(), RAWHAL_TIMED_OUT);
  (void)took();
  EXPECT_GT(tenant().open_ns, 0u);
  for (uint64_t kernels = 0; tenant().launches < before.launches + kernels + 1; ++kernels)
    ASSERT_OK(wait(on, submit(on, kernel)));
  EXPECT_EQ(tenant().open_ns, 0u);
}

// Until then it is in flight, however often somebody asks: nothing else begins.
TEST_F(Charged, ItRunsUntilItHasEnded)
{
  const hsa_signal_t opens = hold_copies();
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(write(), RAWHAL_TIMED_OUT);
  EXPECT_EQ(tenant().launches, before.launches);
  EXPECT_GT(tenant().open_ns, 0u);
  hsa<decltype(hsa_signal_store_screlease)>("hsa_signal_store_screlease")(opens, 0);
  free_one();
  EXPECT_EQ(HSA_STATUS_SUCCESS, hsa<decltype(hsa_signal_destroy)>("hsa_signal_destroy")(opens));
  EXPECT_EQ(tenant().launches, before.launches + 1);
  EXPECT_EQ(tenant().open_ns, 0u);
}

// By the host's clock, not by what the signal has of the copy before.
TEST_F(Charged, WhereTheRuntimeDoesNotLookToo)
{
  auto *look =
      hsa<decltype(hsa_amd_profiling_async_copy_enable)>("hsa_amd_profiling_async_copy_enable");
  for (const bool looks : {true, false}) {
    ASSERT_EQ(HSA_STATUS_SUCCESS, look(looks));
    (void)!write();
    (void)done();
  }
  free_one();
  ASSERT_EQ(HSA_STATUS_SUCCESS, look(true));
  EXPECT_EQ(tenant().launches, before.launches + 2);
  EXPECT_EQ(tenant().no_timestamps, before.no_timestamps + 1);
}

TEST_F(Charged, OneThatCouldNotBeginIsFree)
{
  refuse("copies");
  EXPECT_EQ(write(), RAWHAL_OUT_OF_MEMORY);
  const rawhal_limit_row_t after = tenant();
  EXPECT_EQ(after.launches, before.launches);
  EXPECT_EQ(after.gpu_ns, before.gpu_ns);
  EXPECT_EQ(after.no_timestamps, before.no_timestamps);
  EXPECT_EQ(after.open_ns, 0u);
}

// ---- Loads ----

class Loading : public Refusal {
protected:
  struct Load {
    std::thread thread;
    rawhal_executable_t *executable = nullptr;
    rawhal_status_t status = RAWHAL_OK;
    rawhal_error_t error = {};
    std::atomic<bool> done{false};
  };

  void SetUp() override
  {
    Refusal::SetUp();
    set("loads", 0);
    set("held_loads", 0);
    for (const char *name : {"empty-gfx90a-v5.co", "write_ids-gfx90a-v5.co"})
      bytes.push_back(fixture_bytes(name));
  }

  void begin(Load &load, size_t object)
  {
    load.thread = std::thread([this, &load, object] {
      load.status = rawhal_executable_open(device, bytes[object].data(), bytes[object].size(),
                                           nullptr, &load.executable, &load.error);
      load.done = true;
    });
  }

  // All ask for one object, and one of them is loading it, until `held_loads` is 0.
  template <size_t count> void begin_held(Load (&loads)[count])
  {
    set("held_loads", 1);
    for (Load &load : loads)
      begin(load, 0);
    while (*number("loads") == 0)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  void end(Load &load)
  {
    load.thread.join();
    executables.push_back(load.executable);
  }

  std::vector<std::vector<char>> bytes;
};

// Eight ask for an object while it is loaded: it is loaded once, and all have it.
TEST_F(Loading, OnceForAllWhoAsk)
{
  Load loads[8];
  begin_held(loads);
  for (Load &load : loads)
    EXPECT_FALSE(load.done);
  set("held_loads", 0);
  for (Load &load : loads) {
    end(load);
    EXPECT_EQ(load.status, RAWHAL_OK) << load.error.message;
    EXPECT_EQ(load.executable, loads[0].executable);
  }
  EXPECT_EQ(*number("loads"), 1);
}

TEST_F(Loading, AnotherObjectDoesNotWait)
{
  set("held_loads", 1);
  Load held, other;
  begin(held, 0);
  while (*number("loads") == 0)
    std::this_thread::yield();
  begin(other, 1);
  end(other);
  EXPECT_EQ(other.status, RAWHAL_OK) << other.error.message;
  EXPECT_FALSE(held.done);
  rawhal_executable_destroy(executables.back()); // nor does what is unloaded
  executables.pop_back();
  EXPECT_FALSE(held.done);
  set("held_loads", 0);
  end(held);
  EXPECT_EQ(held.status, RAWHAL_OK) << held.error.message;
}

// All who wait hear of a failure, and whoever comes later tries again.
TEST_F(Loading, AFailureIsForAllWhoWaited)
{
  set("refused_loads", 1);
  Load loads[8];
  begin_held(loads);
  set("held_loads", 0);
  int failed = 0;
  for (Load &load : loads) {
    end(load);
    failed += load.status == RAWHAL_RUNTIME;
    if (load.status == RAWHAL_RUNTIME) {
      EXPECT_EQ(load.error.status, RAWHAL_RUNTIME);
      EXPECT_NE(strstr(load.error.message, "loader refused"), nullptr) << load.error.message;
      EXPECT_EQ(load.executable, nullptr);
    }
  }
  EXPECT_GE(failed, 2); // a thread that was slow to begin may come later
  Load again;
  begin(again, 0);
  end(again);
  EXPECT_EQ(again.status, RAWHAL_OK) << again.error.message;
  EXPECT_EQ(*number("loads"), 2);
}

// Nothing is refused here: what a queue's creator asks for gets through the runtime to the device.
TEST_F(Refusal, APriorityReachesTheDevice)
{
  const std::pair<rawhal_queue_priority_t, HSA_QUEUE_PRIORITY> cases[] = {
      {RAWHAL_QUEUE_PRIORITY_LOW, HSA_QUEUE_PRIORITY_MINIMUM},
      {RAWHAL_QUEUE_PRIORITY_HIGH, HSA_QUEUE_PRIORITY_MAXIMUM},
      {RAWHAL_QUEUE_PRIORITY_NORMAL,
       HSA_QUEUE_PRIORITY_NORMAL}, // which a queue has without being told
      {RAWHAL_QUEUE_PRIORITY_DEFAULT, HSA_QUEUE_PRIORITY_NORMAL},
  };
  for (auto [asked, expected] : cases) {
    told = HSA_QUEUE_PRIORITY_NORMAL;
    rawhal_queue_options_t options = {};
    options.priority = asked;
    rawhal_queue_t *on = queue(options);
    EXPECT_EQ(told, expected) << asked;
    EXPECT_OK(wait(on, submit(on, empty())));
  }
}

} // namespace
