// The interpreter: wave-instructions a second on kernels of the fixtures, checks on; and a dispatch
// through the library and the HSA runtime, with queue and signal.
#include <benchmark/benchmark.h>

#include <rawhal/rawhal.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/softgpu/isa/published.h"

extern "C" {
#include "softgpu/isa/run/program.h"
}

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
  for (unsigned i = 0; i < 2; ++i) {
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

// --- what AMD publishes times of for its own emulator, with eight threads; here with two ---

// Seconds there. Of copies and additions the machine's own memcpy() by two threads is the measure.
struct Published {
  double seconds;
  uint64_t bytes; // moved, read and written
};

// The bytes that a kernel reads and writes, by memcpy() on two threads: the shortest of a few times.
double copy_seconds(uint64_t bytes)
{
  std::vector<char> from(bytes / 2, 1), to(bytes / 2, 2);
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::thread other([&] { memcpy(to.data(), from.data(), bytes / 4); });
    memcpy(to.data() + bytes / 4, from.data() + bytes / 4, bytes / 2 - bytes / 4);
    other.join();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

// Runs a dispatch on two threads; the shortest of its times against what was published.
void run_published(benchmark::State &state, const softgpu_dispatch_t &dispatch,
                   const Published &published)
{
  softgpu_engine_threads(2);
  softgpu_limits_t limits = {};
  double least = 1e9;
  for (auto _ : state) {
    softgpu_fault_t fault;
    const auto start = std::chrono::steady_clock::now();
    if (!dispatch.kernel_object || !softgpu_execute(&dispatch, &limits, &fault)) {
      state.SkipWithError(dispatch.kernel_object ? fault.text : "fixture not found");
      return;
    }
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["seconds"] = least;
  state.counters["of_published"] = least / published.seconds;
  if (published.bytes)
    state.counters["of_memcpy"] = least / copy_seconds(published.bytes);
}

void floats(PublishedCase &c, size_t count)
{
  c.fill<float>(count, [](size_t i) { return static_cast<float>(i % 251) * 0.01f - 1.0f; });
}

void halves(PublishedCase &c, size_t count)
{
  c.fill<uint16_t>(count, [](size_t k) { return static_cast<uint16_t>(0x3000 + k % 61 * 32); });
}

void add_floats(benchmark::State &state, const char *kernel, uint32_t each)
{
  const uint32_t count = 8388611;
  PublishedCase c(kernel, ((count + each - 1) / each + 255) / 256, 256);
  for (int i = 0; i < 3; ++i)
    floats(c, count);
  c.pass(count);
  run_published(state, c.dispatch, {7.16, 3ull * 4 * count});
}

void PublishedAdd(benchmark::State &state)
{
  add_floats(state, "masked_add", 1);
}

void PublishedAddWide(benchmark::State &state)
{
  add_floats(state, "wide_add", 4);
}

void PublishedGather(benchmark::State &state)
{
  const uint32_t count = 4200000;
  PublishedCase c("gather", (count + 255) / 256, 256);
  floats(c, count);
  floats(c, count);
  c.fill<uint32_t>(count, [](size_t i) { return static_cast<uint32_t>(i) * 2654435761u % count; });
  c.pass(count);
  run_published(state, c.dispatch, {4.36, 0});
}

void PublishedAtomics(benchmark::State &state)
{
  const uint32_t count = 131072;
  PublishedCase c("contend", count / 256, 256);
  floats(c, 16);
  c.pass(count);
  run_published(state, c.dispatch, {7.08, 0});
}

void copy_floats(benchmark::State &state, const char *kernel, uint32_t each)
{
  const uint32_t count = 8400000;
  PublishedCase c(kernel, (count / each + 255) / 256, 256);
  floats(c, count);
  floats(c, count);
  c.pass(count / each);
  run_published(state, c.dispatch, {0.387, 2ull * 4 * count});
}

void PublishedCopy(benchmark::State &state)
{
  copy_floats(state, "copy", 1);
}

// As runtimes copy them: 16 bytes a work-item.
void PublishedCopyWide(benchmark::State &state)
{
  copy_floats(state, "wide_copy", 4);
}

void PublishedAttention(benchmark::State &state)
{
  const uint32_t heads = 64, length = 256;
  PublishedCase c("attention", length / 64, 64);
  c.dispatch.grid[1] = heads;
  for (int i = 0; i < 4; ++i)
    floats(c, heads * length * 64);
  c.pass(length);
  run_published(state, c.dispatch, {0.309, 0});
}

void PublishedSoftmax(benchmark::State &state)
{
  const uint32_t rows = 64, columns = 4096;
  PublishedCase c("softmax", rows, 256);
  floats(c, rows * columns);
  floats(c, rows * columns);
  c.pass(columns);
  run_published(state, c.dispatch, {0.013, 0});
}

// 128 x 128 a work-group, whose sums stay where they are, as in kernels that are made for speed.
void PublishedGemmTiled(benchmark::State &state)
{
  const uint32_t n = 1024;
  PublishedCase c("gemm", n / 128, 256);
  c.dispatch.grid[1] = n / 128;
  floats(c, n * n);
  for (int i = 0; i < 2; ++i)
    halves(c, n * n);
  c.pass(n);
  run_published(state, c.dispatch, {0.370, 0});
}

// By gemm.cl's kernel: 64 x 64 a work-group, and the compiler moves sums 48 times for two MFMAs.
void PublishedGemm(benchmark::State &state)
{
  const uint32_t n = 1024;
  PublishedCase c("copy", n / 64, 256);
  device::CodeObject gemm("gemm-gfx90a-v5.co");
  c.dispatch.kernel_object = gemm.symbol("gemm_f16.kd");
  c.dispatch.grid[1] = n / 64;
  c.dispatch.group_bytes = 8192;
  for (int i = 0; i < 3; ++i)
    c.pass(uint64_t{n} * n);
  floats(c, n * n);
  floats(c, n * n);
  for (int i = 0; i < 2; ++i)
    halves(c, n * n);
  c.pass(1.0f);
  c.pass(0.0f);
  for (uint32_t stride : {n, n * n, n, n * n, n, n * n, n, n * n})
    c.pass(stride);
  for (uint32_t size : {n, n, 1u, n})
    c.pass(size);
  run_published(state, c.dispatch, {0.370, 0});
}
BENCHMARK(PublishedAdd)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedAddWide)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedGather)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedAtomics)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedCopy)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedCopyWide)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedGemm)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedGemmTiled)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedAttention)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PublishedSoftmax)->Unit(benchmark::kMillisecond)->UseRealTime();

