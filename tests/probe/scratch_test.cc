// Probes whose records go from a kernel's entry to its end in scratch memory, on chips that have it ready.
#include "tests/probe/probed.h"
#include "tests/probe/written.h"

#include <set>

namespace {

class ProbeScratch : public ProbedTest {
protected:
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=256,timeout_ms=8000,chip=gfx942,listed=gfx90a";
  }

  // Each wave of the grid has its own record, whole.
  void expect_waves(const Seen &seen, size_t count)
  {
    EXPECT_EQ(seen.header.waves, count);
    EXPECT_EQ(seen.beyond, std::vector<char>(seen.beyond.size(), 0x5a));
    std::set<std::vector<uint32_t>> different;
    for (const rawhal_probe_wave_t &wave : seen.waves) {
      EXPECT_GT(wave.start, 0u);
      EXPECT_GE(wave.end, wave.start);
      different.insert({wave.workgroup[0], wave.first_item});
    }
    EXPECT_EQ(different.size(), std::min<size_t>(count, seen.waves.size()));
  }
};

} // namespace

TEST_F(ProbeScratch, NothingOfTheRegistersIsLeft)
{
  Written::Shape shape;
  shape.flags = Written::gfx942;
  shape.sgprs = 112;
  shape.vgprs = 512;
  shape.accum = 256;
  Written written(everything(), shape);
  const std::vector<char> object(written.bytes().begin(), written.bytes().end());
  auto plan = probe(object, "written", RAWHAL_PROBE_WAVES);
  ASSERT_FALSE(HasFailure());
  ASSERT_EQ(4u, plan->info()->scratch_bytes);
  Blob blob;
  for (size_t i = 0; i < plan->info()->argument_offset; ++i)
    blob.add('\0');
  for (uint32_t capacity : {64u, 3u, 0u})
    expect_waves(run_probed(*plan, dispatch_of(nullptr, 1000, 128, blob), capacity), 16);
}

TEST_F(ProbeScratch, ResultsAreTheOriginals)
{
  std::vector<float> values(4096);
  std::iota(values.begin(), values.end(), 1.0f);
  rawhal_buffer_t *in = upload(values), *out = buffer(values.size() * sizeof(float));
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(rawhal_buffer_address(in));
  const rawhal_dispatch_t dispatch =
      dispatch_of(kernel("reduce-gfx942-v5.co", "reduce"), 4096, 256, blob);
  ASSERT_OK(run(queue(), dispatch));
  const std::vector<float> expected = download<float>(out, 16);
  ASSERT_NE(expected, std::vector<float>(16));
  ASSERT_OK(rawhal_buffer_write(out, 0, std::vector<float>(16).data(), 64, &error));
  auto plan =
      probe("reduce-gfx942-v5.co", "reduce", RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH);
  expect_waves(run_probed(*plan, dispatch), 64);
  EXPECT_EQ(download<float>(out, 16), expected);
}
