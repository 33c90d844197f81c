// Sessions with the real ROCdbgapi, unchanged: rocdbgapi.c with libsoftgpu-debug.so before it.
// RAWHAL_DBGAPI_ROOT names a root directory that has librocm-dbgapi.so.0, such as a Debian's.
#include <csignal>
#include <set>
#include <sstream>

#include <sys/wait.h>

#include "client.h"
#include "tests/child.h"

namespace {

enum { kBreakpointWord = (int)0xbf920001, kStopped = 3 };
enum { kReasonBreakpoint = 1, kReasonWatch = 2, kReasonStep = 4 };
enum { kReasonDebugTrap = 0x400, kReasonAssert = 0x800, kReasonMemory = 0x2000 };
enum { kReasonAddress = 0x4000, kReasonIllegal = 0x8000 };

std::string hex(uint64_t number)
{
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

// The client runs by the root's loader with the root's libraries, and its program by ours.
std::vector<std::string> client_words()
{
  const char *set = getenv("RAWHAL_DBGAPI_ROOT");
  const std::string root = set ? set : "", libraries = root + "/lib/x86_64-linux-gnu:" + root +
                                                       "/usr/lib/x86_64-linux-gnu";
  return {root + "/lib64/ld-linux-x86-64.so.2",
          "--library-path",
          libraries,
          "--preload",
          SOFTGPU_DEBUG_LIBRARY,
          ROCDBGAPI_CLIENT};
}

class Sessions : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override
  {
    if (!getenv("RAWHAL_DBGAPI_ROOT"))
      GTEST_SKIP() << "RAWHAL_DBGAPI_ROOT names no root directory with ROCdbgapi";
  }
};

// A program and the library at it.
struct Live {
  struct Stop {
    uint64_t wave = 0, reason = 0, pc = 0;
  };
  struct WaveLine {
    uint64_t id, state, reason, pc;
  };

  explicit Live(const std::string &chips, bool reference = false)
      : target(chips, "1", false, reference), is_begun(target.begin()), gdb(client_words(), {})
  {
    EXPECT_TRUE(is_begun);
    EXPECT_EQ(gdb.answer(), "ok");
    EXPECT_EQ(gdb.say("attach " + std::to_string(target.pid)), "ok");
    EXPECT_EQ(gdb.say("event"), "runtime 1");
  }
  uint64_t code(uint32_t offset) const { return target.places.code + offset; }
  void ok(const std::string &line) { EXPECT_EQ(gdb.say(line), "ok") << line; }
  uint64_t number(const std::string &line)
  {
    const std::string said = gdb.say(line);
    EXPECT_FALSE(said.empty() || said.find_first_not_of("0123456789abcdef") != std::string::npos)
        << line << ": " << said;
    return strtoull(said.c_str(), nullptr, 16);
  }
  uint64_t reg(uint64_t wave, const std::string &name, unsigned word = 0)
  {
    return number("get " + hex(wave) + " " + name + " " + hex(word));
  }
  uint32_t peek(uint64_t address) { return (uint32_t)number("peek global 0 0 " + hex(address)); }
  void poke(uint64_t address, uint32_t value)
  {
    ok("poke global 0 0 " + hex(address) + " " + hex(value));
  }
  std::vector<WaveLine> waves()
  {
    std::istringstream text(gdb.say("waves"));
    std::vector<WaveLine> all;
    for (std::string word; text >> word;) {
      WaveLine line{};
      EXPECT_EQ(
          sscanf(word.c_str(), "%lx:%lx:%lx:%lx", &line.id, &line.state, &line.reason, &line.pc),
          4);
      all.push_back(line);
    }
    return all;
  }
  Stop stop()
  {
    Stop found;
    const std::string said = gdb.say("event");
    EXPECT_EQ(sscanf(said.c_str(), "stop %lx %lx %lx", &found.wave, &found.reason, &found.pc), 3)
        << said;
    return found;
  }
  // A dispatch whose first waves are there, and stopped at their first instruction.
  std::vector<WaveLine> begin(const std::string &dispatch, size_t count)
  {
    ok("creation 1");
    EXPECT_EQ(target.say("run " + dispatch), "put");
    // Whoever is halted at launch is hidden; whether they have come is seen when they are let go.
    std::vector<WaveLine> found;
    for (int i = 0; i < 2000 && found.size() < count; ++i) {
      ok("creation 0");
      found = waves();
      if (found.size() < count)
        ok("creation 1");
    }
    EXPECT_EQ(found.size(), count);
    return found;
  }
  // Puts a breakpoint and lets a dispatch come to it.
  Stop break_at(uint32_t offset, const std::string &dispatch)
  {
    original = peek(code(offset));
    poke(code(offset), (uint32_t)kBreakpointWord);
    EXPECT_EQ(target.say("run " + dispatch), "put");
    const Stop found = stop();
    EXPECT_EQ(found.reason, (uint64_t)kReasonBreakpoint);
    EXPECT_EQ(found.pc, code(offset) + 4);
    return found;
  }
  // The wave steps over the breakpoint that it stands behind, which stays.
  void step_around(uint64_t wave, uint32_t offset)
  {
    ok("set " + hex(wave) + " pc 0 " + hex(code(offset)));
    ok("around " + hex(wave) + " " + hex(original));
    const Stop after = stop();
    EXPECT_EQ(after.wave, wave);
    EXPECT_EQ(after.reason, (uint64_t)kReasonStep);
    ok("done " + hex(wave));
  }
  void finish()
  {
    EXPECT_EQ(target.say("wait 0"), "done");
    ok("detach");
    EXPECT_EQ(target.end(), 0);
  }

