// What a submission costs the host, beside a bare HSA packet write, in one process on softgpu with
// the packet processors paused. Times are per dispatch; 512 dispatches are timed at a go, warm.
#include "queue_bench.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <hsa/hsa.h>
#include <sched.h>

namespace {

void submit(benchmark::State &state, const rawhal_dispatch_t &dispatch, size_t batch, Bench &b)
{
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  std::vector<rawhal_dispatch_t> dispatches(batch, dispatch);
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] {
        bool good = true;
        for (size_t i = 0; i < round_size / batch; ++i)
          good &= rawhal_queue_submit(b.queue, dispatches.data(), batch, 0, &ticket, &b.error) ==
                  RAWHAL_OK;
        return good;
      },
      [&] { return b.drain(b.queue, ticket); });
}

void SubmitEmpty(benchmark::State &state)
{
  submit(state, one_item(bench().empty), 1, bench());
}

rawhal_dispatch_t with_blob(const rawhal_device_kernel_t *kernel, size_t size)
{
  static const char zeros[256] = {}; // one work-item of n = 0 touches nothing
  rawhal_dispatch_t dispatch = one_item(kernel);
  dispatch.blob = zeros;
  dispatch.blob_size = size;
  return dispatch;
}

void SubmitBlob28(benchmark::State &state)
{
  submit(state, with_blob(bench().add, 28), 1, bench());
}

// The same with the 256 bytes of hidden arguments of code object V5, written by rawhal.
void SubmitBlob28Hidden(benchmark::State &state)
{
  submit(state, with_blob(bench().add_hidden, 28), 1, bench());
}

// A caller who packs them as well.
void SubmitBlob256(benchmark::State &state)
{
  rawhal_dispatch_t dispatch = with_blob(bench().add_hidden, 256);
  dispatch.flags = RAWHAL_DISPATCH_KEEP_HIDDEN;
  submit(state, dispatch, 1, bench());
}

void SubmitBlob28Limited(benchmark::State &state)
{
  submit(state, with_blob(bench(true).add, 28), 1, bench(true));
}

void SubmitBatch32(benchmark::State &state)
{
  submit(state, one_item(bench().empty), 32, bench());
}

// A recording of 1,000 dispatches with blobs of 28 bytes.
void Replay1000(benchmark::State &state)
{
  constexpr size_t count = 1000;
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  std::vector<rawhal_dispatch_t> dispatches(count, with_blob(b.add, 28));
  rawhal_recording_t *recording = nullptr;
  if (rawhal_recording_create(b.queue, dispatches.data(), count, &recording, &b.error) != RAWHAL_OK)
    return state.SkipWithError(b.error.message);
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] { return rawhal_queue_replay(b.queue, recording, 0, &ticket, &b.error) == RAWHAL_OK; },
      [&] { return b.drain(b.queue, ticket); }, count);
  rawhal_recording_destroy(recording);
}

// Threads that meet, and then submit 512 dispatches each, to the same queue or to a queue each.
// Each has a processor of its own: two that share one would take turns of milliseconds.
class Producers {
public:
  Producers(Bench &b, unsigned threads, bool shared) : b(b), threads(threads), queues(threads)
  {
    queues[0] = b.queue;
    for (unsigned i = 1; i < threads; ++i)
      queues[i] = shared ? b.queue : b.another_queue();
    sched_getaffinity(0, sizeof(before), &before);
    pin(0);
    for (unsigned i = 1; i < threads; ++i)
      helpers.emplace_back([this, i] {
        pin(i);
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
    sched_setaffinity(0, sizeof(before), &before);
  }

  // Everything has finished.
  bool drain()
  {
    bool all = true;
    for (rawhal_queue_t *queue : queues)
      all &= b.drain(queue, rawhal_queue_info(queue).last_ticket);
    return all;
  }

  bool have_processors() const { return static_cast<unsigned>(CPU_COUNT(&before)) >= threads; }

  // Seconds from when they met to when the last was done; negative when a submission failed.
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
  // The calling thread, to the nth processor there is.
  void pin(unsigned nth) const
  {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before) && nth-- == 0)
        CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }

  bool wait_for(uint64_t turn)
  {
    std::unique_lock<std::mutex> guard(lock);
    call.wait(guard, [&] { return stop || turns == turn; });
    return !stop;
  }

