// What a submission costs the host, beside a bare HSA packet write, in one process on softgpu with
// the packet processors paused. Times are per dispatch; 512 dispatches are timed at a go, warm.
#include "raw_queue.h"

#include "tests/graph_of.h"

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

#define CASE(name, call)                                                                           \
  void name(benchmark::State &state)                                                               \
  {                                                                                                \
    call;                                                                                          \
  }                                                                                                \
  BENCHMARK(name)->UseManualTime()->Iterations(rounds())

CASE(SubmitEmpty, submit(state, one_item(bench().empty), 1, bench()));

CASE(SubmitBlob28, submit(state, with_blob(bench().add, 28), 1, bench()));

// The same with the 256 bytes of hidden arguments of code object V5, written by rawhal.
CASE(SubmitBlob28Hidden, submit(state, with_blob(bench().add_hidden, 28), 1, bench()));

// A caller who packs them as well.
void SubmitBlob256(benchmark::State &state)
{
  rawhal_dispatch_t dispatch = with_blob(bench().add_hidden, 256);
  dispatch.flags = RAWHAL_DISPATCH_KEEP_HIDDEN;
  submit(state, dispatch, 1, bench());
}

void SubmitBlob28Limited(benchmark::State &state)
{
  Bench &b = bench(state.range(0) ? Limits::all : Limits::share);
  submit(state, with_blob(b.add, 28), 1, b);
}

// Another process watches: each submission is told.
void SubmitBlob28Watched(benchmark::State &state)
{
  Bench &b = bench();
  door_memory_t *door = door_memory();
  if (!door)
    return state.SkipWithError("there is no door");
  const uint64_t before = door->head.next;
  door->head.until = UINT64_MAX;
  door->head.types = RAWHAL_EVENTS_ALL;
  submit(state, with_blob(b.add, 28), 1, b);
  door->head.types = 0;
  if (door->head.next == before)
    state.SkipWithError("nothing was told");
}

CASE(SubmitBatch32, submit(state, one_item(bench().empty), 32, bench()));

// Kernel, geometry and layout bound once: each has a blob of its own.
void launch_blob(benchmark::State &state, const rawhal_dispatch_t &dispatch, Bench &b)
{
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  rawhal_graph_exec_t *exec = nullptr;
  if (graph_of(rawhal_instance_device(b.instance, 0), b.queue, &dispatch, 1, &exec, &b.error) !=
      RAWHAL_OK)
    return state.SkipWithError(b.error.message);
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] {
        bool good = true;
        for (size_t i = 0; i < round_size; ++i)
          good &= rawhal_graph_launch_blob(b.queue, exec, dispatch.blob, dispatch.blob_size, 0,
                                           &ticket, &b.error) == RAWHAL_OK;
        return good;
      },
      [&] { return b.drain(b.queue, ticket); });
  rawhal_graph_exec_destroy(exec);
}

CASE(LaunchBlob28, launch_blob(state, with_blob(bench().add, 28), bench()));

CASE(LaunchBlob28Hidden, launch_blob(state, with_blob(bench().add_hidden, 28), bench()));

void LaunchBlob28Limited(benchmark::State &state)
{
  Bench &b = bench(Limits::share);
  launch_blob(state, with_blob(b.add, 28), b);
}

void RawHsaWrite(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  RawQueue queue(b.empty);
  if (!queue.ready)
    return state.SkipWithError("no queue");
  measure(
      state,
      [&] {
        queue.write_round();
        return true;
      },
      [&] { return queue.drain(1); });
}

// The 1,000 dispatches of graph_bench.cc by packets and blobs of the bench's own.
void RawHsa1000(benchmark::State &state)
{
  constexpr size_t count = 1000;
  static const char zeros[28] = {};
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  RawQueue queue(b.add);
  rawhal_buffer_t *kernargs = nullptr;
  if (!queue.ready ||
      rawhal_buffer_allocate(rawhal_instance_device(b.instance, 0), RAWHAL_MEMORY_HOST, 64 * count,
                             &kernargs, &b.error) != RAWHAL_OK)
    return state.SkipWithError("no queue");
  measure(
      state,
      [&] {
        queue.write_batch(count, zeros, sizeof(zeros),
                          static_cast<char *>(rawhal_buffer_host(kernargs)));
        return true;
      },
      [&] { return queue.drain(1); }, count);
  rawhal_buffer_free(kernargs);
}

BENCHMARK(RawHsaWrite)->UseManualTime()->Iterations(rounds());
BENCHMARK(RawHsa1000)->UseManualTime()->Iterations(rounds());
BENCHMARK(SubmitBlob256)->UseManualTime()->Iterations(rounds());
BENCHMARK(SubmitBlob28Watched)->UseManualTime()->Iterations(rounds());
BENCHMARK(LaunchBlob28Limited)->UseManualTime()->Iterations(rounds());
BENCHMARK(SubmitBlob28Limited)
    ->ArgName("all")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(rounds());

} // namespace
