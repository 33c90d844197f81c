// softgpu under a debugger: the driver's operations one by one, and what waves do.
#include <cerrno>
#include <csignal>
#include <memory>

#include <sys/socket.h>
#include <sys/wait.h>

#include "session.h"
#include "tests/child.h"

namespace {

class Chip : public ::testing::TestWithParam<const char *> {};

// The order that ROCdbgapi 0.77 was seen to ask in, and what it insists on.
TEST_P(Chip, AnswersAsTheDriverDoes)
{
  Session s(GetParam());
  Debugger &gdb = s.gdb;
  kfd_runtime_t info{};
  ASSERT_EQ(gdb.enable(&info), 0);
  EXPECT_EQ(info.r_debug, s.target.places.r_debug);
  EXPECT_EQ(info.state, (uint32_t)KFD_RUNTIME_ENABLED);
  EXPECT_EQ(info.ttmp_setup, 1u);
  EXPECT_EQ(gdb.read(info.r_debug), 10u); // r_version
  const std::vector<kfd_device_t> devices = gdb.devices();
  ASSERT_EQ(devices.size(), 1u);
  const kfd_device_t &device = devices[0];
  const std::map<std::string, uint32_t> versions{
      {"gfx90a", 90010}, {"gfx942", 90402}, {"gfx950", 90500}};
  EXPECT_EQ(device.gfx_target_version, versions.at(GetParam()));
  EXPECT_EQ(device.capability & (1u << 15 | 1u << 29), 1u << 15 | 1u << 29);
  EXPECT_EQ(1u << (device.capability >> 8 & 15), (uint32_t)KFD_WATCHES);
  EXPECT_TRUE(device.debug_prop >> 10 & 1);
  EXPECT_EQ(device.lds_base, 1ull << 48);
  EXPECT_EQ(device.scratch_base, 2ull << 48);
  EXPECT_EQ(device.lds_limit, device.lds_base + 0xffffffff);
  EXPECT_TRUE(device.simds && device.waves_per_simd && device.arrays && device.arrays_per_engine);
  EXPECT_EQ(device.xccs, 1u);
  EXPECT_EQ(gdb.ask(KFD_SET_EXCEPTIONS_ENABLED, [](auto &d) { d.enabled.exceptions = 0x3f; }), 0);
  std::vector<kfd_queue_t> queues = gdb.queues(KFD_EXCEPTION(KFD_QUEUE_NEW));
  ASSERT_EQ(queues.size(), 2u);
  for (const kfd_queue_t &queue : queues) {
    EXPECT_EQ(queue.exceptions, KFD_EXCEPTION(KFD_QUEUE_NEW));
    EXPECT_EQ(queue.type, (uint32_t)KFD_QUEUE_AQL);
    EXPECT_EQ(queue.gpu_id, device.gpu_id);
    EXPECT_EQ(queue.ring_bytes, 64u * 64);
    EXPECT_EQ(queue.read_pointer - queue.write_pointer, 128u - 56);
    EXPECT_EQ(gdb.waves(queue).size(), 0u);
  }
  EXPECT_EQ(gdb.queues()[0].exceptions, 0u);
  EXPECT_EQ(gdb.ask(KFD_SET_WAVE_LAUNCH_MODE), 0);
  kfd_debug_t override{};
  override.op = KFD_SET_WAVE_LAUNCH_OVERRIDE;
  EXPECT_EQ(gdb.ask(override), 0);
  EXPECT_EQ(override.launch_override.mask, (uint32_t)KFD_OVERRIDE_WATCH);
  override.launch_override.enable = 1;
  override.launch_override.mask = 1;
  EXPECT_EQ(gdb.ask(override), -EACCES);
  EXPECT_EQ(gdb.ask(KFD_SET_FLAGS, [](auto &d) { d.flags.flags = 3; }), 0);
  EXPECT_EQ(gdb.ask(KFD_QUERY_DEBUG_EVENT), -EAGAIN);
  EXPECT_EQ(gdb.suspend({1, 2, 77}), (std::vector<uint32_t>{1, 2, 77 | 1u << 31}));
  EXPECT_EQ(gdb.resume({2, 77, 1}), (std::vector<uint32_t>{2, 77 | 1u << 31, 1}));
  EXPECT_EQ(gdb.ask(KFD_DISABLE), 0);
  EXPECT_EQ(gdb.ask(KFD_DISABLE), -EINVAL);
  s.end();
}

// Waves as they begin, with all that a debugger shows of them; they go on as they would have.
TEST_P(Chip, HaltsWavesAtLaunch)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  const std::vector<Wave> waves = s.begin_halted("0 0 2 100", 4);
  ASSERT_EQ(waves.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    const Wave &wave = waves[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(wave.first, i % 2 == 0);
    EXPECT_EQ(s.gdb.read(wave.hwreg(kStatus)) >> 13 & 1, 1u);
    EXPECT_FALSE(s.gdb.is_stopped(wave));
    EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_WORK));
    EXPECT_EQ(s.gdb.read<uint64_t>(wave.hwreg(kExec)), i % 2 ? (1ull << 36) - 1 : ~0ull);
    EXPECT_EQ(s.gdb.read(wave.sgpr(2)), i / 2); // the work-group's id
    EXPECT_EQ(s.gdb.read(wave.ttmp(8)), i / 2);
    EXPECT_EQ(s.gdb.read(wave.ttmp(11)) & 63, i % 2);
    const uint32_t packet =
        s.gdb.parks() ? s.gdb.read(wave.ttmp(6)) : s.gdb.read(wave.ttmp(11)) >> 6;
    EXPECT_EQ(packet & 0x1ffffff, 0u);
    EXPECT_EQ(wave.rows, 16u);
    EXPECT_EQ(wave.vgprs, 12u);
    EXPECT_EQ(wave.lds_bytes, s.gdb.gfx == 90500 ? 1280u : 512u);
    for (unsigned lane : {0u, 1u, 35u})
      EXPECT_EQ(s.gdb.read(wave.vgpr(0, lane)) & 1023, 64 * (i % 2) + lane);
    const uint64_t id = 0x1234500000000ull + i; // which a debugger keeps there
    s.gdb.write(wave.ttmp(4), id);
  }
  s.finish({waves[0], waves[1]});
  s.gdb.write(s.target.places.out[0] + 400, 0u);
  ASSERT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1});
  const std::vector<Wave> left = s.gdb.waves(s.queue());
  for (const Wave &wave : left) { // those that have not ended; two are still halted
    const uint64_t id = s.gdb.read<uint64_t>(wave.ttmp(4));
    EXPECT_EQ(id & ~3ull, 0x1234500000000ull);
    EXPECT_EQ(id & 3, 2 * s.gdb.read(wave.ttmp(8)) + (s.gdb.read(wave.ttmp(11)) & 63));
    const uint32_t status = s.gdb.read(wave.hwreg(kStatus));
    s.gdb.write(wave.hwreg(kStatus), status & ~(1u << 13));
  }
  s.gdb.resume({1});
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.gdb.read(s.target.places.out[0] + 4 * 99), (uint32_t)WORK_RESULT);
  s.end();
}

