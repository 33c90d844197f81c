// Probed kernels on softgpu: their results are the original's, and what they record is what happened.
#include "tests/probe/probed.h"
#include "tests/probe/written.h"

#include <memory>
#include <set>

namespace {

constexpr uint32_t all_kinds = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES |
                               RAWHAL_PROBE_EXEC | RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_BARRIERS;

// A kernel, its grid, and arguments of which the first is what it writes.
struct Case {
  const char *fixture, *kernel;
  uint32_t grid[2];
  uint16_t workgroup[2];
  uint32_t out_bytes, in_bytes, inputs;
  std::vector<uint32_t> values; // after the pointers
};

const Case cases[] = {
    {"vector_add-gfx90a-v5.co", "vector_add", {1000, 1}, {128, 1}, 4000, 4000, 2, {1000}},
    {"matmul-gfx90a-v5.co", "matmul", {64, 64}, {16, 16}, 16384, 16384, 2, {64}},
    {"reduce-gfx90a-v5.co", "reduce", {2048, 1}, {256, 1}, 32, 8192, 1, {}},
    {"mandelbrot-gfx90a-v5.co",
     "mandelbrot",
     {1024, 1},
     {256, 1},
     4096,
     0,
     0,
     {32, 1024, 0xc0000000, 0xbf800000, 0x3dcccccd, 50}},
};

class Probes : public ProbedTest, public testing::WithParamInterface<Case> {
protected:
  // Output, inputs, and a dispatch of the original.
  struct Work {
    rawhal_buffer_t *out;
    std::vector<rawhal_buffer_t *> in;
    Blob blob;
    rawhal_dispatch_t dispatch;
    uint32_t waves;
  };

  Work work()
  {
    const Case &c = GetParam();
    Work made = {};
    made.out = upload(std::vector<char>(c.out_bytes, 0));
    made.blob.add(rawhal_buffer_address(made.out));
    for (uint32_t i = 0; i < c.inputs; ++i) {
      std::vector<float> values(c.in_bytes / 4);
      std::iota(values.begin(), values.end(), float(i));
      made.in.push_back(upload(values));
      made.blob.add(rawhal_buffer_address(made.in.back()));
    }
    for (uint32_t value : c.values)
      made.blob.add(value);
    made.dispatch = dispatch_of(kernel(c.fixture, c.kernel), c.grid[0], c.workgroup[0], made.blob);
    made.dispatch.work_items[1] = c.grid[1];
    made.dispatch.workgroup[1] = c.workgroup[1];
    const uint32_t groups = (c.grid[0] + c.workgroup[0] - 1) / c.workgroup[0] *
                            ((c.grid[1] + c.workgroup[1] - 1) / c.workgroup[1]);
    const uint32_t last = c.grid[0] % c.workgroup[0] * c.workgroup[1]; // of a partial work-group
    made.waves =
        last ? (groups - 1) * ((c.workgroup[0] * c.workgroup[1] + 63u) / 64) + (last + 63) / 64
             : groups * ((c.workgroup[0] * c.workgroup[1] + 63u) / 64);
    return made;
  }

  std::vector<char> output(const Work &of) { return download<char>(of.out, GetParam().out_bytes); }
};

TEST_P(Probes, LeaveResultsAsTheyAre)
{
  const Case &c = GetParam();
  Work original = work();
  const uint64_t expected_instructions = instructions(original.dispatch);
  const std::vector<char> expected = output(original);
  ASSERT_NE(expected, std::vector<char>(c.out_bytes, 0));
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)})
    for (uint32_t kinds :
         {uint32_t(RAWHAL_PROBE_WAVES), uint32_t(RAWHAL_PROBE_BLOCKS),
          uint32_t(RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC), uint32_t(RAWHAL_PROBE_MEMORY),
          uint32_t(RAWHAL_PROBE_BARRIERS), all_kinds}) {
      SCOPED_TRACE(testing::Message() << "kinds " << kinds << ", flags " << flags);
      Work again = work();
      auto plan = probe(c.fixture, c.kernel, kinds, flags);
      ASSERT_FALSE(HasFailure());
      const Seen seen = run_probed(*plan, again.dispatch);
      ASSERT_FALSE(HasFailure());
      EXPECT_EQ(output(again), expected);
      EXPECT_EQ(seen.beyond, std::vector<char>(seen.beyond.size(), 0x5a));
      EXPECT_EQ(seen.header.waves, plan->info()->kinds & RAWHAL_PROBE_WAVES ? original.waves : 0);
      EXPECT_EQ(counted(plan->info(), seen),
                plan->info()->kinds & RAWHAL_PROBE_BLOCKS ? expected_instructions : 0);
    }
}

