// Stretches of code on the engine, with its blocks, turns and kept state, and on the reference engine, which looks at
// each instruction anew: the same wave afterwards, register by register, and the same faults.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/exec/vector/valu.h"
#include "softgpu/isa/run/group.h"
#include "softgpu/isa/run/prepare.h"
}

namespace {

constexpr unsigned VGPRS = 32, LDS = 2048;

// What a wave is at the beginning, and all that can be told of it afterwards.
struct Outcome {
  isa_slice_t slice = ISA_SLICE_UNFINISHED;
  uint64_t executed = 0;
  softgpu_fault_t fault = {};
  isa_wave_t wave = {};
  std::vector<uint32_t> rows;
  std::vector<uint8_t> lds, memory;
};

struct Start {
  uint32_t s[128];
  std::vector<uint32_t> rows;
  uint32_t mode = 0xf0;
};

softgpu_dispatch_t dispatch_of(const device::Kernel &kernel, const device::Memory &kernarg)
{
  softgpu_dispatch_t dispatch =
      device::dispatch(kernel.object(), reinterpret_cast<const void *>(kernarg.address()));
  dispatch.group_bytes = LDS;
  return dispatch;
}

// Runs one wave to its end, or for as many slices, from a state of the test's own.
Outcome run(const std::vector<uint32_t> &code, const Start &start, bool reference,
            device::Memory *memory = nullptr, unsigned slices = 4)
{
  device::Descriptor descriptor;
  descriptor.vgprs = VGPRS;
  descriptor.accum_offset = VGPRS / 2;
  device::Kernel kernel(code, descriptor);
  device::Memory kernarg(4096);
  const softgpu_dispatch_t dispatch = dispatch_of(kernel, kernarg);
  Outcome outcome;
  isa_launch_t launch;
  if (!isa_launch_prepare(&dispatch, &launch, &outcome.fault))
    throw std::runtime_error(outcome.fault.text);
  launch.limits.reference = reference;
  isa_program_t *program = isa_program_open(&launch.limits);
  isa_group_t *group = isa_group_create(&launch, program);
  std::vector<isa_range_t> ranges(ISA_RANGES);
  isa_group_begin(group, 0, 0, ranges.data(), &outcome.fault);
  isa_wave_t &wave = group->wave[0];
  memcpy(wave.s, start.s, sizeof wave.s);
  memcpy(wave.v, start.rows.data(), start.rows.size() * 4);
  wave.mode = start.mode;
  for (unsigned i = 0; i < slices && outcome.slice == ISA_SLICE_UNFINISHED; i++)
    outcome.slice = isa_group_run(group, &outcome.executed);
  outcome.wave = wave;
  outcome.wave.pc -= kernel.entry();
  outcome.fault.pc -= outcome.fault.pc ? kernel.entry() : 0;
  const uint32_t *rows = wave.v[0];
  outcome.rows.assign(rows, rows + VGPRS * 64);
  outcome.lds.assign(group->lds, group->lds + LDS);
  if (memory)
    outcome.memory.assign(memory->as<uint8_t>(), memory->as<uint8_t>() + memory->size());
  isa_group_destroy(group);
  isa_program_close(program);
  softgpu_invalidate_code();
  return outcome;
}

::testing::AssertionResult same(const Outcome &x, const Outcome &y)
{
  auto fail = ::testing::AssertionFailure();
  const softgpu_fault_t &f = x.fault, &g = y.fault;
  if (x.slice != y.slice || f.kind != g.kind || f.lane != g.lane || f.pc != g.pc ||
      f.address != g.address || f.access_bytes != g.access_bytes)
    return fail << "fault " << f.text << "; reference: " << g.text;
  if (x.executed != y.executed)
    return fail << x.executed << " instructions, reference " << y.executed;
  for (unsigned i = 0; i < 128; i++)
    if (x.wave.s[i] != y.wave.s[i])
      return fail << "s" << i << std::hex << " " << x.wave.s[i] << ", reference " << y.wave.s[i];
  for (size_t i = 0; i < x.rows.size(); i++)
    if (x.rows[i] != y.rows[i])
      return fail << "v" << i / 64 << " lane " << i % 64 << std::hex << " " << x.rows[i]
                  << ", reference " << y.rows[i];
  const isa_wave_t &a = x.wave, &b = y.wave;
  if (a.pc != b.pc || a.scc != b.scc || a.mode != b.mode || a.vskip != b.vskip ||
      a.gpr_index_mode != b.gpr_index_mode || a.state != b.state)
    return fail << "pc " << std::hex << a.pc << " " << b.pc << ", scc " << a.scc << " " << b.scc
                << ", mode or state";
  if (x.lds != y.lds || x.memory != y.memory)
    return fail << (x.lds != y.lds ? "LDS" : "memory");
  return ::testing::AssertionSuccess();
}

// --- random blocks ---

// Which lanes: none, one, halves, from and up to where a host's vector begins, any, all.
uint64_t random_exec(words::Random &random)
{
  const unsigned lane = 4 * random.below(16);
  const uint64_t masks[] = {0,
                            1ull << random.below(64),
                            0xffffffff,
                            ~0ull << 32,
                            ~0ull << lane,
                            (1ull << lane) - 1,
                            random(),
                            ~0ull,
                            ~0ull,
                            ~0ull};
  return masks[random.below(sizeof masks / sizeof *masks)];
}

uint32_t random_value(words::Random &random)
{
  static const uint32_t values[] = {0,          1,          0xffffffff, 0x80000000, 0x7f800000,
                                    0x7fc00000, 0x7f800001, 0xffc12345, 0x3f800000, 0x00000001,
                                    0xc0490fdb, 0x00800000, 0x3c003c00, 0x7e007c01};
  switch (random.below(4)) {
  case 0:
    return values[random.below(sizeof values / sizeof *values)];
  case 1:
    return random.below(LDS);
  case 2: // a float of a middling size
    return (uint32_t)(random() & 0x807fffff) | (120 + random.below(16)) << 23;
  default:
    return (uint32_t)random();
  }
}

Start random_start(words::Random &random)
{
  Start start;
  for (uint32_t &value : start.s)
    value = random_value(random);
  const uint64_t exec = random_exec(random);
  memcpy(&start.s[ISA_EXEC], &exec, sizeof exec);
  start.s[ISA_M0] = random.below(8);
  start.rows.resize(VGPRS * 64);
  for (uint32_t &value : start.rows)
    value = random_value(random);
  start.mode = 0x2f0 | (random.one_in(4) ? random.below(1024) : 0);
  return start;
}

// Control flow is the test's own; what waits for others, or asks for the time, has nothing to do here.
bool is_wanted(const isa_opcode &row)
{
  const std::string name = isa_op_name(row.op);
  for (const char *none : {"branch", "endpgm", "setpc", "swappc", "call_b64", "trap", "sethalt",
                           "rfe", "fork", "join", "gws", "sleep", "barrier", "getpc", "memtime",
                           "memrealtime", "getreg", "ds_ordered", "icache", "movrel"})
    if (name.find(none) != std::string::npos)
      return false;
  return row.encoding <= ISA_SOPP || (row.encoding >= ISA_VOP1 && row.encoding <= ISA_DS);
}

struct Writer {
  words::Random &random;
  isa_limits_t limits = {};
  std::vector<const isa_opcode *> rows;
  std::vector<std::vector<uint32_t>> block = {};