// A breakpoint in a loop, the wave's registers and LDS written to, and the effect of that.
TEST_P(Chip, StopsAtABreakpointAndTakesWhatIsWritten)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  std::vector<Wave> waves = s.begin_halted("0 0 1 64", 1);
  const uint64_t at = s.code(CODE_WORK_STORE);
  const uint32_t original = s.gdb.read(at);
  s.gdb.write(at, (uint32_t)kBreakpoint);
  s.gdb.write(waves[0].hwreg(kStatus), s.gdb.read(waves[0].hwreg(kStatus)) & ~(1u << 13));
  waves = s.until_stopped(kWaveTrap);
  ASSERT_EQ(waves.size(), 1u);
  const Wave &wave = waves[0];
  EXPECT_TRUE(s.gdb.is_stopped(wave));
  EXPECT_EQ(s.gdb.trap(wave), 1u);
  EXPECT_EQ(s.gdb.pc(wave), at + 4); // as this r_version has it
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(s.gdb.read(wave.vgpr(2, lane)), (uint32_t)WORK_RESULT);
    EXPECT_EQ(s.gdb.read(wave.lds + 4 * lane), lane);
  }
  EXPECT_EQ(s.gdb.read(wave.sgpr(6)), 0u);
  EXPECT_EQ(s.gdb.read<uint64_t>(wave.sgpr(4)), s.target.places.out[0]);
  for (unsigned lane = 0; lane < 64; ++lane)
    s.gdb.write(wave.vgpr(2, lane), 1000 + lane);
  s.gdb.write(wave.lds, 77u);
  s.gdb.write(wave.hwreg(kExec), ~2ull); // all but lane 1
  s.gdb.write(s.target.places.out[0] + 4, 5u);
  s.gdb.write(at, original);
  s.gdb.set_pc(wave, at);
  s.finish(waves);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(s.gdb.read(s.target.places.out[0] + 4 * lane), lane == 1 ? 5 : 1000 + lane);
  s.end();
}

