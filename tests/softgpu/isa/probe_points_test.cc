// Records of probe/probe_records.h that the engines make of kernels whose code has no probes: single points, what goes
// wrong, and how they are asked for.
#include <functional>
#include <thread>

#include "tests/softgpu/isa/kernels.h"
#include "tests/softgpu/isa/probing.h"

extern "C" {
#include "softgpu/isa/memory/gws.h"
}

using namespace probing;

namespace {

class Probe : public Probing {};
INSTANTIATE_TEST_SUITE_P(Ways, Probe, testing::ValuesIn(ways), name_of);

// --- single instructions ---

const std::vector<uint32_t> some = {
    0xc0060100, 0x00000000, //  0 s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x24020082,             //  8 v_lshlrev_b32 v1, 2, v0
    0xb0060400,             // 12 s_movk_i32 s6, 0x400
    0xbe8700ff, 0x00020000, // 16 s_mov_b32 s7, 0x20000
    0xbefe01ff, 0x00000ff0, // 24 s_mov_b64 exec, 0xff0
    0xbf8cc07f,             // 32 s_waitcnt lgkmcnt(0)
    0xe0701000, 0x84010001, // 36 buffer_store_dword v0, v1, s[4:7], 4 offen
    0xe0701000, 0x06010001, // 44 buffer_store_dword v0, v1, s[4:7], s6 offen
    0xdc708010, 0x00040001, // 52 global_store_dword v1, v0, s[4:5] offset:16
    0xbf068002,             // 60 s_cmp_eq_u32 s2, 0
    0xbf850000,             // 64 s_cbranch_scc1 to what follows
    0xbf840000,             // 68 s_cbranch_scc0 likewise
    0xb888f804,             // 72 s_getreg_b32 s8, hwreg(HW_REG_HW_ID)
    0xbefe0182,             // 76 s_mov_b64 exec, 2
    0xbf810000,             // 80 s_endpgm
};

TEST_P(Probe, GivesScalarsAndActiveLanesAsTheSourceSays)
{
  device::Kernel kernel(some);
  device::Memory out(4096), kernarg(64);
  kernarg.as<uint64_t>()[0] = out.address();
  probing::Plan plan = probing::Planner(SOFTGPU_GFX90A, kernel.entry(), kernel.end()).plan();
  std::vector<rawhal_probe_point_t> points = plan.points;
  auto add = [&points](uint32_t offset, uint8_t source, uint8_t scalar, uint8_t vector) {
    rawhal_probe_point_t one = point(offset, RAWHAL_PROBE_VALUE);
    one.source = source;
    one.scalar = scalar;
    one.vector = vector;
    one.lane_bytes = source == RAWHAL_PROBE_VGPR ? 4 : 0;
    points.push_back(one);
  };
  add(76, RAWHAL_PROBE_SGPR, 8, 0);
  add(80, RAWHAL_PROBE_VGPR, 0xff, 1);
  add(80, RAWHAL_PROBE_VGPR, 0xff, 32); // the kernel has none of that number
  add(80, RAWHAL_PROBE_SGPR, 126, 0);   // EXEC
  std::stable_sort(points.begin(), points.end(),
                   [](const auto &a, const auto &b) { return a.offset < b.offset; });
  Records records(plan.counters, 2, 64);
  ASSERT_TRUE(ask(kernarg.address(), records, points, plan.counters));
  ASSERT_TRUE(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 2)).ok);
  expect_flow(plan, records, 2);
  ASSERT_EQ(records.header().events, 14u);
  unsigned seen[2] = {}, at_end[2] = {}, execs = 0;
  for (uint32_t i = 0; i < 14; ++i) {
    const rawhal_probe_event_t &event = records.event(i);
    ASSERT_LT(event.wave, 2u);
    ++seen[event.wave];
    const uint64_t exec = event.offset == 80 ? 2 : 0xff0;
    EXPECT_EQ(event.exec, exec);
    const bool has_lanes = event.offset < 60 || records.lanes_of(i)[1];
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(records.lanes_of(i)[lane], has_lanes && exec >> lane & 1 ? 4 * lane : 0)
          << event.offset;
    at_end[has_lanes] += event.offset == 80;
    switch (event.offset) {
    case 36:
    case 44:
      EXPECT_EQ(event.scalar[0], uint32_t(out.address()));
      EXPECT_EQ(event.scalar[1], uint32_t(out.address() >> 32));
      EXPECT_EQ(event.scalar[2], 0x400u);
      EXPECT_EQ(event.scalar[3], event.offset == 36 ? 4u : 0x400u);
      break;
    case 52:
      EXPECT_EQ(event.scalar[0] | uint64_t(event.scalar[1]) << 32, out.address());
      EXPECT_EQ(event.scalar[2] | event.scalar[3], 0u);
      break;
    case 76:
      EXPECT_EQ(event.scalar[0], records.wave(event.wave).hw_id);
      break;
    default:
      EXPECT_EQ(event.offset, 80u);
      EXPECT_TRUE(event.scalar[0] == 0 || (event.scalar[0] == 2 && !has_lanes));
      execs += event.scalar[0] == 2;
      break;
    }
  }
  EXPECT_EQ(execs, 2u);
  EXPECT_EQ(at_end[false], 4u);
  EXPECT_EQ(at_end[true], 2u);
  EXPECT_EQ(seen[0], 7u);
  EXPECT_EQ(seen[1], 7u);
  EXPECT_EQ(records.wave(0).workgroup[0] + records.wave(1).workgroup[0], 1u);
}

