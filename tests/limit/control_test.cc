// An operator's hand on processes that run: limits changed, tenants suspended, refusals read.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "tests/child.h"
#include "tests/limit/region_file.h"

namespace {

constexpr uint64_t kMs = 1000000, kForever = UINT64_MAX;

uint64_t Now()
{
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

class Control : public testing::Test {
protected:
  void SetUp() override { Join("blue"); }
  void TearDown() override
  {
    rawhal_limit_control_close(control_);
    for (limit_lease_t *lease : leases_)
      shim_lease_destroy(lease);
    for (rawhal_limiter_t *limiter : limiters_)
      rawhal_limiter_close(limiter);
  }
  size_t Join(const char *tenant, const RegionFile::Limits &limits = {})
  {
    limiters_.push_back(file_.Open(limits, tenant));
    leases_.push_back(nullptr);
    EXPECT_EQ(RAWHAL_OK, shim_lease(limiters_.back(), nullptr, nullptr, RAWHAL_UNLIMITED,
                                    &leases_.back(), &error_));
    return limiters_.size() - 1;
  }
  void Leave(size_t which)
  {
    shim_lease_destroy(leases_[which]);
    rawhal_limiter_close(limiters_[which]);
    leases_[which] = nullptr;
    limiters_[which] = nullptr;
  }
  rawhal_limit_control_t *Operator()
  {
    if (!control_) {
      EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_open(file_.path().c_str(), &control_, &error_))
          << error_.message;
    }
    return control_;
  }
  rawhal_status_t Set(const char *tenant, rawhal_limit_t limit, uint64_t value)
  {
    return rawhal_limit_control_set(Operator(), nullptr, tenant, limit, value, &error_);
  }
  rawhal_status_t Suspend(const char *tenant, bool suspended = true)
  {
    return rawhal_limit_control_suspend(Operator(), nullptr, tenant, suspended, &error_);
  }
  rawhal_status_t Admit(size_t which, uint64_t deadline, shim_grant_t *grant)
  {
    shim_cost_t cost = {1, 64, 256, 1};
    return shim_admit(leases_[which], &cost, deadline, grant, &error_);
  }
  void Run(size_t which, uint64_t ns)
  { // so that the kernel is known, and a lease filled
    shim_grant_t grant;
    ASSERT_EQ(RAWHAL_OK, Admit(which, 0, &grant)) << error_.message;
    uint64_t end = Now();
    shim_complete(leases_[which], &grant, end - ns, end);
  }
  rawhal_limit_row_t Row(rawhal_limit_level_t level, const char *name)
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[64], found = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file_.path().c_str(), &view, &error_));
    size_t count = rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 64);
    rawhal_limit_view_close(view);
    for (size_t i = 0; i < count; ++i)
      if (rows[i].level == level && !strcmp(rows[i].name, name))
        return rows[i];
    ADD_FAILURE() << name << " is not there";
    return found;
  }
  uint64_t Get(size_t which, rawhal_limit_t limit)
  {
    return rawhal_limiter_get(limiters_[which], limit);
  }

  RegionFile file_;
  std::vector<rawhal_limiter_t *> limiters_;
  std::vector<limit_lease_t *> leases_;
  rawhal_limit_control_t *control_ = nullptr;
  rawhal_error_t error_ = {};
};

// ---- Changing ----

