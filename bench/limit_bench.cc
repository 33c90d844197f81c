// What limits cost: admission from a lease and through clocks that all share, memory with few and many processes.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <vector>

extern "C" {
#include "bench/limit_paths.h"
#include "queue/limit/config.h"
}

namespace {

constexpr unsigned kBatch = 1000;

rawhal_limiter_t *Open(int fd)
{
  rawhal_limit_config_t config = {};
  rawhal_error_t error = {};
  config.has_region_fd = fd >= 0;
  config.region_fd = fd;
  rawhal_limiter_t *limiter = nullptr;
  if (rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 999999, &error) != RAWHAL_OK ||
      rawhal_limit_config_set(&config, RAWHAL_LIMIT_MEMORY, 1ull << 40, &error) != RAWHAL_OK ||
      rawhal_limiter_open(&config, "device", &limiter, &error) != RAWHAL_OK)
    fprintf(stderr, "limit_bench: %s\n", error.message);
  return limiter;
}

double ThreadSeconds()
{
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Seconds of `work` on this thread's processor: other programs on the machine do not count.
template <typename Work> double Timed(Work work)
{
  double began = ThreadSeconds();
  work();
  return ThreadSeconds() - began;
}

// Times are those of one operation: batches are timed from outside, completions not at all.
void Report(benchmark::State &state, double seconds)
{
  state.counters["each_ns"] =
      benchmark::Counter(seconds * 1e9 / static_cast<double>(state.iterations()) / kBatch,
                         benchmark::Counter::kAvgThreads);
}

// A queue for each thread, all of one process. One in a thousand admissions fetches the lease.
void AdmitLeased(benchmark::State &state)
{
  static rawhal_limiter_t *limiter = Open(-1);
  limit_lease_t *lease = paths_lease(limiter);
  paths_admit(lease, 1);
  paths_complete(lease, 1);
  double seconds = 0;
  for (auto _ : state) {
    bool all = true;
    seconds += Timed([&] { all = paths_admit(lease, kBatch); });
    if (!all)
      state.SkipWithError("an admission was refused");
    paths_complete(lease, kBatch);
  }
  Report(state, seconds);
  paths_lease_destroy(lease);
}
BENCHMARK(AdmitLeased)->Threads(1)->Threads(2)->UseRealTime();

// The limiter's part of a submission to a queue that has no limits.
void NoLimits(benchmark::State &state)
{
  static limit_lease_t *none = nullptr;
  double seconds = 0;
  for (auto _ : state) {
    bool all = true;
    seconds += Timed([&] { all = paths_unlimited(&none, kBatch); });
    if (!all)
      state.SkipWithError("there is a lease");
  }
  Report(state, seconds);
}
BENCHMARK(NoLimits)->UseRealTime();

void AdmitThroughSharedClocks(benchmark::State &state)
{
  double seconds = 0;
  for (auto _ : state)
    seconds += Timed([&] { paths_shared_clocks(kBatch); });
  Report(state, seconds);
}
BENCHMARK(AdmitThroughSharedClocks)->Threads(1)->Threads(2)->UseRealTime();

// Reserve and release, in a region with that many live processes.
void Memory(benchmark::State &state)
{
  int fd = memfd_create("region", MFD_CLOEXEC);
  std::vector<rawhal_limiter_t *> limiters;
  for (int64_t i = 0; i < state.range(0); ++i)
    limiters.push_back(Open(fd));
  double seconds = 0;
  for (auto _ : state) {
    bool all = true;
    seconds += Timed([&] { all = paths_memory(limiters[0], kBatch); });
    if (!all)
      state.SkipWithError("a reservation was refused");
  }
  Report(state, seconds);
  for (rawhal_limiter_t *limiter : limiters)
    rawhal_limiter_close(limiter);
  close(fd);
}
BENCHMARK(Memory)->ArgName("processes")->Arg(1)->Arg(64);

} // namespace
