// The waves of a dispatch that failed, and of one that runs: where each is, and what is in its registers.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/harness/allocation_failure.h"
#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/kernels.h"

extern "C" {
#include "softgpu/isa/run/group.h"
#include "softgpu/isa/run/notes.h"
}

namespace {

// A copy of what is handed out.
struct Wave : softgpu_wave_t {
  std::vector<uint32_t> s, lanes[2], lds_dwords; // lanes: of v1 and of a3
};

struct Notes {
  softgpu_notes_t *notes = isa_notes_create();
  ~Notes() { isa_notes_release(notes); }

  static bool keep(void *context, const softgpu_wave_t *wave, size_t size)
  {
    EXPECT_EQ(size, sizeof(softgpu_wave_t));
    auto *waves = static_cast<std::vector<Wave> *>(context);
    Wave &kept = waves->emplace_back();
    static_cast<softgpu_wave_t &>(kept) = *wave;
    kept.s.assign(wave->sgprs, wave->sgprs + 108);
    kept.lanes[0].assign(wave->vgprs[1], wave->vgprs[2]);
    if (wave->agprs)
      kept.lanes[1].assign(wave->agprs[3], wave->agprs[4]);
    kept.lds_dwords.resize(wave->lds_bytes / 4);
    if (wave->lds_bytes)
      memcpy(kept.lds_dwords.data(), wave->lds, wave->lds_bytes / 4 * 4);
    return true;
  }
  std::vector<Wave> waves() const
  {
    std::vector<Wave> all;
    const size_t count = isa_notes_walk(notes, keep, &all);
    EXPECT_EQ(count, all.size());
    return all;
  }

  // Takes them again and again until they are as wanted, while the dispatch begins and gets on.
  template <typename Good> void take_until(Good is_good) const
  {
    for (int n = 0; n < 10000000; ++n) {
      if (!isa_notes_take(notes, 10000))
        std::this_thread::yield();
      else if (is_good())
        return;
    }
    ADD_FAILURE() << "never";
  }

  device::Result run(const softgpu_dispatch_t &dispatch, uint64_t timeout_ms = 120000) const
  {
    device::Result result = {};
    softgpu_limits_t limits = {};
    limits.timeout_ns = timeout_ms * 1000000;
    limits.notes = notes;
    result.ok = softgpu_execute(&dispatch, &limits, &result.fault);
    return result;
  }
};

// A work-group's waves follow each other, and its position is the first one's.
std::string states(const std::vector<Wave> &waves)
{
  std::string all;
  for (const Wave &wave : waves) {
    all += wave.index == 0 && !all.empty() ? " " : "";
    all += "RBEFW"[wave.state];
  }
  return all;
}

class WavesTest : public testing::Test {
protected:
  void TearDown() override
  {
    softgpu_engine_reference(false);
    softgpu_engine_threads(0);
  }
  softgpu_dispatch_t dispatch_of(const device::Kernel &kernel, uint64_t argument, uint32_t groups,
                                 softgpu_chip_t chip = SOFTGPU_GFX90A)
  {
    *kernarg.as<uint64_t>() = argument;
    auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), groups, 256, chip);
    dispatch.group_bytes = 1024;
    return dispatch;
  }
  device::Memory kernarg{64};
};

class WavesOfAFault : public WavesTest,
                      public testing::WithParamInterface<std::tuple<softgpu_chip_t, bool>> {};

std::string chip_and_engine(const testing::TestParamInfo<WavesOfAFault::ParamType> &of)
{
  const char *chips[] = {"gfx90a", "gfx942", "gfx950"};
  return std::string(chips[std::get<0>(of.param)]) + (std::get<1>(of.param) ? "_reference" : "");
}

INSTANTIATE_TEST_SUITE_P(Chips, WavesOfAFault,
                         testing::Combine(testing::Values(SOFTGPU_GFX90A, SOFTGPU_GFX942,
                                                          SOFTGPU_GFX950),
                                          testing::Bool()),
                         chip_and_engine);