TEST_F(Control, ChangesEachLimitOfATenantAndItsDevice)
{
  const struct {
    rawhal_limit_t limit;
    uint64_t value;
  } cases[] = {{RAWHAL_LIMIT_MEMORY, 1 << 20},
               {RAWHAL_LIMIT_GPU_SHARE, 300000},
               {RAWHAL_LIMIT_DISPATCH_RATE, 1000},
               {RAWHAL_LIMIT_BURST, 5 * kMs},
               {RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL},
               {RAWHAL_LIMIT_DEVICE_SHARE, 900000}};
  size_t red = Join("red");
  for (const auto &c : cases) {
    SCOPED_TRACE(rawhal_limit_info(c.limit)->name);
    const uint64_t before = Get(red, c.limit);
    ASSERT_EQ(RAWHAL_OK, Set("blue", c.limit, c.value)) << error_.message;
    EXPECT_EQ(c.value, Get(0, c.limit));
    EXPECT_EQ(c.limit == RAWHAL_LIMIT_DEVICE_SHARE ? c.value : before, Get(red, c.limit));
  }
  for (int i = 0; i < LIMIT_COUNT; ++i) { // and no process's own
    rawhal_limit_t limit = static_cast<rawhal_limit_t>(i);
    bool known = false;
    for (const auto &c : cases)
      known |= c.limit == limit;
    if (!known) {
      EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Set("blue", limit, 2)) << rawhal_limit_info(limit)->name;
    }
  }
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, Set("blue", RAWHAL_LIMIT_GPU_SHARE, 1000001));
  EXPECT_EQ(RAWHAL_NOT_FOUND, Set("green", RAWHAL_LIMIT_GPU_SHARE, 1));
  EXPECT_NE(nullptr, strstr(error_.message, "'green'")) << error_.message;
  EXPECT_EQ(RAWHAL_NOT_FOUND, Set(std::string(64, 'x').c_str(), RAWHAL_LIMIT_GPU_SHARE, 1));
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_limit_control_set(control_, "GPU-9", "blue",
                                                       RAWHAL_LIMIT_GPU_SHARE, 1, &error_));
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_set(control_, "device", "blue", RAWHAL_LIMIT_GPU_SHARE,
                                                1000, &error_));
}

// A queue's own share goes by the burst of now, not by that of when the queue was made.
TEST_F(Control, AQueuesShareHasTheTenantsBurst)
{
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_BURST, 60000 * kMs)) << error_.message;
  limit_lease_t *own = nullptr;
  ASSERT_EQ(RAWHAL_OK, shim_lease(limiters_[0], nullptr, nullptr, 10000, &own, &error_));
  shim_cost_t cost = {1, 64, 256, 1};
  shim_grant_t grant;
  auto run = [&] {
    ASSERT_EQ(RAWHAL_OK, shim_admit(own, &cost, 0, &grant, &error_)) << error_.message;
    uint64_t end = Now();
    shim_complete(own, &grant, end - 100 * kMs, end);
  };
  run(); // a debt of 10 s, within the burst
  run();
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_BURST, kMs)) << error_.message;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, shim_admit(own, &cost, 0, &grant, &error_));
  EXPECT_NE(nullptr, strstr(error_.message, "the queue's share")) << error_.message;
  shim_lease_destroy(own);
}

// What a queue holds in advance ends with the limit it was given under.
TEST_F(Control, HoldsFromTheNextAdmission)
{
  shim_grant_t grant;
  Run(0, 1000);
  ASSERT_EQ(RAWHAL_OK, Admit(0, 0, &grant)); // in flight: an idle lease holds nothing
  ASSERT_GT(shim_credit_launches(leases_[0]), 0u) << "or the test proves nothing";
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, 0));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(0, kForever, &grant));
  EXPECT_NE(nullptr, strstr(error_.message, "gpu-share")) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED));
  EXPECT_EQ(RAWHAL_OK, Admit(0, 0, &grant)) << error_.message;
}

TEST_F(Control, WakesThoseWhoWait)
{
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, 1)); // one part per million
  Run(0, 10 * kMs);                                             // 10,000 s of the clock
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_WOULD_BLOCK, Admit(0, 0, &grant));
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    shim_cost_t cost = {1, 64, 256, 1};
    shim_grant_t mine;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_OK, shim_admit(leases_[0], &cost, Now() + 60000 * kMs, &mine, &error))
        << error.message;
    done = true;
  });
  while (!Row(RAWHAL_LIMIT_LEVEL_PROCESS, "blue").waiting)
    usleep(1000);
  EXPECT_FALSE(done);
  uint32_t before[2], after[2]; // who sleeps looks again when these change, and not only by chance
  shim_events(limiters_[0], before);
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED));
  waiter.join();
  shim_events(limiters_[0], after);
  EXPECT_NE(before[0], after[0]);
  EXPECT_NE(before[1], after[1]);
}

