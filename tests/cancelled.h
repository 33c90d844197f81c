// Calls that are no cancellation points.
#ifndef RAWHAL_TESTS_CANCELLED_H
#define RAWHAL_TESTS_CANCELLED_H

#include <pthread.h>

// Do `calls` go on to their end in a thread that is cancelled already? Any cancellation point would end it.
template <typename Calls> bool goes_on_though_cancelled(const Calls &calls)
{
  struct State {
    const Calls &calls;
    bool ended;
  } state = {calls, false};
  auto run = [](void *data) -> void * {
    auto *mine = static_cast<State *>(data);
    pthread_cancel(pthread_self());
    mine->calls();
    mine->ended = true;
    return nullptr;
  };
  pthread_t thread;
  return pthread_create(&thread, nullptr, run, &state) == 0 && pthread_join(thread, nullptr) == 0 &&
         state.ended;
}

#endif
