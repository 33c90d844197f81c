// Something happens between any two instructions of an admission that takes no lock: it is run one instruction at a
// time, and what happens is done by the handler, which therefore must not need what the interrupted thread holds.
#include <errno.h>
#include <signal.h>
#include <time.h>

#include <functional>

#include "tests/extended.h"
#include "tests/limit/admission.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

namespace {

std::function<bool(long)> at_step; // whether the next instruction is a step, too
volatile long steps;
volatile sig_atomic_t is_in_step;

void OnTrap(int, siginfo_t *, void *context)
{
  is_in_step = 1;
  if (!at_step(++steps)) // the rest runs as ever
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
  is_in_step = 0;
}

inline void Trap(bool on)
{
  if (on)
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
  else
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

class Between : public Admission {
protected:
  void SetUp() override
  {
    struct sigaction action = {};
    action.sa_sigaction = OnTrap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
  }
  void TearDown() override
  {
    sigaction(SIGTRAP, &before_, nullptr);
    Admission::TearDown();
  }
  // How many instructions `body` has, as far as they are steps.
  template <typename Body> static long Run(Body body, std::function<bool(long)> step)
  {
    at_step = std::move(step);
    steps = 0;
    Trap(true);
    body();
    Trap(false);
    return steps;
  }

  // `event` at one step, up to which alone it goes by steps. At step 0 nothing happens, and `end` is how many there are.
  template <typename Body, typename Event>
  static void RunUntil(Body body, long stop, long *end, Event event)
  {
    const long ran = Run(body, [&](long step) {
      if (step == stop)
        event();
      return stop == 0 || step < stop;
    });
    if (stop == 0)
      *end = ran;
  }

private:
  struct sigaction before_ = {};
};

constexpr uint64_t kFew = 2;

// Between which instructions something happens: at one in so many, each time others. All of them are hours.
long Stride(long usual, long all)
{
  return by_length(usual, usual, all);
}

// Neither by whoever looked at the cap before it was lowered, nor from a lease that was filled below the old one.
TEST_F(Between, ALowerCapHoldsAtOnce)
{
  uint64_t most = 0;
  for (long stop = 1, end = 2; stop < end; stop += Stride(101, 37)) {
    rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1000}});
    limit_lease_t *lease = Lease(limiter);
    shim_learn(limiter, 1, 1, 1000);
    shim_cost_t cost = {1, 1, 64, 1};
    shim_grant_t grant, other;
    rawhal_error_t error = {};
    uint64_t in_flight = 0, odd = 0;
    auto set = [&] {
      odd +=
          rawhal_limiter_set(limiter, RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, kFew, &error) != RAWHAL_OK;
      for (uint64_t i = 0; i < kFew + 1; ++i)
        in_flight += shim_admit(lease, &cost, 0, &other, &error) == RAWHAL_OK;
    };
    end = Run([&] { in_flight += shim_admit(lease, &cost, 0, &grant, &error_) == RAWHAL_OK; },
              [&](long step) {
                if (step == stop)
                  set();
                else if (step > stop &&
                         shim_credit_launches(lease)) // it can be spent without any lock
                  in_flight += shim_admit(lease, &cost, 0, &other, &error) == RAWHAL_OK;
                return true;
              });
    EXPECT_EQ(0u, odd);
    most = std::max(most, in_flight);
    Close();
  }
  EXPECT_EQ(kFew, most);
}

// Of two who ask for the last place at the same time one gets it.
TEST_F(Between, TheLastPlaceIsOnesOnly)
{
  rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1}});
  for (long stop = 0, end = 1; stop < end; ++stop) {
    bool first = false, second = false;
    RunUntil([&] { first = shim_take_place(limiter); }, stop, &end,
             [&] { second = shim_take_place(limiter); });
    ASSERT_TRUE(first != second) << stop << " of " << end;
    shim_leave_place(limiter);
  }
}