TEST_P(Probes, WavesAreThoseOfTheGrid)
{
  const Case &c = GetParam();
  Work one = work();
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    auto plan = probe(c.fixture, c.kernel, RAWHAL_PROBE_WAVES, flags);
    const Seen seen = run_probed(*plan, one.dispatch);
    ASSERT_EQ(seen.waves.size(), one.waves);
    std::set<std::vector<uint32_t>> different;
    for (const rawhal_probe_wave_t &wave : seen.waves) {
      EXPECT_GT(wave.start, 0u);
      EXPECT_GE(wave.end, wave.start);
      EXPECT_LT(wave.workgroup[0], (c.grid[0] + c.workgroup[0] - 1) / c.workgroup[0]);
      EXPECT_LT(wave.workgroup[1], (c.grid[1] + c.workgroup[1] - 1) / c.workgroup[1]);
      different.insert({wave.workgroup[0], wave.workgroup[1], wave.first_item});
    }
    EXPECT_EQ(different.size(), seen.waves.size());
  }
}

TEST_P(Probes, TooLittleRoomLosesRecordsAndCountsThem)
{
  const Case &c = GetParam();
  Work one = work();
  auto plan = probe(c.fixture, c.kernel, all_kinds);
  const Seen all = run_probed(*plan, one.dispatch, 4096, 1 << 16);
  for (uint32_t room : {0u, 1u, 3u}) {
    const Seen seen = run_probed(*plan, one.dispatch, room, room);
    EXPECT_EQ(seen.header.waves, all.header.waves);
    EXPECT_EQ(seen.header.events, all.header.events);
    EXPECT_EQ(seen.counters, all.counters);
    EXPECT_EQ(seen.beyond, std::vector<char>(seen.beyond.size(), 0x5a));
    for (const rawhal_probe_wave_t &wave : seen.waves)
      EXPECT_NE(wave.end, 0u);
    EXPECT_EQ(seen.events.size(), std::min(room, all.header.events));
    for (const Seen::Event &event : seen.events)
      EXPECT_NE(event.head.offset, 0u); // all that there is room for, as no event is at the first
  }
}

// Numbers whose places would come around to the events' memory are lost as all that there is no room for.
TEST_P(Probes, NumbersDoNotComeAround)
{
  const Case &c = GetParam();
  Work one = work();
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    auto plan = probe(c.fixture, c.kernel, RAWHAL_PROBE_MEMORY, flags);
    const uint32_t around = UINT32_MAX / plan->info()->event_bytes;
    for (uint32_t before : {around - 40, around + 1, 3 * around, UINT32_MAX - 2000000}) {
      const Seen seen = run_probed(*plan, one.dispatch, 4096, 4096, before);
      EXPECT_GT(seen.header.events, before);
      EXPECT_EQ(seen.beyond, std::vector<char>(seen.beyond.size(), 0x5a));
      for (const Seen::Event &event : seen.events) {
        const Seen::Event none = {};
        ASSERT_EQ(memcmp(&event, &none, sizeof none), 0) << before;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Probes, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.kernel); });

using Records = ProbedTest;

// c[i] = a[i] + b[i]: each lane's three addresses are known.
TEST_F(Records, AddressesAreThoseThatTheKernelAccesses)
{
  constexpr uint32_t n = 1000;
  std::vector<float> values(n, 1.0f);
  rawhal_buffer_t *c = buffer(n * 4), *a = upload(values), *b = upload(values);
  Blob blob;
  blob.add(rawhal_buffer_address(c))
      .add(rawhal_buffer_address(a))
      .add(rawhal_buffer_address(b))
      .add(n);
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    auto plan = probe("vector_add-gfx90a-v5.co", "vector_add", RAWHAL_PROBE_MEMORY, flags);
    const Seen seen = run_probed(
        *plan, dispatch_of(kernel("vector_add-gfx90a-v5.co", "vector_add"), 1024, 256, blob));
    std::multiset<uint64_t> read, written, expected_read, expected_written;
    std::map<uint32_t, const rawhal_probe_point_t *> points;
    for (size_t i = 0; i < plan->info()->point_count; ++i)
      if (plan->info()->points[i].action == RAWHAL_PROBE_ACCESS)
        points[plan->info()->points[i].offset] = &plan->info()->points[i];
    for (const Seen::Event &event : seen.events) {
      ASSERT_TRUE(points.count(event.head.offset)) << event.head.offset;
      const rawhal_probe_point_t *point = points[event.head.offset];
      ASSERT_TRUE(point->source == RAWHAL_PROBE_FLAT || point->source == RAWHAL_PROBE_GLOBAL);
      EXPECT_EQ(point->bytes, 4);
      EXPECT_LT(event.head.wave, seen.header.waves);
      const uint64_t base = event.head.scalar[0] | uint64_t(event.head.scalar[1]) << 32;
      for (int lane = 0; lane < 64; ++lane)
        if (event.head.exec >> lane & 1) {
          (point->flags & RAWHAL_PROBE_WRITES ? written : read)
              .insert((point->source == RAWHAL_PROBE_GLOBAL ? base : 0) + event.lanes[lane] +
                      uint64_t(int64_t(point->immediate[0])));
        } else {
          EXPECT_EQ(event.lanes[lane], 0u);
        }
    }
    for (uint32_t i = 0; i < n; ++i) {
      expected_written.insert(rawhal_buffer_address(c) + i * 4);
      expected_read.insert(rawhal_buffer_address(a) + i * 4);
      expected_read.insert(rawhal_buffer_address(b) + i * 4);
    }
    EXPECT_EQ(read, expected_read);
    EXPECT_EQ(written, expected_written);
  }
}

