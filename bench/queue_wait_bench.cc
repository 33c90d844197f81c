// How long a program waits for a dispatch that does nothing: submit, execute, wait; and what
// waiting costs the processor. The medians are over single round trips.
#include "processors.h"
#include "queue_bench.h"

#include <atomic>
#include <ctime>
#include <semaphore.h>
#include <thread>

namespace {

void round_trips(benchmark::State &state, std::chrono::microseconds rest)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  rawhal_dispatch_t dispatch = one_item(b.empty);
  Samples samples;
  for (auto _ : state) {
    if (rest.count())
      std::this_thread::sleep_for(rest);
    auto start = std::chrono::steady_clock::now();
    rawhal_ticket_t ticket = 0;
    if (rawhal_queue_submit(b.queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &b.error) !=
            RAWHAL_OK ||
        rawhal_queue_wait(b.queue, ticket, RAWHAL_FOREVER, &b.error) != RAWHAL_OK)
      return state.SkipWithError(b.error.message);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    samples.add(state, elapsed.count());
  }
  state.counters["each_us"] = samples.median() * 1e6;
}

// One after the other, so that the device is awake.
void RoundTripBusy(benchmark::State &state)
{
  round_trips(state, {});
}

// Device and runtime sleep when the dispatch comes.
void RoundTripIdle(benchmark::State &state)
{
  round_trips(state, std::chrono::milliseconds(10));
}

// What the machine itself takes: two threads on processors of their own, both asleep, wake each
// other. A virtual machine whose host is busy takes ten times as long as one whose host is not.
void WakeEachOther(benchmark::State &state)
{
  sem_t there, back;
  sem_init(&there, 0, 0);
  sem_init(&back, 0, 0);
  std::atomic<bool> stop{false};
  const Processors processors;
  if (processors.count() < 2)
    return state.SkipWithError("one processor");
  processors.pin(0);
  std::thread other([&] {
    processors.pin(1);
    while (sem_wait(&there) == 0 && !stop)
      sem_post(&back);
  });
  Samples samples;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    auto start = std::chrono::steady_clock::now();
    sem_post(&there);
    sem_wait(&back);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    samples.add(state, elapsed.count());
  }
  state.counters["each_us"] = samples.median() * 1e6;
  stop = true;
  sem_post(&there);
  other.join();
  sem_destroy(&there);
  sem_destroy(&back);
}

double processor_seconds()
{
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A process with a queue and a thread for its callbacks, none of which has anything to do.
void Idle(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  rawhal_dispatch_t dispatch = one_item(b.empty);
  rawhal_ticket_t ticket = 0;
  auto ignore = [](void *, rawhal_ticket_t, const rawhal_error_t *) {};
  if (rawhal_queue_submit(b.queue, &dispatch, 1, 0, &ticket, &b.error) != RAWHAL_OK ||
      rawhal_queue_on_complete(b.queue, ticket, ignore, nullptr, &b.error) != RAWHAL_OK ||
      !b.drain(b.queue, ticket))
    return state.SkipWithError(b.error.message);
  std::this_thread::sleep_for(std::chrono::milliseconds(50)); // spinning ends before that
  double used = 0, passed = 0;
  for (auto _ : state) {
    double before = processor_seconds();
    auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    used += processor_seconds() - before;
    passed += elapsed.count();
  }
  state.counters["processor"] = used / passed;
}

BENCHMARK(RoundTripBusy)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(rounds() * 100);
BENCHMARK(RoundTripIdle)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(100);
BENCHMARK(WakeEachOther)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(100);
BENCHMARK(Idle)->UseRealTime()->Iterations(1);

} // namespace
