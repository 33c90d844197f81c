// Records of probe/probe_records.h that the engines make of kernels whose code has no probes: of whole kernels.
#include "tests/softgpu/isa/probing.h"

using namespace probing;

namespace {

class WholeProbe : public Probing {};
INSTANTIATE_TEST_SUITE_P(Ways, WholeProbe, testing::ValuesIn(ways), name_of);

struct Whole {
  const char *file, *kernel;
  softgpu_chip_t chip;
  uint16_t workgroup[2];
  uint32_t grid[2], lds;
  std::vector<uint64_t> arguments; // 0 to 2: one of three buffers of 64 KiB
};

const Whole wholes[] = {
    {"vector_add-gfx942-v5.co",
     "vector_add",
     SOFTGPU_GFX942,
     {256, 1},
     {2048, 1},
     0,
     {0, 1, 2, 2000}},
    {"matmul-gfx90a-v5.co", "matmul", SOFTGPU_GFX90A, {16, 16}, {48, 48}, 2048, {0, 1, 2, 48}},
    {"reduce-gfx90a-v5.co", "reduce", SOFTGPU_GFX90A, {256, 1}, {2560, 1}, 1024, {0, 1}},
    {"reduce-gfx942-v5.co", "reduce", SOFTGPU_GFX950, {256, 1}, {2560, 1}, 1024, {0, 1}},
    {"mandelbrot-gfx90a-v5.co",
     "mandelbrot",
     SOFTGPU_GFX90A,
     {256, 1},
     {1536, 1},
     0,
     {0, 0x0000060000000040, 0xbfa00000c0000000, 0x000000323d000000}},
};

uint64_t entry_of(uint64_t descriptor)
{
  int64_t offset;
  memcpy(&offset, reinterpret_cast<const char *>(descriptor) + 16, 8);
  return descriptor + uint64_t(offset);
}

class WholeKernel {
public:
  explicit WholeKernel(const Whole &whole)
      : object_(whole.file),
        dispatch(device::dispatch(object_.symbol(std::string(whole.kernel) + ".kd"), nullptr, 1, 1,
                                  whole.chip))
  {
    for (int i = 0; i < 2; ++i) {
      dispatch.workgroup[i] = whole.workgroup[i];
      dispatch.grid[i] = whole.grid[i];
      groups *= (whole.grid[i] + whole.workgroup[i] - 1) / whole.workgroup[i];
    }
    waves = groups * whole.workgroup[0] * whole.workgroup[1] / 64;
    dispatch.group_bytes = whole.lds;
    dispatch.kernarg = kernarg_.address();
    for (size_t i = 0; i < whole.arguments.size(); ++i) {
      const uint64_t value = whole.arguments[i];
      kernarg_.as<uint64_t>()[i] = value < 3 ? data[value].address() : value;
    }
    for (uint32_t i = 0; i < 2 * 16384; ++i)
      data[1 + i / 16384].as<float>()[i % 16384] = float(i % 13);
    const uint64_t first = entry_of(dispatch.kernel_object);
    plan = probing::Planner(whole.chip, first, first + 4096).plan();
  }

private:
  device::CodeObject object_;
  device::Memory kernarg_{512};

public:
  softgpu_dispatch_t dispatch;
  device::Memory data[3] = {device::Memory(65536), device::Memory(65536), device::Memory(65536)};
  uint32_t groups = 1, waves = 0;
  probing::Plan plan;
};

TEST_P(WholeProbe, CountsBlocksEdgesAndWavesOfWholeKernels)
{
  for (const Whole &whole : wholes) {
    SCOPED_TRACE(whole.file);
    WholeKernel kernel(whole);
    auto result = device::run(kernel.dispatch);
    ASSERT_TRUE(result.ok) << result.fault.text;
    const std::string expected(kernel.data[0].as<char>(), 65536);
    memset(kernel.data[0].as<char>(), 0, 65536);

    Records records(kernel.plan.counters, kernel.waves, 10000);
    ASSERT_TRUE(ask(kernel.dispatch.kernarg, records, kernel.plan.points, kernel.plan.counters));
    const uint64_t before = softgpu_instruction_count();
    result = device::run(kernel.dispatch);
    const uint64_t executed = softgpu_instruction_count() - before;
    ASSERT_TRUE(result.ok) << result.fault.text;
    EXPECT_EQ(expected, std::string(kernel.data[0].as<char>(), 65536));
    EXPECT_EQ(instructions(kernel.plan, records), executed);
    expect_flow(kernel.plan, records, kernel.waves);
    EXPECT_EQ(records.counter(kernel.plan.active), 64u * kernel.waves) << "all lanes begin";
    EXPECT_EQ(records.header().waves, kernel.waves);
    EXPECT_GT(records.header().events, 0u);
    EXPECT_LE(records.header().events, 10000u);

    // A second one is not asked for.
    const std::vector<std::string> recorded = records.comparable();
    ASSERT_TRUE(device::run(kernel.dispatch).ok);
    EXPECT_EQ(recorded, records.comparable());
  }
}

TEST_P(WholeProbe, GivesTheAddressesThatTheKernelUses)
{
  WholeKernel kernel(wholes[1]); // c = a * b, by way of LDS
  const uint32_t n = 48;
  Records records(kernel.plan.counters, kernel.waves, 10000);
  ASSERT_TRUE(ask(kernel.dispatch.kernarg, records, kernel.plan.points, kernel.plan.counters));
  ASSERT_TRUE(device::run(kernel.dispatch).ok);
  std::map<uint32_t, const rawhal_probe_point_t *> points;
  for (const auto &one : kernel.plan.points)
    if (one.action == RAWHAL_PROBE_ACCESS)
      points[one.offset] = &one;
  uint32_t stored[n * n] = {}, loaded[3] = {}, arrived = 0;
  for (uint32_t i = 0; i < records.events(); ++i) {
    const rawhal_probe_event_t &event = records.event(i);
    const rawhal_probe_point_t *one = points[event.offset];
    if (!one) {
      ++arrived;
      continue;
    }
    uint64_t base = event.scalar[0] | uint64_t(event.scalar[1]) << 32;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint64_t address =
          base + records.lanes_of(i)[lane] + uint64_t(int64_t(one->immediate[0]));
      if (one->source == RAWHAL_PROBE_LDS) {
        EXPECT_LT(address, 2048u);
        continue;
      }
      unsigned in = 0;
      while (in < 3 && address - kernel.data[in].address() >= n * n * 4)
        ++in;
      ASSERT_LT(in, 3u) << std::hex << address;
      ++loaded[in];
      if (in == 0)
        ++stored[(address - kernel.data[0].address()) / 4];
    }
  }
  for (uint32_t i = 0; i < n * n; ++i)
    ASSERT_EQ(stored[i], 1u) << i;
  EXPECT_EQ(loaded[1], n * n * n / 16) << "each tile by each of a row's or a column's groups";
  EXPECT_EQ(loaded[2], n * n * n / 16);
  EXPECT_EQ(arrived % kernel.waves, 0u);
  EXPECT_GE(arrived, kernel.waves * n / 16);
  // Each wave of each group has begun once.
  std::set<std::vector<uint32_t>> begun;
  for (uint32_t i = 0; i < records.waves(); ++i) {
    const rawhal_probe_wave_t &wave = records.wave(i);
    EXPECT_LT(wave.workgroup[0], 3u);
    EXPECT_LT(wave.workgroup[1], 3u);
    EXPECT_EQ(wave.workgroup[2], 0u);
    EXPECT_EQ(wave.first_item & 0x3ff, 0u);
    EXPECT_EQ((wave.first_item >> 10) % 4, 0u);
    begun.insert({wave.workgroup[0], wave.workgroup[1], wave.first_item});
  }
  EXPECT_EQ(begun.size(), kernel.waves);
}