// What a probe borrows is not what the record is of.
TEST_F(Records, BasesAreTheKernels)
{
  Written written({0xc0060100, 0, 0xbf8cc07f,          // s_load_dwordx2 s[4:5], s[0:1], 0
                   0x24020082, 0xdc508000, 0x02040001, // global_load_dword v2, v1, s[4:5]
                   0xbf8c0f70, s_endpgm});
  const std::vector<char> object(written.bytes().begin(), written.bytes().end());
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(64, 7));
  Blob blob;
  blob.add(rawhal_buffer_address(from));
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    auto plan = probe(object, "written", RAWHAL_PROBE_MEMORY, flags);
    const Seen seen = run_probed(*plan, dispatch_of(nullptr, 64, 64, blob));
    ASSERT_EQ(seen.events.size(), 1u);
    const rawhal_probe_event_t &head = seen.events[0].head;
    EXPECT_EQ(head.scalar[0] | uint64_t(head.scalar[1]) << 32, rawhal_buffer_address(from));
    for (uint64_t lane = 0; lane < 64; ++lane)
      EXPECT_EQ(seen.events[0].lanes[lane], lane * 4);
  }
}

// What vector instructions are skipped between is no access, but all else is as everywhere; whatever is left for probes.
TEST_F(Records, WhatIsSkippedIsNoAccess)
{
  const uint32_t load[] = {0xdc508000, 0x02040001}; // global_load_dword v2, v1, s[4:5]
  const std::vector<uint32_t> body = {
      0xc0060100, 0,
      0xbf8cc07f,             // s_load_dwordx2 s[4:5], s[0:1], 0
      0x24020082, 0xbf068002, // v_lshlrev_b32 v1, 2, v0; s_cmp_eq_u32 s2, 0
      0xbf108081, load[0],
      load[1],                               // s_setvskip 1, 0
      s_barrier,  branch(s_cbranch_scc0, 3), // not taken
      load[0],    load[1],
      0xbf108080, // s_setvskip 0, 0
      load[0],    load[1],
      0xbf8c0f70};
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(64, 7));
  Blob blob;
  blob.add(rawhal_buffer_address(from));
  const std::vector<uint32_t> ends[] = {{}, all_sgprs({91, 97}), all_sgprs({3, 20})};
  const uint32_t lanes = RAWHAL_PROBE_KEEP_IN_LANES, lends = RAWHAL_PROBE_LEND_TO_AGPR;
  for (const std::vector<uint32_t> &end : ends)
    for (uint32_t flags : {0u, lanes, lends, lends | lanes}) {
      Written::Shape shape;
      shape.sgprs = 112;
      Written written(body + end + std::vector<uint32_t>{s_endpgm}, shape);
      const std::vector<char> object(written.bytes().begin(), written.bytes().end());
      auto plan = probe(object, "written",
                        RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_BARRIERS | RAWHAL_PROBE_EXEC, flags);
      ASSERT_FALSE(HasFailure());
      const Seen seen = run_probed(*plan, dispatch_of(nullptr, 64, 64, blob));
      SCOPED_TRACE(testing::Message() << end.size() << " named, flags " << flags);
      ASSERT_EQ(seen.events.size(), 2u);
      EXPECT_EQ(seen.events[0].head.offset, 8 * 4u);
      EXPECT_EQ(seen.events[1].head.offset, 13 * 4u);
      for (uint64_t lane = 0; lane < 64; ++lane)
        EXPECT_EQ(seen.events[1].lanes[lane], lane * 4);
      EXPECT_EQ(counted(plan->info(), seen), plan->info()->instructions);
      for (size_t i = 0; i < plan->info()->point_count; ++i) {
        const rawhal_probe_point_t &point = plan->info()->points[i];
        if (point.action == RAWHAL_PROBE_ACTIVE) {
          EXPECT_EQ(seen.counters[point.counter], 64u);
        }
      }
    }
}