TEST_P(Probe, BeginsAWaveOnceThoughItComesToItsFirstInstructionAgain)
{
  device::Kernel kernel({
      0xbf068002, // s_cmp_eq_u32 s2, 0
      0xbe820080, // s_mov_b32 s2, 0
      0xbf84fffd, // s_cbranch_scc0 to the first
      0xbf810000, // s_endpgm
  });
  device::Memory kernarg(64);
  probing::Plan plan = probing::Planner(SOFTGPU_GFX90A, kernel.entry(), kernel.end()).plan();
  Records records(plan.counters, 30, 0);
  ASSERT_TRUE(ask(kernarg.address(), records, plan.points, plan.counters));
  ASSERT_TRUE(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 20)).ok);
  EXPECT_EQ(records.header().waves, 20u);
  EXPECT_EQ(records.counter(0), 20u + 19);
  std::set<uint32_t> groups;
  for (uint32_t i = 0; i < records.waves(); ++i)
    groups.insert(records.wave(i).workgroup[0]);
  EXPECT_EQ(groups.size(), 20u);
}

// What s_setvskip skips enters a block all the same, and accesses nothing.
TEST_P(Probe, CountsBlocksOfSkippedInstructions)
{
  device::Kernel kernel({
      0xbf108081,             // s_setvskip 1, 0
      0x7e020280,             // v_mov_b32 v1, 0
      0xbf850000,             // s_cbranch_scc1 to what follows
      0x7e020280,             // v_mov_b32 v1, 0
      0xdc708000, 0x00040001, // global_store_dword v1, v0, s[4:5]
      0xbf840000,             // s_cbranch_scc0 to what follows
      0xc0060200, 0x00000000, // s_load_dwordx2 s[8:9], s[0:1], 0x0
      0xbf108080,             // s_setvskip 0, 0
      0xbf810000,             // s_endpgm
  });
  device::Memory kernarg(64);
  probing::Plan plan = probing::Planner(SOFTGPU_GFX90A, kernel.entry(), kernel.end()).plan();
  Records records(plan.counters, 3, 3);
  ASSERT_TRUE(ask(kernarg.address(), records, plan.points, plan.counters));
  ASSERT_TRUE(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 3)).ok);
  expect_flow(plan, records, 3);
  EXPECT_EQ(instructions(plan, records), 3 * 9u);
  EXPECT_EQ(records.header().events, 0u);
}

