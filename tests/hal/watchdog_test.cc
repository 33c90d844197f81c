// RAWHAL_WATCHDOG: what does not get on is told, once, with where it stands. Nothing waits for a time: each test holds the
// device up until it has been told.
#include "device_test.h"

extern "C" {
#include "queue/watchdog.h"
}

#include <hsa/hsa.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace {

class Watchdog : public DeviceTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_WATCHDOG", setting(), 1);
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = "gpus=1,vram_mib=64,timeout_ms=60000";
    options.log = hear;
    options.log_context = this;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
    flag = buffer(4096, RAWHAL_MEMORY_HOST);
    set_flag(0);
  }
  void TearDown() override
  {
    set_flag(1);
    DeviceTest::TearDown();
    unsetenv("RAWHAL_WATCHDOG");
  }
  virtual const char *setting() { return "20ms"; }

  static void hear(void *context, rawhal_severity_t severity, const char *message)
  {
    auto *test = static_cast<Watchdog *>(context);
    if (severity != RAWHAL_SEVERITY_ERROR)
      return;
    std::lock_guard<std::mutex> guard(test->lock);
    test->told.push_back(message);
    test->heard.notify_all();
    if (test->when_told)
      test->when_told();
  }
  // The line that is told next.
  std::string next()
  {
    std::unique_lock<std::mutex> guard(lock);
    heard.wait(guard, [this] { return told.size() > taken; });
    return told[taken++];
  }
  void set_flag(uint32_t value)
  {
    __atomic_store_n(static_cast<uint32_t *>(rawhal_buffer_host(flag)), value, __ATOMIC_SEQ_CST);
  }
  rawhal_dispatch_t waiting(Blob &blob)
  {
    blob.add(rawhal_buffer_address(flag));
    return dispatch_of(kernel("mistakes-gfx90a-v5.co", "wait_for"), 64, 64, blob);
  }

  rawhal_buffer_t *flag = nullptr;
  std::function<void()> when_told;
  std::mutex lock;
  std::condition_variable heard;
  std::vector<std::string> told;
  size_t taken = 0;
};

#define EXPECT_IN(part, text)                                                                      \
  EXPECT_NE((text).find(part), std::string::npos) << "'" << (part) << "' is missing in: " << (text)

TEST_F(Watchdog, TellsWhichValueOfASemaphoreAQueueWaitsFor)
{
  rawhal_semaphore_t *ready = nullptr;
  ASSERT_OK(rawhal_semaphore_create(device, 0, &ready, &error));
  rawhal_semaphore_label(ready, "ready");
  rawhal_queue_t *on = queue();
  const rawhal_timepoint_t point = {ready, 4};
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_timeline(on, &point, 1, nullptr, 0, 0, &ticket, &error));
  const std::string line = next();
  EXPECT_IN("ticket 1", line);
  EXPECT_IN("the barrier waits for 4 of semaphore ", line);
  EXPECT_IN("'ready', which no packet in flight sets", line);
  ASSERT_OK(rawhal_semaphore_signal(ready, 4, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  rawhal_semaphore_destroy(ready);
}

TEST_F(Watchdog, TellsWhichKernelRunsAndWhereItsWavesAre)
{
  Blob blob;
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = waiting(blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  const std::string line = next();
  EXPECT_IN("has not got on for", line);
  EXPECT_IN("ticket 1, kernel wait_for", line);
  EXPECT_IN("1 wave is resident: 1 ", line);
  EXPECT_IN("entry+", line);
  set_flag(1);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error)); // and nothing has become of it
}

// However many queues there are, of which most have nothing to do.
TEST_F(Watchdog, TellsWhatABarrierWaitsFor)
{
  Blob blob;
  rawhal_queue_options_t small = {};
  small.packets = 64;
  small.submissions = 1;
  small.kernarg_bytes = 8192;
  rawhal_queue_t *first = queue();
  for (int i = 0; i < 128; ++i)
    queue(small);
  rawhal_queue_t *second = queue();
  const rawhal_dispatch_t dispatch = waiting(blob);
  rawhal_dependency_t dependency = {};
  rawhal_ticket_t passed = 0;
  dependency.queue = first;
  ASSERT_OK(rawhal_queue_submit(first, &dispatch, 1, RAWHAL_FOREVER, &dependency.ticket, &error));
  ASSERT_OK(rawhal_queue_barrier(second, &dependency, 1, RAWHAL_FOREVER, &passed, &error));
  const std::string one = next(), other = next();
  EXPECT_IN("kernel wait_for", one + other);
  EXPECT_IN("the barrier waits for ticket 1 of queue ", one + other);
  set_flag(1);
  EXPECT_OK(rawhal_queue_wait(second, passed, RAWHAL_FOREVER, &error));
}

