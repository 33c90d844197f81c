// When loads from memory into LDS land, and the races that they are part of.
#include <gtest/gtest.h>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace {

constexpr uint32_t OLD = 7, NEW = 1000; // what is in LDS, and the first dword of what is loaded

// A kernel of kernels.s: dwords from NEW on, what it puts out, a number.
class LdsLoad : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }

  device::Result run(const char *name, uint32_t argument, uint16_t items, uint32_t checks = 0)
  {
    for (uint32_t i = 0; i < 192; ++i)
      from.as<uint32_t>()[i] = NEW + i;
    kernarg.as<uint64_t>()[0] = from.address();
    kernarg.as<uint64_t>()[1] = out.address();
    kernarg.as<uint32_t>()[4] = argument;
    device::Kernel kernel(kernels::words(name));
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, items);
    dispatch.group_bytes = 64 << 10;
    dispatch.checks = checks;
    const device::Result result = device::run(dispatch);
    entry = kernel.entry();
    return result;
  }
  // Whether the 64 dwords put out from `at` on are OLD, or else loaded ones, from `first` on.
  void expect_dwords(unsigned at, uint32_t first)
  {
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(out.as<uint32_t>()[at + i], first == OLD ? OLD : first + i) << "dword " << at + i;
  }

  device::Memory from{4096}, out{4096}, kernarg{64};
  uint64_t entry = 0, differs = 0;
};
INSTANTIATE_TEST_SUITE_P(Engines, LdsLoad, testing::Bool(),
                         [](const auto &engine) { return engine.param ? "reference" : "fast"; });

TEST_P(LdsLoad, LandsInOrderWhenItIsAwaited)
{
  const device::Result result = run("lds_load_order", 0, 64);
  EXPECT_TRUE(result.ok) << result.fault.text;
  expect_dwords(0, OLD);
  expect_dwords(64, NEW);
  expect_dwords(128, NEW + 64);
}

enum { BARRIER_BEFORE = 1, WAIT_BEFORE = 2 };

TEST_P(LdsLoad, LandsAfterOtherWavesHadTheirTurn)
{
  for (uint32_t mode : {BARRIER_BEFORE | WAIT_BEFORE, 0 | WAIT_BEFORE, BARRIER_BEFORE | 0}) {
    const device::Result result = run("lds_load_shared", mode, 128);
    EXPECT_TRUE(result.ok) << result.fault.text;
    expect_dwords(0, OLD);
    // Who waits behind the barrier waits too late.
    expect_dwords(64, mode & WAIT_BEFORE ? NEW : OLD);
  }
}

TEST_P(LdsLoad, LandsSomeTime)
{
  for (uint32_t count : {1, 63, 64, 200}) {
    const device::Result result = run("lds_load_unawaited", count, 64);
    EXPECT_TRUE(result.ok) << result.fault.text;
    expect_dwords(0, count <= 63 ? OLD : NEW); // vmcnt counts to 63
    expect_dwords(64, NEW);
  }
}

// The checks are the engine's alone.
TEST_P(LdsLoad, RacesFromItsIssueToItsLanding)
{
  if (GetParam())
    return;
  const auto check = SOFTGPU_CHECK_RACES | SOFTGPU_CHECK_LDS;
  const device::Result good = run("lds_load_shared", BARRIER_BEFORE | WAIT_BEFORE, 128, check);
  EXPECT_TRUE(good.ok) << good.fault.text;
  expect_dwords(64, NEW);
  for (uint32_t mode : {0 | WAIT_BEFORE, BARRIER_BEFORE | 0}) {
    const device::Result result = run("lds_load_shared", mode, 128, check);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_LDS_RACE);
    EXPECT_NE(strstr(result.fault.text, "buffer_load_dword v1, s[8:11], 0 offen lds"), nullptr)
        << result.fault.text;
    EXPECT_NE(strstr(result.fault.text, "wave 0"), nullptr) << result.fault.text;
    EXPECT_EQ(result.fault.other_wave, 1u);
  }
}