// A wave that waits for global wave sync executes the instruction again and again.
TEST_P(Probe, CountsWhatIsTriedAgainOnce)
{
  softgpu_gws_t gws;
  isa_gws_open(&gws);
  const uint32_t groups = 24, rounds = 3;
  gws.resources[5].counter = groups - 1;
  device::Kernel kernel(kernels::words("grid_rounds"));
  device::Memory out(2 * 4 * groups), kernarg(64);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint32_t>()[2] = rounds;
  kernarg.as<uint32_t>()[3] = groups;
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), groups, 128);
  dispatch.gws = &gws;
  probing::Plan plan = probing::Planner(SOFTGPU_GFX90A, kernel.entry(), kernel.end()).plan();
  std::vector<rawhal_probe_point_t> points = plan.points;
  const auto sync = std::find_if(points.begin(), points.end(), [&](const auto &one) {
    return kernel.text()[one.offset / 4] >> 16 == 0xd93b; // ds_gws_barrier gds
  });
  ASSERT_NE(sync, points.end());
  points.insert(sync, point(sync->offset, RAWHAL_PROBE_COUNT, plan.counters)); // as a block's
  Records records(plan.counters + 1, 2 * groups, 0);
  ASSERT_TRUE(ask(kernarg.address(), records, points, plan.counters + 1));
  const uint64_t before = softgpu_instruction_count();
  const auto result = device::run(dispatch);
  ASSERT_TRUE(result.ok) << result.fault.text;
  EXPECT_EQ(instructions(plan, records), softgpu_instruction_count() - before);
  expect_flow(plan, records, 2 * groups);
  EXPECT_EQ(records.counter(plan.counters), uint64_t(groups) * rounds);
  EXPECT_EQ(records.header().events, groups * rounds * 5) << "two barriers a wave, and the sync";
  isa_gws_close(&gws);
}

// --- faults ---

TEST_P(Probe, LeavesWhatWasRecordedBeforeAFault)
{
  device::Kernel kernel(kernels::words("store_lane"));
  device::Memory out(4096), kernarg(64);
  kernarg.as<uint64_t>()[0] = out.address();
  const uint32_t beyond = 0x7ffff000; // what lies right behind may be other memory
  kernarg.as<uint64_t>()[1] = beyond;
  probing::Plan plan = probing::Planner(SOFTGPU_GFX90A, kernel.entry(), kernel.end()).plan();
  const uint32_t store = plan.blocks.back().next - 12;
  std::vector<rawhal_probe_point_t> points = plan.points;
  points.push_back(point(store + 8, RAWHAL_PROBE_COUNT, plan.counters));
  Records records(plan.counters + 1, 4, 4);
  ASSERT_TRUE(ask(kernarg.address(), records, points, plan.counters + 1));
  const auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>()));
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_MEMORY);
  EXPECT_EQ(result.fault.pc_offset, store);
  EXPECT_EQ(result.fault.lane, 5u);
  EXPECT_EQ(records.header().waves, 1u);
  EXPECT_GT(records.wave(0).start, 0u);
  EXPECT_EQ(records.wave(0).end, 0u);
  EXPECT_EQ(records.counter(0), 1u);
  EXPECT_EQ(records.counter(plan.counters), 0u);
  ASSERT_EQ(records.header().events, 1u);
  EXPECT_EQ(records.event(0).offset, store);
  EXPECT_EQ(records.event(0).exec, 0x7fu);
  EXPECT_EQ(records.lanes_of(0)[5], beyond);
}

// A refused dispatch is the one that was meant, too.
TEST_P(Probe, IsForADispatchThatDoesNotBeginToo)
{
  device::Kernel kernel(some);
  device::Memory kernarg(64);
  Records records(1, 1, 1);
  ASSERT_TRUE(ask(kernarg.address(), records, {}, 1));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  dispatch.workgroup[0] = 0;
  EXPECT_FALSE(device::run(dispatch).ok);
  EXPECT_EQ(isa_probes_asked, 0u);
}

// --- memory that is not there ---

