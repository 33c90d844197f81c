// What probes cost, in instructions of waves, which are the device's own count and the same on every machine: a kernel
// with probes in its code beside itself, with the same arguments.
#include "queue_bench.h"

#include <rawhal/probe.h>

namespace {

struct Kernel {
  const char *file, *name;
  uint32_t items[2];
  uint16_t workgroup[2];
  uint64_t out_bytes, in_bytes; // of two inputs
  uint32_t inputs;
  std::vector<uint32_t> values; // after the pointers
};

const Kernel matmul_256 = {
    "matmul-gfx90a-v5.co", "matmul", {256, 256}, {16, 16}, 262144, 262144, 2, {256}};
const Kernel matmul_64 = {
    "matmul-gfx90a-v5.co", "matmul", {64, 64}, {16, 16}, 16384, 16384, 2, {64}};
const Kernel vector_add = {
    "vector_add-gfx90a-v5.co", "vector_add", {65536, 1}, {256, 1}, 262144, 262144, 2, {65536}};
const Kernel mandelbrot = {"mandelbrot-gfx90a-v5.co",
                           "mandelbrot",
                           {16384, 1},
                           {256, 1},
                           65536,
                           0,
                           0,
                           {128, 16384, 0xc0000000, 0xbf800000, 0x3cc00000, 256}};
const Kernel reduce = {"reduce-gfx90a-v5.co", "reduce", {65536, 1}, {256, 1}, 1024, 262144, 1, {}};

// A device of its own, on which both run.
class Probed {
public:
  explicit Probed(const Kernel &kernel)
      : kernel(kernel), bench(Limits::none), object(fixture(kernel.file))
  {
    ready = bench.ready && rawhal_hsaco_open(object.data(), object.size(), nullptr, &hsaco,
                                             &bench.error) == RAWHAL_OK;
    facts = ready ? rawhal_hsaco_find_kernel(hsaco, rawhal_string(kernel.name)) : nullptr;
    blob.resize(8 * (1 + kernel.inputs) + 4 * kernel.values.size());
    memcpy(blob.data() + 8 * (1 + kernel.inputs), kernel.values.data(), 4 * kernel.values.size());
    for (uint32_t i = 0; ready && i <= kernel.inputs; ++i) {
      const uint64_t bytes = i ? kernel.in_bytes : kernel.out_bytes;
      put(i * 8, memory(bytes, bytes));
    }
  }
  ~Probed()
  {
    rawhal_probe_plan_destroy(plan);
    rawhal_hsaco_close(hsaco);
    for (rawhal_buffer_t *buffer : buffers)
      rawhal_buffer_free(buffer);
  }

  // 0: it did not run.
  uint64_t original() { return facts ? run(object.data(), object.size(), blob) : 0; }

  uint64_t probed(uint32_t kinds)
  {
    constexpr uint32_t waves = 1 << 14, events = 1 << 20; // of which nothing is lost
    rawhal_probe_spec_t spec = {};
    spec.size = sizeof(spec);
    spec.kinds = kinds;
    rawhal_bytes_t copy = {};
    if (!facts || rawhal_probe_plan(facts, &spec, &plan, &bench.error) != RAWHAL_OK ||
        rawhal_probe_apply(plan, RAWHAL_PROBE_NOWHERE, &copy, &bench.error) != RAWHAL_OK)
      return 0;
    const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
    const uint64_t main_bytes = rawhal_probe_buffer_bytes(plan, waves),
                   bytes = main_bytes + uint64_t(events) * info->event_bytes;
    rawhal_probe_header_t header = {};
    header.wave_capacity = waves;
    header.event_capacity = events;
    rawhal_probe_argument_t argument = {};
    argument.buffer = memory(bytes, main_bytes);
    argument.events = argument.buffer + main_bytes;
    argument.wave_capacity = waves;
    argument.event_capacity = events;
    (void)!rawhal_buffer_write(buffers.back(), 0, &header, sizeof(header), &bench.error);
    std::vector<char> with = blob;
    with.resize(info->kernarg_size);
    memcpy(with.data() + info->argument_offset, &argument, sizeof(argument));
    const uint64_t count = run(copy.data, copy.size, with);
    rawhal_probe_free(plan, &copy);
    if (rawhal_buffer_read(buffers.back(), 0, &header, sizeof(header), &bench.error) != RAWHAL_OK ||
        header.waves > waves || header.events > events)
      return 0;
    return count;
  }

