// The engine: control flow, barriers, waiting, partial work-groups, initial registers, scratch, code that changes.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

extern "C" {
#include "softgpu/isa/run/group.h"
}

namespace {

const uint32_t POISON = 0xffbadbad;

// Every test runs on one thread, on four, and on more than any machine has cores to spare for.
class Engine : public testing::TestWithParam<unsigned> {
protected:
  void SetUp() override { softgpu_engine_threads(GetParam()); }
  void TearDown() override { softgpu_engine_threads(0); }
};
INSTANTIATE_TEST_SUITE_P(Threads, Engine, testing::Values(1u, 4u, 64u),
                         testing::PrintToStringParamName());

void expect_ok(const device::Result &result)
{
  EXPECT_TRUE(result.ok) << result.fault.text;
}

TEST_P(Engine, Loops)
{
  const uint32_t groups = 100;
  device::Memory out(groups * 4), kernarg(16);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint32_t>()[2] = 9999;
  device::Kernel kernel(kernels::words("loop"));
  uint64_t before = softgpu_instruction_count();
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), groups)));
  for (uint32_t i = 0; i < groups; ++i)
    EXPECT_EQ(out.as<uint32_t>()[i], 9999u * 10000 / 2);
  EXPECT_EQ(softgpu_instruction_count() - before, groups * (4 + 4 * 9999 + 3));
}

// One file of vector registers, in both engines: v20 is a4 where a0 comes after 16 of them, and 32
// are the end of both.
TEST_P(Engine, RegistersBeyondTheFirstOfAccumulation)
{
  const std::vector<uint32_t> words = {
      0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0x24020082,             // v_lshlrev_b32 v1, 2, v0
      0x7e280287,             // v_mov_b32 v20, 7
      0x683e0114,             // v_add_u32 v31, v20, v0
      0xd3d84002, 0x1800010f, // v_accvgpr_read_b32 v2, a15
      0xd3d94004, 0x18000102, // v_accvgpr_write_b32 a4, v2
      0x68063f14,             // v_add_u32 v3, v20, v31
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xdc708000, 0x00040301, // global_store_dword v1, v3, s[4:5]
      0xbf810000,             // s_endpgm
  };
  device::Memory out(256), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(words), beyond({0x7e400287, 0xbf810000}); // v_mov_b32 v32, 7
  for (softgpu_chip_t chip : {SOFTGPU_GFX90A, SOFTGPU_GFX942})
    for (bool reference : {false, true}) {
      softgpu_dispatch_t dispatch =
          device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, chip);
      softgpu_engine_reference(reference);
      expect_ok(device::run(dispatch));
      for (uint32_t i = 0; i < 64; ++i)
        EXPECT_EQ(out.as<uint32_t>()[i], 2 * (7 + i));
      dispatch.kernel_object = beyond.object();
      EXPECT_EQ(device::run(dispatch).fault.kind, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION);
    }
  softgpu_engine_reference(false);
}

TEST_P(Engine, Calls)
{
  device::Memory out(4), kernarg(16);
  device::Kernel kernel(kernels::words("calls")), callee(kernels::words("callee"));
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint64_t>()[1] = callee.entry();
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>())));
  EXPECT_EQ(out.as<uint32_t>()[0], 17u);
}

TEST_P(Engine, BarrierWithEndedWaves)
{
  device::Memory out(4), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("lonely_barrier"));
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 1024)));
  EXPECT_EQ(out.as<uint32_t>()[0], 1u);
}

TEST_P(Engine, GroupsWaitForLaterGroups)
{
  const uint32_t groups = 300;
  device::Memory flags(groups * 4), kernarg(16);
  kernarg.as<uint64_t>()[0] = flags.address();
  kernarg.as<uint32_t>()[2] = groups;
  device::Kernel kernel(kernels::words("chain"));
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), groups)));
  for (uint32_t i = 0; i < groups; ++i)
    EXPECT_EQ(flags.as<uint32_t>()[i], 1u) << i;
}

TEST_P(Engine, WavesWaitForEachOther)
{
  device::Memory flag(4), kernarg(8);
  kernarg.as<uint64_t>()[0] = flag.address();
  device::Kernel kernel(kernels::words("wave_spin"));
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 128)));
}

