// What a submission pays for its kernargs: the check and the image.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

extern "C" {
#include "kernarg/kernarg.h"
}

namespace {

const rawhal_argument_detail_t no_detail = {};

// Pointers, then one u32 at the end: `bytes` of visible arguments.
std::vector<rawhal_argument_t> VisibleArguments(uint32_t bytes)
{
  std::vector<rawhal_argument_t> arguments;
  for (uint32_t offset = 0; offset < bytes; offset += 8) {
    rawhal_argument_t argument = {};
    argument.detail = &no_detail;
    bool pointer = bytes - offset >= 8;
    argument.offset = offset;
    argument.size = pointer ? 8 : bytes - offset;
    argument.value_kind = pointer ? RAWHAL_VALUE_GLOBAL_BUFFER : RAWHAL_VALUE_BY_VALUE;
    arguments.push_back(argument);
  }
  return arguments;
}

// What clang lists of the V5 block for a kernel that uses any of it (AMDGPUUsage, V5).
void AddHidden(std::vector<rawhal_argument_t> &arguments, uint32_t base)
{
  struct {
    int first;
    uint32_t offset, size;
  } fields[] = {{RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 0, 4},
                {RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 12, 2},
                {RAWHAL_VALUE_HIDDEN_REMAINDER_X, 18, 2},
                {RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X, 40, 8}};
  auto add = [&](int kind, uint32_t offset, uint32_t size) {
    rawhal_argument_t argument = {};
    argument.detail = &no_detail;
    argument.offset = base + offset;
    argument.size = size;
    argument.value_kind = static_cast<uint8_t>(kind);
    arguments.push_back(argument);
  };
  for (const auto &field : fields)
    for (uint32_t d = 0; d < 3; ++d)
      add(field.first + static_cast<int>(d), field.offset + d * field.size, field.size);
  add(RAWHAL_VALUE_HIDDEN_GRID_DIMS, 64, 2);
}

struct Subject {
  std::vector<rawhal_argument_t> arguments;
  rawhal_kernel_t kernel = {};
  rawhal_kernarg_layout_t *layout = nullptr;
  rawhal_launch_t launch = {};
  std::vector<unsigned char> blob;
  alignas(64) unsigned char image[1024];

  Subject(uint32_t bytes, bool hidden) : arguments(VisibleArguments(bytes)), blob(bytes, 1)
  {
    uint32_t base = (bytes + 7) & ~7u;
    if (hidden)
      AddHidden(arguments, base);
    kernel.has_metadata = kernel.has_arguments = true;
    kernel.arguments = arguments.data();
    kernel.argument_count = static_cast<uint32_t>(arguments.size());
    kernel.kernarg_segment_size = hidden ? base + 256 : bytes;
    for (int d = 0; d < 3; ++d)
      launch.work_items[d] = launch.workgroup[d] = 1;
    launch.work_items[0] = 1000000;
    launch.workgroup[0] = 256;
    if (rawhal_kernarg_layout_create(&kernel, 0, &layout, nullptr) != RAWHAL_OK)
      abort();
  }
  ~Subject() { rawhal_kernarg_layout_destroy(layout); }
};

void CheckBlob(benchmark::State &state)
{
  Subject subject(static_cast<uint32_t>(state.range(0)), false);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        rawhal_kernarg_check(subject.layout, subject.blob.data(), subject.blob.size(), 0, nullptr));
}
BENCHMARK(CheckBlob)->Arg(28)->Arg(256);

void WriteImage(benchmark::State &state)
{
  Subject subject(static_cast<uint32_t>(state.range(0)), state.range(1) != 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        rawhal_kernarg_write_blob(subject.layout, subject.blob.data(), subject.blob.size(), 0,
                                  &subject.launch, subject.image, sizeof(subject.image), nullptr));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(WriteImage)->ArgNames({"bytes", "hidden"})->ArgsProduct({{28, 256}, {0, 1}});

void WriteFromPointers(benchmark::State &state)
{
  Subject subject(static_cast<uint32_t>(state.range(0)), state.range(1) != 0);
  uint32_t count = rawhal_kernarg_layout_info(subject.layout)->visible_count;
  uint64_t value = 1;
  std::vector<const void *> pointers(count, &value);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rawhal_kernarg_write_pointers(subject.layout, pointers.data(), count,
                                                           &subject.launch, subject.image,
                                                           sizeof(subject.image), nullptr));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(WriteFromPointers)->ArgNames({"bytes", "hidden"})->ArgsProduct({{28, 256}, {0, 1}});

void CompileLayout(benchmark::State &state)
{
  Subject subject(static_cast<uint32_t>(state.range(0)), state.range(1) != 0);
  for (auto _ : state) {
    rawhal_kernarg_layout_t *layout;
    benchmark::DoNotOptimize(rawhal_kernarg_layout_create(&subject.kernel, 0, &layout, nullptr));
    rawhal_kernarg_layout_destroy(layout);
  }
}
BENCHMARK(CompileLayout)->ArgNames({"bytes", "hidden"})->ArgsProduct({{28, 256}, {0, 1}});

} // namespace
