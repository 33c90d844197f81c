// What a kernel can read of the time and of the place where it runs.
#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <tuple>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

namespace {

uint64_t host_timestamp()
{
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec)) / 10;
}

class Clocks : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }
};
INSTANTIATE_TEST_SUITE_P(Engines, Clocks, testing::Bool(),
                         [](const auto &engine) { return engine.param ? "reference" : "fast"; });

// No interval is measured: each clock is read between two readings of the other.
TEST_P(Clocks, AgreeWithTheRatesTheDeviceReports)
{
  device::Memory out(64), kernarg(16);
  kernarg.as<uint64_t>()[0] = out.address();
  device::Kernel kernel(kernels::words("clocks"));
  for (unsigned i = 0; i < 100; ++i) {
    const uint64_t before = host_timestamp();
    ASSERT_TRUE(device::run(device::dispatch(kernel.object(), kernarg.as<void>())).ok);
    const uint64_t after = host_timestamp(), *read = out.as<uint64_t>();
    EXPECT_LE(before, read[0]) << "timestamps are the signals', which are the host's";
    EXPECT_LE(read[2], after);
    EXPECT_LE(read[0] * SOFTGPU_ENGINE_MHZ, read[1] * SOFTGPU_TIMESTAMP_MHZ);
    EXPECT_LE(read[1] * SOFTGPU_TIMESTAMP_MHZ, (read[2] + 1) * SOFTGPU_ENGINE_MHZ);
  }
}

struct Place {
  uint32_t hw_id, xcc, group, unused;
  unsigned wave() const { return hw_id & 15; }
  unsigned simd() const { return hw_id >> 4 & 3; }
  unsigned unit() const { return hw_id >> 8 & 15; }
  unsigned engine() const { return hw_id >> 13 & 7; }
  auto compute_unit() const { return std::make_tuple(xcc, engine(), unit()); }
  auto slot() const { return std::tuple_cat(compute_unit(), std::make_tuple(simd(), wave())); }
};

// The places of all waves of a dispatch, which live at the same time.
std::vector<Place> places_of(softgpu_chip_t chip, uint32_t groups, unsigned waves,
                             softgpu_limits_t limits = {})
{
  device::Memory out(groups * waves * sizeof(Place)), counter(4), kernarg(32);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint64_t>()[1] = counter.address();
  kernarg.as<uint32_t>()[4] = groups * waves;
  device::Kernel kernel(kernels::words("where_am_i"));
  auto dispatch =
      device::dispatch(kernel.object(), kernarg.as<void>(), groups, uint16_t(64 * waves), chip);
  softgpu_fault_t fault = {};
  limits.timeout_ns = 20000000000;
  EXPECT_TRUE(softgpu_execute(&dispatch, &limits, &fault)) << fault.text;
  const Place *places = out.as<Place>();
  return {places, places + groups * waves};
}

const softgpu_chip_t chips[] = {SOFTGPU_GFX90A, SOFTGPU_GFX942};

TEST(HardwareId, IsAnotherForEveryWaveThatLives)
{
  for (softgpu_chip_t chip : chips)
    for (unsigned waves : {1, 3, 16}) {
      std::set<decltype(Place().slot())> slots;
      const uint32_t groups = 160;
      const std::vector<Place> places = places_of(chip, groups, waves);
      for (const Place &place : places) {
        EXPECT_LT(place.wave(), 8u) << "slots of a SIMD";
        slots.insert(place.slot());
      }
      EXPECT_EQ(slots.size(), groups * waves) << "chip " << chip << ", " << waves << " waves";
    }
}

TEST(HardwareId, OfAWorkGroupIsOneUnitAndItsFourSimds)
{
  for (softgpu_chip_t chip : chips) {
    std::vector<std::set<decltype(Place().compute_unit())>> units(64);
    std::vector<std::multiset<unsigned>> simds(64);
    for (const Place &place : places_of(chip, 64, 8)) {
      units[place.group].insert(place.compute_unit());
      simds[place.group].insert(place.simd());
    }
    for (unsigned group = 0; group < 64; ++group) {
      EXPECT_EQ(units[group].size(), 1u) << "its waves share LDS";
      for (unsigned simd = 0; simd < 4; ++simd)
        EXPECT_EQ(simds[group].count(simd), 2u);
    }
  }
}

TEST(HardwareId, HasWhatTheChipHas)
{
  for (softgpu_chip_t chip : chips) {
    std::set<unsigned> xccs, engines, units;
    std::set<decltype(Place().compute_unit())> all;
    const unsigned count = chip == SOFTGPU_GFX942 ? 304 : 104;
    for (const Place &place : places_of(chip, count, 1)) {
      xccs.insert(place.xcc);
      engines.insert(place.engine());
      units.insert(place.unit());
      all.insert(place.compute_unit());
    }
    EXPECT_EQ(xccs.size(), chip == SOFTGPU_GFX942 ? 8u : 1u) << "there is no XCC_ID on gfx90a";
    EXPECT_EQ(engines.size(), chip == SOFTGPU_GFX942 ? 4u : 8u);
    EXPECT_EQ(units.size(), chip == SOFTGPU_GFX942 ? 10u : 13u);
    EXPECT_EQ(all.size(), count) << "groups are spread over all units";
  }
}

TEST(HardwareId, KeepsToTheUnitsOfTheQueue)
{
  softgpu_limits_t limits = {};
  limits.units = 5;
  limits.all_units = 104;
  std::set<decltype(Place().compute_unit())> units;
  for (const Place &place : places_of(SOFTGPU_GFX90A, 40, 4, limits))
    units.insert(place.compute_unit());
  EXPECT_EQ(units.size(), 5u);
}

// 104 units with room for two groups of 16 waves each; more groups than that take their turn.
TEST(HardwareId, ComesBackWhenWavesEnd)
{
  device::Memory out(4096 * sizeof(Place) * 16), counter(4), kernarg(32);
  kernarg.as<uint64_t>()[0] = out.address();
  kernarg.as<uint64_t>()[1] = counter.address();
  device::Kernel kernel(kernels::words("where_am_i"));
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 4096, 1024);
  EXPECT_TRUE(device::run(dispatch, 60000).ok);
  EXPECT_EQ(places_of(SOFTGPU_GFX90A, 208, 16).size(), 208u * 16) << "all of the chip is free";
}

} // namespace
