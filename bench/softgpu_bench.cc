// The interpreter: wave-instructions a second on kernels of the fixtures, checks on; and a dispatch
// through the library and the HSA runtime, with queue and signal.
#include <benchmark/benchmark.h>

#include <rawhal/rawhal.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/softgpu/isa/device.h"

namespace {

// Runs a dispatch again and again on so many threads.
void run(benchmark::State &state, const softgpu_dispatch_t &dispatch, unsigned threads = 1)
{
  softgpu_engine_threads(threads);
  softgpu_limits_t limits = {};
  uint64_t before = softgpu_instruction_count();
  for (auto _ : state) {
    softgpu_fault_t fault;
    if (!dispatch.kernel_object || !softgpu_execute(&dispatch, &limits, &fault)) {
      state.SkipWithError(dispatch.kernel_object ? fault.text : "fixture not found");
      return;
    }
  }
  state.counters["wave_instructions"] = benchmark::Counter(
      static_cast<double>(softgpu_instruction_count() - before), benchmark::Counter::kIsRate);
}

template <typename Blob> void put(device::Memory &kernarg, const Blob &blob)
{
  memset(kernarg.as<char>(), 0, kernarg.size());
  memcpy(kernarg.as<char>(), &blob, sizeof(blob));
}

void VectorAdd(benchmark::State &state)
{
  const uint32_t count = 1 << 20;
  device::CodeObject object("vector_add-gfx90a-v4.co");
  device::Memory a(count * 4), b(count * 4), c(count * 4), kernarg(64), packet(64);
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {c.address(), a.address(), b.address(), count};
  put(kernarg, blob);
  packet.as<uint16_t>()[2] = 256; // the kernel reads its work-group size out of its packet
  softgpu_dispatch_t dispatch =
      device::dispatch(object.symbol("vector_add.kd"), kernarg.as<void>(), count / 256, 256);
  dispatch.packet = packet.address();
  softgpu_engine_reference(state.range(0) != 0);
  run(state, dispatch);
  softgpu_engine_reference(false);
}
BENCHMARK(VectorAdd)
    ->Arg(0)
    ->Arg(1)
    ->ArgName("reference")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Lanes leave the loop after 1 to 256 turns; pixels beside each other, at different times.
void Mandelbrot(benchmark::State &state)
{
  const uint32_t width = 512, count = width * width;
  device::CodeObject object("mandelbrot-gfx90a-v5.co");
  device::Memory out(count * 4), kernarg(512);
  struct {
    uint64_t out;
    uint32_t width, count;
    float left, top, step;
    uint32_t limit;
  } blob = {out.address(), width, count, -2.0f, -1.25f, 2.5f / width, 256};
  put(kernarg, blob);
  run(state, device::dispatch(object.symbol("mandelbrot.kd"), kernarg.as<void>(), count / 256, 256),
      static_cast<unsigned>(state.range(0)));
}
BENCHMARK(Mandelbrot)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("threads")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void MatrixMultiply(benchmark::State &state)
{
  const uint32_t n = 256;
  device::CodeObject object("matmul-gfx90a-v5.co");
  device::Memory a(n * n * 4), b(n * n * 4), c(n * n * 4), kernarg(512);
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {c.address(), a.address(), b.address(), n};
  put(kernarg, blob);
  softgpu_dispatch_t dispatch = device::dispatch(object.symbol("matmul.kd"), kernarg.as<void>());
  for (unsigned i = 0; i < 2; i++) {
    dispatch.workgroup[i] = 16;
    dispatch.grid[i] = n;
  }
  dispatch.group_bytes = 2048;
  run(state, dispatch);
}
BENCHMARK(MatrixMultiply)->Unit(benchmark::kMillisecond)->UseRealTime();

void Reduce(benchmark::State &state)
{
  const uint32_t groups = 1024;
  device::CodeObject object("reduce-gfx90a-v5.co");
  device::Memory sums(groups * 4), values(groups * 256 * 4), kernarg(512);
  const struct {
    uint64_t sums, values;
  } blob = {sums.address(), values.address()};
  put(kernarg, blob);
  softgpu_dispatch_t dispatch =
      device::dispatch(object.symbol("reduce.kd"), kernarg.as<void>(), groups, 256);
  dispatch.group_bytes = 4096;
  run(state, dispatch);
}
BENCHMARK(Reduce)->Unit(benchmark::kMillisecond)->UseRealTime();

// What a program sees of the first: from submit to the end of the wait.
class Program {
public:
  Program()
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = "threads=1";
    if (rawhal_instance_create(&options, &instance, &error) != RAWHAL_OK)
      return;
    rawhal_device_t *device = rawhal_instance_device(instance, 0);
    std::ifstream stream(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v4.co",
                         std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    rawhal_hsaco_t *hsaco = nullptr;
    ready =
        rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error) == RAWHAL_OK &&
        rawhal_executable_load(device, hsaco, &executable, &error) == RAWHAL_OK &&
        rawhal_executable_kernel(executable, {"vector_add", 10}, 0, &kernel, &error) == RAWHAL_OK &&
        rawhal_queue_create(device, nullptr, &queue, &error) == RAWHAL_OK;
    rawhal_hsaco_close(hsaco);
    for (rawhal_buffer_t *&buffer : buffers)
      ready = ready && rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, count * 4, &buffer,
                                              &error) == RAWHAL_OK;
  }
  ~Program()
  {
    rawhal_queue_destroy(queue);
    for (rawhal_buffer_t *buffer : buffers)
      rawhal_buffer_free(buffer);
    rawhal_executable_destroy(executable);
    rawhal_instance_destroy(instance);
  }

  bool add()
  {
    const struct {
      uint64_t c, a, b;
      uint32_t n;
    } blob = {rawhal_buffer_address(buffers[0]), rawhal_buffer_address(buffers[1]),
              rawhal_buffer_address(buffers[2]), count};
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = kernel;
    dispatch.work_items[0] = count;
    dispatch.workgroup[0] = 256;
    for (int d = 1; d < 3; ++d)
      dispatch.work_items[d] = dispatch.workgroup[d] = 1;
    dispatch.blob = &blob;
    dispatch.blob_size = 28;
    rawhal_ticket_t ticket = 0;
    return rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error) == RAWHAL_OK &&
           rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error) == RAWHAL_OK;
  }

  static constexpr uint32_t count = 1 << 20;
  rawhal_error_t error = {};
  bool ready = false;

private:
  rawhal_instance_t *instance = nullptr;
  rawhal_executable_t *executable = nullptr;
  const rawhal_device_kernel_t *kernel = nullptr;
  rawhal_queue_t *queue = nullptr;
  rawhal_buffer_t *buffers[3] = {};
};

void VectorAddSubmitted(benchmark::State &state)
{
  Program program;
  if (!program.ready)
    return state.SkipWithError(program.error.message);
  for (auto _ : state)
    if (!program.add())
      return state.SkipWithError(program.error.message);
}
BENCHMARK(VectorAddSubmitted)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
