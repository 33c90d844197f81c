// Global wave sync: barriers of whole grids and semaphores, as MI200's and MI300's ISA documents describe them, and what
// cannot be.
#include <gtest/gtest.h>

#include <string>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

extern "C" {
#include "softgpu/isa/memory/gws.h"
}

namespace {

struct Way {
  unsigned threads;
  bool is_reference;
};

class Gws : public testing::TestWithParam<Way> {
protected:
  void SetUp() override
  {
    softgpu_engine_threads(GetParam().threads);
    softgpu_engine_reference(GetParam().is_reference);
    isa_gws_open(&gws);
  }
  void TearDown() override
  {
    softgpu_engine_threads(0);
    softgpu_engine_reference(false);
    isa_gws_close(&gws);
  }

  // Runs a kernel of kernels.s with the arguments out, n.
  device::Result run(const std::string &name, const device::Memory &out, uint32_t n,
                     uint32_t groups, uint16_t items = 64, uint32_t lds = 0)
  {
    device::Kernel kernel(kernels::words(name));
    device::Memory kernarg(64);
    kernarg.as<uint64_t>()[0] = out.address();
    kernarg.as<uint32_t>()[2] = n;
    kernarg.as<uint32_t>()[3] = groups;
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), groups, items);
    dispatch.chip = chip;
    dispatch.group_bytes = lds;
    dispatch.gws = has_gws ? &gws : nullptr;
    return device::run(dispatch, timeout_ms);
  }

  softgpu_gws_t gws;
  bool has_gws = true;
  uint64_t timeout_ms = 20000;
  softgpu_chip_t chip = SOFTGPU_GFX90A;
};
INSTANTIATE_TEST_SUITE_P(Ways, Gws, testing::Values(Way{1, false}, Way{4, false}, Way{2, true}),
                         [](const auto &way) {
                           return std::string(way.param.is_reference ? "reference" : "fast") + "_" +
                                  std::to_string(way.param.threads);
                         });

// Each takes what its neighbour made in the round before, so that one that is early shows.
TEST_P(Gws, EveryGroupReachesTheBarrierBeforeAnyPasses)
{
  for (uint32_t groups : {1u, 2u, 40u, 1500u}) {
    if (GetParam().is_reference && groups > 100)
      continue;
    device::Memory out(2 * 4 * groups);
    gws.resources[5].counter = groups - 1; // as ds_gws_init leaves it
    const uint32_t rounds = 3;
    const uint64_t before = softgpu_instruction_count();
    const device::Result result = run("grid_rounds", out, rounds, groups, 128);
    ASSERT_TRUE(result.ok) << result.fault.text;
    // Each wave has 9 at first, 3 at last and 21 a round, of which the first wave has 3 more, that wait how often ever.
    EXPECT_EQ(softgpu_instruction_count() - before, (2 * 12 + (2 * 21 + 3) * rounds) * groups);
    for (uint32_t i = 0; i < groups; ++i)
      EXPECT_EQ(out.as<uint32_t>()[rounds % 2 * groups + i], rounds) << i;
    EXPECT_EQ(gws.resources[5].barriers, rounds);
    EXPECT_EQ(gws.resources[5].counter, groups - 1) << "for the next one";
    gws.resources[5] = {};
  }
}

TEST_P(Gws, InitTakesTheFirstActiveLanesValueAndTheResourceFromM0)
{
  device::Memory out(64);
  ASSERT_TRUE(run("gws_init", out, 0, 1).ok);
  EXPECT_EQ(gws.resources[(7 + 60) % 64].counter, 103u) << "lane 3's, at M0[21:16] + offset";
}

// n waves take what one wave gives, one after the other in the order in which they came.
TEST_P(Gws, SemaphoresGiveAsMuchAsTheyGot)
{
  for (const char *name : {"gws_semaphore_v", "gws_semaphore_br"}) {
    const uint32_t groups = 24;
    device::Memory out(4 * (groups + 1));
    const device::Result result = run(name, out, groups - 1, groups);
    ASSERT_TRUE(result.ok) << result.fault.text;
    EXPECT_EQ(out.as<uint32_t>()[0], groups - 1);
    EXPECT_EQ(gws.resources[0].counter, 0u) << name;
    EXPECT_EQ(gws.resources[0].queued, gws.resources[0].released);
  }
}

TEST_P(Gws, ReleaseAllLetsGoWhoeverWaitsAndNobodyElse)
{
  const uint32_t groups = 8;
  device::Memory out(64);
  ASSERT_TRUE(run("gws_release_all", out, groups - 1, groups).ok);
  EXPECT_EQ(out.as<uint32_t>()[0], groups - 1);
  EXPECT_EQ(gws.resources[0].counter, 0u);
}

TEST_P(Gws, ASemaphoreThatNobodyGivesIsATimeOut)
{
  device::Memory out(64);
  timeout_ms = 100;
  EXPECT_EQ(run("gws_take", out, 0, 5).fault.kind, SOFTGPU_FAULT_TIMEOUT);
  timeout_ms = 20000;
  EXPECT_TRUE(run("gws_semaphore_v", out, 1, 2).ok) << "who waited there is gone";
}

TEST_P(Gws, WithoutResourcesIsAFault)
{
  has_gws = false;
  device::Memory out(64);
  const device::Result result = run("grid_rounds", out, 1, 2);
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_GWS);
  EXPECT_NE(std::string(result.fault.text).find("ds_gws_barrier"), std::string::npos)
      << result.fault.text;
  EXPECT_NE(std::string(result.fault.text)
                .find("the queue has no GWS resources, which queues of "
                      "cooperative launches get on gfx90a and gfx942"),
            std::string::npos)
      << result.fault.text;
}

// 104 compute units have 65536 bytes of LDS each.
TEST_P(Gws, MoreGroupsThanCanBeResidentIsAFault)
{
  const uint32_t most = 104 * 2;
  for (uint32_t groups : {most, most + 1}) {
    device::Memory out(8 * groups);
    gws.resources[5].counter = groups - 1;
    const device::Result result = run("grid_rounds", out, 1, groups, 64, 30000);
    if (groups == most) {
      EXPECT_TRUE(result.ok) << result.fault.text;
      continue;
    }
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_GWS) << result.fault.text;
    EXPECT_NE(std::string(result.fault.text)
                  .find("209 work-groups, of which 208 can be resident at a time"),
              std::string::npos)
        << result.fault.text;
  }
  // gfx950's have 160 KiB.
  chip = SOFTGPU_GFX950;
  device::Memory wide(8 * 4);
  gws.resources[5] = {};
  gws.resources[5].counter = 3;
  const device::Result large = run("grid_rounds", wide, 1, 4, 64, 100000);
  EXPECT_TRUE(large.ok) << large.fault.text;
  // Without a barrier they take their turn.
  device::Memory out(4096);
  device::Kernel kernel(kernels::words("count"));
  device::Memory kernarg(16);
  kernarg.as<uint64_t>()[0] = out.address();
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 4000, 64);
  dispatch.group_bytes = 60000;
  dispatch.gws = &gws;
  const device::Result result = device::run(dispatch, 20000);
  EXPECT_TRUE(result.ok) << result.fault.text;
  EXPECT_EQ(out.as<uint32_t>()[0], 4000u * 64);
}

} // namespace
