// softgpu's engine against the one it was at commit 8b51596, which the build takes from history: both in this process,
// on one core, in turns; of each the shortest of many runs, in the thread's CPU time, so that others who use the
// machine count as little as they can.
#include <benchmark/benchmark.h>

#include <dlfcn.h>
#include <elf.h>
#include <time.h>

#include <rawhal/rawhal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <glob.h>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/engine/engine.h"
#include "tools/demo/rocrand.h"

namespace {

// So many, and one before them; the test that it works wants fewer.
int runs()
{
  const char *wanted = getenv("BENCH_ENGINE_RUNS");
  return wanted ? atoi(wanted) : 20;
}

// --- engines ---

const engine_t *open_engine(const char *name)
{
  const std::string path = std::string(RAWHAL_BUILD_DIR "/bench/engine/lib") + name + ".so";
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void *open = handle ? dlsym(handle, ENGINE_OPEN) : nullptr;
  if (!open)
    return nullptr;
  const engine_t *engine = reinterpret_cast<engine_open_t *>(open)();
  engine->threads(1);
  return engine;
}

const engine_t *engine_now()
{
  static const engine_t *const engine = open_engine("engine_now");
  return engine;
}

const engine_t *engine_then(bool is_portable)
{
  static const engine_t *const engine = open_engine("engine_then");
  static const engine_t *const portable = open_engine("engine_then_portable");
  return is_portable ? portable : engine;
}

// What a case has in memory, for both engines.
class Memory {
public:
  Memory(const std::vector<const engine_t *> &users, size_t size, bool is_code = false)
      : engines(users), pages((size + 4095) & ~size_t{4095}),
        bytes(static_cast<uint8_t *>(aligned_alloc(4096, pages)))
  {
    memset(bytes, 0, pages);
    for (const engine_t *engine : engines)
      if (!engine->add(bytes, pages, is_code))
        throw std::runtime_error("an engine takes no memory");
  }
  ~Memory()
  {
    for (const engine_t *engine : engines)
      engine->remove(bytes);
    free(bytes);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes); }
  template <typename T> T *as() { return reinterpret_cast<T *>(bytes); }
  size_t size() const { return pages; }

private:
  std::vector<const engine_t *> engines;
  size_t pages;
  uint8_t *bytes;
};

// --- cases ---

// A code object's segments in place. (No kernel here has anything to relocate.)
class Code {
public:
  Code(const std::vector<const engine_t *> &engines, std::string object)
      : file(std::move(object)), image(engines, image_size(), true)
  {
    each_segment([&](const Elf64_Phdr &segment) {
      memcpy(image.as<char>() + segment.p_vaddr, &file[segment.p_offset], segment.p_filesz);
    });
  }

  uint64_t symbol(const std::string &name) const
  {
    const Elf64_Ehdr &header = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const auto &section = at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_DYNSYM)
        continue;
      const auto &strings = at<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
      for (size_t n = 0; n < section.sh_size / sizeof(Elf64_Sym); ++n) {
        const auto &symbol = at<Elf64_Sym>(section.sh_offset + n * sizeof(Elf64_Sym));
        if (name == &file[strings.sh_offset + symbol.st_name])
          return image.address() + symbol.st_value;
      }
    }
    throw std::runtime_error("no kernel " + name);
  }

private:
  template <typename T> const T &at(uint64_t offset) const
  {
    return *reinterpret_cast<const T *>(&file.at(offset));
  }
  template <typename Visit> void each_segment(Visit visit) const
  {
    const auto &header = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      const auto &segment = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_LOAD)
        visit(segment);
    }
  }
  size_t image_size() const
  {
    size_t end = 0;
    each_segment([&](const Elf64_Phdr &segment) {
      end = std::max<size_t>(end, segment.p_vaddr + segment.p_memsz);
    });
    return end;
  }

  std::string file;
  Memory image;
};

std::string fixture(const std::string &name)
{
  std::ifstream stream(RAWHAL_SOURCE_DIR "/tests/fixtures/" + name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.empty())
    throw std::runtime_error("no fixture " + name);
  return bytes;
}