TEST_P(Probe, RecordsNothingMoreOnceItsMemoryIsFreed)
{
  device::Kernel kernel({
      0xc0060100, 0x00000000, //  0 s_load_dwordx2 s[4:5], s[0:1], 0x0
      0x7e020280,             //  8 v_mov_b32 v1, 0
      0x7e040281,             // 12 v_mov_b32 v2, 1
      0xbf8cc07f,             // 16 s_waitcnt lgkmcnt(0)
      0xdc708000, 0x00040201, // 20 global_store_dword v1, v2, s[4:5]
      0xbf8e0001,             // 28 wait: s_sleep 1
      0xdc518004, 0x03040001, // 32 global_load_dword v3, v1, s[4:5] offset:4 glc
      0xbf8c0f70,             // 40 s_waitcnt vmcnt(0)
      0x7e0c0503,             // 44 v_readfirstlane_b32 s6, v3
      0xbf068006,             // 48 s_cmp_eq_u32 s6, 0
      0xbf85fff9,             // 52 s_cbranch_scc1 wait
      0xbf800000,             // 56 s_nop 0
      0xbf810000,             // 60 s_endpgm
  });
  device::Memory words(64), kernarg(64);
  kernarg.as<uint64_t>()[0] = words.address();
  Records records(3, 1, 0);
  ASSERT_TRUE(ask(kernarg.address(), records,
                  {point(0, RAWHAL_PROBE_COUNT, 0), point(28, RAWHAL_PROBE_COUNT, 1),
                   point(56, RAWHAL_PROBE_COUNT, 2)},
                  3));
  uint32_t *const flags = words.as<uint32_t>();
  std::thread running(
      [&] { EXPECT_TRUE(device::run(device::dispatch(kernel.object(), kernarg.as<void>())).ok); });
  while (!__atomic_load_n(&flags[0], __ATOMIC_ACQUIRE))
    std::this_thread::yield();
  EXPECT_TRUE(softgpu_memory_remove(records.buffer.address()));
  __atomic_store_n(&flags[1], 1, __ATOMIC_RELEASE);
  running.join();
  EXPECT_EQ(records.header().waves, 1u);
  EXPECT_EQ(records.counter(0), 1u);
  EXPECT_EQ(records.counter(2), 0u);
  EXPECT_EQ(records.wave(0).end, 0u);
}

// --- asking ---

TEST(Probes, AreRefusedWhereTheyMakeNoSense)
{
  device::Memory kernarg(64);
  Records records(4, 4, 4);
  struct Asked {
    rawhal_probe_argument_t argument;
    uint64_t kernarg;
    uint32_t kinds = ALL, event_bytes = EVENT_BYTES, counters = 4;
    std::vector<rawhal_probe_point_t> points = {point(0, RAWHAL_PROBE_COUNT, 3),
                                                point(4, RAWHAL_PROBE_ACCESS)};
  };
  const std::function<void(Asked &)> changes[] = {
      [](Asked &a) { a.kernarg = 0; },
      [](Asked &a) { a.argument.buffer = 0; },
      [](Asked &a) { a.argument.buffer += 8; },
      [](Asked &a) { a.argument.events += 8; },
      [](Asked &a) { a.argument.events = 0; },
      [](Asked &a) { a.kinds = 0; },
      [](Asked &a) { a.kinds |= 128; },
      [](Asked &a) { a.kinds = RAWHAL_PROBE_BLOCKS; },
      [](Asked &a) { a.event_bytes = 0; },
      [](Asked &a) { a.event_bytes = 64; },
      [](Asked &a) { a.event_bytes = 32, a.points[1].lane_bytes = 4; },
      [](Asked &a) { a.counters = 3; },
      [](Asked &a) { a.points[0].offset = 8; },
      [](Asked &a) { a.points[1].offset = 6; },
      [](Asked &a) { a.points[1].action = 0; },
      [](Asked &a) { a.points[1].action = 7; },
      [](Asked &a) { a.points[1].source = 7; },
      [](Asked &a) { a.points[1].lane_bytes = 16; },
      [](Asked &a) { a.points[1].source = RAWHAL_PROBE_BUFFER, a.points[1].scalar = 126; },
      [](Asked &a) { a.points.resize((1 << 20) + 1, point(4, RAWHAL_PROBE_COUNT)); },
  };
  auto ask = [](const Asked &a) {
    return isa_probe_ask(a.kernarg, &a.argument, a.kinds, a.event_bytes, a.counters,
                         a.points.data(), a.points.size());
  };
  const Asked good = {records.argument, kernarg.address()};
  for (const auto &change : changes) {
    Asked asked = good;
    change(asked);
    EXPECT_FALSE(ask(asked)) << &change - changes;
  }
  EXPECT_EQ(isa_probes_asked, 0u);
  for (unsigned i = 0; i < 1024; ++i)
    ASSERT_TRUE(ask(good)) << i;
  EXPECT_FALSE(ask(good)) << "as many as wait at most";
  isa_probe_withdraw(kernarg.address() + 8);
  EXPECT_EQ(isa_probes_asked, 1024u);
  isa_probe_withdraw(kernarg.address());
  EXPECT_EQ(isa_probes_asked, 0u);
  Asked large = good;
  large.points.resize(1 << 20, point(4, RAWHAL_PROBE_COUNT));
  EXPECT_TRUE(ask(large));
  EXPECT_FALSE(ask(large)) << "as much as waits at most";
  EXPECT_TRUE(ask(good));
  isa_probe_withdraw(0);
  EXPECT_EQ(isa_probes_asked, 0u);
}