// Whoever waits gives the others their turn, however short it is.
TEST_P(Engine, WavesWaitForEachOtherInTurnsOfAnyLength)
{
  const uint32_t groups = 40;
  device::Memory flags(groups * 4), flag(4), spin(8), kernarg(16);
  spin.as<uint64_t>()[0] = flag.address();
  kernarg.as<uint64_t>()[0] = flags.address();
  kernarg.as<uint32_t>()[2] = groups;
  device::Kernel waves(kernels::words("wave_spin")), chain(kernels::words("chain"));
  for (uint32_t turn : {1u, 2u, 3u, 7u}) {
    isa_group_set_turns(turn, turn);
    memset(flags.as<void>(), 0, flags.size());
    flag.as<uint32_t>()[0] = 0;
    expect_ok(device::run(device::dispatch(waves.object(), spin.as<void>(), 1, 128)));
    expect_ok(device::run(device::dispatch(chain.object(), kernarg.as<void>(), groups)));
    for (uint32_t i = 0; i < groups; ++i)
      EXPECT_EQ(flags.as<uint32_t>()[i], 1u) << "group " << i << ", turns of " << turn;
  }
  isa_group_set_turns(0, 0);
}

// No wave is a thousand instructions ahead of another.
TEST_P(Engine, WavesRunSideBySide)
{
  device::Memory out(8), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("side_by_side"));
  for (bool reference : {false, true}) {
    memset(out.as<void>(), 0, 8);
    softgpu_engine_reference(reference);
    expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 128)));
    EXPECT_EQ(out.as<uint32_t>()[0], 2u);
    EXPECT_EQ(out.as<uint32_t>()[1], 1u);
  }
  softgpu_engine_reference(false);
}

// Of those that share LDS none gets ahead by turns that blocks make longer.
TEST_P(Engine, WavesThatShareLdsKeepPace)
{
  device::Memory out(8), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("pace"));
  softgpu_dispatch_t dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 128);
  dispatch.group_bytes = 256;
  expect_ok(device::run(dispatch));
  EXPECT_NEAR(out.as<uint32_t>()[1] * 32.0, 4800.0, 100.0);
}

// Whoever sleeps gives others their turn soon, not at the end of a slice.
TEST_P(Engine, GroupsThatSleepGiveWay)
{
  device::Memory out(4), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("sleep_after_block"));
  softgpu_dispatch_t dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 2, 128);
  dispatch.group_bytes = 256;
  const uint64_t before = softgpu_instruction_count();
  expect_ok(device::run(dispatch));
  EXPECT_LT(softgpu_instruction_count() - before, 1000u);
}

// Runs a kernel that ends with a fault on both engines, and says how many instructions that took.
uint64_t faults_alike(const device::Kernel &kernel, uint64_t offset)
{
  device::Memory kernarg(8);
  const softgpu_dispatch_t dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1);
  softgpu_fault_t fault[2];
  uint64_t executed[2];
  for (bool reference : {false, true}) {
    softgpu_engine_reference(reference);
    const uint64_t first = softgpu_instruction_count();
    const device::Result result = device::run(dispatch);
    executed[reference] = softgpu_instruction_count() - first;
    EXPECT_FALSE(result.ok);
    fault[reference] = result.fault;
  }
  softgpu_engine_reference(false);
  EXPECT_EQ(executed[0], executed[1]);
  EXPECT_EQ(fault[0].pc, kernel.entry() + offset);
  EXPECT_EQ(fault[0].pc, fault[1].pc);
  EXPECT_EQ(fault[0].kind, fault[1].kind);
  EXPECT_EQ(fault[0].address, fault[1].address);
  EXPECT_EQ(fault[0].lane, fault[1].lane);
  return executed[0];
}

const uint32_t kMove = 0x7e060302; // v_mov_b32 v3, v2
const std::vector<std::vector<uint32_t>> kFaulting = {
    {0xc0020104, 0x00000000}, // s_load_dword s4, s[8:9], 0x0
    {0xdc508000, 0x027f0000}, // global_load_dword v2, v[0:1], off
    {0xbf920002},             // s_trap 2
    {0xbfff0000},             // no instruction
};

