// What stops waves under a debugger, and where they stand then.
#include "session.h"

namespace {

class Stops : public ::testing::TestWithParam<const char *> {};

enum : uint32_t { kMemViol = 1u << 8, kIllegal = 1u << 11 };
constexpr uint64_t kWaveAddress = KFD_EXCEPTION(KFD_WAVE_ADDRESS);
constexpr uint64_t kWaveIllegal = KFD_EXCEPTION(KFD_WAVE_ILLEGAL);

// EXEC has the lane that the assertion failed in, and no other.
TEST_P(Stops, AnAssertionHasItsLane)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  const Wave wave = s.stop("5 0 1 64", kWaveTrap);
  EXPECT_EQ(s.gdb.trap(wave), 2u);
  EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_LANES_TRAP) + 4);
  EXPECT_EQ(s.gdb.read<uint64_t>(wave.hwreg(kExec)), 1ull << LANES_LANE);
  EXPECT_EQ(s.gdb.read<uint64_t>(wave.sgpr(8)), ~0ull); // as it was before
}

TEST_P(Stops, NoInstruction)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  const Wave wave = s.stop("6 0 1 64", kWaveIllegal);
  EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_ILLEGAL) + 4);
  EXPECT_EQ(s.gdb.read(wave.hwreg(kTrapsts)), kIllegal);
  EXPECT_EQ(s.gdb.read(wave.sgpr(6)), 9u);
  EXPECT_EQ(s.gdb.ask(KFD_SEND_RUNTIME_EVENT,
                      [](auto &d) {
                        d.send.exceptions = kWaveIllegal;
                        d.send.queue_id = 1;
                      }),
            0);
  s.gdb.resume({1});
  EXPECT_NE(s.target.say("wait 0").find("illegal"), std::string::npos);
}

TEST_P(Stops, AnAddressThatIsNone)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  const Wave wave = s.stop("7 0 1 64", kWaveAddress);
  EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_MISALIGNED_ADD));
  EXPECT_EQ(s.gdb.read(wave.hwreg(kTrapsts)), kMemViol);
  EXPECT_EQ(s.gdb.read(wave.vgpr(1, 63)), 6u);
}

// Each kind of access by its own watchpoint, and only the address that is watched.
TEST_P(Stops, WatchesLoadsAndAtomicsAndStores)
{
  const struct {
    uint32_t mode, offset, pc;
  } rows[] = {
      {KFD_WATCH_READ, 20, CODE_TOUCH_LOADED},
      {KFD_WATCH_ATOMIC, 20, CODE_TOUCH_ADDED},
      {KFD_WATCH_NONREAD, 20, CODE_TOUCH_ADDED},
      {KFD_WATCH_ALL, 20, CODE_TOUCH_LOADED},
      {KFD_WATCH_NONREAD, 2048 + 252, CODE_TOUCH_STORED},
  };
  for (const auto &row : rows) {
    Session s(GetParam());
    ASSERT_EQ(s.gdb.attach(), 0);
    const uint32_t gpu = s.gdb.devices()[0].gpu_id;
    EXPECT_EQ(s.gdb.ask(KFD_SET_ADDRESS_WATCH,
                        [&](auto &d) {
                          d.watch.address = s.target.places.out[0] + row.offset;
                          d.watch.mask = ~3u;
                          d.watch.mode = row.mode;
                          d.watch.gpu_id = gpu;
                        }),
              0);
    EXPECT_EQ(s.gdb.ask(KFD_SET_WAVE_LAUNCH_OVERRIDE,
                        [](auto &d) {
                          d.launch_override.enable = KFD_OVERRIDE_WATCH;
                          d.launch_override.mask = KFD_OVERRIDE_WATCH;
                        }),
              0);
    const Wave wave = s.stop("9 0 1 64", kWaveTrap);
    EXPECT_EQ(s.gdb.pc(wave), s.code(row.pc)) << row.mode << " " << row.offset;
    EXPECT_EQ(s.gdb.read(wave.hwreg(kTrapsts)), 1u << 7);
    EXPECT_EQ(s.gdb.ask(KFD_DISABLE), 0); // which clears it
    EXPECT_EQ(s.target.say("wait 0"), "done");
    EXPECT_EQ(s.gdb.read(s.target.places.out[0] + 20), 1u);
    s.target.end();
  }
}

// Its code was decoded when it ran without.
TEST_P(Stops, ABreakpointInAKernelThatHasRun)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.target.say("run 0 0 1 64"), "put");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.gdb.write(s.code(CODE_WORK_STORE), (uint32_t)kBreakpoint);
  const Wave wave = s.stop("0 0 1 64", kWaveTrap);
  EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_WORK_STORE) + 4);
}

// Accumulation registers are read and written as others are, and what is written to LDS is loaded.
TEST_P(Stops, TakesAccumulatorsAndLds)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  std::vector<Wave> waves = s.begin_halted("10 0 1 64", 1);
  ASSERT_EQ(waves.size(), 1u);
  ASSERT_EQ(waves[0].rows, 16u);
  const uint64_t read_back = s.code(CODE_MIX_LOOP + 0x68), loaded = s.code(CODE_MIX_LOOP + 0x78);
  s.gdb.write(waves[0].hwreg(kStatus), s.gdb.read(waves[0].hwreg(kStatus)) & ~(1u << 13));
  for (int i = 0; i < 100 && s.gdb.pc(waves[0]) != read_back; ++i) {
    s.gdb.go_on(waves[0], true);
    waves = s.until_stopped(kWaveTrap);
    ASSERT_EQ(waves.size(), 1u);
  }
  ASSERT_EQ(s.gdb.pc(waves[0]), read_back); // v_accvgpr_read_b32 v8, a1
  const uint64_t a1 = waves[0].vgpr(waves[0].vgprs + 1, 0);
  for (unsigned lane = 0; lane < 64; ++lane) {
    s.gdb.write(a1 + 4 * lane, 7000 + lane);
    s.gdb.write(waves[0].lds + 4 * lane, 9000 + lane);
  }
  for (int i = 0; i < 100 && s.gdb.pc(waves[0]) != loaded; ++i) {
    s.gdb.go_on(waves[0], true);
    waves = s.until_stopped(kWaveTrap);
    ASSERT_EQ(waves.size(), 1u);
  }
  for (unsigned lane : {0u, 33u, 63u}) {
    EXPECT_EQ(s.gdb.read(waves[0].vgpr(8, lane)), 7000 + lane);
    EXPECT_EQ(s.gdb.read(waves[0].vgpr(9, lane)), 9000 + lane);
  }
}

INSTANTIATE_TEST_SUITE_P(, Stops, ::testing::Values("gfx90a", "gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
