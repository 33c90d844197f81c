// Threads of the host that are held up where it matters: the runtime looks at a signal's value,
// then waits for the event that announces a change of it.
#include <hsakmt.h>

#include <chrono>

#include "runtime.h"

using std::chrono::milliseconds;

static std::atomic<int> before_one{0}, after_several{0}; // ms
static std::atomic<int> held_up{0};

static void hold_up(const std::atomic<int> &ms)
{
  if (ms == 0)
    return;
  ++held_up;
  std::this_thread::sleep_for(milliseconds(ms));
}

template <class Call> static Call *of_the_thunk(const char *name)
{
  void *thunk = dlopen(SOFTGPU_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  Call *call = (Call *)dlsym(thunk, name);
  dlclose(thunk);
  return call;
}

// The runtime finds these before the thunk's own.
#define IN_FRONT_OF_THE_THUNK extern "C" __attribute__((visibility("default"))) HSAKMT_STATUS
IN_FRONT_OF_THE_THUNK hsaKmtWaitOnEvent(HsaEvent *event, HSAuint32 timeout)
{
  static auto *wait = of_the_thunk<decltype(hsaKmtWaitOnEvent)>("hsaKmtWaitOnEvent");
  hold_up(before_one);
  return wait(event, timeout);
}

IN_FRONT_OF_THE_THUNK hsaKmtWaitOnMultipleEvents(HsaEvent *events[], HSAuint32 count, bool all,
                                                 HSAuint32 timeout)
{
  static auto *wait =
      of_the_thunk<decltype(hsaKmtWaitOnMultipleEvents)>("hsaKmtWaitOnMultipleEvents");
  HSAKMT_STATUS status = wait(events, count, all, timeout);
  hold_up(after_several);
  return status;
}

namespace {

class Late : public Runtime {
protected:
  void TearDown() override
  {
    before_one = after_several = 0;
    Runtime::TearDown();
  }
};

// To end a queue, the runtime waits for its thread of handlers to let go of the queue's signal.
// That thread then sleeps on the event of all queues; it must not keep the news from who waits.
TEST_F(Late, queues_end_whoever_hears_of_it_first)
{
  queue(); // so that the handlers' thread has a queue left to wait for
  before_one = 2;
  for (int i = 0; i < 30 || (held_up == 0 && i < 1000); ++i) {
    after_several = i % 6;
    queue_destroy(queue());
  }
  if (held_up == 0)
    GTEST_SKIP() << "the runtime's threads never had to wait";
}

} // namespace