// However instructions of a block call each other, and wherever they return from that.
TEST_P(Engine, AFaultDeepInABlockIsWhereItIs)
{
  for (const std::vector<uint32_t> &last : kFaulting)
    for (const uint32_t before :
         {0u, 1u, 61u, 62u, 63u, 64u, 65u, 126u, 127u, 128u, 250u, 251u, 252u, 253u, 254u, 600u}) {
      std::vector<uint32_t> words = {0x7e000280, 0x7e020280}; // v0 = v1 = 0
      words.insert(words.end(), before, kMove);
      words.insert(words.end(), last.begin(), last.end());
      words.push_back(0xbf810000); // s_endpgm
      const device::Kernel kernel(words);
      EXPECT_EQ(faults_alike(kernel, 4 * (2 + before)), before + 3) << before;
    }
}

// A branch calls the first instruction of the block where it goes, once that has been there.
TEST_P(Engine, AFaultInALaterBlockIsWhereItIs)
{
  for (const std::vector<uint32_t> &last : kFaulting)
    for (const uint32_t before : {0u, 1u, 2u, 20u, 40u, 55u, 56u, 57u, 58u, 59u, 60u, 130u}) {
      const uint32_t over = before + (uint32_t)last.size();
      std::vector<uint32_t> words = {
          0x7e000280,        0x7e020280, // v0 = v1 = 0
          0xb0050000,                    // s_movk_i32 s5, 0
          0xb7050001,                    // s_addk_i32 s5, 1
          0xb1050003,                    // s_cmpk_eq_i32 s5, 3
          0xbf840000 | over,             // s_cbranch_scc0, until the third time
      };
      words.insert(words.end(), before, kMove);
      words.insert(words.end(), last.begin(), last.end());
      words.push_back(0xbf820000 | (uint16_t)(2 - words.size())); // s_branch to s_addk_i32
      const device::Kernel kernel(words);
      EXPECT_EQ(faults_alike(kernel, 4 * (6 + before)), 3 + 2 * 4 + 3 + before + 1) << before;
    }
}

// The fuzzer compares where both engines are when a kernel that does not end is stopped.
TEST_P(Engine, BothEnginesStopAtTheSameInstruction)
{
  device::Memory out(4), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  for (const char *name : {"sleep_after_block", "wave_spin"})
    for (uint32_t lds : {0, 256}) {
      device::Kernel kernel(kernels::words(name));
      softgpu_dispatch_t dispatch =
          device::dispatch(kernel.object(), kernarg.as<void>(), 1, lds ? 128 : 64);
      dispatch.group_bytes = lds;
      const bool stop = true;
      softgpu_limits_t limits = {};
      limits.stop = &stop;
      softgpu_fault_t fault[2];
      for (bool reference : {false, true}) {
        softgpu_engine_reference(reference);
        const bool ends = softgpu_execute(&dispatch, &limits, &fault[reference]);
        EXPECT_EQ(ends, !strcmp(name, "wave_spin") && lds); // its other wave stores
        out.as<uint32_t>()[0] = 0;
      }
      EXPECT_EQ(fault[0].kind, fault[1].kind);
      EXPECT_EQ(fault[0].pc, fault[1].pc);
    }
  softgpu_engine_reference(false);
}

// FLAT addresses of the LDS aperture are LDS, even where there is memory with the same upper half.
TEST_P(Engine, AnApertureComesBeforeMemory)
{
  device::Memory number(4), out(8), kernarg(16);
  number.as<uint32_t>()[0] = 7;
  kernarg.as<uint64_t>()[0] = number.address();
  kernarg.as<uint64_t>()[1] = out.address();
  device::Kernel kernel(kernels::words("load_twice"));
  softgpu_dispatch_t dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  for (bool is_aperture : {false, true}) {
    if (is_aperture)
      dispatch.shared_aperture_hi = static_cast<uint32_t>(number.address() >> 32);
    for (bool reference : {false, true}) {
      memset(out.as<void>(), 1, 8);
      softgpu_engine_reference(reference);
      expect_ok(device::run(dispatch));
      EXPECT_EQ(out.as<uint32_t>()[0], 7u);
      EXPECT_EQ(out.as<uint32_t>()[1], is_aperture ? 0u : 7u); // beyond the end of LDS
    }
  }
  softgpu_engine_reference(false);
}