// Whoever joins later, or runs already, makes it stricter at most.
TEST_F(Control, WhatIsSetIsNotLoosenedFromBelow)
{
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, 300000));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiters_[0], RAWHAL_LIMIT_GPU_SHARE, 500000, &error_));
  EXPECT_STREQ("gpu-share is held at 30% by the operator: a program can make it stricter only",
               error_.message);
  Join("blue", {{RAWHAL_LIMIT_GPU_SHARE, 900000}});
  EXPECT_EQ(300000u, Get(0, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiters_[0], RAWHAL_LIMIT_GPU_SHARE, 200000, &error_));
  EXPECT_EQ(200000u, Get(1, RAWHAL_LIMIT_GPU_SHARE));
  // The device's, by any of its tenants.
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_DEVICE_SHARE, 500000));
  size_t red = Join("red", {{RAWHAL_LIMIT_DEVICE_SHARE, 1000000}});
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiters_[red], RAWHAL_LIMIT_DEVICE_SHARE, 1000000, &error_));
  EXPECT_EQ(500000u, Get(red, RAWHAL_LIMIT_DEVICE_SHARE));
  EXPECT_EQ(1ull << RAWHAL_LIMIT_GPU_SHARE, Row(RAWHAL_LIMIT_LEVEL_TENANT, "blue").held);
  EXPECT_EQ(1ull << RAWHAL_LIMIT_DEVICE_SHARE, Row(RAWHAL_LIMIT_LEVEL_DEVICE, "device").held);
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_release(control_, nullptr, "blue", &error_));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiters_[0], RAWHAL_LIMIT_GPU_SHARE, 500000, &error_));
  EXPECT_EQ(RAWHAL_OK,
            rawhal_limiter_set(limiters_[red], RAWHAL_LIMIT_DEVICE_SHARE, 1000000, &error_));
  EXPECT_EQ(0u, Row(RAWHAL_LIMIT_LEVEL_TENANT, "blue").held);
}

// What processes had set for themselves does not keep an operator from giving more.
TEST_F(Control, WhatIsSetReplacesWhatProcessesAskedFor)
{
  size_t green =
      Join("green", {{RAWHAL_LIMIT_GPU_SHARE, 100000}, {RAWHAL_LIMIT_DEVICE_SHARE, 100000}});
  ASSERT_EQ(RAWHAL_OK, Set("green", RAWHAL_LIMIT_GPU_SHARE, 300000));
  ASSERT_EQ(RAWHAL_OK, Set("green", RAWHAL_LIMIT_DEVICE_SHARE, 300000));
  EXPECT_EQ(300000u, Get(green, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(300000u, Get(0, RAWHAL_LIMIT_DEVICE_SHARE));
  Join("green",
       {{RAWHAL_LIMIT_GPU_SHARE, 200000}}); // who comes later asks for less, and that holds
  EXPECT_EQ(200000u, Get(green, RAWHAL_LIMIT_GPU_SHARE));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_release(control_, nullptr, "green", &error_));
  EXPECT_EQ(100000u, Get(green, RAWHAL_LIMIT_GPU_SHARE)); // and what they asked for is not lost
  EXPECT_EQ(100000u, Get(0, RAWHAL_LIMIT_DEVICE_SHARE));
}

TEST_F(Control, RestartingIsNoWayOut)
{
  ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, 100000));
  ASSERT_EQ(RAWHAL_OK, Suspend("blue"));
  Leave(0);
  // Others that come and go do not take its place, were they as many as there is room for.
  for (int i = 0; i < 100; ++i)
    Leave(Join(("t" + std::to_string(i)).c_str()));
  size_t again = Join("blue", {{RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED}});
  EXPECT_EQ(100000u, Get(again, RAWHAL_LIMIT_GPU_SHARE));
  shim_grant_t grant;
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(again, 0, &grant));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_release(Operator(), nullptr, "blue", &error_));
  EXPECT_EQ(RAWHAL_OK, Admit(again, 0, &grant)) << error_.message;
  Leave(again);
  EXPECT_EQ(RAWHAL_UNLIMITED, Get(Join("blue"), RAWHAL_LIMIT_GPU_SHARE)); // and now it is forgotten
}