  std::chrono::steady_clock::time_point produce(unsigned who)
  {
    const rawhal_dispatch_t dispatch = with_blob(b.add, 28);
    rawhal_error_t error = {};
    ++met;
    while (met < threads)
      ;
    auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < round_size; ++i)
      if (rawhal_queue_submit(queues[who], &dispatch, 1, 0, nullptr, &error) != RAWHAL_OK)
        good = false;
    ++done;
    return start;
  }

  Bench &b;
  const unsigned threads;
  std::vector<rawhal_queue_t *> queues;
  cpu_set_t before;
  std::vector<std::thread> helpers;
  std::mutex lock;
  std::condition_variable call;
  uint64_t turns = 0;
  bool stop = false;
  std::atomic<unsigned> met{0}, done{0};
  std::atomic<bool> good{true};
};

void SubmitTogether(benchmark::State &state)
{
  const unsigned threads = static_cast<unsigned>(state.range(0));
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  auto pause = symbol<void()>("softgpu_pause"), resume = symbol<void()>("softgpu_resume");
  Producers producers(b, threads, state.range(1) == 1);
  if (!producers.have_processors())
    return state.SkipWithError("fewer processors than producers");
  Samples samples;
  for (auto _ : state) {
    pause();
    double elapsed = producers.run();
    resume();
    if (elapsed < 0 || !producers.drain())
      return state.SkipWithError("a submission failed");
    samples.add(state, elapsed / (threads * round_size));
  }
  state.counters["each_ns"] = samples.median() * 1e9;
}

// The least the HSA API allows: index, full-ring check, packet, header, doorbell; no kernargs, no
// signal but the last, no checks.
void RawHsaWrite(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  auto add =
      symbol<decltype(hsa_queue_add_write_index_screlease)>("hsa_queue_add_write_index_screlease");
  auto read =
      symbol<decltype(hsa_queue_load_read_index_scacquire)>("hsa_queue_load_read_index_scacquire");
  auto store = symbol<decltype(hsa_signal_store_screlease)>("hsa_signal_store_screlease");
  auto wait = symbol<decltype(hsa_signal_wait_scacquire)>("hsa_signal_wait_scacquire");
  auto create = symbol<decltype(hsa_queue_create)>("hsa_queue_create");
  auto destroy = symbol<decltype(hsa_queue_destroy)>("hsa_queue_destroy");
  auto signal_create = symbol<decltype(hsa_signal_create)>("hsa_signal_create");
  auto signal_destroy = symbol<decltype(hsa_signal_destroy)>("hsa_signal_destroy");
  static hsa_agent_t gpu;
  symbol<decltype(hsa_iterate_agents)>("hsa_iterate_agents")(
      [](hsa_agent_t agent, void *) {
        hsa_device_type_t type;
        symbol<decltype(hsa_agent_get_info)>("hsa_agent_get_info")(agent, HSA_AGENT_INFO_DEVICE,
                                                                   &type);
        if (type == HSA_DEVICE_TYPE_GPU)
          gpu = agent;
        return HSA_STATUS_SUCCESS;
      },
      nullptr);
  hsa_queue_t *queue = nullptr;
  hsa_signal_t done = {};
  if (create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue) !=
          HSA_STATUS_SUCCESS ||
      signal_create(0, 0, nullptr, &done) != HSA_STATUS_SUCCESS)
    return state.SkipWithError("no queue");
  uint64_t object = rawhal_device_kernel_info(b.empty)->kernel_object;
  int64_t finished = 0;
  measure(
      state,
      [&] {
        for (size_t i = 0; i < round_size; ++i) {
          uint64_t index = add(queue, 1);
          while (index - read(queue) >= queue->size)
            ;
          auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) +
                         (index & (queue->size - 1));
          hsa_kernel_dispatch_packet_t body = {};
          body.workgroup_size_x = body.workgroup_size_y = body.workgroup_size_z = 1;
          body.grid_size_x = body.grid_size_y = body.grid_size_z = 1;
          body.kernel_object = object;
          body.completion_signal.handle = i + 1 == round_size ? done.handle : 0;
          memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&body) + 4, 60);
          __atomic_store_n(reinterpret_cast<uint32_t *>(packet), 0x00031502u, __ATOMIC_RELEASE);
          store(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        }
        return true;
      },
      [&] {
        --finished;
        return wait(done, HSA_SIGNAL_CONDITION_LT, finished + 1, UINT64_MAX,
                    HSA_WAIT_STATE_BLOCKED) <= finished;
      });
  destroy(queue);
  signal_destroy(done);
}

BENCHMARK(RawHsaWrite)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitEmpty)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBlob28)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBlob28Hidden)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBlob256)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitBatch32)->UseManualTime()->Iterations(200);
BENCHMARK(Replay1000)->UseManualTime()->Iterations(200);
BENCHMARK(SubmitTogether)
    ->ArgNames({"threads", "queues"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({2, 2})
    ->UseManualTime()
    ->Iterations(200);
BENCHMARK(SubmitBlob28Limited)->UseManualTime()->Iterations(200);

} // namespace