TEST_P(Engine, AtomicsOfAllGroupsAddUp)
{
  const uint32_t groups = 500, items = 192;
  device::Memory out(8), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("count"));
  expect_ok(device::run(device::dispatch(kernel.object(), kernarg.as<void>(), groups, items)));
  EXPECT_EQ(out.as<uint32_t>()[0], groups * items);
  EXPECT_EQ(out.as<uint32_t>()[1], groups * (items * (items - 1) / 2));
}

TEST_P(Engine, DispatchesOfSeveralThreads)
{
  std::vector<std::thread> threads;
  std::atomic<unsigned> failures{0};
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (unsigned round = 0; round < 5; ++round) {
        device::Memory out(8), kernarg(8);
        kernarg.as<uint64_t>()[0] = out.address();
        device::Kernel kernel(kernels::words("count"));
        auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 50, 256));
        failures += !result.ok || out.as<uint32_t>()[0] != 50 * 256;
        softgpu_invalidate_code();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0u);
}

// --- compiled kernels ---

TEST_P(Engine, ReducesThroughLds)
{
  for (const char *file : {"reduce-gfx90a-v5.co", "reduce-gfx942-v5.co"}) {
    const uint32_t groups = 64;
    device::CodeObject object(file);
    device::Memory sums(groups * 4), values(groups * 1024), kernarg(512);
    uint32_t seed = 1;
    for (uint32_t i = 0; i < groups * 256; ++i)
      values.as<uint32_t>()[i] = seed = seed * 1664525 + 1013904223;
    kernarg.as<uint64_t>()[0] = sums.address();
    kernarg.as<uint64_t>()[1] = values.address();
    auto dispatch = device::dispatch(object.symbol("reduce.kd"), kernarg.as<void>(), groups, 256,
                                     strstr(file, "942") ? SOFTGPU_GFX942 : SOFTGPU_GFX90A);
    dispatch.group_bytes = 1024;
    expect_ok(device::run(dispatch));
    for (uint32_t g = 0; g < groups; ++g) {
      const uint32_t *first = values.as<uint32_t>() + g * 256;
      EXPECT_EQ(sums.as<uint32_t>()[g], std::accumulate(first, first + 256, 0u))
          << file << " group " << g;
    }
  }
}

TEST_P(Engine, PrivateMemory)
{
  for (const char *file : {"scratch-gfx90a-v5.co", "scratch-gfx942-v5.co"}) {
    const uint32_t groups = 40, items = 128;
    device::CodeObject object(file);
    device::Memory out(groups * items * 4),
        scratch(4 << 20, SOFTGPU_MEMORY_WRITE | SOFTGPU_MEMORY_SCRATCH), kernarg(512);
    kernarg.as<uint64_t>()[0] = out.address();
    kernarg.as<uint32_t>()[2] = 5;
    kernarg.as<uint32_t>()[4] = groups; // hidden block count
    kernarg.as<uint16_t>()[16 + 12 / 2 - 8] = 0;
    uint64_t object_address = object.symbol("scratch.kd");
    uint32_t private_bytes;
    memcpy(&private_bytes, reinterpret_cast<void *>(object_address + 4), 4);
    // hidden_group_size_x lies 12 bytes into the implicit block at 16
    kernarg.as<uint16_t>()[(16 + 12) / 2] = items;
    auto dispatch = device::dispatch(object_address, kernarg.as<void>(), groups, items,
                                     strstr(file, "942") ? SOFTGPU_GFX942 : SOFTGPU_GFX90A);
    dispatch.private_bytes = private_bytes;
    dispatch.scratch_base = scratch.address();
    dispatch.scratch_bytes = scratch.size();
    expect_ok(device::run(dispatch));
    for (uint32_t i = 0; i < groups * items; ++i) {
      uint32_t k = (i * 7 + 5) % 64;
      ASSERT_EQ(out.as<uint32_t>()[i], k * k + i) << file << " item " << i;
    }
  }
}

TEST_P(Engine, GenericAddressesReachLdsAndScratch)
{
  device::Memory out(64 * 16), scratch(1 << 20), kernarg(8);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("generic"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX942);
  dispatch.group_bytes = 256;
  dispatch.private_bytes = 16;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  memset(scratch.as<void>(), 0xab, scratch.size());
  expect_ok(device::run(dispatch));
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(out.as<uint32_t>()[i * 4], 100 + i);
    EXPECT_EQ(out.as<uint32_t>()[i * 4 + 1], 200 + i);
    EXPECT_EQ(out.as<uint32_t>()[i * 4 + 2], (200 + i) << 8 | 0xab)
        << "a misaligned dword of private memory";
    EXPECT_EQ(scratch.as<uint32_t>()[2 * 64 + i], 200 + i) << "dwords are interleaved by lane";
  }
}