// ---- Suspended ----

TEST_F(Control, ASuspendedTenantIsHeldBackUntilItIsResumed)
{
  size_t red = Join("red");
  Run(0, 1000);
  shim_grant_t running, grant;
  ASSERT_EQ(RAWHAL_OK, Admit(0, 0, &running));
  ASSERT_GT(shim_credit_launches(leases_[0]), 0u) << "or the test proves nothing";
  ASSERT_EQ(RAWHAL_OK, Suspend("blue"));
  EXPECT_TRUE(Row(RAWHAL_LIMIT_LEVEL_TENANT, "blue").suspended);
  EXPECT_FALSE(Row(RAWHAL_LIMIT_LEVEL_TENANT, "red").suspended);
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(0, 0, &grant));
  EXPECT_NE(nullptr, strstr(error_.message, "suspended by the operator")) << error_.message;
  EXPECT_GT(shim_retry_at(leases_[0]), Now());
  EXPECT_EQ(RAWHAL_TIMED_OUT, Admit(0, Now() + 5 * kMs, &grant));
  EXPECT_NE(nullptr, strstr(error_.message, "suspended by the operator")) << error_.message;
  EXPECT_EQ(RAWHAL_OK, Admit(red, 0, &grant)) << error_.message;
  uint64_t end = Now();
  shim_complete(leases_[0], &running, end - 1000, end); // what is in flight ends as ever
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Admit(0, 0, &grant));
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    shim_cost_t cost = {1, 64, 256, 1};
    shim_grant_t mine;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_OK, shim_admit(leases_[0], &cost, kForever, &mine, &error)) << error.message;
    done = true;
  });
  usleep(20000);
  EXPECT_FALSE(done);
  // Who cannot go must not be let go first.
  EXPECT_FALSE(Row(RAWHAL_LIMIT_LEVEL_PROCESS, "blue").waiting);
  ASSERT_EQ(RAWHAL_OK, Suspend("blue", false));
  waiter.join();
  EXPECT_FALSE(Row(RAWHAL_LIMIT_LEVEL_TENANT, "blue").suspended);
}

// Threads that submit from their leases while the operator suspends: not one admission begins after
// the call has returned and its thread has come round once.
TEST_F(Control, SuspendingEndsWhatLeasesHold)
{
  Run(0, 1000);
  for (int i = 0; i < 3; ++i)
    Join("blue");
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> suspended{false}, stop{false};
    std::atomic<int> late{0}, before{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < leases_.size(); ++t)
      threads.emplace_back([&, t] {
        shim_cost_t cost = {1, 64, 256, 1};
        shim_grant_t grants[2]; // one stays in flight, or the lease would hold nothing
        unsigned count = 0;
        while (!stop) {
          bool after = suspended;
          if (shim_admit(leases_[t], &cost, 0, &grants[count % 2], nullptr) != RAWHAL_OK)
            continue;
          ++(after ? late : before);
          uint64_t end = Now();
          if (count++)
            shim_complete(leases_[t], &grants[count % 2], end - 100, end);
        }
        if (count)
          shim_cancel(leases_[t], &grants[(count - 1) % 2]);
      });
    while (before < 20)
      std::this_thread::yield();
    ASSERT_EQ(RAWHAL_OK, Suspend("blue"));
    suspended = true;
    usleep(1000);
    stop = true;
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(0, late);
    ASSERT_EQ(RAWHAL_OK, Suspend("blue", false));
  }
}