TEST(WholeProbes, AreTheSameOfBothEngines)
{
  for (const Whole &whole : wholes) {
    SCOPED_TRACE(whole.file);
    WholeKernel kernel(whole);
    std::vector<std::string> recorded[2];
    for (unsigned i = 0; i < 2; ++i) {
      Records records(kernel.plan.counters, kernel.waves, 10000);
      softgpu_engine_threads(i ? 1 : 4);
      softgpu_engine_reference(i);
      ASSERT_TRUE(ask(kernel.dispatch.kernarg, records, kernel.plan.points, kernel.plan.counters));
      EXPECT_TRUE(device::run(kernel.dispatch).ok);
      recorded[i] = records.comparable();
    }
    softgpu_engine_reference(false);
    softgpu_engine_threads(0);
    EXPECT_EQ(recorded[0].size(), recorded[1].size());
    EXPECT_TRUE(recorded[0] == recorded[1]);
  }
}

// --- what does not fit ---

TEST_P(WholeProbe, DropsAndCountsWhatIsBeyondTheCapacities)
{
  WholeKernel kernel(wholes[1]);
  uint32_t events = 0;
  for (uint32_t capacity : {10000u, 0u, 1u, 7u}) {
    Records records(kernel.plan.counters, capacity ? capacity + 8 : 0, capacity ? capacity + 8 : 0);
    const uint32_t most = std::min(capacity, kernel.waves);
    records.argument.wave_capacity = capacity;
    records.argument.event_capacity = capacity;
    ASSERT_TRUE(ask(kernel.dispatch.kernarg, records, kernel.plan.points, kernel.plan.counters));
    ASSERT_TRUE(device::run(kernel.dispatch).ok);
    EXPECT_EQ(records.header().waves, kernel.waves);
    EXPECT_EQ(records.header().events, events ? events : records.header().events);
    events = records.header().events;
    for (uint32_t i = 0; i < most; ++i)
      EXPECT_GT(records.wave(i).end, 0u);
    for (uint32_t i = most; capacity && i < most + 8; ++i)
      EXPECT_EQ(records.wave(i).start | records.wave(i).end | records.wave(i).hw_id, 0u);
    for (uint32_t i = 0; i < std::min(capacity, events); ++i)
      EXPECT_NE(records.event(i).exec, 0u);
    for (uint32_t i = std::min(capacity, events); capacity && i < std::min(capacity, events) + 8;
         ++i)
      EXPECT_EQ(records.event(i).exec | records.lanes_of(i)[1] | records.lanes_of(i)[63], 0u);
  }
}

// --- memory that is not there ---

TEST_P(WholeProbe, RecordsNothingWhereTheDeviceMayNotWrite)
{
  WholeKernel kernel(wholes[2]);
  device::Memory constant(4096, 0);
  for (unsigned what = 0; what < 5; ++what) {
    Records records(kernel.plan.counters, kernel.waves, 8);
    const uint64_t end = records.buffer.address() + (records.buffer.size() + 4095) / 4096 * 4096;
    uint64_t *const at = what % 2 ? &records.argument.events : &records.argument.buffer;
    *at = what < 2 ? constant.address() : what < 4 ? uint64_t{1} << 60 : end - 64;
    ASSERT_TRUE(ask(kernel.dispatch.kernarg, records, kernel.plan.points, kernel.plan.counters));
    memset(kernel.data[0].as<char>(), 0, 65536);
    const auto result = device::run(kernel.dispatch);
    EXPECT_TRUE(result.ok) << result.fault.text;
    EXPECT_NE(kernel.data[0].as<uint32_t>()[0], 0u);
    EXPECT_EQ(records.header().waves + records.header().events, 0u);
    EXPECT_EQ(constant.as<uint64_t>()[0], 0u);
  }
}

} // namespace