  Target target;
  bool is_begun;
  Obedient gdb;
  uint32_t original = 0;
};

TEST_P(Sessions, Look)
{
  Live s(GetParam());
  const Live::Stop at = s.break_at(CODE_WORK_STORE, "0 0 1 64");
  EXPECT_EQ(s.gdb.say("place " + hex(at.wave)), "0 0 0 0");
  EXPECT_EQ(s.reg(at.wave, "exec"), ~0ull);
  EXPECT_EQ(s.reg(at.wave, "s6"), 0u);
  EXPECT_EQ(s.reg(at.wave, "s4") | s.reg(at.wave, "s5") << 32, s.target.places.out[0]);
  for (unsigned lane : {0u, 1u, 63u}) {
    EXPECT_EQ(s.reg(at.wave, "v2", lane), (uint64_t)WORK_RESULT);
    EXPECT_EQ(s.reg(at.wave, "v1", lane), 4 * lane);
    EXPECT_EQ(s.number("peek local " + hex(at.wave) + " " + hex(lane) + " " + hex(4 * lane)), lane);
  }
  s.poke(s.code(CODE_WORK_STORE), s.original);
  s.ok("set " + hex(at.wave) + " pc 0 " + hex(s.code(CODE_WORK_STORE)));
  s.ok("go " + hex(at.wave) + " 0");
  s.finish();
}

TEST_P(Sessions, StepOverABreakpointThatStays)
{
  Live s(GetParam());
  Live::Stop at = s.break_at(CODE_WORK_LOOP, "0 0 1 64");
  for (unsigned left = 5; left > 0; --left) {
    EXPECT_EQ(s.reg(at.wave, "s6"), left);
    s.step_around(at.wave, CODE_WORK_LOOP);
    s.ok("go " + hex(at.wave) + " 0");
    if (left > 1) {
      at = s.stop();
      EXPECT_EQ(at.reason, (uint64_t)kReasonBreakpoint);
    }
  }
  s.finish();
  EXPECT_EQ(s.is_begun, true);
}

// A wave of each engine, side by side: 1,000 instructions of all kinds, and every register and all of
// LDS the same at each.
TEST_P(Sessions, AThousandStepsAreTheReferences)
{
  enum { STEPS = 1000, LDS_WORDS = 0x80 };
  Live fast(GetParam()), plain(GetParam(), true);
  Live *both[] = {&fast, &plain};
  std::set<uint64_t> places;
  uint64_t wave[2];
  for (int i = 0; i < 2; ++i) {
    Live &s = *both[i];
    wave[i] = s.break_at(CODE_MIX + 8, "10 0 1 64").wave;
    s.poke(s.code(CODE_MIX + 8), s.original);
    s.ok("set " + hex(wave[i]) + " pc 0 " + hex(s.code(CODE_MIX + 8)));
  }
  for (unsigned step = 0; step < STEPS; ++step) {
    uint64_t pc[2];
    std::string state[2];
    for (int i = 0; i < 2; ++i) {
      both[i]->ok("step " + hex(wave[i]));
      const Live::Stop at = both[i]->stop();
      ASSERT_EQ(at.reason, (uint64_t)kReasonStep) << step;
      pc[i] = at.pc - both[i]->target.places.code;
      state[i] = both[i]->gdb.say("state " + hex(wave[i]) + " " + hex(LDS_WORDS));
    }
    ASSERT_EQ(pc[0], pc[1]) << step;
    ASSERT_EQ(state[0], state[1]) << step << " " << hex(pc[0]) << "\n"
                                  << fast.gdb.say("all " + hex(wave[0])) << "\n"
                                  << plain.gdb.say("all " + hex(wave[1]));
    ASSERT_GT(strtoul(state[0].c_str(), nullptr, 16), 120u) << state[0]; // registers
    places.insert(pc[0]);
  }
  EXPECT_GE(places.size(), 39u);
  for (int i = 0; i < 2; ++i) {
    both[i]->ok("go " + hex(wave[i]) + " 0");
    EXPECT_EQ(both[i]->target.say("wait 0"), "done");
  }
  for (unsigned lane : {0u, 17u, 63u})
    EXPECT_EQ(fast.peek(fast.target.places.out[0] + 4 * lane),
              plain.peek(plain.target.places.out[0] + 4 * lane));
}

TEST_P(Sessions, WriteRegistersAndMemory)
{
  Live s(GetParam());
  const Live::Stop at = s.break_at(CODE_WORK_STORE, "0 0 1 64");
  s.ok("set " + hex(at.wave) + " v2 5 1234");
  s.ok("set " + hex(at.wave) + " exec 0 fffffffffffffffe");
  s.ok("poke local " + hex(at.wave) + " 0 0 77");
  EXPECT_EQ(s.number("peek local " + hex(at.wave) + " 0 0"), 0x77u);
  s.poke(s.target.places.out[0], 0xabc);
  s.poke(s.code(CODE_WORK_STORE), s.original);
  s.ok("set " + hex(at.wave) + " pc 0 " + hex(s.code(CODE_WORK_STORE)));
  s.ok("go " + hex(at.wave) + " 0");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.peek(s.target.places.out[0]), 0xabcu);
  EXPECT_EQ(s.peek(s.target.places.out[0] + 20), 0x1234u);
  EXPECT_EQ(s.peek(s.target.places.out[0] + 24), (uint32_t)WORK_RESULT);
  s.finish();
}