// One instruction at a time, from the first to the last.
TEST_P(Chip, StepsByInstructions)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  std::vector<Wave> waves = s.begin_halted("0 0 1 64", 1);
  std::vector<uint32_t> expected{0x08, 0x0c, 0x10, 0x14, 0x18, 0x20, 0x24, 0x28};
  for (int i = 0; i < 5; ++i)
    for (uint32_t pc : {0x2c, 0x30, 0x34, i < 4 ? 0x28 : 0x38})
      expected.push_back(pc);
  expected.push_back(CODE_WORK_END);
  uint32_t s6 = 5;
  s.gdb.write(waves[0].hwreg(kStatus), s.gdb.read(waves[0].hwreg(kStatus)) & ~(1u << 13));
  for (uint32_t pc : expected) {
    s.gdb.go_on(waves[0], true);
    waves = s.until_stopped(kWaveTrap);
    ASSERT_EQ(waves.size(), 1u);
    ASSERT_EQ(s.gdb.pc(waves[0]), s.code(pc));
    ASSERT_EQ(s.gdb.trap(waves[0]), 0u);
    ASSERT_EQ(s.gdb.read(waves[0].hwreg(kTrapsts)), s.gdb.parks() ? 0u : 1u << 25);
    if (pc == 0x30)
      --s6;
    if (pc > CODE_WORK_LOOP) {
      ASSERT_EQ(s.gdb.read(waves[0].sgpr(6)), s6);
      if (pc != 0x2c && pc != 0x30) { // SCC is the comparison's
        ASSERT_EQ(s.gdb.read(waves[0].hwreg(kStatus)) & 1, s6 > 0 ? 1u : 0u);
      }
    }
  }
  s.finish(waves);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.end();
}