// ---- Who may, and what may be in the file ----

TEST_F(Control, WhoMayNotWriteMayNotChange)
{
  rawhal_limit_control_t *control = nullptr;
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_limit_control_open((file_.folder() + "/none").c_str(), &control, &error_));
  struct stat facts;
  EXPECT_NE(0, stat((file_.folder() + "/none").c_str(), &facts)) << "nothing is made";
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_control_open(nullptr, &control, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_control_open(file_.path().c_str(), nullptr, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_control_suspend(nullptr, nullptr, "blue", true, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_control_suspend(Operator(), nullptr, nullptr, true, &error_));
  rawhal_limit_control_close(nullptr);
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be somebody else";
  ASSERT_EQ(0, chmod(file_.folder().c_str(), 0755));
  ASSERT_EQ(0, chmod(file_.path().c_str(), 0644));
  pid_t child = fork_child();
  if (child == 0) {
    bool forked = Suspend("blue") == RAWHAL_INVALID_ARGUMENT;
    bool refused =
        setuid(65534) == 0 &&
        rawhal_limit_control_open(file_.path().c_str(), &control, &error_) == RAWHAL_RUNTIME &&
        !control && strstr(error_.message, "ermission");
    _exit(forked && refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Any bytes behind the header, changed while operators and onlookers work.
TEST_F(Control, HostileBytesHarmNobody)
{
  Operator();
  Leave(0);
  const size_t size = shim_region_bytes();
  int fd = open(file_.path().c_str(), O_RDWR | O_CLOEXEC);
  unsigned char *bytes =
      static_cast<unsigned char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  close(fd);
  ASSERT_NE(MAP_FAILED, static_cast<void *>(bytes));
  rawhal_limit_view_t *view = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file_.path().c_str(), &view, &error_));
  std::atomic<bool> stop{false};
  std::thread vandal([&] {
    std::mt19937_64 random(7);
    while (!stop)
      bytes[256 + random() % (size - 256)] = random() % 4 ? 0xff & random() : 0xff;
  });
  std::vector<rawhal_limit_row_t> rows(1024);
  std::vector<rawhal_limit_denial_t> denials(600);
  for (int round = 0; round < 300; ++round) {
    for (const char *tenant : {"blue", "", "\xff"}) {
      (void)!Set(tenant, RAWHAL_LIMIT_GPU_SHARE, 1000);
      (void)!Set(tenant, RAWHAL_LIMIT_DEVICE_SHARE, 1000);
      (void)!Suspend(tenant, round % 2);
      (void)!rawhal_limit_control_release(control_, nullptr, tenant, &error_);
    }
    rawhal_limit_view_read(view, rows.data(), sizeof(rawhal_limit_row_t), rows.size());
    size_t count = rawhal_limit_view_denials(view, denials.data(), sizeof(rawhal_limit_denial_t),
                                             denials.size());
    ASSERT_LE(count, 512u);
    for (size_t i = 0; i < count && i < denials.size(); ++i) {
      ASSERT_LT(denials[i].limit, LIMIT_COUNT);
      ASSERT_LT(strlen(denials[i].tenant), sizeof(denials[i].tenant));
    }
  }
  stop = true;
  vandal.join();
  rawhal_limit_view_close(view);
  munmap(bytes, size);
}

// Processes that join and leave, die in the middle, and are changed all the while.
TEST_F(Control, ChangesGoWellWithJoiningAndDying)
{
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    pid_t child = fork_child();
    if (child == 0) {
      for (;;) {
        rawhal_limiter_t *limiter = file_.Open({{RAWHAL_LIMIT_GPU_SHARE, 900000}}, "blue");
        if (!limiter)
          _exit(1);
        (void)!rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 900000, nullptr);
        rawhal_limiter_close(limiter);
      }
    }
    children.push_back(child);
  }
  for (int round = 0; round < 200; ++round) {
    const uint64_t value = 1000 + static_cast<uint64_t>(round);
    ASSERT_EQ(RAWHAL_OK, Set("blue", RAWHAL_LIMIT_GPU_SHARE, value)) << error_.message;
    usleep(500);
    ASSERT_EQ(value, Get(0, RAWHAL_LIMIT_GPU_SHARE)) << round;
    if (round == 100)
      signal_child(children[0], SIGKILL);
  }
  for (pid_t child : children) {
    end_child(child);
  }
}