// Waves that each store all of a replicated layout: the same bytes, by one instruction.
TEST_P(LdsLoad, TheSameBytesByTheSameInstructionAreNoRace)
{
  const auto runs = [&](const std::string &store, uint32_t first, uint32_t rest, uint32_t apart,
                        softgpu_chip_t chip) {
    const uint32_t arguments[4] = {first, rest, apart, 0};
    memcpy(kernarg.as<void>(), arguments, sizeof arguments);
    device::Kernel kernel(kernels::words("same_store_" + store));
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 128, chip);
    dispatch.group_bytes = 1024;
    dispatch.checks = SOFTGPU_CHECK_RACES;
    const device::Result result = device::run(dispatch);
    EXPECT_EQ(result.fault.kind, result.ok ? SOFTGPU_FAULT_NONE : SOFTGPU_FAULT_LDS_RACE);
    if (!result.ok) {
      EXPECT_EQ(result.fault.wave, 1u);
      EXPECT_EQ(result.fault.other_wave, 0u);
      EXPECT_EQ(result.fault.lanes, ~0ull);
      differs = result.fault.address;
    }
    return result.ok || GetParam(); // the checks are the engine's alone
  };
  const struct {
    const char *store;
    bool has_low, has_high, has_rest;
  } stores[] = {
      {"b8", true, false, false},     {"b8_hi", false, true, false},  {"b16", true, false, false},
      {"b16_hi", false, true, false}, {"b32", true, true, false},     {"b64", true, true, true},
      {"b96", true, true, true},      {"b128", true, true, true},     {"pair", true, true, true},
      {"flat", true, true, false},    {"flat_hi", false, true, false}};
  for (const softgpu_chip_t chip : {SOFTGPU_GFX90A, SOFTGPU_GFX942, SOFTGPU_GFX950})
    for (const auto &of : stores) {
      SCOPED_TRACE(std::string(of.store) + " on chip " + std::to_string(chip));
      EXPECT_TRUE(runs(of.store, 0, 0, 0, chip));
      EXPECT_EQ(runs(of.store, 0, 0, 1, chip), GetParam()) << "by another instruction";
      EXPECT_EQ(runs(of.store, 1, 0, 0, chip), !of.has_low || GetParam());
      EXPECT_EQ(runs(of.store, 1 << 16, 0, 0, chip), !of.has_high || GetParam());
      differs = 4;
      EXPECT_EQ(runs(of.store, 0, 1, 0, chip), !of.has_rest || GetParam());
      EXPECT_EQ(differs, 4u) << "the first dwords are equal";
    }
}

TEST_P(LdsLoad, TheSameDwordsLoadedByTheSameInstructionAreNoRace)
{
  EXPECT_TRUE(run("same_load", 0, 128, SOFTGPU_CHECK_RACES).ok);
  EXPECT_EQ(run("same_load", 4, 128, SOFTGPU_CHECK_RACES).ok, GetParam());
  EXPECT_EQ(run("same_load", 4, 64, SOFTGPU_CHECK_RACES).ok, true);
}

// buffer_store_lds_dword: MI200 ISA document, "Memory Buffer Load to LDS", the other way. A lane's dword is at
// m0 + offset + 4 * lane; where it goes, a descriptor that adds the lane says.
TEST_P(LdsLoad, StoresPutEachLanesDwordIntoMemory)
{
  const device::Kernel kernel({
      0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0x24020082,             // v_lshlrev_b32 v1, 2, v0
      0x680400ff, 0x000003e8, // v_add_u32 v2, 0x3e8, v0
      0xd81a0040, 0x00000201, // ds_write_b32 v1, v2 offset:64
      0xbefc00b0,             // s_mov_b32 m0, 48
      0xb0060090,             // s_movk_i32 s6, 0x90: 32 lanes' dwords are within
      0xbe8700ff, 0x00800000, // s_mov_b32 s7, 0x800000
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0x8705ff05, 0x00040000, // s_or_b32 s5, s5, 0x40000: a stride of 4
      0xe0f50010, 0x80010000, // buffer_store_lds_dword s[4:7], 0 offset:16 lds
      0xbf810000,             // s_endpgm
  });
  kernarg.as<uint64_t>()[0] = out.address();
  memset(out.as<void>(), 0xee, 512);
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  dispatch.group_bytes = 512;
  const device::Result result = device::run(dispatch);
  EXPECT_TRUE(result.ok) << result.fault.text;
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out.as<uint32_t>()[i], i >= 4 && i < 36 ? NEW + i - 4 : 0xeeeeeeee) << i;
}

} // namespace