// A store to a watched word, and none to its neighbour.
TEST_P(Chip, StopsAtWatchedAddresses)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  const uint32_t gpu = s.gdb.devices()[0].gpu_id;
  std::vector<Wave> waves = s.begin_halted("0 0 1 64", 1);
  uint32_t id = 99;
  const auto watch = [&](uint64_t address, uint32_t mode) {
    kfd_debug_t debug{};
    debug.op = KFD_SET_ADDRESS_WATCH;
    debug.watch.address = address;
    debug.watch.mask = ~3u;
    debug.watch.mode = mode;
    debug.watch.gpu_id = gpu;
    const int result = s.gdb.ask(debug);
    id = debug.watch.id;
    return result;
  };
  const auto clear = [&](uint32_t which) {
    return s.gdb.ask(KFD_CLEAR_ADDRESS_WATCH, [&](auto &d) {
      d.clear_watch.gpu_id = gpu;
      d.clear_watch.id = which;
    });
  };
  EXPECT_EQ(watch(s.target.places.out[0] + 4 * 64, KFD_WATCH_ALL), 0); // not touched
  EXPECT_EQ(watch(s.target.places.out[0] + 4 * 9, KFD_WATCH_READ), 0); // not read
  EXPECT_EQ(watch(s.target.places.out[0] + 4 * 9, KFD_WATCH_NONREAD), 0);
  EXPECT_EQ(id, 2u);
  EXPECT_EQ(watch(0, KFD_WATCH_ALL), 0);
  EXPECT_EQ(watch(0, KFD_WATCH_ALL), -ENOMEM);
  EXPECT_EQ(clear(3), 0);
  EXPECT_EQ(clear(3), -EINVAL);
  s.gdb.write(waves[0].hwreg(kMode), s.gdb.read(waves[0].hwreg(kMode)) | 1u << 19);
  s.gdb.go_on(waves[0]);
  waves = s.until_stopped(kWaveTrap);
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(s.gdb.pc(waves[0]), s.code(CODE_WORK_END)); // behind the store
  EXPECT_EQ(s.gdb.read(waves[0].hwreg(kTrapsts)), 1u << 13);
  EXPECT_EQ(s.gdb.trap(waves[0]), 0u);
  EXPECT_EQ(s.gdb.read(s.target.places.out[0] + 4 * 9), (uint32_t)WORK_RESULT);
  s.finish(waves);
  EXPECT_EQ(s.target.say("wait 0"), "done");
}

// The wave stands at the instruction that failed; then the runtime hears of it.
TEST_P(Chip, StopsAtAFault)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  s.gdb.suspend({1});
  EXPECT_EQ(s.target.say("run 1 0 1 64"), "put");
  const std::vector<Wave> waves = s.until_stopped(KFD_EXCEPTION(KFD_WAVE_MEMORY));
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(s.gdb.pc(waves[0]), s.code(CODE_FAULT_STORE));
  EXPECT_EQ(s.gdb.read(waves[0].hwreg(kTrapsts)), 1u << 28 | 1u << 8);
  EXPECT_EQ(s.gdb.trap(waves[0]), 0u);
  EXPECT_EQ(s.gdb.ask(KFD_SEND_RUNTIME_EVENT,
                      [](auto &d) {
                        d.send.exceptions = KFD_EXCEPTION(KFD_WAVE_MEMORY);
                        d.send.queue_id = 1;
                      }),
            0);
  s.gdb.resume({1});
  EXPECT_NE(s.target.say("wait 0").find("memory access fault"), std::string::npos);
}