TEST_P(Sessions, Watch)
{
  Live s(GetParam());
  const uint64_t word = s.target.places.out[0] + 4 * 9;
  const uint64_t watch = s.number("watch " + hex(word) + " 4 2"); // stores and exchanges
  const uint64_t other = s.number("watch " + hex(word) + " 4 1"); // loads
  EXPECT_EQ(s.target.say("run 0 0 1 64"), "put");
  const Live::Stop at = s.stop();
  EXPECT_EQ(at.reason, (uint64_t)kReasonWatch);
  EXPECT_EQ(at.pc, s.code(CODE_WORK_END));
  EXPECT_EQ(s.peek(word), (uint32_t)WORK_RESULT);
  s.ok("unwatch " + hex(watch));
  s.ok("unwatch " + hex(other));
  s.ok("go " + hex(at.wave) + " 0");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.target.say("run 0 0 1 64"), "put");
  s.finish();
}

TEST_P(Sessions, Fault)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 1 0 1 64"), "put");
  const Live::Stop at = s.stop();
  EXPECT_EQ(at.reason, (uint64_t)kReasonMemory);
  EXPECT_EQ(at.pc, s.code(CODE_FAULT_STORE));
  EXPECT_EQ(s.reg(at.wave, "v0", 3), 0x1000u);
  s.ok("go " + hex(at.wave) + " 10"); // with the exception: the runtime hears of it
  EXPECT_NE(s.target.say("wait 0").find("memory access fault"), std::string::npos);
  s.ok("detach");
}

