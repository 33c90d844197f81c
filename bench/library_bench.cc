// To the first kernel of a folder of 10,000 files, and to any other: by a library, with its index made anew or read from
// disk, and by loading all of them with the HSA runtime alone, as programs do that open every file they find.
#include "queue_bench.h"

#include <fcntl.h>
#include <hsa/hsa.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

namespace {

namespace fs = std::filesystem;
// As many as the test that it runs says, else 10,000.
const size_t files =
    getenv("BENCH_LIBRARY_FILES") ? strtoul(getenv("BENCH_LIBRARY_FILES"), nullptr, 10) : 10000;

std::string name_of(size_t number)
{
  char name[32];
  snprintf(name, sizeof(name), "kern_%05zu", number);
  return name; // as long as "vector_add"
}

// What the process has in memory, but for what it has freed.
long resident_kib()
{
  malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  long pages = 0;
  status >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

// The files, an index of them, and a device. Files that were made a moment ago have no index: so this waits.
class Folder {
public:
  Folder()
  {
    char name[] = "/tmp/rawhal-bench-XXXXXX";
    if (!mkdtemp(name))
      return;
    root = name;
    fs::create_directories(root / "objects");
    const std::string bytes = fixture("vector_add-gfx90a-v5.co"), old = "vector_add";
    for (size_t i = 0; i < files; ++i) {
      std::string renamed = bytes;
      for (size_t at = 0; (at = renamed.find(old, at)) != std::string::npos;)
        renamed.replace(at, old.size(), name_of(i));
      std::ofstream(root / "objects" / (name_of(i) + ".co"), std::ios::binary) << renamed;
    }
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = "gpus=1,vram_mib=2048";
    ready = rawhal_instance_create(&options, &instance, &error) == RAWHAL_OK;
    device = rawhal_instance_device(instance, 0);
    sleep(4);
    ready = ready && first_kernel(true, 0) > 0; // leaves the index
  }
  ~Folder()
  {
    rawhal_instance_destroy(instance);
    if (!root.empty())
      fs::remove_all(root);
  }

  // A library with all of it.
  rawhal_library_t *open(bool cached)
  {
    rawhal_library_t *library = nullptr;
    rawhal_library_options_t options = {};
    const std::string cache = cached ? (root / "cache").string() : "off";
    options.cache = cache.c_str();
    if (rawhal_library_create(device, &options, &library, &error) != RAWHAL_OK ||
        rawhal_library_add(library, (root / "objects").c_str(), &error) != RAWHAL_OK) {
      rawhal_library_destroy(library);
      return nullptr;
    }
    return library;
  }

  bool get(rawhal_library_t *library, size_t number)
  {
    const std::string name = name_of(number);
    rawhal_library_query_t query = {};
    query.name = {name.data(), name.size()};
    const rawhal_device_kernel_t *kernel = nullptr;
    bool found = rawhal_library_kernel(library, &query, &kernel, &error) == RAWHAL_OK;
    rawhal_library_release(library, kernel);
    return found;
  }

  // Seconds from nothing to a kernel of a library; negative: it failed.
  double first_kernel(bool cached, size_t number)
  {
    const long before = resident_kib();
    const auto begin = std::chrono::steady_clock::now();
    rawhal_library_t *library = open(cached);
    const bool found = library && get(library, number);
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    more_kib = std::max(resident_kib() - before, 1l);
    if (library)
      rawhal_library_stats(library, &stats, sizeof(stats));
    rawhal_library_destroy(library);
    return found ? taken : -1;
  }

  fs::path root;
  bool ready = false;
  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_device_t *device = nullptr;
  rawhal_library_stats_t stats = {}; // of the last library,
  long more_kib = 0;                 // and what it took of memory, its kernel's object included
};

Folder &folder()
{
  static Folder one;
  return one;
}

void FirstKernel(benchmark::State &state)
{
  const bool cached = state.range(0);
  Folder &all = folder();
  if (!all.ready) {
    state.SkipWithError(all.error.message);
    return;
  }
  std::mt19937 random(1);
  for (auto _ : state) {
    const double taken = all.first_kernel(cached, random() % files);
    if (taken < 0 || all.stats.indexes_read != cached)
      state.SkipWithError(taken < 0 ? all.error.message : "the index was not what it should be");
    state.SetIterationTime(taken);
  }
  state.counters["each_ms"] = benchmark::Counter(
      1e-3, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["index_bytes"] = static_cast<double>(all.stats.index_bytes);
  state.counters["more_kib"] = static_cast<double>(all.more_kib);
}
BENCHMARK(FirstKernel)
    ->ArgName("cached")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

// Any of them, from a library that has its index.
void AnyKernel(benchmark::State &state)
{
  Folder &all = folder();
  rawhal_library_t *library = all.ready ? all.open(true) : nullptr;
  if (!library || !all.get(library, 0)) {
    state.SkipWithError(all.error.message);
    return;
  }
  size_t number = 1;
  for (auto _ : state) {
    number = (number * 7919 + 1) % files;
    if (!all.get(library, number))
      state.SkipWithError(all.error.message);
  }
  state.counters["each_ms"] = benchmark::Counter(
      1e-3, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  rawhal_library_destroy(library);
}
BENCHMARK(AnyKernel)->Iterations(500)->UseRealTime()->Unit(benchmark::kMillisecond);

// ---- The HSA runtime alone ----

struct Loaded {
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
};

bool load(hsa_agent_t agent, const fs::path &path, const std::string &name, Loaded *loaded,
          uint64_t *object)
{
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  hsa_executable_symbol_t found;
  const bool good =
      file >= 0 &&
      symbol<decltype(hsa_code_object_reader_create_from_file)>(
          "hsa_code_object_reader_create_from_file")(file, &loaded->reader) == HSA_STATUS_SUCCESS &&
      symbol<decltype(hsa_executable_create_alt)>("hsa_executable_create_alt")(
          HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
          &loaded->executable) == HSA_STATUS_SUCCESS &&
      symbol<decltype(hsa_executable_load_agent_code_object)>(
          "hsa_executable_load_agent_code_object")(loaded->executable, agent, loaded->reader,
                                                   nullptr, nullptr) == HSA_STATUS_SUCCESS &&
      symbol<decltype(hsa_executable_freeze)>("hsa_executable_freeze")(
          loaded->executable, nullptr) == HSA_STATUS_SUCCESS &&
      symbol<decltype(hsa_executable_get_symbol_by_name)>("hsa_executable_get_symbol_by_name")(
          loaded->executable, (name + ".kd").c_str(), &agent, &found) == HSA_STATUS_SUCCESS &&
      symbol<decltype(hsa_executable_symbol_get_info)>("hsa_executable_symbol_get_info")(
          found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, object) == HSA_STATUS_SUCCESS;
  if (file >= 0)
    close(file);
  return good;
}

void EagerHsa(benchmark::State &state)
{
  Folder &all = folder();
  if (!all.ready) {
    state.SkipWithError(all.error.message);
    return;
  }
  const hsa_agent_t agent = {rawhal_device_info(all.device)->agent};
  for (auto _ : state) {
    std::vector<Loaded> loaded(files);
    const long before = resident_kib();
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < files; ++i) {
      uint64_t object = 0;
      if (!load(agent, all.root / "objects" / (name_of(i) + ".co"), name_of(i), &loaded[i],
                &object))
        state.SkipWithError("the runtime loads no file");
      benchmark::DoNotOptimize(object);
    }
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    state.counters["more_kib"] = static_cast<double>(resident_kib() - before);
    for (const Loaded &one : loaded) {
      symbol<decltype(hsa_executable_destroy)>("hsa_executable_destroy")(one.executable);
      symbol<decltype(hsa_code_object_reader_destroy)>("hsa_code_object_reader_destroy")(
          one.reader);
    }
  }
  state.counters["each_ms"] = benchmark::Counter(
      1e-3, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(EagerHsa)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace
