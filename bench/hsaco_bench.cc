// Opening a code object: all its facts, one kernel of many, hostile names. Each case comes with what
// it is held against: see hsaco_naive.h and hsaco_comgr.h.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "bench/hsaco_comgr.h"
#include "bench/hsaco_naive.h"
#include "tests/hsaco/builder.h"

extern "C" {
#include "hsaco/hsaco.h"
}

namespace {

// ---- Objects ----

// As compilers write them: kernel names that share a long prefix, arguments by address and by value.
build::Kernel KernelOf(const std::string &name, uint32_t arguments)
{
  build::Kernel kernel;
  kernel.name = name;
  for (uint32_t i = 0; i < arguments; ++i)
    kernel.arguments.push_back(
        i % 3 ? build::Argument{"arg" + std::to_string(i), 8 * i, 4, "by_value"}
              : build::Argument{"arg" + std::to_string(i), 8 * i, 8, "global_buffer", "global"});
  kernel.kernarg_size = 8 * arguments;
  return kernel;
}

std::string NameOf(uint32_t index)
{
  return "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_" + std::to_string(index);
}

// Names of one length whose hashes by "times 31, plus the byte" are all the same: "Aa" and "BB".
std::string CollidingName(uint32_t index)
{
  std::string name = "Cijk_Ailk_Bljk_HHS_BH_";
  for (unsigned bit = 0; bit < 16; ++bit)
    name += index >> bit & 1 ? "Aa" : "BB";
  return name;
}

enum NameStyle { kFriendly, kColliding };

const std::string &ObjectOf(uint32_t kernels, uint32_t arguments, NameStyle names = kFriendly)
{
  static std::map<std::tuple<uint32_t, uint32_t, NameStyle>, std::string> made;
  std::string &bytes = made[{kernels, arguments, names}];
  if (bytes.empty()) {
    build::Object object;
    for (uint32_t i = 0; i < kernels; ++i)
      object.kernels.push_back(
          KernelOf(names == kFriendly ? NameOf(i) : CollidingName(i), arguments));
    bytes = object.build();
  }
  return bytes;
}

// Linked from one-kernel objects: a note for each kernel.
const std::string &LibraryOf(uint32_t kernels)
{
  static std::string bytes;
  if (bytes.empty()) {
    build::Object object;
    for (uint32_t i = 0; i < kernels; ++i) {
      object.kernels.push_back(KernelOf(NameOf(i), 12));
      object.notes.push_back(build::pack_metadata({object.kernels.back()}));
    }
    bytes = object.build();
  }
  return bytes;
}

std::string Fixture(const std::string &name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR) + "/tests/fixtures/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t BytesInUse()
{
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double PageFaults()
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

// ---- Readers ----

void Open(benchmark::State &state, const std::string &bytes, uint32_t flags = 0,
          const std::string &find = "")
{
  rawhal_hsaco_options_t options = {};
  options.flags = flags;
  size_t before = BytesInUse(), peak = 0;
  double faults = PageFaults();
  for (auto _ : state) {
    rawhal_hsaco_t *hsaco;
    if (rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr) != RAWHAL_OK)
      return state.SkipWithError("cannot be opened");
    if (!find.empty()) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(hsaco, {find.data(), find.size()});
      if (!kernel || !kernel->argument_count)
        return state.SkipWithError("the kernel is not found");
    }
    if (!peak)
      peak = BytesInUse() - before; /* only grows while it is opened */
    rawhal_hsaco_close(hsaco);
  }
  state.counters["memory"] = static_cast<double>(peak);
  state.counters["faults"] =
      benchmark::Counter(PageFaults() - faults, benchmark::Counter::kAvgIterations);
}

void OpenNaive(benchmark::State &state, const std::string &bytes, const std::string &find = "")
{
  size_t before = BytesInUse(), peak = 0;
  for (auto _ : state) {
    naive::Object object;
    if (!naive::open(bytes, &object))
      return state.SkipWithError("cannot be opened");
    if (!find.empty() && object.by_name.find(find) == object.by_name.end())
      return state.SkipWithError("the kernel is not found");
    if (!peak)
      peak = BytesInUse() - before;
  }
  state.counters["memory"] = static_cast<double>(peak);
}

void WalkTokens(benchmark::State &state, const std::string &bytes)
{
  uint64_t tokens = 0;
  for (auto _ : state)
    tokens = naive::floor(bytes);
  if (!tokens)
    return state.SkipWithError("not msgpack");
  state.counters["tokens"] = static_cast<double>(tokens);
}

void OpenComgr(benchmark::State &state, const std::string &bytes)
{
  std::unique_ptr<Comgr> comgr = Comgr::load();
  if (!comgr)
    return state.SkipWithError("libamd_comgr is not installed");
  for (auto _ : state)
    if (!comgr->read(bytes))
      return state.SkipWithError("cannot be read");
}

// ---- Cases ----

#define CASE(name, call)                                                                           \
  void name(benchmark::State &state)                                                               \
  {                                                                                                \
    call;                                                                                          \
  }                                                                                                \
  BENCHMARK(name)

CASE(Large, Open(state, ObjectOf(5000, 12)));
CASE(LargeNaive, OpenNaive(state, ObjectOf(5000, 12)));
CASE(LargeFloor, WalkTokens(state, ObjectOf(5000, 12)));
CASE(LargeComgr, OpenComgr(state, ObjectOf(5000, 12)));

CASE(FindOne, Open(state, ObjectOf(5000, 12), 0, NameOf(2500)));
CASE(FindOneNaive, OpenNaive(state, ObjectOf(5000, 12), NameOf(2500)));

CASE(Library, Open(state, LibraryOf(446)));
CASE(LibraryNaive, OpenNaive(state, LibraryOf(446)));

CASE(Small, Open(state, ObjectOf(1, 3)));
CASE(SmallNaive, OpenNaive(state, ObjectOf(1, 3)));

// Two sizes in turns: what the machine does meanwhile hits both.
void Scaling(benchmark::State &state)
{
  const uint32_t kernels = static_cast<uint32_t>(state.range(0));
  const std::string &bytes = ObjectOf(kernels, 12);
  Open(state, bytes);
  state.counters["per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kernels, benchmark::Counter::kIsRate);
}
BENCHMARK(Scaling)->Arg(100)->Arg(1000)->Arg(20000);

void Names(benchmark::State &state)
{
  Open(state, ObjectOf(20000, 3, static_cast<NameStyle>(state.range(0))));
}
BENCHMARK(Names)->ArgName("colliding")->Arg(kFriendly)->Arg(kColliding);

void OpenCodeObject(benchmark::State &state, const char *name)
{
  std::string bytes = Fixture(name);
  Open(state, bytes);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK_CAPTURE(OpenCodeObject, vector_add_v4, "vector_add-gfx90a-v4.co");
BENCHMARK_CAPTURE(OpenCodeObject, many_args_v5, "many_args-gfx90a-v5.co");
BENCHMARK_CAPTURE(OpenCodeObject, fault_v5_8_kernels, "fault-gfx90a-v5.co");

} // namespace