TEST_P(Sessions, Assert)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 2 0 1 64"), "put");
  const Live::Stop at = s.stop();
  EXPECT_EQ(at.reason, (uint64_t)kReasonAssert);
  EXPECT_EQ(s.reg(at.wave, "s6"), 9u);
  s.ok("go " + hex(at.wave) + " 1");
  EXPECT_NE(s.target.say("wait 0").find("an abort"), std::string::npos);
  s.ok("detach");
}

// The lane that the assertion failed in is EXEC's only one.
TEST_P(Sessions, AssertInOneLane)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 5 0 1 64"), "put");
  const Live::Stop at = s.stop();
  EXPECT_EQ(at.reason, (uint64_t)kReasonAssert);
  EXPECT_EQ(s.reg(at.wave, "exec"), 1ull << LANES_LANE);
  EXPECT_EQ(s.reg(at.wave, "v0", LANES_LANE) & 1023, (uint64_t)LANES_LANE);
  s.ok("go " + hex(at.wave) + " 1");
  EXPECT_NE(s.target.say("wait 0").find("an abort"), std::string::npos);
  s.ok("detach");
}

TEST_P(Sessions, OtherFaults)
{
  const struct {
    const char *run;
    uint64_t reason;
    uint32_t pc;
    const char *exception, *said;
  } rows[] = {{"run 6 0 1 64", kReasonIllegal, CODE_ILLEGAL + 4, "8", "illegal"},
              {"run 7 0 1 64", kReasonAddress, CODE_MISALIGNED_ADD, "20", "misaligned"}};
  for (const auto &row : rows) {
    Live s(GetParam());
    EXPECT_EQ(s.target.say(row.run), "put");
    const Live::Stop at = s.stop();
    EXPECT_EQ(at.reason, row.reason);
    EXPECT_EQ(at.pc, s.code(row.pc));
    s.ok("go " + hex(at.wave) + " " + row.exception);
    EXPECT_NE(s.target.say("wait 0").find(row.said), std::string::npos) << row.said;
    s.ok("detach");
  }
}

// What is written to accumulation registers and to LDS comes out where the kernel reads it.
TEST_P(Sessions, WriteAccumulatorsAndLds)
{
  enum { READS_ACCUMULATOR = CODE_MIX_LOOP + 0x68, STORES = CODE_MIX_LOOP + 0x7c };
  Live s(GetParam());
  Live::Stop at = s.break_at(READS_ACCUMULATOR, "10 0 1 64");
  s.poke(s.code(READS_ACCUMULATOR), s.original);
  s.ok("set " + hex(at.wave) + " pc 0 " + hex(s.code(READS_ACCUMULATOR)));
  s.ok("set " + hex(at.wave) + " a1 11 abcd");
  s.ok("poke local " + hex(at.wave) + " 0 14 4321");
  for (int i = 0; i < 4 && at.pc != s.code(STORES); ++i) {
    s.ok("step " + hex(at.wave));
    at = s.stop();
  }
  EXPECT_EQ(s.reg(at.wave, "v8", 17), 0xabcdu);
  EXPECT_EQ(s.reg(at.wave, "v9", 5), 0x4321u);
  s.ok("go " + hex(at.wave) + " 0");
  s.finish();
}

TEST_P(Sessions, DebugTrap)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put");
  const Live::Stop at = s.stop();
  EXPECT_EQ(at.reason, (uint64_t)kReasonDebugTrap);
  s.ok("step " + hex(at.wave));
  EXPECT_EQ(s.stop().pc, s.code(CODE_DEBUG_TRAP + 12));
  EXPECT_EQ(s.reg(at.wave, "s6"), 10u);
  s.ok("go " + hex(at.wave) + " 0");
  s.finish();
}