TEST_P(Chip, StopsAtTraps)
{
  Session s(GetParam());
  ASSERT_EQ(s.gdb.attach(), 0);
  s.gdb.suspend({1});
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put"); // s_trap 3 is nothing without a debugger
  std::vector<Wave> waves = s.until_stopped(kWaveTrap);
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(s.gdb.trap(waves[0]), 3u);
  EXPECT_EQ(s.gdb.pc(waves[0]), s.code(CODE_DEBUG_TRAP + 8));
  EXPECT_EQ(s.gdb.read(waves[0].sgpr(6)), 9u);
  s.finish(waves);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.gdb.suspend({1});
  EXPECT_EQ(s.target.say("run 2 0 1 64"), "put");
  waves = s.until_stopped(kWaveTrap);
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(s.gdb.trap(waves[0]), 2u);
  EXPECT_EQ(s.gdb.ask(KFD_DISABLE), 0); // and it is the assertion that it was
  EXPECT_NE(s.target.say("wait 0").find("an abort"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, Chip, ::testing::Values("gfx90a", "gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

// --- coming and going ---

// As of version 12, a wave halts at its s_trap.
TEST(Debug, ObeysTheVersionThatIsAskedFor)
{
  Target target("gfx942", "12");
  ASSERT_TRUE(target.begin());
  Debugger gdb(target);
  ASSERT_EQ(gdb.attach(), 0);
  EXPECT_EQ(gdb.read(target.places.r_debug), 12u);
  EXPECT_EQ(target.say("run 3 0 1 64"), "put");
  kfd_debug_t event;
  ASSERT_TRUE(gdb.event(&event));
  gdb.suspend({1});
  const std::vector<Wave> waves = gdb.waves(gdb.queues()[0]);
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(gdb.pc(waves[0]), target.places.code + CODE_DEBUG_TRAP + 4);
}

// What a debugger stops is the program, whose device answers nevertheless.
TEST(Debug, AnswersWhileTheProgramIsStopped)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.target.say("run 4 0 3 128"), "put");
  EXPECT_TRUE(signal_child(s.target.pid, SIGSTOP));
  for (int i = 0; i < 20; ++i) {
    Debugger::Still still(s.gdb, s.queue());
    const std::vector<Wave> waves = s.gdb.waves(s.queue());
    EXPECT_TRUE(waves.size() % 2 == 0 && waves.size() <= 6) << waves.size();
  }
  EXPECT_TRUE(signal_child(s.target.pid, SIGCONT));
  s.gdb.write(s.target.places.out[0] + SPIN_FLAG, 1u);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.end();
}

TEST(Debug, TwoDevicesAreTwo)
{
  Session s("gfx942,gfx950");
  ASSERT_EQ(s.gdb.attach(), 0);
  const std::vector<kfd_device_t> devices = s.gdb.devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_NE(devices[0].gpu_id, devices[1].gpu_id);
  EXPECT_EQ(s.queue(0).gpu_id, devices[0].gpu_id);
  EXPECT_EQ(s.queue(1).gpu_id, devices[1].gpu_id);
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put");
  EXPECT_EQ(s.target.say("run 3 1 1 64"), "put");
  for (uint32_t number : {0u, 1u}) {
    s.gdb.gfx = devices[number].gfx_target_version;
    std::vector<Wave> waves;
    for (int i = 0; i < 10000 && (waves.empty() || !s.gdb.is_stopped(waves[0])); ++i) {
      if (i)
        s.gdb.resume({number + 1});
      s.gdb.suspend({number + 1});
      waves = s.gdb.waves(s.queue(number));
    }
    ASSERT_EQ(waves.size(), 1u);
    EXPECT_EQ(s.gdb.trap(waves[0]), 3u);
    s.finish(waves, number + 1);
    EXPECT_EQ(s.target.say("wait " + std::to_string(number)), "done");
  }
}

TEST(Debug, DetachingLetsAllGoOn)
{
  Session s("gfx942");
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.begin_halted("4 0 2 64", 2).size(), 2u);
  EXPECT_EQ(s.gdb.ask(KFD_DISABLE), 0);
  s.gdb.write(s.target.places.out[0] + SPIN_FLAG, 1u);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put"); // and s_trap 3 is nothing again
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.end();
}

// The same when it dies in the middle of it, with waves that stand where it had stopped them.
TEST(Debug, ADebuggerThatDiesLetsAllGoOn)
{
  for (const char *chip : {"gfx90a", "gfx950"}) {
    Session s(chip);
    {
      Debugger dying(s.target);
      ASSERT_EQ(dying.attach(), 0);
      s.target.say("run 4 0 2 64");
      std::vector<Wave> waves;
      for (int i = 0; i < 10000 && waves.size() < 2; ++i) {
        dying.resume({1});
        dying.suspend({1});
        waves = dying.waves(dying.queues()[0]);
      }
      ASSERT_EQ(waves.size(), 2u);
      // As ROCdbgapi stops a wave: it parks it on a gfx90a.
      const uint64_t pc = dying.pc(waves[0]);
      dying.write(waves[0].ttmp(6), dying.read(waves[0].ttmp(6)) | 1u << 30);
      dying.write(waves[0].hwreg(kStatus), dying.read(waves[0].hwreg(kStatus)) | 1u << 13);
      dying.set_pc(waves[0], pc);
      if (dying.parks())
        dying.write(waves[0].hwreg(kPc), (uint64_t)0x1000);
      dying.resume({1});
      dying.suspend({1});
    }
    s.gdb.write(s.target.places.out[0] + SPIN_FLAG, 1u);
    EXPECT_EQ(s.target.say("wait 0"), "done") << chip;
    EXPECT_EQ(s.gdb.attach(), 0); // and another one may come
    s.end();
  }
}

TEST(Debug, KillingTheProgramEndsWhatIsAsked)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.begin_halted("4 0 1 64", 1).size(), 1u);
  EXPECT_TRUE(signal_child(s.target.pid, SIGKILL));
  int result = 0;
  for (int i = 0; i < 100000 && result == 0; ++i)
    result = s.gdb.ask(KFD_SET_FLAGS);
  EXPECT_EQ(result, -ESRCH);
}