// ---- Refusals ----

class Denials : public Control {
protected:
  std::vector<rawhal_limit_denial_t> Read()
  {
    rawhal_limit_view_t *view = nullptr;
    std::vector<rawhal_limit_denial_t> denials(512);
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file_.path().c_str(), &view, &error_));
    denials.resize(rawhal_limit_view_denials(view, denials.data(), sizeof(rawhal_limit_denial_t),
                                             denials.size()));
    EXPECT_EQ(denials.size(),
              rawhal_limit_view_denials(view, nullptr, sizeof(rawhal_limit_denial_t), 0));
    rawhal_limit_view_close(view);
    return denials;
  }
};

TEST_F(Denials, SayWhatWasAskedUsedAndAllowed)
{
  EXPECT_EQ(0u, Read().size());
  size_t bound =
      Join("bound", {{RAWHAL_LIMIT_MEMORY, 1 << 20}, {RAWHAL_LIMIT_GRID_WORKGROUPS, 100}});
  ASSERT_EQ(RAWHAL_OK, shim_reserve(limiters_[bound], 0, 600 << 10, &error_));
  const uint64_t before = Now();
  ASSERT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiters_[bound], 0, 500 << 10, &error_));
  std::vector<rawhal_limit_denial_t> got = Read();
  ASSERT_EQ(1u, got.size());
  EXPECT_EQ(1u, got[0].number);
  EXPECT_EQ(RAWHAL_LIMIT_MEMORY, got[0].limit);
  EXPECT_EQ(500u << 10, got[0].asked);
  EXPECT_EQ(600u << 10, got[0].used);
  EXPECT_EQ(1u << 20, got[0].allowed);
  EXPECT_EQ(static_cast<uint64_t>(getpid()), got[0].pid);
  EXPECT_STREQ("bound", got[0].tenant);
  EXPECT_STREQ("device", got[0].device);
  EXPECT_GE(got[0].at_ns, before);
  EXPECT_LE(got[0].at_ns, Now());
  shim_cost_t cost = {1, 101, 256, 1};
  shim_grant_t grant;
  ASSERT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_admit(leases_[bound], &cost, 0, &grant, &error_));
  rawhal_limit_row_t row = Row(RAWHAL_LIMIT_LEVEL_PROCESS, "bound");
  EXPECT_EQ(2u, row.denial.number);
  EXPECT_EQ(RAWHAL_LIMIT_GRID_WORKGROUPS, row.denial.limit);
  EXPECT_EQ(101u, row.denial.asked);
  EXPECT_EQ(100u, row.denial.allowed);
  EXPECT_EQ(2u, row.denials);
  EXPECT_EQ(0u, Row(RAWHAL_LIMIT_LEVEL_PROCESS, "blue").denial.number);
  ASSERT_EQ(RAWHAL_OK, Set("bound", RAWHAL_LIMIT_DISPATCH_RATE, 0));
  ASSERT_EQ(RAWHAL_QUOTA_EXCEEDED, Admit(bound, 0, &grant));
  got = Read();
  ASSERT_EQ(1u, got.size());
  EXPECT_EQ(RAWHAL_LIMIT_DISPATCH_RATE, got[0].limit);
  EXPECT_EQ(RAWHAL_UNLIMITED, got[0].asked);
}