// --- initial state ---

struct Registers {
  uint32_t s[24];
  uint64_t exec;
  uint32_t unused[38];
  uint32_t v[64][2];
};

Registers registers_of(const softgpu_dispatch_t &dispatch, device::Memory &out)
{
  Registers r;
  expect_ok(device::run(dispatch));
  memcpy(&r, out.as<void>(), sizeof r);
  return r;
}

TEST(InitialState, UserAndSystemRegistersInOrder)
{
  device::Memory out(4096), kernarg(16), scratch(1 << 20), packet(64);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Descriptor d;
  d.properties = 0x7f; // all of them
  d.user_sgprs = 15;
  d.group_id[1] = d.group_id[2] = true;
  d.private_segment = true;
  d.item_ids = 2;
  device::Kernel kernel(kernels::words("registers"), d);
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  dispatch.packet = packet.address();
  dispatch.dispatch_id = 0x1122334455667788;
  dispatch.private_bytes = 20;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  Registers r = registers_of(dispatch, out);
  auto pair = [&](unsigned i) { return r.s[i] | uint64_t(r.s[i + 1]) << 32; };
  EXPECT_EQ(pair(0), scratch.address() | 1ull << 63) << "swizzled";
  EXPECT_EQ(r.s[2], scratch.size());
  EXPECT_EQ(r.s[3] >> 19, 1u | 3 << 2 | 1 << 4) << "4-byte elements, 64 lanes, add_tid";
  EXPECT_EQ(pair(4), packet.address());
  EXPECT_EQ(pair(6), 0u) << "queue";
  EXPECT_EQ(pair(8), kernarg.address());
  EXPECT_EQ(pair(10), dispatch.dispatch_id);
  EXPECT_EQ(pair(12), scratch.address()) << "flat_scratch_init";
  EXPECT_EQ(r.s[14], 20u) << "private segment size";
  EXPECT_EQ(r.s[15], 0u);
  EXPECT_EQ(r.s[16], 0u);
  EXPECT_EQ(r.s[17], 0u);
  EXPECT_EQ(r.s[18], 0u) << "scratch wave offset";
  EXPECT_EQ(r.s[19], POISON);
}

TEST(InitialState, WorkItemIdsArePackedAsAskedFor)
{
  const uint32_t keep[] = {0x3ff, 0xfffff, 0x3fffffff};
  for (unsigned mode = 0; mode < 3; ++mode) {
    device::Memory out(4096), kernarg(16);
    kernarg.as<uint64_t>()[0] = out.address();
    device::Descriptor d;
    d.properties = 0x0b;
    d.user_sgprs = 8;
    d.item_ids = mode;
    d.properties = 1 | 1 << 1 | 1 << 2 | 1 << 3;
    d.user_sgprs = 10;
    device::Kernel kernel(kernels::words("registers"), d);
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
    const uint16_t size[3] = {5, 3, 4}; // 60 work-items, one partial wave
    for (unsigned i = 0; i < 3; ++i)
      dispatch.workgroup[i] = dispatch.grid[i] = size[i];
    Registers r = registers_of(dispatch, out);
    EXPECT_EQ(r.exec, (1ull << 60) - 1);
    for (uint32_t i = 0; i < 60; ++i) {
      uint32_t ids = i % 5 | i / 5 % 3 << 10 | i / 15 << 20;
      EXPECT_EQ(r.v[i][0], ids & keep[mode]) << "mode " << mode << " item " << i;
      EXPECT_EQ(r.v[i][1], POISON);
    }
  }
}

