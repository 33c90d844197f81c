// What the runtime refuses to do (refusing_runtime.c): the call fails and leaves nothing behind, and everything goes on.
#include "held_test.h"

#include <dlfcn.h>
#include <hsakmt.h>

#include <atomic>
#include <thread>

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

class Refusal : public HeldTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_REFUSING_RUNTIME, 1);
    DeviceTest::SetUp();
  }

  // The next of them after `passed`.
  static void refuse(const char *what, int passed = 0)
  {
    set((std::string("passed_") + what).c_str(), passed);
    set((std::string("refused_") + what).c_str(), 1);
  }

  static void set(const char *name, int value) { *number(name) = value; }

  static std::atomic<int> *number(const char *name)
  {
    void *there = dlsym(RTLD_DEFAULT, name);
    EXPECT_NE(there, nullptr) << name;
    return static_cast<std::atomic<int> *>(there);
  }
};

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