TEST(Debug, DestroyingAQueueThatIsSuspendedReturns)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.begin_halted("4 0 1 64", 1).size(), 1u);
  s.target.tell("end");
  kfd_debug_t event;
  ASSERT_TRUE(s.gdb.event(&event)); // the runtime goes first
  EXPECT_EQ(event.send.exceptions, KFD_EXCEPTION(KFD_RUNTIME));
  EXPECT_EQ(s.gdb.ask(KFD_SEND_RUNTIME_EVENT,
                      [](auto &d) { d.send.exceptions = KFD_EXCEPTION(KFD_RUNTIME); }),
            0);
  EXPECT_EQ(s.gdb.resume({1}), std::vector<uint32_t>{1});
  int status = -1;
  EXPECT_EQ(waitpid(s.target.pid, &status, 0), s.target.pid);
  EXPECT_EQ(status, 0);
  s.target.pid = -1;
}

TEST(Debug, OnlyOneMayDebug)
{
  Session s("gfx90a");
  Debugger other(s.target);
  kfd_runtime_t info{};
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(other.enable(&info), -EALREADY);
  EXPECT_EQ(other.ask(KFD_DISABLE), -EINVAL);
  EXPECT_EQ(other.ask(KFD_GET_QUEUE_SNAPSHOT), -EINVAL);
  EXPECT_EQ(s.gdb.ask(KFD_SET_FLAGS), 0);
  EXPECT_EQ(s.gdb.ask(KFD_DISABLE), 0);
  EXPECT_EQ(other.enable(&info), 0);
  EXPECT_EQ(other.ask(KFD_SET_FLAGS), 0);
}

TEST(Debug, TheRuntimeWaitsForADebuggerThatTracesIt)
{
  Target target("gfx90a", "1", true);
  target.seize();
  target.go();
  std::unique_ptr<Debugger> gdb;
  kfd_runtime_t info{};
  for (int i = 0; i < 100000 && (!gdb || gdb->connection < 0); ++i)
    gdb = std::make_unique<Debugger>(target);
  ASSERT_GE(gdb->connection, 0);
  ASSERT_EQ(gdb->enable(&info), 0);
  EXPECT_EQ(info.state, (uint32_t)KFD_RUNTIME_DISABLED);
  kfd_debug_t event;
  ASSERT_TRUE(gdb->event(&event));
  EXPECT_EQ(event.send.exceptions, KFD_EXCEPTION(KFD_RUNTIME));
  for (int i = 0; i < 2000; ++i) // in which it would get far by itself
    ASSERT_TRUE(gdb->queues().empty());
  EXPECT_EQ(gdb->ask(KFD_SEND_RUNTIME_EVENT,
                     [](auto &d) { d.send.exceptions = KFD_EXCEPTION(KFD_RUNTIME); }),
            0);
  EXPECT_TRUE(target.begin());
  EXPECT_EQ(gdb->queues().size(), 2u);
}

