// The interpreter: wave-instructions a second on kernels of the fixtures, one thread, checks on.
#include <benchmark/benchmark.h>

#include <cstring>

#include "tests/softgpu/isa/device.h"

namespace {

void run(benchmark::State &state, const softgpu_dispatch_t &dispatch)
{
  softgpu_engine_threads(1);
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

void VectorAdd(benchmark::State &state)
{
  const uint32_t count = 1 << 20;
  device::CodeObject object("vector_add-gfx90a-v4.co");
  device::Memory a(count * 4), b(count * 4), c(count * 4), kernarg(64), packet(64);
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {c.address(), a.address(), b.address(), count};
  memcpy(kernarg.as<char>(), &blob, sizeof(blob));
  memset(a.as<char>(), 0, a.size());
  memset(b.as<char>(), 0, b.size());
  memset(packet.as<char>(), 0, packet.size());
  packet.as<uint16_t>()[2] = 256; // the kernel reads its work-group size out of its packet
  softgpu_dispatch_t dispatch =
      device::dispatch(object.symbol("vector_add.kd"), kernarg.as<void>(), count / 256, 256);
  dispatch.packet = packet.address();
  run(state, dispatch);
}
BENCHMARK(VectorAdd)->Unit(benchmark::kMillisecond)->UseRealTime();

void Reduce(benchmark::State &state)
{
  const uint32_t groups = 1024;
  device::CodeObject object("reduce-gfx90a-v5.co");
  device::Memory sums(groups * 4), values(groups * 256 * 4), kernarg(512);
  uint64_t blob[2] = {sums.address(), values.address()};
  memset(values.as<char>(), 0, values.size());
  memset(kernarg.as<char>(), 0, kernarg.size());
  memcpy(kernarg.as<char>(), blob, sizeof(blob));
  softgpu_dispatch_t dispatch =
      device::dispatch(object.symbol("reduce.kd"), kernarg.as<void>(), groups, 256);
  dispatch.group_bytes = 4096;
  run(state, dispatch);
}
BENCHMARK(Reduce)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