  const char *why() const { return bench.error.message; }

private:
  void put(size_t at, uint64_t address) { memcpy(blob.data() + at, &address, sizeof(address)); }

  // Begins with so many zeros.
  uint64_t memory(uint64_t bytes, uint64_t zeros)
  {
    rawhal_buffer_t *made = nullptr;
    const std::vector<char> first(zeros);
    ready = rawhal_buffer_allocate(device(), RAWHAL_MEMORY_DEVICE, bytes, &made, &bench.error) ==
                RAWHAL_OK &&
            rawhal_buffer_write(made, 0, first.data(), zeros, &bench.error) == RAWHAL_OK;
    buffers.push_back(made);
    return made ? rawhal_buffer_address(made) : 0;
  }

  rawhal_device_t *device() { return rawhal_instance_device(bench.instance, 0); }

  uint64_t run(const void *bytes, size_t size, const std::vector<char> &arguments)
  {
    rawhal_hsaco_t *opened = nullptr;
    rawhal_executable_t *executable = nullptr;
    rawhal_dispatch_t dispatch = {};
    uint64_t count = 0;
    rawhal_ticket_t ticket = 0;
    const bool loaded =
        rawhal_hsaco_open(bytes, size, nullptr, &opened, &bench.error) == RAWHAL_OK &&
        rawhal_executable_load(device(), opened, &executable, &bench.error) == RAWHAL_OK &&
        rawhal_executable_kernel(executable, rawhal_string(kernel.name), 0, &dispatch.kernel,
                                 &bench.error) == RAWHAL_OK;
    rawhal_hsaco_close(opened);
    bench.executables.push_back(executable); // it ends them after its queue
    for (int i = 0; i < 3; ++i) {
      dispatch.work_items[i] = i < 2 ? kernel.items[i] : 1;
      dispatch.workgroup[i] = i < 2 ? kernel.workgroup[i] : uint16_t(1);
    }
    dispatch.blob = arguments.data();
    dispatch.blob_size = arguments.size();
    const bool ran =
        loaded &&
        rawhal_queue_submit(bench.queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &bench.error) ==
            RAWHAL_OK &&
        rawhal_queue_wait(bench.queue, ticket, RAWHAL_FOREVER, &bench.error) == RAWHAL_OK &&
        rawhal_queue_instructions(bench.queue, ticket, &count, &bench.error) == RAWHAL_OK;
    return ran ? count : 0;
  }

  const Kernel &kernel;
  Bench bench;
  std::string object;
  bool ready = false;
  rawhal_hsaco_t *hsaco = nullptr;
  const rawhal_kernel_t *facts = nullptr;
  rawhal_probe_plan_t *plan = nullptr;
  std::vector<char> blob;
  std::vector<rawhal_buffer_t *> buffers;
};

void Cost(benchmark::State &state, const Kernel &kernel, uint32_t kinds)
{
  Probed both(kernel);
  const uint64_t original = both.original(), probed = original ? both.probed(kinds) : 0;
  if (!original || !probed) {
    state.SkipWithError(both.why());
    return;
  }
  for (auto _ : state)
    benchmark::DoNotOptimize(probed);
  state.counters["instructions"] = double(original);
  state.counters["ratio"] = double(probed) / double(original);
}

} // namespace

#define COSTS(kernel)                                                                              \
  BENCHMARK_CAPTURE(Cost, kernel##_waves, kernel, uint32_t(RAWHAL_PROBE_WAVES))->Iterations(1);    \
  BENCHMARK_CAPTURE(Cost, kernel##_blocks, kernel, uint32_t(RAWHAL_PROBE_BLOCKS))->Iterations(1);  \
  BENCHMARK_CAPTURE(Cost, kernel##_memory, kernel, uint32_t(RAWHAL_PROBE_MEMORY))->Iterations(1)

COSTS(matmul_256);
COSTS(matmul_64);
COSTS(vector_add);
COSTS(mandelbrot);
COSTS(reduce);