// Whatever is said, the next one is answered.
TEST(Debug, NothingThatIsSaidHurts)
{
  Session s("gfx90a");
  for (uint32_t size : {0u, 1u, 31u, 33u, 40u}) {
    Debugger hostile(s.target);
    const std::vector<char> bytes(size, 'x');
    EXPECT_EQ(send(hostile.connection, bytes.data(), size, MSG_NOSIGNAL), (ssize_t)size);
  }
  Debugger hostile(s.target);
  EXPECT_EQ(hostile.ask((kfd_op_t)15), -EINVAL);
  EXPECT_EQ(hostile.ask((kfd_op_t)0xffffffffu), -EINVAL);
  EXPECT_EQ(hostile.ask(KFD_ENABLE), -EBADF); // no descriptor
  ASSERT_EQ(hostile.attach(), 0);
  for (uint32_t op = 0; op < KFD_OPS; ++op) {
    kfd_debug_t debug;
    memset((void *)&debug, 0xff, sizeof(debug));
    debug.op = op;
    std::vector<uint8_t> behind;
    if (op != KFD_DISABLE)
      hostile.ask(debug, &behind);
  }
  kfd_debug_t many{};
  std::vector<uint8_t> ids(60000, 0xff);
  many.op = KFD_SUSPEND_QUEUES;
  many.suspend.count = 15000;
  EXPECT_EQ(hostile.ask(many, &ids), 0);
  many = {};
  many.op = KFD_RESUME_QUEUES;
  many.resume.count = 3; // and none comes
  std::vector<uint8_t> none;
  EXPECT_EQ(hostile.ask(many, &none), -EINVAL);
  for (uint32_t stride : {0u, 1u, 100u, 70000u, 0xffffffffu}) {
    kfd_debug_t debug{};
    std::vector<uint8_t> behind;
    debug.op = KFD_GET_QUEUE_SNAPSHOT;
    debug.snapshot.count = 0xffffffff;
    debug.snapshot.entry_bytes = stride;
    EXPECT_EQ(hostile.ask(debug, &behind), 0);
    EXPECT_EQ(debug.snapshot.count, 2u);
  }
  EXPECT_EQ(hostile.ask(KFD_DISABLE), 0);
  EXPECT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.target.say("run 0 0 4 64"), "put");
  EXPECT_EQ(s.target.say("wait 0"), "done");
}

#if defined(SOFTGPU_DEBUG_LIBRARY)
// What stands for /dev/kfd in a debugger, from before the program has begun.
TEST(Debug, ADebuggersDriverIsThereBeforeSoftgpu)
{
  for (bool is_early : {true, false}) {
    Target target("gfx942,gfx950", "1", is_early);
    EXPECT_TRUE(is_early || target.begin());
    Obedient client({KFD_CLIENT, std::to_string(target.pid)},
                    {{"LD_PRELOAD", SOFTGPU_DEBUG_LIBRARY}, {"SOFTGPU_CHIPS", "gfx942,gfx950"}});
    const std::string state = is_early ? "state 0" : "state 1";
    for (const std::string &line : {std::string("version 18"), std::string("enable 0"), state,
                                    "again " + std::to_string(-EALREADY), std::string("devices 2"),
                                    std::string("gfx 90402"), std::string("halt 0")})
      EXPECT_EQ(client.answer(), line);
    if (is_early) {
      target.seize();
      target.go();
      for (const char *line : {"event 1", "query 0", "runtime 1", "info 0", "state 1", "send 0"})
        EXPECT_EQ(client.answer(), line);
      EXPECT_TRUE(target.begin());
    }
    client.tell("");
    for (const std::string &line :
         {std::string("ready 10"), std::string("queues 2"), std::string("suspend 2"),
          std::string("invalid 2"), std::string("resume 2"), std::string("disable 0"),
          "gone " + std::to_string(-ESRCH)})
      EXPECT_EQ(client.answer(), line);
    EXPECT_EQ(target.end(), 0);
  }
}
#endif

TEST(Debug, IsNotThereUnlessItIsAskedFor)
{
  for (const char *value : {"", "0"}) {
    Target target("gfx90a", value);
    ASSERT_TRUE(target.begin());
    EXPECT_EQ(Debugger(target).connection, -1);
    Debugger gdb(target);
    EXPECT_EQ(gdb.read(target.places.r_debug), 7u); // as the runtime had it
    EXPECT_EQ(target.end(), 0);
  }
}

} // namespace
