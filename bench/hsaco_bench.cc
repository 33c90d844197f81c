// Opening a code object: all facts of a small one.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

extern "C" {
#include "hsaco/hsaco.h"
}

namespace {

std::string Fixture(const std::string &name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR) + "/tests/fixtures/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void OpenCodeObject(benchmark::State &state, const char *name)
{
  std::string bytes = Fixture(name);
  for (auto _ : state) {
    rawhal_hsaco_t *hsaco;
    if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, nullptr) != RAWHAL_OK) {
      state.SkipWithError("cannot be opened");
      break;
    }
    benchmark::DoNotOptimize(hsaco);
    rawhal_hsaco_close(hsaco);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK_CAPTURE(OpenCodeObject, vector_add_v4, "vector_add-gfx90a-v4.co");
BENCHMARK_CAPTURE(OpenCodeObject, many_args_v5, "many_args-gfx90a-v5.co");
BENCHMARK_CAPTURE(OpenCodeObject, fault_v5_8_kernels, "fault-gfx90a-v5.co");

} // namespace