// Kept between registers that the kernel names, whatever those hold.
TEST_F(Records, BetweenRegistersThatAreNamed)
{
  std::vector<uint32_t> end =
      all_sgprs({7,  20, 21, 22, 23, 40, 41, 42, 43, 44, 45, 50, 51, 52, 53, 60, 70,
                 71, 72, 73, 74, 75, 76, 77, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99}) +
      all_vgprs({77});
  end.insert(end.begin(), {0xc0060100, 0, 0xbf8cc07f, 0x24020082}); // as above
  end.insert(end.end(), {0xbe840000, 0xbf8c0f70, s_endpgm});
  end.insert(end.begin() + 4, {0xdc508000, 0x02040001});
  Written::Shape shape;
  shape.sgprs = 112;
  shape.vgprs = 512;
  shape.accum = 256;
  Written written(end, shape);
  const std::vector<char> object(written.bytes().begin(), written.bytes().end());
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(64, 7));
  Blob blob;
  blob.add(rawhal_buffer_address(from));
  auto plan = probe(object, "written", RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_BLOCKS);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(plan->info()->first_kept_vgpr, 77u);
  EXPECT_GT(plan->info()->kept_sgprs, 0u);
  const Seen seen = run_probed(*plan, dispatch_of(nullptr, 64, 64, blob));
  ASSERT_EQ(seen.events.size(), 1u);
  for (uint64_t lane = 0; lane < 64; ++lane)
    EXPECT_EQ(seen.events[0].lanes[lane], lane * 4);
  EXPECT_EQ(counted(plan->info(), seen), plan->info()->instructions);
  EXPECT_NE(seen.waves[0].end, 0u);
}

TEST_F(Records, ValuesAreThoseOfTheRegisters)
{
  constexpr uint32_t n = 200;
  std::vector<float> values(n, 1.0f);
  rawhal_buffer_t *c = buffer(n * 4), *a = upload(values), *b = upload(values);
  Blob blob;
  blob.add(rawhal_buffer_address(c))
      .add(rawhal_buffer_address(a))
      .add(rawhal_buffer_address(b))
      .add(n);
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    // v0 at the first instruction: the work-item's number.
    auto plan = probe("vector_add-gfx90a-v5.co", "vector_add", RAWHAL_PROBE_VALUES, flags,
                      {{0, 0, true}, {0, 4, false}});
    const Seen seen = run_probed(
        *plan, dispatch_of(kernel("vector_add-gfx90a-v5.co", "vector_add"), 256, 256, blob));
    std::multiset<uint64_t> items;
    std::set<uint32_t> scalars;
    ASSERT_EQ(seen.events.size(), 8u);
    for (const Seen::Event &event : seen.events)
      if (event.lanes[1]) {
        for (uint64_t lane : event.lanes)
          items.insert(lane & 0x3ff);
      } else {
        scalars.insert(event.head.scalar[0]);
      }
    EXPECT_EQ(items.size(), 256u);
    EXPECT_EQ(*items.rbegin(), 255u);
    EXPECT_EQ(scalars.size(), 1u); // the same in all waves
  }
}

// Lanes that leave the loop early: fewer are active in blocks than waves have.
TEST_F(Records, ActiveLanesAndEdgesAddUp)
{
  rawhal_buffer_t *out = buffer(4096);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(32u).add(1024u).add(-2.0f).add(-1.0f).add(0.1f).add(50u);
  auto plan =
      probe("mandelbrot-gfx90a-v5.co", "mandelbrot", RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC);
  const Seen seen = run_probed(
      *plan, dispatch_of(kernel("mandelbrot-gfx90a-v5.co", "mandelbrot"), 1024, 256, blob));
  const rawhal_probe_plan_info_t *info = plan->info();
  std::map<uint32_t, uint64_t> entered, active, passed, ends;
  for (size_t i = 0; i < info->point_count; ++i) {
    const rawhal_probe_point_t &point = info->points[i];
    const uint64_t count = seen.counters[point.counter];
    if (point.action == RAWHAL_PROBE_COUNT) {
      entered[point.offset] = count;
      ends[point.offset + point.block_bytes] = count;
    } else if (point.action == RAWHAL_PROBE_ACTIVE) {
      active[point.offset] = count;
    } else {
      passed[point.offset] = count;
    }
  }
  bool diverges = false;
  for (const auto &[offset, count] : active) {
    EXPECT_LE(count, entered[offset] * 64);
    diverges |= count && count < entered[offset] * 64;
  }
  EXPECT_TRUE(diverges);
  EXPECT_EQ(entered[0], 16u);
  EXPECT_EQ(active[0], 1024u);
  ASSERT_FALSE(passed.empty());
  for (const auto &[offset, count] : passed) {
    ASSERT_TRUE(ends.count(offset + 4)); // a branch ends its block
    EXPECT_LE(count, ends[offset + 4]);
  }
}

} // namespace