// Whoever asks while something ends that took a thousand times as long as it was estimated: it is in flight, or it is
// owed, and never neither.
TEST_F(Between, WhatEndsIsInFlightUntilItIsOwed)
{
  for (bool ends_otherwise : {false, true})
    for (long stop = 0, end = 1; stop < end; stop = stop ? stop + Stride(17, 5) : 1) {
      rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 100000}});
      limit_lease_t *lease = Lease(limiter), *beside = Lease(limiter);
      shim_learn(limiter, 1, 64, 1000);
      shim_learn(limiter, 2, 64, 1000);
      Admission::Run(lease, 1, 1000);
      now_ += kMs;
      shim_cost_t another = {2, 64, 256, 1};
      shim_grant_t grant, other;
      ASSERT_EQ(RAWHAL_OK, Admit(lease, 1, &grant));
      now_ += 400 * kMs;
      bool admitted = false;
      RunUntil(
          [&] {
            if (ends_otherwise)
              shim_end(lease, &grant, now_);
            else
              shim_complete(lease, &grant, now_ - 400 * kMs, now_);
          },
          stop, &end, [&] { admitted = shim_attempt(beside, &another, &other); });
      ASSERT_FALSE(admitted) << stop << " of " << end;
      Close();
    }
}

// A share is set between two looks at it: kernels of unknown length go one at a time all the same.
TEST_F(Between, OneOfUnknownLength)
{
  for (long stop = 0, end = 1; stop < end; stop = stop ? stop + Stride(101, 37) : 1) {
    rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 100}});
    limit_lease_t *lease = Lease(limiter), *beside = Lease(limiter);
    shim_cost_t one = {1, 1, 64, 1}, another = {2, 1, 64, 1};
    shim_grant_t grant, other;
    rawhal_error_t error = {};
    uint64_t odd = 0;
    RunUntil([&] { (void)shim_admit(lease, &one, 0, &grant, &error_); }, stop, &end,
             [&] {
               odd +=
                   rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 900000, &error) != RAWHAL_OK;
               (void)shim_admit(beside, &another, 0, &other, &error);
             });
    EXPECT_EQ(0u, odd);
    uint64_t credit = shim_credit_ns(lease) + shim_credit_ns(beside);
    EXPECT_LE(shim_open_ns(limiter) - credit, 20000u) << stop; // what is assumed of one
    Close();
  }
}

// Two ask at the same time, neither with a lock, and both are not to go: the other one's whole admission falls between
// any two instructions of the first one's. One goes, and no more.
TEST_F(Between, OneOfUnknownLengthGoesWithoutALock)
{
  constexpr uint64_t kFirst = 1, kOther = 2,
                     kLong = 3; // which does not fit beside what may take any time
  const uint64_t pairs[][2] = {{kFirst, kOther}, {kFirst, kLong}, {kLong, kFirst}};
  for (auto [mine, others] : pairs)
    for (long stop = 0, end = 1; stop < end; stop = stop ? stop + Stride(22, 11) : 1) {
      rawhal_limiter_t *limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 900000}});
      limit_lease_t *lease = Lease(limiter), *beside = Lease(limiter);
      shim_learn(limiter, kLong, 1, 100 * kMs);
      shim_cost_t one = {mine, 1, 64, 1}, another = {others, 1, 64, 1};
      shim_grant_t grant, other;
      bool first = false, second = false;
      RunUntil([&] { first = shim_attempt(lease, &one, &grant); }, stop, &end,
               [&] { second = shim_attempt(beside, &another, &other); });
      ASSERT_TRUE(first != second) << mine << ' ' << others << ' ' << stop << " of " << end;
      Close();
    }
}

} // namespace

// The limiter's, too: what it waits for within a step is the thread that the step interrupted, which would not go on
// however long that took.
extern "C" int nanosleep(const timespec *wanted, timespec *left)
{
  if (is_in_step)
    return 0;
  const int failed = clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
  errno = failed ? failed : errno;
  return failed ? -1 : 0;
}

#endif