TEST_P(Probe, IsForTheDispatchWithItsArguments)
{
  device::Kernel kernel(some);
  device::Memory out(4096), kernarg(64), other(64);
  kernarg.as<uint64_t>()[0] = other.as<uint64_t>()[0] = out.address();
  Records first(1, 2, 0), second(1, 2, 0);
  const std::vector<rawhal_probe_point_t> points = {point(0, RAWHAL_PROBE_COUNT)};
  for (unsigned round = 1; round <= 3; ++round) { // the same code, decoded once
    ASSERT_TRUE(ask(kernarg.address(), first, points, 1, RAWHAL_PROBE_BLOCKS));
    ASSERT_TRUE(ask(kernarg.address(), second, points, 1, RAWHAL_PROBE_WAVES));
    auto run = [&](device::Memory &arguments) {
      EXPECT_TRUE(device::run(device::dispatch(kernel.object(), arguments.as<void>(), 2)).ok);
      return std::vector<uint64_t>{first.counter(0), first.header().waves, second.counter(0),
                                   second.header().waves};
    };
    const uint64_t before = 2 * (round - 1), after = 2 * round;
    EXPECT_EQ(run(other), (std::vector<uint64_t>{before, 0, before, before}));
    EXPECT_EQ(run(kernarg), (std::vector<uint64_t>{after, 0, before, before}));
    EXPECT_EQ(run(kernarg), (std::vector<uint64_t>{after, 0, after, after}));
    EXPECT_EQ(run(kernarg), (std::vector<uint64_t>{after, 0, after, after}));
    if (round == 2)
      softgpu_invalidate_code();
  }
}

// Waves of a kernel with preloaded arguments begin 256 bytes behind its first byte.
TEST_P(Probe, CountsOffsetsFromTheFirstByteOfTheKernel)
{
  device::Descriptor descriptor;
  descriptor.user_sgprs = 4;
  descriptor.preload = 2;
  device::Kernel kernel(kernels::words("preload"), descriptor);
  device::Memory out(64), kernarg(64);
  kernarg.as<uint64_t>()[0] = out.address();
  probing::Plan plan = probing::Planner(SOFTGPU_GFX942, kernel.entry(), kernel.end()).plan(256);
  Records records(plan.counters, 2, 2);
  ASSERT_TRUE(ask(kernarg.address(), records, plan.points, plan.counters));
  const auto result =
      device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX942));
  ASSERT_TRUE(result.ok) << result.fault.text;
  EXPECT_EQ(records.counter(0), 1u);
  EXPECT_GT(records.wave(0).end, 0u);
  ASSERT_EQ(records.header().events, 1u);
  EXPECT_GT(records.event(0).offset, 256u);
}

} // namespace