// Who was refused and went away at once is the one to be told of.
TEST_F(Denials, OutliveTheirProcess)
{
  pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *limiter = file_.Open({{RAWHAL_LIMIT_MEMORY, 4096}}, "short");
    _exit(limiter && shim_reserve(limiter, 0, 8192, nullptr) == RAWHAL_QUOTA_EXCEEDED ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(0, status);
  std::vector<rawhal_limit_denial_t> got = Read();
  ASSERT_EQ(1u, got.size());
  EXPECT_EQ(static_cast<uint64_t>(child), got[0].pid);
  EXPECT_EQ(8192u, got[0].asked);
  // The slot's next holder counts on, and does not pass for the one that was refused.
  shim_reclaim(limiters_[0]);
  size_t next = Join("next", {{RAWHAL_LIMIT_MEMORY, 4096}});
  ASSERT_EQ(got[0].slot, shim_slot(limiters_[next]));
  EXPECT_EQ(0u, Row(RAWHAL_LIMIT_LEVEL_PROCESS, "next").denial.number);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiters_[next], 0, 12288, nullptr));
  got = Read();
  ASSERT_EQ(1u, got.size());
  EXPECT_EQ(2u, got[0].number);
  EXPECT_STREQ("next", got[0].tenant);
}

// A record that is not as it was written, because it is being written or was damaged, is none.
TEST_F(Denials, ThatAreDamagedAreNone)
{
  const uint64_t asked = 0x123456789000;
  size_t bound = Join("bound", {{RAWHAL_LIMIT_MEMORY, 4096}});
  ASSERT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiters_[bound], 0, asked, nullptr));
  ASSERT_EQ(1u, Read().size());
  const size_t words = shim_region_bytes() / sizeof(uint64_t);
  int fd = open(file_.path().c_str(), O_RDWR | O_CLOEXEC);
  uint64_t *data = static_cast<uint64_t *>(
      mmap(nullptr, words * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  close(fd);
  ASSERT_NE(MAP_FAILED, static_cast<void *>(data));
  size_t at = 0;
  while (at < words && data[at] != asked)
    ++at;
  ASSERT_LT(at, words);
  data[at] = asked + 1;
  EXPECT_EQ(0u, Read().size());
  data[at] = asked;
  EXPECT_EQ(1u, Read().size());
  munmap(data, words * sizeof(uint64_t));
}

// Every record that is read is one that was written: what was asked tells what must stand beside it.
TEST_F(Denials, AreNeverTwoInOne)
{
  size_t bound = Join("bound", {{RAWHAL_LIMIT_MEMORY, 4096}, {RAWHAL_LIMIT_GRID_WORKGROUPS, 10}});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      shim_grant_t grant;
      for (uint64_t i = 1; !stop; ++i) {
        shim_cost_t cost = {1, 10 + i, 256, 1};
        if (t)
          (void)!shim_reserve(limiters_[bound], 0, 4096 * (1 + i), nullptr);
        else
          (void)!shim_admit(leases_[bound], &cost, 0, &grant, nullptr);
      }
    });
  uint64_t seen = 0, last = 0;
  rawhal_limit_view_t *view = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file_.path().c_str(), &view, &error_));
  for (int i = 0; i < 20000 || seen < 100; ++i) {
    ASSERT_LT(i, 10000000);
    rawhal_limit_denial_t denial;
    if (i % 1000 == 999)
      std::this_thread::yield();
    if (rawhal_limit_view_denials(view, &denial, sizeof(rawhal_limit_denial_t), 1) != 1)
      continue;
    ASSERT_GE(denial.number, last);
    seen += denial.number != last;
    last = denial.number;
    if (denial.limit == RAWHAL_LIMIT_MEMORY) {
      ASSERT_EQ(4096u, denial.allowed);
      ASSERT_EQ(0u, denial.asked % 4096);
    } else {
      ASSERT_EQ(RAWHAL_LIMIT_GRID_WORKGROUPS, denial.limit);
      ASSERT_EQ(10u, denial.allowed);
    }
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  rawhal_limit_view_close(view);
}

} // namespace