  explicit Writer(words::Random &numbers) : random(numbers)
  {
    limits.sgprs = 102;
    limits.vgprs = limits.rows = VGPRS;
    limits.first_agpr = limits.agprs = VGPRS / 2;
    for (const isa_opcode &row : words::opcodes())
      if (row.chips & 1 && is_wanted(row))
        rows.push_back(&row);
  }

  // One that the engine runs; half of them of the vector ALU.
  std::vector<uint32_t> instruction()
  {
    for (;;) {
      const isa_opcode &row = *rows[random.below((uint32_t)rows.size())];
      std::vector<uint32_t> words = words::instruction(row, random, VGPRS / 2 - 4);
      words.resize(ISA_MOST_DWORDS);
      isa_inst_t inst;
      if (isa_decode(SOFTGPU_GFX90A, words.data(), ISA_MOST_DWORDS, &inst) != ISA_DECODED ||
          !isa_prepare(&inst, &limits) || (inst.op == ISA_s_setvskip && !random.one_in(8)))
        continue;
      words.resize(inst.dwords);
      return words;
    }
  }

  // 5 to 40 of them, some behind forward branches, in a loop of up to three turns, whose counter is s101.
  std::vector<uint32_t> write()
  {
    static const uint32_t conditions[] = {4, 5, 6, 7, 8, 9}; // s_cbranch_scc0 .. s_cbranch_execnz
    block.clear();
    const unsigned count = 5 + random.below(36);
    for (unsigned i = 0; i < count; i++)
      block.push_back(instruction());
    std::vector<uint32_t> code = {0xb0650000 | (1 + random.below(3))}; // s_movk_i32 s101, turns
    const size_t top = code.size();
    for (unsigned i = 0; i < count; i++) {
      if (random.one_in(5)) {
        const unsigned over = 1 + random.below(std::min(4u, count - i));
        uint32_t distance = 0;
        for (unsigned n = i; n < i + over; n++)
          distance += (uint32_t)block[n].size();
        code.push_back(0xbf800000 | conditions[random.below(6)] << 16 | distance);
        for (unsigned n = i; n < i + over; n++)
          code.insert(code.end(), block[n].begin(), block[n].end());
        i += over - 1;
      } else {
        code.insert(code.end(), block[i].begin(), block[i].end());
      }
    }
    code.push_back(0xbf110080);            // s_set_gpr_idx_mode's neighbours may be on: see the next
    code.back() = 0xbf9c0000;              // s_set_gpr_idx_off
    code.push_back(0x80e58165);            // s_sub_u32 s101, s101, 1
    code.push_back(0xbf078065);            // s_cmp_lg_u32 s101, 0
    const uint32_t back = (uint32_t)(top - (code.size() + 1));
    code.push_back(0xbf850000 | (back & 0xffff)); // s_cbranch_scc1
    code.push_back(0xbf810000);                   // s_endpgm
    return code;
  }
};

std::string listing(const std::vector<uint32_t> &code)
{
  std::string text;
  isa_inst_t inst;
  char line[200];
  for (size_t at = 0; at < code.size(); at += inst.dwords) {
    if (isa_decode(SOFTGPU_GFX90A, &code[at], (uint32_t)(code.size() - at), &inst) != ISA_DECODED)
      break;
    isa_text(&inst, line, sizeof line);
    text += std::to_string(4 * at) + "  " + line + "\n";
  }
  return text;
}

bool is_extended()
{
  return getenv("RAWHAL_TEST_EXTENDED") != nullptr;
}

TEST(Blocks, RandomOnesLeaveTheSameWave)
{
  words::Random random{7};
  Writer writer(random);
  const unsigned blocks = is_extended() ? 10000 : 300;
  unsigned ended = 0;
  for (unsigned n = 0; n < blocks; n++) {
    const std::vector<uint32_t> code = writer.write();
    const Start start = random_start(random);
    const Outcome reference = run(code, start, true);
    ended += reference.slice == ISA_SLICE_ENDED;
    for (int host = 0; host < ISA_VALU_HOSTS; host++) {
      const valu_build_t *build = isa_valu_build_of((isa_valu_host_t)host);
      if (!build)
        continue;
      isa_valu_use(build);
      const auto result = same(run(code, start, false), reference);
      isa_valu_use(NULL);
      ASSERT_TRUE(result) << "block " << n << ", build " << host << "\n" << listing(code);
    }
  }
  EXPECT_GT(ended, blocks / 2) << "most blocks should come to their end";
}

// A wave may be put aside after any instruction.
TEST(Blocks, TurnsOfAnyLengthLeaveTheSameWave)
{
  words::Random random{8};
  Writer writer(random);
  for (unsigned n = 0; n < (is_extended() ? 2000u : 100u); n++) {
    const std::vector<uint32_t> code = writer.write();
    const Start start = random_start(random);
    const Outcome reference = run(code, start, true);
    for (unsigned turn : {1, 2, 3, 7, 4000}) {
      isa_group_set_turns(turn, turn);
      const auto result = same(run(code, start, false, nullptr, 4000), reference);
      isa_group_set_turns(0, 0);
      ASSERT_TRUE(result) << "block " << n << ", turns of " << turn << "\n" << listing(code);
    }
  }
}

// --- faults ---

struct Access {
  const char *name;
  uint32_t words[2]; // at v[0:1], or v0 of LDS; data in v[4:7]
  uint32_t bytes;
};

// The lane's bytes end at the memory's end or go on by one, or begin at its beginning or before it.
TEST(Blocks, FaultsAreTheSameAtEachLaneAndByte)
{
  static const Access accesses[] = {
      {"global_load_dword", {0xdc508000, 0x047f0000}, 4},
      {"global_load_dwordx2", {0xdc548000, 0x047f0000}, 8},
      {"global_load_dwordx4", {0xdc5c8000, 0x047f0000}, 16},
      {"global_store_dword", {0xdc708000, 0x007f0400}, 4},
      {"global_store_dwordx2", {0xdc748000, 0x007f0400}, 8},
      {"global_store_dwordx4", {0xdc7c8000, 0x007f0400}, 16},
  };
  words::Random random{9};
  device::Memory memory(1 << 14);
  std::vector<uint8_t> before(memory.size());
  for (uint8_t &byte : before)
    byte = (uint8_t)random();
  unsigned faults = 0;
  for (const Access &access : accesses)
    for (unsigned lane = 0; lane < 64; lane += is_extended() || lane % 4 == 3 || lane % 16 == 0 ? 1 : 2)
      for (uint64_t place : {memory.address() - 1, memory.address(),
                             memory.address() + memory.size() - access.bytes,
                             memory.address() + memory.size() - access.bytes + 1})
        for (uint64_t exec : {~0ull, ~0ull << lane, 1ull << lane, ~(1ull << lane)}) {
          Start start = random_start(random);
          start.mode = 0x2f0;
          memcpy(&start.s[ISA_EXEC], &exec, sizeof exec);
          for (unsigned i = 0; i < 64; i++) {
            const uint64_t at = i == lane ? place : memory.address() + 4096 + i * access.bytes;
            start.rows[i] = (uint32_t)at;
            start.rows[64 + i] = (uint32_t)(at >> 32);
          }
          // Once where all is well, so that the range is known, then for the lane.
          const std::vector<uint32_t> code = {0xbf800000, access.words[0], access.words[1],
                                              0xbf800000, 0xbf810000};
          Outcome outcomes[2];
          for (bool reference : {false, true}) {
            memcpy(memory.as<void>(), before.data(), before.size());
            outcomes[reference] = run(code, start, reference, &memory);
          }
          faults += outcomes[1].slice == ISA_SLICE_FAULTED;
          // What a fault leaves of registers and memory is nobody's business.
          if (outcomes[1].slice == ISA_SLICE_FAULTED)
            for (Outcome &outcome : outcomes)
              outcome.rows.clear(), outcome.memory.clear();
          ASSERT_TRUE(same(outcomes[0], outcomes[1]))
              << access.name << " lane " << lane << " exec " << std::hex << exec << " at " << place;
        }
  EXPECT_GT(faults, 0u);
}

} // namespace
