// Probes whose records go from a kernel's entry to its end in scratch memory, on chips that have it ready; and those that are
// lent a VGPR, whose value is there meanwhile.
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

  // Of 4,096 floats to 16.
  rawhal_dispatch_t reduction()
  {
    std::vector<float> values(4096);
    std::iota(values.begin(), values.end(), 1.0f);
    out = buffer(values.size() * sizeof(float));
    arguments.bytes.clear();
    arguments.add(rawhal_buffer_address(out)).add(rawhal_buffer_address(upload(values)));
    return dispatch_of(kernel("reduce-gfx942-v5.co", "reduce"), 4096, 256, arguments);
  }
  void forget_results()
  {
    ASSERT_OK(rawhal_buffer_write(out, 0, std::vector<float>(16).data(), 64, &error));
  }

  // What waves recorded, in whatever order they came.
  using Events = std::multiset<std::vector<uint64_t>>;
  static Events events_of(const Seen &seen)
  {
    Events events;
    for (const Seen::Event &event : seen.events) {
      std::vector<uint64_t> one = {event.head.exec, event.head.offset};
      one.insert(one.end(), event.head.scalar, event.head.scalar + 4);
      one.insert(one.end(), event.lanes, event.lanes + RAWHAL_PROBE_LANES);
      events.insert(one);
    }
    return events;
  }

  rawhal_buffer_t *out = nullptr;
  Blob arguments;
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
  const rawhal_dispatch_t dispatch = reduction();
  ASSERT_OK(run(queue(), dispatch));
  const std::vector<float> expected = download<float>(out, 16);
  ASSERT_NE(expected, std::vector<float>(16));
  ASSERT_NO_FATAL_FAILURE(forget_results());
  auto plan =
      probe("reduce-gfx942-v5.co", "reduce", RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH);
  expect_waves(run_probed(*plan, dispatch), 64);
  EXPECT_EQ(download<float>(out, 16), expected);
}

// Whatever lanes are active: of a reduction they are fewer and fewer.
TEST_F(ProbeScratch, LentVgprsHaveTheirValuesAgain)
{
  const rawhal_dispatch_t dispatch = reduction();
  Events events;
  std::vector<float> results;
  const uint32_t lanes = RAWHAL_PROBE_KEEP_IN_LANES,
                 kinds = every_kind & ~uint32_t(RAWHAL_PROBE_BARRIERS); // whose events have times
  for (uint32_t flags :
       {0u, uint32_t(RAWHAL_PROBE_LEND_TO_AGPR), RAWHAL_PROBE_LEND_TO_AGPR | lanes,
        uint32_t(RAWHAL_PROBE_LEND_TO_SCRATCH), RAWHAL_PROBE_LEND_TO_SCRATCH | lanes}) {
    SCOPED_TRACE(flags);
    auto plan = probe("reduce-gfx942-v5.co", "reduce", kinds, flags);
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(flags & RAWHAL_PROBE_LEND_TO_SCRATCH ? 4u : 0u, plan->info()->scratch_bytes);
    ASSERT_NO_FATAL_FAILURE(forget_results());
    const Seen seen = run_probed(*plan, dispatch, 4096, 65536);
    expect_waves(seen, 64);
    if (!flags) {
      events = events_of(seen);
      results = download<float>(out, 16);
    }
    EXPECT_LT(64u, seen.header.events);
    EXPECT_TRUE(events_of(seen) == events);
    EXPECT_EQ(download<float>(out, 16), results);
  }
}
