// softgpu with a queue and the kernels that the queue's benches submit.
#ifndef RAWHAL_BENCH_QUEUE_BENCH_H
#define RAWHAL_BENCH_QUEUE_BENCH_H

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core.h"
#include "tests/values.h"
#include <rawhal/rawhal.h>

extern "C" {
#include "debug/door/memory.h"
#include "queue/limit/config.h"
}

constexpr size_t round_size = 512; // dispatches timed at a go

// How often. Under valgrind fewer are enough (counted.py), and to see that it runs.
inline int rounds()
{
  const char *wanted = getenv("BENCH_ROUNDS");
  return wanted ? atoi(wanted) : 200;
}

template <typename Function> Function *symbol(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

inline std::string fixture(const char *file)
{
  std::ifstream stream(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline rawhal_dispatch_t one_item(const rawhal_device_kernel_t *kernel)
{
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel;
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = dispatch.workgroup[d] = 1;
  return dispatch;
}

inline rawhal_dispatch_t with_blob(const rawhal_device_kernel_t *kernel, size_t size)
{
  static const char zeros[256] = {}; // one work-item of n = 0 touches nothing
  rawhal_dispatch_t dispatch = one_item(kernel);
  dispatch.blob = zeros;
  dispatch.blob_size = size;
  return dispatch;
}

enum class Limits {
  none,
  share, // of device time, wide open
  all,   // of every kind that a submission spends, wide open
};

class Bench {
public:
  explicit Bench(Limits limited) : limited(limited)
  {
    static const struct {
      rawhal_limit_t limit;
      uint64_t value;
    } open[] = {{RAWHAL_LIMIT_GPU_SHARE, 1000000},
                {RAWHAL_LIMIT_DISPATCH_RATE, 1000000000},
                {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, 1u << 30},
                {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, 1u << 30},
                {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, 1u << 30},
                {RAWHAL_LIMIT_GRID_WORKGROUPS, 1u << 30}};
    rawhal_limit_config_t limits = {};
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    for (const auto &one : open)
      if (limited == Limits::all || (limited == Limits::share && &one == open)) {
        (void)!rawhal_limit_config_set(&limits, one.limit, one.value, &error);
        options.limits = &limits;
      }
    if (rawhal_instance_create(&options, &instance, &error) != RAWHAL_OK)
      return;
    rawhal_device_t *device = rawhal_instance_device(instance, 0);
    empty = load(device, "empty-gfx90a-v5.co", "empty");
    add = load(device, "vector_add-gfx90a-v4.co", "vector_add");
    add_hidden = load(device, "vector_add-gfx90a-v5.co", "vector_add");
    queue = another_queue();
    ready = empty && add && add_hidden && queue;
  }
  ~Bench()
  {
    for (rawhal_queue_t *one : queues)
      rawhal_queue_destroy(one);
    for (rawhal_executable_t *executable : executables)
      rawhal_executable_destroy(executable);
    rawhal_instance_destroy(instance);
  }
  Bench(const Bench &) = delete;
  Bench &operator=(const Bench &) = delete;

  const rawhal_device_kernel_t *load(rawhal_device_t *device, const char *file, const char *name)
  {
    std::string bytes = fixture(file);
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_executable_t *executable = nullptr;
    const rawhal_device_kernel_t *kernel = nullptr;
    if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error) == RAWHAL_OK &&
        rawhal_executable_load(device, hsaco, &executable, &error) == RAWHAL_OK)
      (void)!rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &kernel, &error);
    rawhal_hsaco_close(hsaco);
    executables.push_back(executable);
    return kernel;
  }

  rawhal_queue_t *another_queue()
  {
    rawhal_queue_options_t sizes = {};
    sizes.packets = sizes.submissions = 1024;
    rawhal_queue_t *made = nullptr;
    (void)!rawhal_queue_create(rawhal_instance_device(instance, 0), &sizes, &made, &error);
    queues.push_back(made);
    return made;
  }

  // Everything has finished, and no submission has to give the room back.
  bool drain(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    bool good = rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error) == RAWHAL_OK;
    queue_info(on);
    return good;
  }

  const Limits limited;
  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_queue_t *queue = nullptr;
  std::vector<rawhal_queue_t *> queues;
  std::vector<rawhal_executable_t *> executables;
  const rawhal_device_kernel_t *empty = nullptr, *add = nullptr, *add_hidden = nullptr;
  bool ready = false;
};

// One at a time: limits come with the runtime. The last one ends with the process: a destructor of
// ours would run after the runtime's own.
inline Bench &bench(Limits limited = Limits::none)
{
  static Bench *one;
  if (!one || one->limited != limited) {
    delete one;
    one = new Bench(limited);
  }
  return *one;
}

// Collects single measurements. A machine that does something else meanwhile spoils some of them,
// and with them the mean; what is held against targets is the median.
class Samples {
public:
  void add(benchmark::State &state, double seconds)
  {
    state.SetIterationTime(seconds);
    all.push_back(seconds);
  }
  size_t count() const { return all.size(); }
  double median()
  {
    if (all.empty())
      return 0;
    auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

private:
  std::vector<double> all;
};

// Times `work`, which submits `count` dispatches, while nobody reads the queue. What is measured while a stranger uses
// the core does not count, if there is enough else; `shared` is that part, 1 if all of it counts nevertheless.
template <typename Work, typename Drain>
void measure(benchmark::State &state, Work work, Drain drain, size_t count = round_size)
{
  auto pause = symbol<void()>("softgpu_pause"), resume = symbol<void()>("softgpu_resume");
  Samples all, alone;
  for (auto _ : state) {
    pause();
    bool ours = core_is_ours();
    auto start = std::chrono::steady_clock::now();
    bool good = work();
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    ours &= core_is_ours();
    resume();
    if (!good || !drain())
      return state.SkipWithError("a submission failed");
    all.add(state, elapsed.count() / static_cast<double>(count));
    if (ours)
      alone.add(state, elapsed.count() / static_cast<double>(count));
  }
  const bool enough = alone.count() >= 10;
  state.counters["each_ns"] = (enough ? alone : all).median() * 1e9;
  state.counters["shared"] =
      enough ? 1 - static_cast<double>(alone.count()) / static_cast<double>(all.count()) : 1;
}

#endif