TEST_F(Watchdog, TellsOfASignalThatIsNobodys)
{
  hsa_signal_t signal;
  ASSERT_EQ(HSA(hsa_signal_create)(7, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  rawhal_dependency_t dependency = {};
  dependency.signal = signal.handle;
  rawhal_ticket_t passed = 0;
  rawhal_queue_t *on = queue();
  ASSERT_OK(rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, &passed, &error));
  EXPECT_IN("which is 7", next());
  HSA(hsa_signal_store_screlease)(signal, 0);
  EXPECT_OK(rawhal_queue_wait(on, passed, RAWHAL_FOREVER, &error));
  (void)HSA(hsa_signal_destroy)(signal);
}

// A submission of several kernels is told of each time that it stands, not because all of it takes long.
TEST_F(Watchdog, StartsAnewWithEachPacket)
{
  Blob first, second;
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *other = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *second_flag = static_cast<uint32_t *>(rawhal_buffer_host(other));
  __atomic_store_n(second_flag, 0u, __ATOMIC_SEQ_CST);
  rawhal_dispatch_t dispatches[2] = {waiting(first), {}};
  second.add(rawhal_buffer_address(other));
  dispatches[1] = dispatch_of(dispatches[0].kernel, 64, 64, second);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, dispatches, 2, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_IN("ticket 1, kernel wait_for", next());
  set_flag(1);
  std::unique_lock<std::mutex> guard(lock);
  EXPECT_TRUE(
      heard.wait_for(guard, std::chrono::seconds(10), [this] { return told.size() > taken; }));
  guard.unlock();
  __atomic_store_n(second_flag, 1u, __ATOMIC_SEQ_CST);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

class WatchdogFails : public Watchdog {
protected:
  const char *setting() override { return "20ms,fail"; }
};

TEST_F(WatchdogFails, TheQueue)
{
  Blob blob;
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  EXPECT_EQ(run(queue(), waiting(blob), RAWHAL_FOREVER), RAWHAL_FAULT);
  const std::string line = next();
  EXPECT_IN("kernel wait_for failed: ", line);
  EXPECT_IN("has not got on for", line);
  ASSERT_OK(rawhal_queue_fault(queues.back(), &fault, &error));
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_TIME_LIMIT);
  EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_ENDLESS) << fault.causes[0].text;
}

// Whoever is told asks what it was, and makes another queue and a buffer.
TEST_F(WatchdogFails, TheQueueAndTellsOfItWithoutLocks)
{
  Blob blob;
  rawhal_queue_t *on = queue(), *made = nullptr;
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  when_told = [&] {
    rawhal_error_t why;
    EXPECT_EQ(rawhal_queue_fault(on, &fault, &why), RAWHAL_OK) << why.message;
    EXPECT_EQ(rawhal_queue_create(device, nullptr, &made, &why), RAWHAL_OK) << why.message;
  };
  EXPECT_EQ(run(on, waiting(blob), RAWHAL_FOREVER), RAWHAL_FAULT);
  when_told = nullptr;
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_TIME_LIMIT);
  rawhal_queue_destroy(made);
}

TEST_F(WatchdogFails, AQueueWhoseKernelHasNotBegunAndBlamesNone)
{
  hsa_signal_t signal;
  ASSERT_EQ(HSA(hsa_signal_create)(7, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  rawhal_dependency_t dependency = {};
  dependency.signal = signal.handle;
  rawhal_ticket_t passed = 0, behind = 0;
  Blob blob;
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = waiting(blob);
  ASSERT_OK(rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, &passed, &error));
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &behind, &error));
  EXPECT_EQ(rawhal_queue_wait(on, behind, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  EXPECT_IN("the queue failed: ", std::string(error.message));
  EXPECT_IN("which is 7", std::string(error.message));
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
  EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_DEPENDENCY) << fault.causes[0].text;
  EXPECT_IN("which is 7", std::string(fault.causes[0].text));
  HSA(hsa_signal_store_screlease)(signal, 0);
  rawhal_queue_destroy(on);
  queues.pop_back();
  (void)HSA(hsa_signal_destroy)(signal);
}

class WatchdogDumps : public Watchdog {
protected:
  const char *setting() override
  {
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    setenv("RAWHAL_CORE", ("fd:" + std::to_string(ends[1])).c_str(), 1);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    return "20ms,kernel:dump";
  }
  void TearDown() override
  {
    Watchdog::TearDown();
    unsetenv("RAWHAL_CORE");
    close(ends[0]), close(ends[1]);
  }
  int ends[2] = {-1, -1};
};

TEST_F(WatchdogDumps, AndTheQueueLives)
{
  Blob blob;
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = waiting(blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_IN("ticket 1, kernel wait_for", next());
  EXPECT_IN("core file ", next());
  std::vector<char> file(1 << 20);
  file.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], file.data(), file.size()), 0)));
  const std::string core(file.begin(), file.end());
  EXPECT_EQ(core.substr(0, 4), "\177ELF");
  EXPECT_NE(core.find("has not got on for "), std::string::npos); // why it was written
  set_flag(1);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

class WatchdogFailsDevices : public Watchdog {
protected:
  const char *setting() override { return "20ms,device"; }
};

TEST_F(WatchdogFailsDevices, AllQueuesOfThem)
{
  Blob blob;
  rawhal_queue_t *idle = queue(), *on = queue();
  EXPECT_EQ(run(on, waiting(blob), RAWHAL_FOREVER), RAWHAL_FAULT);
  EXPECT_IN("kernel wait_for failed: ", next());
  EXPECT_IN("the queue failed: ", next());
  EXPECT_EQ(queue_info(idle).status, RAWHAL_FAULT);
}

// Of a process that was stopped for an hour, or had no processor, no more counts than of one that slept too long.
TEST(WatchdogClock, GoesOnOnlyWhileItLooks)
{
  const uint64_t pause = watchdog_pause(10'000'000'000), hour = 3'600'000'000'000;
  EXPECT_EQ(pause, 1'000'000'000u);
  EXPECT_EQ(watchdog_passed(5, 5 + pause, pause), pause);
  EXPECT_EQ(watchdog_passed(hour, hour + pause + 7, pause), pause + 7);
  EXPECT_EQ(watchdog_passed(0, hour, pause), 2 * pause);
  EXPECT_EQ(watchdog_pause(80), 1'000'000u);
  EXPECT_EQ(watchdog_pause(80'000'000), 10'000'000u);
}

TEST(WatchdogSetting, IsUnderstoodOrRefused)
{
  rawhal_error_t error = {};
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  for (const char *wrong : {"10", "0s", "10s,", "10s,die", "soon", "1s,fail,",
                            "1s,kernel:", "1s,wait:10s", "1s,fai", "1s,kernels:fail"}) {
    rawhal_instance_t *instance = nullptr;
    setenv("RAWHAL_WATCHDOG", wrong, 1);
    EXPECT_EQ(rawhal_instance_create(&options, &instance, &error), RAWHAL_INVALID_ARGUMENT)
        << wrong;
    EXPECT_IN("RAWHAL_WATCHDOG", std::string(error.message));
    rawhal_instance_destroy(instance);
  }
  const struct {
    const char *text;
    watchdog_settings_t means;
  } right[] = {
      {"", {0, WATCHDOG_REPORT, WATCHDOG_REPORT}},
      {"off", {0, WATCHDOG_REPORT, WATCHDOG_REPORT}},
      {"10s", {10'000'000'000, WATCHDOG_REPORT, WATCHDOG_REPORT}},
      {"500ms,fail", {500'000'000, WATCHDOG_FAIL, WATCHDOG_FAIL}},
      {"1s,kernel:device,wait:dump", {1'000'000'000, WATCHDOG_DEVICE, WATCHDOG_DUMP}},
      {"1s,abort,wait:report", {1'000'000'000, WATCHDOG_ABORT, WATCHDOG_REPORT}},
  };
  for (const auto &row : right) {
    watchdog_settings_t settings;
    setenv("RAWHAL_WATCHDOG", row.text, 1);
    EXPECT_OK(watchdog_read(&settings, &error));
    EXPECT_EQ(settings.limit, row.means.limit) << row.text;
    EXPECT_EQ(settings.kernels, row.means.kernels) << row.text;
    EXPECT_EQ(settings.waits, row.means.waits) << row.text;
  }
  unsetenv("RAWHAL_WATCHDOG");
}

} // namespace