// Of three work-groups that stand on one thread, one fails.
TEST_P(WavesOfAFault, HaveTheirStatesRegistersAndMemory)
{
  softgpu_engine_reference(std::get<1>(GetParam()));
  softgpu_engine_threads(1);
  device::Kernel kernel(kernels::words("waves_stand"));
  device::Memory out(192 * 4 + 40 * 4), scratch(1 << 20);
  auto dispatch = dispatch_of(kernel, out.address(), 3, std::get<0>(GetParam()));
  dispatch.dispatch_id = 77;
  dispatch.private_bytes = 20;
  dispatch.scratch_base = scratch.address();
  dispatch.scratch_bytes = scratch.size();
  Notes notes;
  const softgpu_fault_t fault = notes.run(dispatch).fault;
  ASSERT_EQ(fault.kind, SOFTGPU_FAULT_MEMORY) << fault.text;
  EXPECT_EQ(fault.wave, 3u);
  EXPECT_EQ(fault.lane, 40u);
  EXPECT_TRUE(fault.lanes_known);
  EXPECT_EQ(fault.lanes, ~0ull << 40);
  EXPECT_EQ(fault.access, SOFTGPU_ACCESS_WRITE);

  const std::vector<Wave> waves = notes.waves();
  ASSERT_EQ(states(waves), "EBWF EBWR EBWR");
  std::map<uint64_t, int> slices;
  for (const Wave &wave : waves) {
    const unsigned i = wave.index;
    EXPECT_EQ(wave.packet_index, 77u);
    EXPECT_EQ(wave.kernel_object, kernel.object());
    EXPECT_EQ(wave.waves, 4u);
    EXPECT_EQ(wave.exec, ~0ull);
    EXPECT_EQ(wave.s[8], i);
    EXPECT_EQ(wave.s[4] | uint64_t(wave.s[5]) << 32, out.address());
    EXPECT_EQ(wave.vgpr_count, 16u);
    EXPECT_EQ(wave.agpr_count, 16u);
    for (unsigned lane = 0; lane < 64; ++lane)
      for (const auto &row : wave.lanes)
        ASSERT_EQ(row[lane], 256 * i + 64 * i + lane);
    ASSERT_GE(wave.lds_bytes, 1024u);
    for (unsigned item = 0; item < 256; ++item)
      ASSERT_EQ(wave.lds_dwords[item], 256 * (item / 64) + item);
    EXPECT_EQ(wave.scratch_bytes, 2048u);
    EXPECT_LT(wave.scratch - scratch.address(), scratch.size());
    EXPECT_EQ((wave.scratch - scratch.address()) % 2048, 0u);
    ++slices[wave.scratch];
  }
  EXPECT_EQ(slices.size(), 12u);
  EXPECT_EQ(waves[3].pc, fault.pc);
  EXPECT_EQ(memcmp(waves[0].workgroup, fault.workgroup, sizeof fault.workgroup), 0);
  EXPECT_EQ(waves[0].pc, kernel.end());
  EXPECT_EQ(waves[1].pc, kernel.end() - 4);
  EXPECT_EQ(waves[2].pc, kernel.end() - 12) << "behind the s_sleep";
}

TEST_F(WavesTest, OfAllThreadsOfAFault)
{
  softgpu_engine_threads(4);
  device::Kernel kernel(kernels::words("waves_stand"));
  device::Memory out(64);
  Notes notes;
  ASSERT_EQ(notes.run(dispatch_of(kernel, out.address(), 40)).fault.kind, SOFTGPU_FAULT_MEMORY);
  const std::vector<Wave> waves = notes.waves();
  ASSERT_GE(waves.size(), 4u);
  EXPECT_EQ(waves.size() % 4, 0u);
  EXPECT_EQ(waves[3].state, SOFTGPU_WAVE_FAULTED);
  std::map<uint32_t, int> groups;
  for (const Wave &wave : waves)
    ++groups[wave.workgroup[0]];
  for (const auto &[group, count] : groups)
    EXPECT_EQ(count, 4) << group;
}

// Of what ran before there is nothing left, and of what is refused there is nothing.
TEST_F(WavesTest, OfTheLastFault)
{
  device::Kernel abort(kernels::words("abort")), end({0xbf810000});
  Notes notes;
  EXPECT_TRUE(notes.run(dispatch_of(end, 0, 9)).ok);
  EXPECT_EQ(notes.waves().size(), 0u);
  EXPECT_EQ(notes.run(dispatch_of(abort, 0, 1)).fault.kind, SOFTGPU_FAULT_TRAP);
  EXPECT_EQ(notes.waves().size(), 4u);
  EXPECT_EQ(notes.waves()[0].kernel_object, abort.object());
  size_t seen = 0;
  auto stop = [](void *context, const softgpu_wave_t *, size_t) {
    return ++*static_cast<size_t *>(context) < 2;
  };
  EXPECT_EQ(isa_notes_walk(notes.notes, stop, &seen), 4u);
  EXPECT_EQ(seen, 2u);
}

TEST_F(WavesTest, OfATimeLimitShowWhoWaits)
{
  for (bool reference : {false, true}) {
    softgpu_engine_reference(reference);
    device::Kernel kernel(kernels::words("barrier_skipped"));
    device::Memory flag(64);
    Notes notes;
    const softgpu_fault_t fault = notes.run(dispatch_of(kernel, flag.address(), 1), 20).fault;
    ASSERT_EQ(fault.kind, SOFTGPU_FAULT_TIMEOUT) << fault.text;
    EXPECT_EQ(fault.wave, 2u) << "which does not wait";
    const std::vector<Wave> waves = notes.waves();
    ASSERT_EQ(states(waves), "BBRB");
    EXPECT_LT(waves[2].pc, waves[0].pc);
  }
}

