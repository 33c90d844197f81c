// A stream of chunks: copied to the device, worked on, copied back. Waiting for each step, and with
// a queue each for the copies there, the kernels and the copies back.
#include "queue_bench.h"

namespace {

constexpr size_t chunks = 64, stages = 4; // of which so many are under way at once

struct Stream {
  explicit Stream(uint32_t floats) : floats(floats), bench(Limits::none)
  {
    if (!bench.ready)
      return;
    rawhal_device_t *device = rawhal_instance_device(bench.instance, 0);
    ready = take(device, RAWHAL_MEMORY_HOST, chunks * bytes(), &from) &&
            take(device, RAWHAL_MEMORY_HOST, chunks * bytes(), &to);
    for (size_t i = 0; i < stages; ++i)
      ready = ready && take(device, RAWHAL_MEMORY_DEVICE, bytes(), &place[i]);
    float *values = static_cast<float *>(rawhal_buffer_host(from));
    for (size_t i = 0; ready && i < chunks * floats; ++i)
      values[i] = static_cast<float>(i % 1000);
    for (rawhal_queue_t *&queue : queues)
      queue = bench.another_queue();
  }
  ~Stream()
  {
    for (rawhal_buffer_t *buffer : buffers)
      rawhal_buffer_free(buffer);
  }

  size_t bytes() const { return size_t{4} * floats; }

  bool take(rawhal_device_t *device, rawhal_memory_kind_t kind, size_t size, rawhal_buffer_t **made)
  {
    bool good = rawhal_buffer_allocate(device, kind, size, made, &bench.error) == RAWHAL_OK;
    buffers.push_back(*made);
    return good;
  }

  // place = place + place.
  bool add(rawhal_queue_t *on, size_t stage, rawhal_ticket_t *ticket)
  {
    uint64_t address = rawhal_buffer_address(place[stage]);
    struct {
      uint64_t c, a, b;
      uint32_t n;
    } blob = {address, address, address, floats};
    rawhal_dispatch_t dispatch = one_item(bench.add);
    dispatch.work_items[0] = floats;
    dispatch.workgroup[0] = 256;
    dispatch.blob = &blob;
    dispatch.blob_size = 28;
    return good(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, ticket, &bench.error));
  }

  bool good(rawhal_status_t status) { return status == RAWHAL_OK; }

  bool after(rawhal_queue_t *on, rawhal_queue_t *other, rawhal_ticket_t ticket)
  {
    rawhal_dependency_t dependency = {};
    dependency.queue = other;
    dependency.ticket = ticket;
    return good(rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, nullptr, &bench.error));
  }

  bool copy(rawhal_queue_t *on, const rawhal_copy_t &what, rawhal_ticket_t *ticket)
  {
    return good(rawhal_queue_copy(on, &what, RAWHAL_FOREVER, ticket, &bench.error));
  }

  bool one_by_one()
  {
    bool well = true;
    for (size_t i = 0; well && i < chunks; ++i) {
      rawhal_ticket_t ticket = 0;
      well = good(rawhal_buffer_copy(place[0], 0, from, i * bytes(), bytes(), &bench.error)) &&
             add(queues[1], 0, &ticket) &&
             good(rawhal_queue_wait(queues[1], ticket, RAWHAL_FOREVER, &bench.error)) &&
             good(rawhal_buffer_copy(to, i * bytes(), place[0], 0, bytes(), &bench.error));
    }
    return well;
  }

  bool overlapped()
  {
    bool well = true;
    rawhal_ticket_t there = 0, ran = 0, back[chunks] = {};
    for (size_t i = 0; well && i < chunks; ++i) {
      size_t stage = i % stages;
      well = (i < stages || after(queues[0], queues[2], back[i - stages])) &&
             copy(queues[0], {0, place[stage], 0, from, i * bytes(), bytes()}, &there) &&
             after(queues[1], queues[0], there) && add(queues[1], stage, &ran) &&
             after(queues[2], queues[1], ran) &&
             copy(queues[2], {0, to, i * bytes(), place[stage], 0, bytes()}, &back[i]);
    }
    return well &&
           good(rawhal_queue_wait(queues[2], back[chunks - 1], RAWHAL_FOREVER, &bench.error));
  }

  bool right()
  {
    const float *a = static_cast<float *>(rawhal_buffer_host(from)),
                *b = static_cast<float *>(rawhal_buffer_host(to));
    for (size_t i = 0; i < chunks * floats; ++i)
      if (b[i] != a[i] + a[i])
        return false;
    return true;
  }

  uint32_t floats;
  Bench bench;
  bool ready = false;
  rawhal_buffer_t *from = nullptr, *to = nullptr, *place[stages] = {};
  rawhal_queue_t *queues[3] = {};
  std::vector<rawhal_buffer_t *> buffers;
};

void stream(benchmark::State &state, bool (Stream::*form)())
{
  Stream on(static_cast<uint32_t>(state.range(0)) / 4);
  if (!on.ready)
    return state.SkipWithError(on.bench.error.message);
  Samples samples;
  for (auto _ : state) {
    memset(rawhal_buffer_host(on.to), 0, chunks * on.bytes());
    auto start = std::chrono::steady_clock::now();
    if (!(on.*form)())
      return state.SkipWithError(on.bench.error.message);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    samples.add(state, elapsed.count());
    if (!on.right())
      return state.SkipWithError("the stream came out wrong");
  }
  state.counters["each_us"] = samples.median() * 1e6 / chunks;
}

void ChunksOneByOne(benchmark::State &state)
{
  stream(state, &Stream::one_by_one);
}

void ChunksOverlapped(benchmark::State &state)
{
  stream(state, &Stream::overlapped);
}

// What is to be gained are the ways between steps, and a copy engine beside the kernel. softgpu's kernels have every CPU
// there is, its copies too: the larger the chunk, the more of its time is the kernel's, which nothing overlaps with.
void sizes(benchmark::internal::Benchmark *bench)
{
  bench->ArgName("bytes")->Arg(128 << 10)->Arg(1 << 20)->UseManualTime()->Iterations(
      std::min(20, rounds()));
}

BENCHMARK(ChunksOneByOne)->Apply(sizes);
BENCHMARK(ChunksOverlapped)->Apply(sizes);

} // namespace
