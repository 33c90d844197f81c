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

// Ten runs of 90, each with a copy of 256 bytes behind it, and every other one with a step of a timeline.
class Parts {
public:
  explicit Parts(Bench &b) : b(b)
  {
    rawhal_device_t *device = rawhal_instance_device(b.instance, 0);
    const std::vector<rawhal_dispatch_t> run(dispatches, with_blob(b.add, 28));
    rawhal_graph_t *graph = nullptr;
    ready =
        rawhal_semaphore_create(device, 0, &semaphore, &b.error) == RAWHAL_OK &&
        rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 512, &memory, &b.error) == RAWHAL_OK &&
        rawhal_graph_create(device, &graph, &b.error) == RAWHAL_OK;
    rawhal_transfer_t copy = {};
    copy.to = memory;
    copy.from = memory;
    copy.from_offset = copy.bytes = 256;
    for (uint32_t i = 0; ready && i < runs; ++i)
      ready =
          rawhal_graph_add_batch(graph, run.data(), run.size(), nullptr, &b.error) == RAWHAL_OK &&
          rawhal_graph_add_transfers(graph, &copy, 1, nullptr, nullptr, RAWHAL_GRAPH_ALL, nullptr,
                                     &b.error) == RAWHAL_OK &&
          (i % 2 == 0 || add_step(graph, i / 2));
    ready = ready && rawhal_graph_instantiate(graph, nullptr, &exec, &b.error) == RAWHAL_OK;
    rawhal_graph_destroy(graph);
  }
  ~Parts()
  {
    rawhal_graph_exec_destroy(exec);
    rawhal_buffer_free(memory);
    rawhal_semaphore_destroy(semaphore);
  }

  bool launch(rawhal_ticket_t *ticket)
  {
    rawhal_timepoint_t points[steps];
    rawhal_graph_binding_t bindings[steps];
    for (uint32_t i = 0; i < steps; ++i) {
      points[i] = {semaphore, ++value};
      bindings[i] = {RAWHAL_GRAPH_TIMEPOINT, nodes[i], 0, sizeof(points[i]), &points[i]};
    }
    return rawhal_graph_launch(b.queue, exec, bindings, steps, 0, ticket, &b.error) == RAWHAL_OK;
  }

  static constexpr size_t nodes_of_all = 10 * (90 + 1) + 5;
  bool ready = false;

private:
  static constexpr uint32_t runs = 10, dispatches = 90, steps = runs / 2;

  bool add_step(rawhal_graph_t *graph, uint32_t step)
  {
    const rawhal_timepoint_t point = {semaphore, step};
    return rawhal_graph_add_timeline(graph, nullptr, 0, &point, 1, nullptr, nullptr,
                                     RAWHAL_GRAPH_ALL, &nodes[step], &b.error) == RAWHAL_OK;
  }

  Bench &b;
  rawhal_semaphore_t *semaphore = nullptr;
  rawhal_buffer_t *memory = nullptr;
  rawhal_graph_exec_t *exec = nullptr;
  rawhal_graph_node_t nodes[steps] = {};
  uint64_t value = 0;
};

// The name of those that are counted.
extern "C" __attribute__((noinline)) bool launch_parts_again(Parts &parts, rawhal_ticket_t *ticket)
{
  return parts.launch(ticket);
}

void LaunchParts(benchmark::State &state)
{
  Bench &b = bench();
  if (!b.ready)
    return state.SkipWithError(b.error.message);
  Parts parts(b);
  rawhal_ticket_t ticket = 0;
  for (int i = 0; i < 12 && parts.ready;
       ++i) // by when engines, and signals of all tickets, are there
    parts.ready = parts.launch(&ticket) && b.drain(b.queue, ticket);
  if (!parts.ready)
    return state.SkipWithError(b.error.message);
  measure(
      state, [&] { return launch_parts_again(parts, &ticket); },
      [&] { return b.drain(b.queue, ticket); }, Parts::nodes_of_all);
}

BENCHMARK(Launch1000)->UseManualTime()->Iterations(rounds());
BENCHMARK(Launch1000Pointers)->UseManualTime()->Iterations(rounds());
BENCHMARK(Launch1000Blobs)->UseManualTime()->Iterations(rounds());
BENCHMARK(LaunchParts)->UseManualTime()->Iterations(rounds());

} // namespace