TEST(InitialState, PartialGroupsOfThreeDimensions)
{
  for (const char *file : {"write_ids-gfx90a-v5.co", "write_ids-gfx942-v5.co"}) {
    const uint32_t width = 21, height = 10, depth = 5;
    device::CodeObject object(file);
    device::Memory out(width * height * depth * 4), kernarg(512);
    kernarg.as<uint64_t>()[0] = out.address();
    kernarg.as<uint32_t>()[2] = width;
    kernarg.as<uint32_t>()[3] = height;
    kernarg.as<uint32_t>()[4] = 7;
    // COV5: block counts, sizes and remainders of 8 x 4 x 2 groups
    const uint32_t implicit = 24;
    uint32_t *counts = kernarg.as<uint32_t>() + implicit / 4;
    uint16_t *sizes = kernarg.as<uint16_t>() + (implicit + 12) / 2;
    const uint32_t grid[3] = {width, height, depth}, group[3] = {8, 4, 2};
    for (unsigned i = 0; i < 3; ++i) {
      counts[i] = grid[i] / group[i];
      sizes[i] = uint16_t(group[i]);
      sizes[3 + i] = uint16_t(grid[i] % group[i]);
    }
    auto dispatch = device::dispatch(object.symbol("write_ids.kd"), kernarg.as<void>());
    dispatch.chip = strstr(file, "942") ? SOFTGPU_GFX942 : SOFTGPU_GFX90A;
    for (unsigned i = 0; i < 3; ++i) {
      dispatch.workgroup[i] = uint16_t(group[i]);
      dispatch.grid[i] = grid[i];
    }
    expect_ok(device::run(dispatch));
    for (uint32_t i = 0; i < width * height * depth; ++i)
      ASSERT_EQ(out.as<uint32_t>()[i], i + 7) << file;
  }
}

TEST(InitialState, PreloadedArguments)
{
  device::Memory out(8), kernarg(32);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint32_t>()[3] = 0x11;
  kernarg.as<uint32_t>()[4] = 0x22;
  device::Descriptor d;
  d.user_sgprs = 4;
  d.preload = 2 | 3 << 7; // two dwords from the fourth on
  device::Kernel kernel(kernels::words("preload"), d);
  expect_ok(
      device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX942)));
  EXPECT_EQ(out.as<uint32_t>()[0], 0x11u);
  EXPECT_EQ(out.as<uint32_t>()[1], 0x22u);
}

// --- code ---

TEST(Code, InvalidationAndReplacement)
{
  device::Memory out(4), kernarg(16);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint32_t>()[2] = 3;
  device::Kernel kernel(kernels::words("loop"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  expect_ok(device::run(dispatch));
  EXPECT_EQ(out.as<uint32_t>()[0], 6u);
  ASSERT_EQ(kernel.text()[4], 0xbe870080u) << "s_mov_b32 s7, 0";
  kernel.text()[4] = 0xbe870081; // s_mov_b32 s7, 1
  softgpu_invalidate_code();
  expect_ok(device::run(dispatch));
  EXPECT_EQ(out.as<uint32_t>()[0], 7u);
  // Memory that is freed and allocated again needs no invalidation.
  kernel.text()[4] = 0xbe870082;
  softgpu_allocation_t allocation;
  ASSERT_TRUE(softgpu_memory_find(kernel.object(), &allocation));
  softgpu_memory_remove(allocation.base);
  softgpu_memory_add(&allocation);
  expect_ok(device::run(dispatch));
  EXPECT_EQ(out.as<uint32_t>()[0], 8u);
}

// Groups that wait for others are kept, and so is what checks know of their LDS: that has a bound.
TEST(EngineMemory, WaitingGroupsHaveABoundWithChecksToo)
{
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "its own memory is most of it";
#endif
  device::Memory kernarg(8);
  device::Kernel kernel({0xbf8e0001, 0xbf82fffe}); // s_sleep 1, s_branch to it
  softgpu_dispatch_t dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 4000);
  dispatch.group_bytes = 65536;
  dispatch.checks = SOFTGPU_CHECK_LDS;
  const bool stop = true;
  softgpu_limits_t limits = {};
  limits.stop = &stop;
  softgpu_fault_t fault;
  struct rusage before, after;
  softgpu_engine_threads(1);
  getrusage(RUSAGE_SELF, &before);
  EXPECT_FALSE(softgpu_execute(&dispatch, &limits, &fault));
  getrusage(RUSAGE_SELF, &after);
  softgpu_engine_threads(0);
  EXPECT_EQ(fault.kind, SOFTGPU_FAULT_STOPPED);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 600L << 10); // KiB
}

} // namespace
