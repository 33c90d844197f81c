// What submissions cost when several threads submit, on softgpu with the packet processors paused.
// Times are per dispatch, of all threads together.
#include "processors.h"
#include "raw_queue.h"
#include "tests/values.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace {

// Threads that meet, and then each do the same, each on a processor of its own.
class Producers {
public:
  // `work` gets the thread's number and tells whether all went well.
  Producers(unsigned threads, std::function<bool(unsigned)> work)
      : threads(threads), work(std::move(work))
  {
    processors.pin(0);
    for (unsigned i = 1; i < threads; ++i)
      helpers.emplace_back([this, i] {
        processors.pin(i);
        for (uint64_t turn = 1; wait_for(turn); ++turn)
          produce(i);
      });
  }
  ~Producers()
  {
    {
      std::lock_guard<std::mutex> guard(lock);
      stop = true;
    }
    call.notify_all();
    for (std::thread &helper : helpers)
      helper.join();
  }

  bool have_processors() const { return processors.count() >= threads; }

  // Seconds from when they met to when the last was done; negative when something failed.
  double run()
  {
    met = done = 0;
    {
      std::lock_guard<std::mutex> guard(lock);
      ++turns;
    }
    call.notify_all();
    auto start = produce(0);
    while (done < threads)
      ;
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return good ? elapsed.count() : -1;
  }

private:
  bool wait_for(uint64_t turn)
  {
    std::unique_lock<std::mutex> guard(lock);
    call.wait(guard, [&] { return stop || turns == turn; });
    return !stop;
  }

  std::chrono::steady_clock::time_point produce(unsigned who)
  {
    ++met;
    while (met < threads)
      ;
    auto start = std::chrono::steady_clock::now();
    if (!work(who))
      good = false;
    ++done;
    return start;
  }

  const unsigned threads;
  const std::function<bool(unsigned)> work;
  const Processors processors;
  std::vector<std::thread> helpers;
  std::mutex lock;
  std::condition_variable call;
  uint64_t turns = 0;
  bool stop = false;
  std::atomic<unsigned> met{0}, done{0};
  std::atomic<bool> good{true};
};

// `work` writes 512 dispatches; `drain` waits for all of them.
void together(benchmark::State &state, unsigned threads, std::function<bool(unsigned)> work,
              const std::function<bool()> &drain)
{
  auto pause = symbol<void()>("softgpu_pause"), resume = symbol<void()>("softgpu_resume");
  Producers producers(threads, std::move(work));
  if (!producers.have_processors())
    return state.SkipWithError("fewer processors than producers");
  Samples samples;
  for (auto _ : state) {
    pause();
    double elapsed = producers.run();
    resume();
    if (elapsed < 0 || !drain())
      return state.SkipWithError("a submission failed");
    samples.add(state, elapsed / (threads * round_size));
  }
  state.counters["each_ns"] = samples.median() * 1e9;
}

// Blobs of 28 bytes, one by one or in batches, to one queue or to a queue each.
void SubmitTogether(benchmark::State &state)
{
  const unsigned threads = static_cast<unsigned>(state.range(0));
  const size_t batch = static_cast<size_t>(state.range(2));
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  const std::vector<rawhal_dispatch_t> dispatches(batch, with_blob(b.add, 28));
  std::vector<rawhal_queue_t *> queues(threads, b.queue);
  for (unsigned i = 1; i < threads && state.range(1) > 1; ++i)
    queues[i] = b.another_queue();
  together(
      state, threads,
      [&](unsigned who) {
        rawhal_error_t error = {};
        bool good = true;
        for (size_t i = 0; i < round_size / batch; ++i)
          good &= rawhal_queue_submit(queues[who], dispatches.data(), batch, 0, nullptr, &error) ==
                  RAWHAL_OK;
        return good;
      },
      [&] {
        bool all = true;
        for (rawhal_queue_t *queue : queues)
          all &= b.drain(queue, queue_info(queue).last_ticket);
        return all;
      });
}

// The floor: threads that share an HSA queue.
void RawTogether(benchmark::State &state)
{
  const unsigned threads = static_cast<unsigned>(state.range(0));
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  RawQueue queue(b.empty);
  if (!queue.ready)
    return state.SkipWithError("no queue");
  together(
      state, threads,
      [&](unsigned) {
        queue.write_round();
        return true;
      },
      [&] { return queue.drain(threads); });
}

BENCHMARK(SubmitTogether)
    ->ArgNames({"threads", "queues", "batch"})
    ->ArgsProduct({{1}, {1}, {1, 8, 32}})
    ->ArgsProduct({{2}, {1, 2}, {1, 8, 32}})
    ->UseManualTime()
    ->Iterations(rounds());
BENCHMARK(RawTogether)->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Iterations(rounds());

} // namespace