// The code object of Debian's librocrand1 that has a kernel; what `./dev demo` and `./dev test` download.
std::string of_rocrand(const std::string &kernel)
{
  glob_t found = {};
  glob(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*", 0, nullptr, &found);
  const std::string path = found.gl_pathc ? found.gl_pathv[0] : "";
  globfree(&found);
  rawhal_container_t *container = nullptr;
  if (path.empty() ||
      rawhal_container_open_file(path.c_str(), nullptr, &container, nullptr) != RAWHAL_OK)
    throw std::runtime_error("librocrand1 is not there; ./dev demo downloads it");
  std::string object;
  for (size_t i = 0; i < rawhal_container_count(container) && object.empty(); ++i) {
    const rawhal_container_object_t *entry = rawhal_container_object(container, i);
    const std::string bytes(reinterpret_cast<const char *>(entry->bytes.data), entry->bytes.size);
    if (std::string(entry->id.data, entry->id.size).find("gfx90a") != std::string::npos &&
        bytes.find(kernel + ".kd") != std::string::npos)
      object = bytes;
  }
  rawhal_container_close(container);
  if (object.empty())
    throw std::runtime_error("librocrand1 is another one: it has no " + kernel);
  return object;
}

// A kernel with its arguments and buffers, and whose result is looked at.
class Case {
public:
  explicit Case(std::vector<const engine_t *> users) : engines(std::move(users))
  {
    kernarg = std::make_unique<Memory>(engines, 4096);
    packet = std::make_unique<Memory>(engines, 4096);
    dispatch.kernarg = kernarg->address();
    dispatch.packet = packet->address();
    for (unsigned i = 0; i < 3; ++i)
      size(i, 1, 1);
  }

  void load(std::string object, const std::string &kernel)
  {
    code = std::make_unique<Code>(engines, std::move(object));
    dispatch.kernel_object = code->symbol(kernel + ".kd");
  }
  Memory &buffer(size_t bytes)
  {
    buffers.push_back(std::make_unique<Memory>(engines, bytes));
    return *buffers.back();
  }
  Memory &floats(size_t count)
  {
    Memory &memory = buffer(count * 4);
    for (size_t i = 0; i < count; ++i)
      memory.as<float>()[i] = static_cast<float>(i % 251) * 0.25f - 31.0f;
    return memory;
  }
  template <typename T> void pass(T value)
  {
    passed = (passed + sizeof value - 1) / sizeof value * sizeof value;
    memcpy(kernarg->as<char>() + passed, &value, sizeof value);
    passed += sizeof value;
  }
  void size(unsigned dimension, uint32_t items, uint16_t group)
  {
    dispatch.grid[dimension] = items;
    dispatch.workgroup[dimension] = group;
    packet->as<uint16_t>()[2 + dimension] = group; // kernels read both there
    packet->as<uint32_t>()[3 + dimension] = items;
  }

  engine_dispatch_t dispatch = {};
  Memory *result = nullptr;
  std::function<void()> before = [] {};

private:
  std::vector<const engine_t *> engines;
  std::unique_ptr<Memory> kernarg, packet;
  std::unique_ptr<Code> code;
  std::vector<std::unique_ptr<Memory>> buffers;
  size_t passed = 0;
};

void vector_add(Case &c)
{
  const uint32_t count = 1 << 18;
  c.load(fixture("vector_add-gfx90a-v4.co"), "vector_add");
  c.result = &c.buffer(count * 4);
  c.pass(c.result->address());
  c.pass(c.floats(count).address());
  c.pass(c.floats(count).address());
  c.pass(count);
  c.size(0, count, 256);
}

void mandelbrot(Case &c)
{
  const uint32_t width = 256;
  c.load(fixture("mandelbrot-gfx90a-v5.co"), "mandelbrot");
  c.result = &c.buffer(width * width * 4);
  c.pass(c.result->address());
  c.pass(width);
  c.pass(width * width);
  for (float value : {-2.0f, -1.25f, 2.5f / width})
    c.pass(value);
  c.pass(uint32_t{256});
  c.size(0, width * width, 256);
}

void lds_matmul(Case &c)
{
  const uint32_t n = 192;
  c.load(fixture("matmul-gfx90a-v5.co"), "matmul");
  c.result = &c.buffer(n * n * 4);
  c.pass(c.result->address());
  c.pass(c.floats(n * n).address());
  c.pass(c.floats(n * n).address());
  c.pass(n);
  c.size(0, n, 16);
  c.size(1, n, 16);
  c.dispatch.group_bytes = 2048;
}

void reduce(Case &c)
{
  const uint32_t groups = 1024;
  c.load(fixture("reduce-gfx90a-v5.co"), "reduce");
  c.result = &c.buffer(groups * 4);
  c.pass(c.result->address());
  c.pass(c.floats(groups * 256).address());
  c.size(0, groups * 256, 256);
  c.dispatch.group_bytes = 4096;
}

void gemm(Case &c, const char *kernel, unsigned bytes)
{
  const uint32_t m = 128, n = 128, k = 256;
  c.load(fixture("gemm-gfx90a-v5.co"), kernel);
  c.result = &c.buffer(m * n * 4);
  for (uint64_t count : {m * n, m * k, n * k})
    c.pass(count);
  c.pass(c.result->address());
  c.pass(c.floats(m * n).address());
  for (uint32_t rows : {m, n}) {
    Memory &matrix = c.buffer(rows * k * 4);
    for (uint32_t i = 0; i < rows * k; ++i) // of f16, no NaN and nothing that overflows
      if (bytes == 4)
        matrix.as<float>()[i] = static_cast<float>(i % 61) * 0.125f - 3.0f;
      else
        matrix.as<uint16_t>()[i] =
            static_cast<uint16_t>(0x3000 + i % 61 * 32 + (i % 3 ? 0x8000 : 0));
    c.pass(matrix.address());
  }
  c.pass(1.5f);
  c.pass(-0.5f);
  for (uint32_t stride : {n, m * n, n, m * n, k, m * k, k, n * k})
    c.pass(stride);
  for (uint32_t size : {m, n, 1u, k})
    c.pass(size);
  c.size(0, m / 64 * 256, 256);
  c.size(1, n / 64, 1);
  c.dispatch.group_bytes = 8192;
}

void gemm_f32(Case &c)
{
  gemm(c, "gemm_f32", 4);
}
void gemm_f16(Case &c)
{
  gemm(c, "gemm_f16", 2);
}

void xorwow_init(Case &c)
{
  const uint32_t groups = 1, engines = groups * 256;
  c.load(of_rocrand(ROCRAND_XORWOW_INIT), ROCRAND_XORWOW_INIT);
  c.result = &c.buffer(engines * sizeof(xorwow_t));
  rocrand_xorwow_init_kernarg_t arguments = {};
  arguments.engines = c.result->address();
  arguments.start = 1000000 % engines;
  arguments.seed = 0x0123456789abcdef;
  arguments.offset = 1000000 / engines;
  c.pass(arguments);
  c.size(0, engines, 256);
  c.dispatch.group_bytes = 24 * 256;
}

// --- the comparison ---

uint64_t cpu_ns()
{
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Of one run; adds nothing to `least` but what is less.
void run_once(const engine_t *engine, const Case &c, uint64_t &least)
{
  char why[512];
  const uint64_t start = cpu_ns();
  if (!engine->run(&c.dispatch, why, sizeof why))
    throw std::runtime_error(why);
  least = std::min(least, cpu_ns() - start);
}

std::string taken(Case &c)
{
  std::string bytes(c.result->as<char>(), c.result->size());
  memset(c.result->as<char>(), 0, c.result->size());
  return bytes;
}

void compare(benchmark::State &state, void (*prepare)(Case &), engine_host_t host)
{
  const engine_t *now = engine_now(), *then = engine_then(host == ENGINE_PORTABLE);
  if (!then)
    return state.SkipWithError("commit 8b51596 was not built: no history, or not by ./dev bench");
  if (!now)
    return state.SkipWithError("the engine as it is was not built");
  if (!now->use(host))
    return state.SkipWithError("this processor does not run that build");
  try {
    Case c({now, then});
    prepare(c);
    uint64_t least_now = UINT64_MAX, least_then = UINT64_MAX, executed = 0;
    for (auto _ : state) {
      for (int i = 0; i <= runs(); ++i) {
        run_once(then, c, least_then);
        const std::string wanted = taken(c);
        const uint64_t before = now->instructions();
        run_once(now, c, least_now);
        executed = now->instructions() - before;
        if (taken(c) != wanted)
          throw std::runtime_error("the engines' results differ");
      }
    }
    state.counters["then_us"] = static_cast<double>(least_then) / 1e3;
    state.counters["now_us"] = static_cast<double>(least_now) / 1e3;
    state.counters["now_M/s"] =
        static_cast<double>(executed) * 1e3 / static_cast<double>(least_now);
    state.counters["ratio"] = static_cast<double>(least_then) / static_cast<double>(least_now);
  } catch (const std::exception &failure) {
    state.SkipWithError(failure.what());
  }
}

#define COMPARE(kernel)                                                                            \
  BENCHMARK_CAPTURE(compare, kernel##_portable, kernel, ENGINE_PORTABLE)->Iterations(1);           \
  BENCHMARK_CAPTURE(compare, kernel##_avx2, kernel, ENGINE_AVX2)->Iterations(1);                   \
  BENCHMARK_CAPTURE(compare, kernel##_avx512, kernel, ENGINE_AVX512)->Iterations(1)
COMPARE(vector_add);
COMPARE(mandelbrot);
COMPARE(lds_matmul);
COMPARE(reduce);
COMPARE(gemm_f32);
COMPARE(gemm_f16);
COMPARE(xorwow_init);

} // namespace
