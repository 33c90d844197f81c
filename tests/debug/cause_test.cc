// The cause that must come first does, and what else is promised of causes.
#include "tests/debug/cause_cases.h"

#include <gtest/gtest.h>

extern "C" {
#include "debug/waves.h"
}

namespace debug_test {
namespace {

class Cause : public testing::TestWithParam<Case> {};

TEST_P(Cause, ComesFirst)
{
  const Case &expected = GetParam();
  World world;
  expected.set(world);
  world.Find();
  ASSERT_GT(world.fault.cause_count, 0u);
  const rawhal_cause_t &first = world.fault.causes[0];
  const std::string all = All(world.fault);
  EXPECT_STREQ(rawhal_cause_kind_name(expected.kind), rawhal_cause_kind_name(first.kind)) << all;
  EXPECT_EQ(expected.argument, first.argument) << all;
  EXPECT_EQ(expected.levels, first.levels) << all;
  EXPECT_NE(std::string(first.text).find(expected.text), std::string::npos) << all;
  EXPECT_NE(all.find(expected.second), std::string::npos) << all;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < world.fault.cause_count; ++i) {
    sum += world.fault.causes[i].confidence;
    if (i) {
      EXPECT_LE(world.fault.causes[i].confidence, world.fault.causes[i - 1].confidence) << all;
    }
  }
  EXPECT_LE(sum, 100u) << all;
}

INSTANTIATE_TEST_SUITE_P(, Cause, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

TEST(CauseFind, SaysWhatItFoundInMembersToo)
{
  World world;
  world.dispatches[0].queue_id = 9;
  world.dispatches[0].index = 3;
  snprintf(world.allocations[2].label, 32, "weights");
  world.Free(2, 120);
  world.fault.address = world.At(2, 16);
  world.Find();
  const rawhal_cause_t &first = world.fault.causes[0];
  EXPECT_STREQ("b", first.argument_name);
  EXPECT_STREQ("weights", first.label);
  EXPECT_EQ(16, first.offset);
  EXPECT_EQ(world.At(2), first.allocation);
  EXPECT_EQ(4096u, first.allocation_bytes);
  EXPECT_EQ(120 * kMicrosecond, first.freed_ns);
  EXPECT_EQ(9u, first.queue_id);
  EXPECT_EQ(41u, first.ticket);
  EXPECT_EQ(40u, first.packet);
  EXPECT_EQ(3u, first.dispatch);
}

TEST(CauseFind, MemoryIsReadOnlyWhenNoArgumentLeadsThere)
{
  World world;
  world.fault.address = world.At(2, 4096);
  world.Find();
  EXPECT_EQ(0u, world.bytes_read);
}

TEST(CauseFind, MemoryIsReadUpToABound)
{
  World world;
  world.kernels.emplace_back();
  std::vector<uint64_t> words;
  for (uint32_t i = 0; i < 40; ++i) {
    world.kernels.back().Pointer("p" + std::to_string(i), 8 * i);
    world.Buffer(1 << 20);
    words.push_back(world.allocations.back().base + 4);
  }
  world.Launch(0, words, 1);
  world.fault.address = 0x123400000010;
  world.Find();
  EXPECT_LE(world.bytes_read, 1u << 20);
  EXPECT_GT(world.bytes_read, 15u << 16);
  EXPECT_EQ(RAWHAL_CAUSE_INDIRECT, world.fault.causes[0].kind) << All(world.fault);
  EXPECT_EQ(0u, world.fault.causes[0].argument) << All(world.fault);
}

TEST(CauseFind, NamesAreShownAndDoNoHarm)
{
  const std::string hostile =
      "x\x1b[2J\xe2\x80\xae\n" + std::string(300, '\xff') + "\xf0\x9f\x98\x80";
  World world;
  world.NewKernel()->Pointer(hostile, 0);
  world.Launch(0, {world.At(0)}, 1).kernel = {hostile.data(), hostile.size()};
  memset(world.allocations[0].label, '\x9b', sizeof(world.allocations[0].label));
  world.OnlyAddress();
  world.fault.address = world.At(0, 4096);
  world.Find();
  ASSERT_GT(world.fault.cause_count, 0u);
  const rawhal_cause_t &first = world.fault.causes[0];
  EXPECT_LT(strnlen(first.text, sizeof(first.text)), sizeof(first.text));
  EXPECT_LT(strnlen(first.argument_name, sizeof(first.argument_name)), sizeof(first.argument_name));
  EXPECT_NE(std::string(first.text).find("x\\x1b[2J\\u{202e}\\x0a\\xff"), std::string::npos)
      << first.text;
  for (const char *c = first.text; *c; ++c)
    EXPECT_TRUE(*c >= 0x20 && *c < 0x7f) << first.text;
}

TEST(CauseFind, TextThatIsTooLongEndsBetweenCharacters)
{
  std::string wide;
  for (int i = 0; i < 40; ++i)
    wide += "\xf0\x9f\x98\x80";
  World world;
  for (size_t padding = 0; padding < 4; ++padding) {
    const std::string name = std::string(padding, 'x') + wide;
    world.kernels.emplace_back();
    world.kernels.back().Pointer(name, 0).Pointer(name + "2", 8);
    world.Launch(0, {world.At(0), world.At(1)}, 1 + padding).kernel = {name.data(), name.size()};
    world.allocations[0].size = 4;
    world.OnlyAddress();
    world.fault.address = world.At(0, 4);
    world.Find();
    for (uint32_t i = 0; i < world.fault.cause_count; ++i) {
      const std::string text = world.fault.causes[i].text;
      size_t begun = 0, in = 0;
      for (unsigned char c : text) {
        begun += c == 0xf0;
        in += c >= 0x80;
      }
      EXPECT_EQ(4 * begun, in) << text;
    }
  }
}

TEST(CauseFind, OfAllDispatchesInFlightEachIsAskedAndTheBestAreKept)
{
  World world;
  for (size_t i = 0; i < 20; ++i)
    world.Launch(i, {world.At(0), world.At(1), world.At(2), 1024});
  world.Free(1, 100);
  world.OnlyAddress();
  world.fault.address = world.At(1, 4);
  world.Find();
  ASSERT_EQ(RAWHAL_FAULT_CAUSES, static_cast<int>(world.fault.cause_count));
  for (uint32_t i = 0; i < world.fault.cause_count; ++i)
    EXPECT_EQ(41u + i, world.fault.causes[i].ticket) << All(world.fault);
}

// Hardware tells the page that was accessed, and not by which dispatch, and notices nothing where
// that has memory. The true cause is among the first three then, of nearly all.
TEST(CauseFind, AsHardwareTellsTheTrueCauseIsAmongTheFirst)
{
  size_t asked = 0, found = 0;
  std::string missed;
  for (const Case &expected : cases()) {
    World world;
    expected.set(world);
    if (world.fault.kind != RAWHAL_FAULT_MEMORY || !(world.fault.known & RAWHAL_FAULT_KNOWS_PC))
      continue;
    const bool is_alone = world.dispatches.size() == 1;
    if (is_alone) { // the one that fails comes last
      const size_t first = world.allocations.size();
      for (int i = 0; i < 3; ++i)
        world.Buffer(8192);
      for (size_t i = 1; i < 3; ++i)
        world.Launch(i, {world.At(first), world.At(first + 1), world.At(first + 2), 1024});
      std::rotate(world.dispatches.begin(), world.dispatches.begin() + 1, world.dispatches.end());
    }
    world.OnlyAddress();
    world.fault.address &= ~uint64_t{4095};
    if (world.HasMemory(world.fault.address))
      continue;
    world.Find();
    ++asked;
    bool is_found = false;
    for (uint32_t i = 0; i < world.fault.cause_count && i < 3; ++i)
      is_found |= world.fault.causes[i].kind == expected.kind &&
                  world.fault.causes[i].argument == expected.argument &&
                  (!is_alone || expected.argument == kNone || world.fault.causes[i].ticket == 41);
    found += is_found;
    if (!is_found)
      missed += std::string(expected.name) + "\n" + All(world.fault);
  }
  EXPECT_GT(asked, 40u);
  EXPECT_GE(found * 100, asked * 90) << found << " of " << asked << "\n" << missed;
  RecordProperty("found", std::to_string(found) + " of " + std::to_string(asked));
}

TEST(CauseFind, AKindOfTheFutureHasNoCause)
{
  World world;
  world.fault.kind = static_cast<rawhal_fault_kind_t>(1000);
  world.Find();
  EXPECT_EQ(0u, world.fault.cause_count);
}

} // namespace
// ---- Waves at barriers ----

std::vector<softgpu_wave_t> told;

size_t tell_waves(const void *, softgpu_wave_fn *function, void *context)
{
  for (const softgpu_wave_t &wave : told)
    if (!function(context, &wave, sizeof(wave)))
      break;
  return told.size();
}

void Add(uint32_t group, uint32_t index, softgpu_wave_state_t state, uint64_t pc,
         uint64_t kernel = 0x1000)
{
  softgpu_wave_t wave = {};
  wave.kernel_object = kernel;
  wave.workgroup[0] = group;
  wave.index = index;
  wave.state = state;
  wave.pc = pc;
  told.push_back(wave);
}

TEST(CauseStand, IsOfOneWorkGroupAndTheFaultsKernel)
{
  debug_softgpu_t softgpu = {};
  rawhal_fault_t fault = {};
  debug_stand_t stand;
  EXPECT_FALSE(debug_waves_stand(&softgpu, nullptr, &fault, &stand));
  softgpu.waves = tell_waves;
  fault.kernel_object = 0x1000;
  told.clear();
  Add(0, 0, SOFTGPU_WAVE_BARRIER, 0x40); // all of it, which goes on at once
  Add(0, 1, SOFTGPU_WAVE_BARRIER, 0x40);
  Add(1, 0, SOFTGPU_WAVE_RUNNING, 0x10); // none of it
  Add(2, 0, SOFTGPU_WAVE_BARRIER, 0x40, 0x2000);
  Add(2, 1, SOFTGPU_WAVE_RUNNING, 0x10, 0x2000);
  EXPECT_FALSE(debug_waves_stand(&softgpu, nullptr, &fault, &stand));
  Add(3, 0, SOFTGPU_WAVE_ENDED, 0x80);
  Add(3, 1, SOFTGPU_WAVE_BARRIER, 0x44);
  Add(3, 2, SOFTGPU_WAVE_RUNNING, 0x14);
  Add(3, 3, SOFTGPU_WAVE_WAITING, 0x18);
  Add(4, 0, SOFTGPU_WAVE_RUNNING, 0x10);
  Add(5, 0, SOFTGPU_WAVE_BARRIER, 0x40);
  Add(5, 1, SOFTGPU_WAVE_RUNNING, 0x10);
  ASSERT_TRUE(debug_waves_stand(&softgpu, nullptr, &fault, &stand));
  EXPECT_EQ(stand.group[0], 3u);
  EXPECT_EQ(stand.waiting, 0b0010u);
  EXPECT_EQ(stand.elsewhere, 0b1100u);
  EXPECT_EQ(stand.ended, 0b0001u);
  EXPECT_EQ(stand.barrier, 0x44u);
  EXPECT_EQ(stand.pc, 0x14u);
  EXPECT_EQ(stand.groups, 2u);
}

} // namespace debug_test