// --- widths ---

using Words = std::vector<uint32_t>;

// Eight instructions of the vector ALU, 8,000 times, eight times in a turn of a loop, of waves of either width. Of f32
// and integers: v_fma_f32, v_add_f32, v_mul_f32, v_xor_b32, v_lshlrev_b32, v_and_b32, v_max_f32, v_or_b32; of f16:
// v_fma_f16, v_add_f16, v_mul_f16, v_max_f16, v_sub_f16, v_pk_add_f16, v_pk_fma_f16, v_cvt_f32_f16.
void WaveOf(benchmark::State &state)
{
  const bool is_narrow = state.range(0) == 32, is_half = state.range(1) == 16;
  static const Words bodies[2][2] = {
      {{0xd1cb0001, 0x040e0501, 0x02080701, 0x0a0a0501, 0x2a0c0501, 0x240e0c83, 0x26100d07,
        0x16120b04, 0x28140f08},
       {0xd6130001, 0x040e0501, 0x06080701, 0x100a0501, 0x3a0c0501, 0x300e0c83, 0x36100d07,
        0x20120b04, 0x38140f08}},
      {{0xd2060001, 0x040e0501, 0x3e080701, 0x440a0501, 0x5a0c0501, 0x400e0304, 0xd38f4008,
        0x18020501, 0xd38e4009, 0x1c0e0501, 0x7e141701},
       {0xd6480001, 0x040e0501, 0x64080701, 0x6a0a0501, 0x720c0501, 0x660e0304, 0xcc0f4008,
        0x18020501, 0xcc0e4009, 0x1c0e0501, 0x7e141701}}};
  // v_mov_b32 of 1, 0.5 and 2; s_movk_i32 s0, 1000
  Words code = is_half ? Words{0x7e0202ff, 0x3c003c00, 0x7e0402ff, 0x38003800,
                               0x7e0602ff, 0x40004000, 0xb00003e8}
                       : Words{0x7e0202f2, 0x7e0402f0, 0x7e0602f4, 0xb00003e8};
  const Words &body = bodies[is_half][is_narrow];
  for (int i = 0; i < 8; ++i)
    code.insert(code.end(), body.begin(), body.end());
  code.insert(code.end(), {0x80808100, 0xbf078000}); // s_sub_u32 s0, s0, 1; s_cmp_lg_u32 s0, 0
  const uint32_t back = static_cast<uint32_t>(-8 * static_cast<int>(body.size()) - 3) & 0xffff;
  code.push_back((is_narrow ? 0xbfa20000 : 0xbf850000) | back); // s_cbranch_scc1
  code.push_back(is_narrow ? 0xbfb00000 : 0xbf810000);          // s_endpgm
  device::Descriptor descriptor;
  if (is_narrow)
    descriptor.properties |= 1 << 10;
  device::Kernel kernel(code, descriptor);
  device::Memory kernarg(64);
  run(state, device::dispatch(kernel.object(), kernarg.as<void>(), 64,
                              static_cast<uint16_t>(state.range(0)),
                              is_narrow ? SOFTGPU_GFX1100 : SOFTGPU_GFX90A));
}
BENCHMARK(WaveOf)
    ->ArgsProduct({{64, 32}, {32, 16}})
    ->ArgNames({"lanes", "bits"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// --- preparing ---

// Code that was never seen: what each instruction takes of time and memory until it can run.
void Prepare(benchmark::State &state)
{
  device::CodeObject object("gemm-gfx90a-v5.co");
  const uint64_t kernel = object.symbol("gemm_f16.kd");
  if (!kernel)
    return state.SkipWithError("fixture not found");
  int64_t offset;
  memcpy(&offset, reinterpret_cast<const void *>(kernel + 16), sizeof offset);
  isa_limits_t limits = {};
  limits.chip = SOFTGPU_GFX90A;
  limits.sgprs = 102;
  limits.lanes = 64;
  limits.vgprs = limits.agprs = limits.rows = 256;
  uint64_t instructions = 0, bytes = 0;
  double seconds = 0;
  for (auto _ : state) {
    isa_program_t *program = isa_program_open(&limits);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    const auto start = std::chrono::steady_clock::now();
    isa_chunk_t *chunk = isa_program_chunk(program, kernel + static_cast<uint64_t>(offset));
    for (uint32_t slot = 0; chunk && slot < std::min<uint32_t>(ISA_CHUNK, chunk->available);)
      if (chunk->at[slot] || isa_program_decode(program, chunk, slot)) {
        slot += chunk->at[slot]->dwords;
        ++instructions;
      }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bytes += mallinfo2().uordblks + mallinfo2().hblkhd - before;
    isa_program_close(program);
    softgpu_invalidate_code();
  }
  state.counters["ns_each"] = seconds * 1e9 / static_cast<double>(instructions);
  state.counters["bytes_each"] = static_cast<double>(bytes) / static_cast<double>(instructions);
}
BENCHMARK(Prepare);

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