// Each of 160 waves stops once, and steps over the breakpoint among the others.
TEST_P(Sessions, ManyWaves)
{
  Live s(GetParam());
  std::map<std::string, int> places;
  s.original = s.peek(s.code(CODE_WORK_STORE));
  s.poke(s.code(CODE_WORK_STORE), (uint32_t)kBreakpointWord);
  EXPECT_EQ(s.target.say("run 0 0 40 256"), "put");
  for (unsigned gone = 0; gone < 160;) {
    const Live::Stop at = s.stop();
    const std::string wave = hex(at.wave);
    if (at.reason == kReasonBreakpoint) {
      ++places[s.gdb.say("place " + wave)];
      s.ok("set " + wave + " pc 0 " + hex(s.code(CODE_WORK_STORE)));
      s.ok("around " + wave + " " + hex(s.original));
    } else {
      ASSERT_EQ(at.reason, (uint64_t)kReasonStep);
      s.ok("done " + wave);
      s.ok("go " + wave + " 0");
      ++gone;
    }
  }
  EXPECT_EQ(places.size(), 160u);
  s.poke(s.code(CODE_WORK_STORE), s.original);
  s.finish();
}

TEST_P(Sessions, StopWhatRuns)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 4 0 2 64"), "put");
  std::vector<Live::WaveLine> waves;
  for (int i = 0; i < 2000 && waves.size() < 2; ++i)
    waves = s.waves();
  ASSERT_EQ(waves.size(), 2u);
  for (const Live::WaveLine &wave : waves) {
    s.ok("stop " + hex(wave.id));
    const Live::Stop at = s.stop();
    EXPECT_EQ(at.wave, wave.id);
    EXPECT_EQ(at.reason, 0u);
    EXPECT_LT(at.pc - s.target.places.code, (uint64_t)CODE_END);
  }
  s.poke(s.target.places.out[0] + SPIN_FLAG, 1);
  for (const Live::WaveLine &wave : waves)
    s.ok("go " + hex(wave.id) + " 0");
  s.finish();
}

TEST_P(Sessions, HaltAtLaunch)
{
  Live s(GetParam());
  const std::vector<Live::WaveLine> waves = s.begin("4 0 3 64", 3);
  ASSERT_EQ(waves.size(), 3u);
  s.poke(s.target.places.out[0] + SPIN_FLAG, 1);
  s.finish();
}

TEST_P(Sessions, Detach)
{
  Live s(GetParam());
  const Live::Stop at = s.break_at(CODE_SPIN_LOOP, "4 0 2 64");
  EXPECT_NE(at.wave, 0u);
  EXPECT_EQ(s.stop().reason, (uint64_t)kReasonBreakpoint); // the second
  for (const Live::WaveLine &wave : s.waves())
    s.ok("set " + hex(wave.id) + " pc 0 " + hex(s.code(CODE_SPIN_LOOP)));
  s.poke(s.code(CODE_SPIN_LOOP), s.original);
  s.poke(s.target.places.out[0] + SPIN_FLAG, 1);
  s.ok("detach");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.target.end(), 0);
}

TEST_P(Sessions, Kill)
{
  Live s(GetParam());
  const Live::Stop at = s.break_at(CODE_SPIN_LOOP, "4 0 1 64");
  EXPECT_NE(at.wave, 0u);
  EXPECT_GT(end_child(s.target.pid), 0);
  s.target.pid = -1;
  EXPECT_FALSE(s.gdb.say("waves").find(":") != std::string::npos);
  EXPECT_FALSE(s.gdb.say("detach").empty());
}

// All threads of the program stand still, as under gdb, and its device does not.
TEST_P(Sessions, TheProgramIsStopped)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("run 4 0 2 128"), "put");
  std::vector<Live::WaveLine> waves;
  for (int i = 0; i < 2000 && waves.size() < 4; ++i)
    waves = s.waves();
  EXPECT_TRUE(signal_child(s.target.pid, SIGSTOP));
  for (int i = 0; i < 20; ++i) {
    const uint64_t wave = waves.at((unsigned)i % 4).id;
    s.ok("stop " + hex(wave));
    EXPECT_EQ(s.stop().wave, wave);
    s.ok("step " + hex(wave));
    EXPECT_EQ(s.stop().wave, wave);
    s.ok("go " + hex(wave) + " 0");
  }
  EXPECT_TRUE(signal_child(s.target.pid, SIGCONT));
  s.poke(s.target.places.out[0] + SPIN_FLAG, 1);
  s.finish();
}