TEST_F(WavesTest, AreTakenWhileTheyRun)
{
  for (bool reference : {false, true})
    for (unsigned threads : {1u, 2u}) {
      softgpu_engine_reference(reference);
      softgpu_engine_threads(threads);
      device::Kernel kernel(kernels::words("barrier_skipped"));
      device::Memory words(64);
      auto *word = words.as<uint32_t>();
      Notes notes;
      EXPECT_FALSE(isa_notes_take(notes.notes, 1000)) << "nothing runs";
      const auto dispatch = dispatch_of(kernel, words.address(), 5);
      std::thread runner([&] { EXPECT_TRUE(notes.run(dispatch).ok); });
      std::string all = "BBRB";
      for (int group = 1; group < 5; ++group)
        all += " BBRB";
      notes.take_until([&] { return states(notes.waves()) == all; });
      __atomic_store_n(&word[0], 1, __ATOMIC_RELEASE);
      runner.join();
      EXPECT_EQ(word[1], 5u * 256);
      EXPECT_EQ(notes.waves().size(), 20u) << "stay";
      EXPECT_FALSE(isa_notes_take(notes.notes, 1000)) << "it has ended";
      EXPECT_EQ(notes.waves().size(), 20u);
    }
}

// A kernel that counts its turns counts the same.
TEST_F(WavesTest, TakenChangeNoTurn)
{
  device::Kernel kernel(kernels::words("pace"));
  auto rounds = [&](bool is_watched) {
    device::Memory out(64);
    Notes notes;
    auto dispatch = dispatch_of(kernel, out.address(), 1);
    dispatch.workgroup[0] = 128;
    dispatch.grid[0] = 128;
    std::atomic<bool> is_over{!is_watched};
    std::thread watcher([&] {
      while (!is_over)
        isa_notes_take(notes.notes, 1);
    });
    for (int n = 0; n < 20; ++n) {
      memset(out.as<void>(), 0, 64);
      EXPECT_TRUE(notes.run(dispatch).ok);
    }
    is_over = true;
    watcher.join();
    return out.as<uint32_t>()[1];
  };
  EXPECT_EQ(rounds(true), rounds(false));
}

// A request during which the dispatch fails, and one that is too short.
TEST_F(WavesTest, RequestsThatCannotBeMet)
{
  device::Kernel stands(kernels::words("waves_stand"));
  device::Memory out(64);
  Notes notes;
  std::atomic<bool> is_over{false};
  std::thread watcher([&] {
    while (!is_over)
      isa_notes_take(notes.notes, 0);
  });
  std::thread other([&] {
    while (!is_over)
      isa_notes_take(notes.notes, 1);
  });
  for (int n = 0; n < 20; ++n)
    EXPECT_EQ(notes.run(dispatch_of(stands, out.address(), 4)).fault.kind, SOFTGPU_FAULT_MEMORY);
  is_over = true;
  watcher.join();
  other.join();
  const std::vector<Wave> waves = notes.waves();
  ASSERT_GE(waves.size(), 4u);
  EXPECT_EQ(waves[3].state, SOFTGPU_WAVE_FAULTED);
}

TEST_F(WavesTest, FewerOfThemWithoutMemory)
{
  softgpu_engine_threads(1);
  device::Kernel kernel(kernels::words("waves_stand"));
  device::Memory out(64);
  const auto dispatch = dispatch_of(kernel, out.address(), 3);
  Notes first;
  ASSERT_EQ(first.run(dispatch).fault.kind, SOFTGPU_FAULT_MEMORY); // and its code is decoded
  ASSERT_EQ(first.waves().size(), 12u);
  size_t seen = 0, before = 0;
  for (long n = 0; n < 16 && seen < 12; ++n, before = seen) {
    Notes notes;
    allocations_left = n;
    const device::Result result = notes.run(dispatch);
    allocations_left = -1;
    EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_MEMORY) << n;
    seen = notes.waves().size();
    EXPECT_GE(seen, before);
  }
  EXPECT_EQ(seen, 12u);
}

// Registers of 512 KiB a work-group, and so many of these that only a part is noted.
TEST_F(WavesTest, AreNoMoreThanThereIsRoomFor)
{
  softgpu_engine_threads(1);
  device::Descriptor d;
  d.vgprs = 512;
  d.accum_offset = 256;
  device::Kernel kernel(kernels::words("barrier_skipped"), d);
  device::Memory words(64);
  Notes notes;
  const auto dispatch = dispatch_of(kernel, words.address(), 66);
  std::thread runner([&] { EXPECT_TRUE(notes.run(dispatch).ok); });
  const size_t most = 63 * 4; // 32 MiB, and 64 would need a little more
  size_t count = 0;
  notes.take_until([&] {
    count = isa_notes_walk(notes.notes, nullptr, nullptr);
    return count >= most;
  });
  for (int n = 0; n < 2; ++n) {
    EXPECT_TRUE(isa_notes_take(notes.notes, 10000));
    count = std::max(count, isa_notes_walk(notes.notes, nullptr, nullptr));
  }
  EXPECT_EQ(count, most);
  __atomic_store_n(words.as<uint32_t>(), 1, __ATOMIC_RELEASE);
  runner.join();
  EXPECT_EQ(words.as<uint32_t>()[1], 66u * 256);
}

} // namespace
