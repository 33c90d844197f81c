// What a launch of a graph costs the host, without and with bindings, on softgpu with the packet processors paused. Times
// are per dispatch.
#include "queue_bench.h"

#include "tests/graph_of.h"

namespace {

constexpr size_t count = 1000;

// 1,000 dispatches with blobs of 28 bytes, and with an argument of each bound where `each` says so.
void launch_bound(benchmark::State &state, const rawhal_graph_binding_t &each)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  const std::vector<rawhal_dispatch_t> dispatches(count, with_blob(b.add, 28));
  rawhal_graph_exec_t *exec = nullptr;
  if (graph_of(rawhal_instance_device(b.instance, 0), b.queue, dispatches.data(), count, &exec,
               &b.error) != RAWHAL_OK)
    return state.SkipWithError(b.error.message);
  std::vector<rawhal_graph_binding_t> bindings(each.kind ? count : 0, each);
  for (uint32_t i = 0; i < bindings.size(); ++i)
    bindings[i].node = i;
  rawhal_ticket_t ticket = 0;
  measure(
      state,
      [&] {
        return rawhal_graph_launch(b.queue, exec, bindings.data(), bindings.size(), 0, &ticket,
                                   &b.error) == RAWHAL_OK;
      },
      [&] { return b.drain(b.queue, ticket); }, count);
  rawhal_graph_exec_destroy(exec);
}

void Launch1000(benchmark::State &state)
{
  launch_bound(state, {});
}

const uint64_t nowhere = 0; // no work-item looks at it
const char zeros[28] = {};

void Launch1000Pointers(benchmark::State &state)
{
  launch_bound(state, {RAWHAL_GRAPH_ARGUMENT, 0, 1, sizeof(nowhere), &nowhere});
}

void Launch1000Blobs(benchmark::State &state)
{
  launch_bound(state, {RAWHAL_GRAPH_BLOB, 0, 0, sizeof(zeros), zeros});
}

BENCHMARK(Launch1000)->UseManualTime()->Iterations(rounds());
BENCHMARK(Launch1000Pointers)->UseManualTime()->Iterations(rounds());
BENCHMARK(Launch1000Blobs)->UseManualTime()->Iterations(rounds());

} // namespace