// A program with 16 more queues of as many threads; waves of two queues step in turns.
TEST_P(Sessions, ManyThreadsAndQueues)
{
  Live s(GetParam());
  EXPECT_EQ(s.target.say("crowd"), "made");
  const Live::Stop first = s.break_at(CODE_WORK_LOOP, "0 0 1 64");
  EXPECT_EQ(s.target.say("run 0 1 1 64"), "put");
  const Live::Stop second = s.stop();
  EXPECT_NE(first.wave, second.wave);
  s.poke(s.code(CODE_WORK_LOOP), s.original);
  for (uint64_t wave : {first.wave, second.wave})
    s.ok("set " + hex(wave) + " pc 0 " + hex(s.code(CODE_WORK_LOOP)));
  for (int i = 0; i < 10; ++i)
    for (uint64_t wave : {first.wave, second.wave}) {
      s.ok("step " + hex(wave));
      EXPECT_EQ(s.stop().wave, wave);
    }
  EXPECT_EQ(s.reg(first.wave, "s6"), s.reg(second.wave, "s6"));
  for (uint64_t wave : {first.wave, second.wave})
    s.ok("go " + hex(wave) + " 0");
  EXPECT_EQ(s.target.say("wait 1"), "done");
  s.finish();
}

// A thread that stands still has a lock that the processor needs: its waves are gone for a while, and
// come back, with other numbers. Nothing fails, and nothing waits for ever.
TEST_P(Sessions, WavesThatAreOutOfReachComeBack)
{
  Live s(GetParam());
  ASSERT_EQ(s.begin("4 0 2 64", 2).size(), 2u);
  const Live::Stop at = s.break_at(CODE_WORK_LOOP, "0 1 1 64"); // of the other queue
  EXPECT_EQ(s.target.say("hold"), "held");
  s.poke(s.code(CODE_MIX), (uint32_t)kBreakpointWord); // and its code is to be decoded anew
  for (int i = 0; i < 3; ++i)
    s.waves();
  EXPECT_EQ(s.target.say("release"), "held");
  std::vector<Live::WaveLine> waves;
  for (int i = 0; i < 2000 && waves.size() < 3; ++i)
    waves = s.waves();
  EXPECT_EQ(waves.size(), 3u);
  s.poke(s.code(CODE_WORK_LOOP), s.original);
  s.ok("set " + hex(at.wave) + " pc 0 " + hex(s.code(CODE_WORK_LOOP)));
  s.ok("go " + hex(at.wave) + " 0");
  EXPECT_EQ(s.target.say("wait 1"), "done");
  s.poke(s.target.places.out[0] + SPIN_FLAG, 1);
  s.finish();
}

TEST_P(Sessions, QueuesGoAndProgramsEndWithStoppedWaves)
{
  for (const char *last : {"destroy 0", "quit", "exec"}) {
    Live s(GetParam());
    EXPECT_NE(s.break_at(CODE_SPIN_LOOP, "4 0 1 64").wave, 0u);
    const std::string said = s.target.say(last);
    EXPECT_EQ(said, *last == 'd' ? "destroyed" : *last == 'e' ? "another" : "");
    if (*last == 'd') {
      EXPECT_EQ(s.waves().size(), 0u);
      EXPECT_EQ(s.target.say("run 3 1 1 64"), "put"); // and what is left goes on
      EXPECT_EQ(s.stop().reason, (uint64_t)kReasonDebugTrap);
    } else {
      EXPECT_EQ(s.gdb.say("waves").find(':'), std::string::npos);
    }
    EXPECT_FALSE(s.gdb.say("detach").empty());
  }
}

// A debugger that is killed where a wave stands: the program goes on, and takes another debugger.
TEST_P(Sessions, TheDebuggerIsKilled)
{
  Live s(GetParam());
  const Live::Stop at = s.break_at(CODE_SPIN_LOOP, "4 0 1 64");
  s.poke(s.code(CODE_SPIN_LOOP), s.original);
  s.ok("set " + hex(at.wave) + " pc 0 " + hex(s.code(CODE_SPIN_LOOP)));
  EXPECT_GT(end_child(s.gdb.pid), 0);
  s.gdb.pid = -1;
  Obedient next(client_words(), {});
  EXPECT_EQ(next.answer(), "ok");
  EXPECT_EQ(next.say("attach " + std::to_string(s.target.pid)), "ok");
  EXPECT_EQ(next.say("event"), "runtime 1");
  EXPECT_EQ(next.say("poke global 0 0 " + hex(s.target.places.out[0] + SPIN_FLAG) + " 1"), "ok");
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(next.say("detach"), "ok");
  EXPECT_EQ(s.target.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(, Sessions, ::testing::Values("gfx90a", "gfx942", "gfx950"),
                         [](const auto &info) { return std::string(info.param); });

// Through the real runtime, from before the program begins: a kernel that fails behind the table that
// it has made in private memory. table[k] = k * k + i.
TEST(SessionsOfRuntime, PrivateMemory)
{
  if (!getenv("RAWHAL_DBGAPI_ROOT"))
    GTEST_SKIP() << "RAWHAL_DBGAPI_ROOT names no root directory with ROCdbgapi";
  for (const char *chip : {"gfx90a", "gfx942"}) {
    SCOPED_TRACE(chip);
    const std::string file = RAWHAL_SOURCE_DIR "/tests/fixtures/scratch-" + std::string(chip);
    const Obedient::Variables variables{{"RAWHAL_DEVICE", "softgpu"},
                                        {"SOFTGPU_DEBUG", "1"},
                                        {"SOFTGPU_CHIP", chip},
                                        {"SOFTGPU_LISTED", "gfx90a"}};
    Obedient program({RAWHAL_TOOL, "run", file + "-v5.co", "--kernel", "scratch", "--grid", "1",
                      "--block", "64", "out:/dev/null:128", "u32:0"},
                     variables, true);
    Obedient gdb(client_words(), variables);
    EXPECT_EQ(gdb.answer(), "ok");
    program.seize();
    EXPECT_EQ(gdb.say("attach " + std::to_string(program.pid)), "ok");
    program.go();
    EXPECT_EQ(gdb.say("event"), "runtime 1");
    std::string stop;
    while ((stop = gdb.say("event")).rfind("list", 0) == 0)
      ;
    uint64_t wave = 0, reason = 0, pc = 0;
    ASSERT_EQ(sscanf(stop.c_str(), "stop %lx %lx %lx", &wave, &reason, &pc), 3) << stop;
    EXPECT_EQ(reason, (uint64_t)kReasonMemory);
    const auto peek = [&](unsigned lane, unsigned offset) {
      return gdb.say("peek private_lane " + hex(wave) + " " + hex(lane) + " " + hex(offset));
    };
    unsigned table = 0; // its offset: the compiler's
    while (table < 64 &&
           !(peek(5, table + 36) == hex(9 * 9 + 5) && peek(5, table + 40) == hex(105)))
      table += 4;
    for (unsigned lane : {0u, 5u, 63u})
      for (unsigned k : {0u, 1u, 31u, 63u})
        EXPECT_EQ(peek(lane, table + 4 * k), hex(k * k + lane)) << lane << " " << k;
    EXPECT_EQ(gdb.say("poke private_lane " + hex(wave) + " 7 " + hex(table) + " 4321"), "ok");
    EXPECT_EQ(peek(7, table), "4321");
    EXPECT_EQ(gdb.say("go " + hex(wave) + " 10"), "ok");
    EXPECT_EQ(gdb.say("event"), "runtime 2"); // it ends
  }
}

TEST(SessionsOfTwo, BothDevicesStop)
{
  if (!getenv("RAWHAL_DBGAPI_ROOT"))
    GTEST_SKIP() << "RAWHAL_DBGAPI_ROOT names no root directory with ROCdbgapi";
  Live s("gfx942,gfx950");
  EXPECT_EQ(s.target.say("run 3 0 1 64"), "put");
  EXPECT_EQ(s.target.say("run 3 1 1 64"), "put");
  const Live::Stop first = s.stop(), second = s.stop();
  EXPECT_NE(first.wave, second.wave);
  s.ok("go " + hex(first.wave) + " 0");
  s.ok("go " + hex(second.wave) + " 0");
  EXPECT_EQ(s.target.say("wait 1"), "done");
  s.finish();
}

} // namespace
