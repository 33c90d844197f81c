// Stretches of code on the engine, with its blocks, turns and kept state, and on the reference engine, which looks at
// each instruction anew: the same wave afterwards, register by register, and the same faults.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/extended.h"
#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/exec/vector/valu.h"
#include "softgpu/isa/run/group.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
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
  uint32_t mode = 0xf0, checks = 0;
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
  softgpu_dispatch_t dispatch = dispatch_of(kernel, kernarg);
  dispatch.checks = start.checks;
  Outcome outcome;
  isa_launch_t launch;
  if (!isa_launch_prepare(&dispatch, &launch, &outcome.fault))
    throw std::runtime_error(outcome.fault.text);
  launch.limits.reference = reference;
  isa_program_t *program = isa_program_open(&launch.limits);
  isa_group_t *group = isa_group_create(&launch, program);
  const auto thread = std::make_unique<isa_thread_t>();
  isa_group_begin(group, 0, 0, thread.get(), &outcome.fault);
  isa_wave_t &wave = group->wave[0];
  memcpy(wave.s, start.s, sizeof start.s);
  memcpy(wave.v, start.rows.data(), start.rows.size() * 4);
  wave.mode = start.mode;
  for (unsigned i = 0; i < slices && outcome.slice == ISA_SLICE_UNFINISHED; ++i)
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
  for (unsigned i = 0; i < 128; ++i)
    if (x.wave.s[i] != y.wave.s[i])
      return fail << "s" << i << std::hex << " " << x.wave.s[i] << ", reference " << y.wave.s[i];
  for (size_t i = 0; i < x.rows.size(); ++i)
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
  for (const char *none :
       {"branch",  "endpgm",      "setpc",  "swappc",     "call_b64", "trap",    "sethalt",
        "rfe",     "fork",        "join",   "gws",        "sleep",    "barrier", "getpc",
        "memtime", "memrealtime", "getreg", "ds_ordered", "icache",   "movrel"})
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
    limits.lanes = ISA_LANES;
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
    for (unsigned i = 0; i < count; ++i)
      block.push_back(instruction());
    std::vector<uint32_t> code = {0xb0650000 | (1 + random.below(3))}; // s_movk_i32 s101, turns
    const size_t top = code.size();
    for (unsigned i = 0; i < count; ++i) {
      if (random.one_in(5)) {
        const unsigned over = 1 + random.below(std::min(4u, count - i));
        uint32_t distance = 0;
        for (unsigned n = i; n < i + over; ++n)
          distance += (uint32_t)block[n].size();
        code.push_back(0xbf800000 | conditions[random.below(6)] << 16 | distance);
        for (unsigned n = i; n < i + over; ++n)
          code.insert(code.end(), block[n].begin(), block[n].end());
        i += over - 1;
      } else {
        code.insert(code.end(), block[i].begin(), block[i].end());
      }
    }
    code.push_back(0xbf110080); // s_set_gpr_idx_mode's neighbours may be on: see the next
    code.back() = 0xbf9c0000;   // s_set_gpr_idx_off
    code.push_back(0x80e58165); // s_sub_u32 s101, s101, 1
    code.push_back(0xbf078065); // s_cmp_lg_u32 s101, 0
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

TEST(Blocks, RandomOnesLeaveTheSameWave)
{
  words::Random random{7};
  Writer writer(random);
  const unsigned blocks = is_extended() ? 10000 : 300;
  unsigned ended = 0;
  for (unsigned n = 0; n < blocks; ++n) {
    const std::vector<uint32_t> code = writer.write();
    const Start start = random_start(random);
    const Outcome reference = run(code, start, true);
    ended += reference.slice == ISA_SLICE_ENDED;
    for (int host = 0; host < ISA_VALU_HOSTS; ++host) {
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
  for (unsigned n = 0; n < (is_extended() ? 2000u : 100u); ++n) {
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

enum Where { GLOBAL, BUFFER, SHARED, SHARED_STORE }; // the last two of LDS

struct Access {
  const char *name;
  // At v[0:1], or v0 of LDS and of buffers, whose descriptor is s[4:7]; data in v[4:7]
  uint32_t words[2];
  uint32_t bytes;
  Where where;
};

const Access accesses[] = {
    {"global_load_dword", {0xdc508000, 0x047f0000}, 4, GLOBAL},
    {"global_load_dwordx2", {0xdc548000, 0x047f0000}, 8, GLOBAL},
    {"global_load_dwordx4", {0xdc5c8000, 0x047f0000}, 16, GLOBAL},
    {"global_store_dword", {0xdc708000, 0x007f0400}, 4, GLOBAL},
    {"global_store_dwordx2", {0xdc748000, 0x007f0400}, 8, GLOBAL},
    {"global_store_dwordx4", {0xdc7c8000, 0x007f0400}, 16, GLOBAL},
    {"flat_load_dword", {0xdc500000, 0x04000000}, 4, GLOBAL},
    {"flat_load_dwordx4", {0xdc5c0000, 0x04000000}, 16, GLOBAL},
    {"flat_store_dword", {0xdc700000, 0x00000400}, 4, GLOBAL},
    {"flat_store_dwordx4", {0xdc7c0000, 0x00000400}, 16, GLOBAL},
    {"flat_atomic_add", {0xdd080000, 0x00000400}, 4, GLOBAL},
    {"buffer_load_dword", {0xe0501000, 0x80010400}, 4, BUFFER},
    {"buffer_load_dwordx4", {0xe05c1000, 0x80010400}, 16, BUFFER},
    {"buffer_store_dword", {0xe0701000, 0x80010400}, 4, BUFFER},
    {"buffer_store_dwordx4", {0xe07c1000, 0x80010400}, 16, BUFFER},
    {"ds_read_b32", {0xd86c0000, 0x04000000}, 4, SHARED},
    {"ds_read_b64", {0xd8ec0000, 0x04000000}, 8, SHARED},
    {"ds_read_b128", {0xd9fe0000, 0x04000000}, 16, SHARED},
    {"ds_read2_b32", {0xd86e0100, 0x04000000}, 8, SHARED},
    {"ds_read2_b64", {0xd8ee0100, 0x04000000}, 16, SHARED},
    {"ds_write_b32", {0xd81a0000, 0x00000400}, 4, SHARED_STORE},
    {"ds_write_b128", {0xd9be0000, 0x00000400}, 16, SHARED_STORE},
    {"ds_write2_b32", {0xd81c0100, 0x00050400}, 8, SHARED_STORE},
    {"ds_add_u32", {0xd8000000, 0x00000400}, 4, SHARED},
};

// Once where all is well, so that what is kept of the range and of addresses is known, and once more at v[8:9], which
// are every lane's.
std::vector<uint32_t> twice(const Access &access)
{
  return {
      access.words[0], access.words[1],
      0xbeda017e,                  // s_mov_b64 s[90:91], exec
      0xbefe01c1,                  // s_mov_b64 exec, -1
      0x7e000308,      0x7e020309, // v_mov_b32 v0, v8; v_mov_b32 v1, v9
      0xbefe015a,                  // s_mov_b64 exec, s[90:91]
      0x80e58165,      0xbf078065, // s_sub_u32 s101, s101, 1; s_cmp_lg_u32 s101, 0
      0xbf85fff6,                  // s_cbranch_scc1, to the first
      0xbf810000                   // s_endpgm
  };
}

// All lanes well inside, but for one.
Start start_at(words::Random &random, const Access &access, const device::Memory &memory,
               unsigned lane, uint64_t place)
{
  const uint64_t base = access.where == GLOBAL ? memory.address() : 0;
  Start start = random_start(random);
  start.mode = 0x2f0;
  start.s[101] = 2;
  const uint32_t descriptor[] = {(uint32_t)memory.address(), (uint32_t)(memory.address() >> 32),
                                 (uint32_t)memory.size() + 64, 0x27000};
  memcpy(&start.s[4], descriptor, sizeof descriptor);
  for (unsigned i = 0; i < 64; ++i) {
    const uint64_t good = base + i * access.bytes, at = i == lane ? base + place : good;
    start.rows[i] = (uint32_t)good;
    start.rows[64 + i] = (uint32_t)(good >> 32);
    start.rows[8 * 64 + i] = (uint32_t)at;
    start.rows[9 * 64 + i] = (uint32_t)(at >> 32);
  }
  return start;
}

// The first and the last lane of each vector that a host may have.
bool is_boundary(unsigned lane)
{
  return lane % 4 == 0 || lane % 4 == 3;
}

// The lane's bytes end at the memory's end or go on by one, or begin at its beginning or before it. LDS has no faults but
// those of atomics between dwords, unless the dispatch asks for them. (Then loads of what nobody wrote are some, too.)
TEST(Blocks, FaultsAreTheSameAtEachLaneAndByte)
{
  words::Random random{9};
  device::Memory memory(1 << 14);
  std::vector<uint8_t> before(memory.size());
  for (uint8_t &byte : before)
    byte = (uint8_t)random();
  unsigned faults[4] = {};
  for (const Access &access : accesses) {
    const std::vector<uint32_t> code = twice(access);
    const uint64_t size = access.where >= SHARED ? LDS : memory.size();
    for (unsigned lane = 0; lane < 64; ++lane)
      for (uint64_t place : {uint64_t{0} - 1, uint64_t{0}, uint64_t{1}, size - access.bytes,
                             size - access.bytes + 1})
        for (uint64_t exec : {~0ull, ~0ull << lane, 1ull << lane, ~(1ull << lane)}) {
          if (!is_extended() && !is_boundary(lane) && exec != ~0ull)
            continue;
          Start start = start_at(random, access, memory, lane, place);
          memcpy(&start.s[ISA_EXEC], &exec, sizeof exec);
          start.checks = access.where == SHARED_STORE && lane % 2 ? SOFTGPU_CHECK_LDS : 0;
          auto run_in_memory = [&](bool reference) {
            memcpy(memory.as<void>(), before.data(), before.size());
            Outcome outcome = run(code, start, reference, &memory);
            // What a fault leaves of registers and memory is nobody's business.
            if (outcome.slice == ISA_SLICE_FAULTED)
              outcome.rows.clear(), outcome.memory.clear(), outcome.lds.clear();
            return outcome;
          };
          const Outcome reference = run_in_memory(true);
          faults[access.where] += reference.slice == ISA_SLICE_FAULTED;
          for (int host = 0; host < ISA_VALU_HOSTS; ++host) {
            const valu_build_t *build = isa_valu_build_of((isa_valu_host_t)host);
            if (!build || (host == ISA_VALU_PORTABLE && !is_extended()))
              continue;
            isa_valu_use(build);
            const auto result = same(run_in_memory(false), reference);
            isa_valu_use(NULL);
            ASSERT_TRUE(result) << access.name << " lane " << lane << " exec " << std::hex << exec
                                << " at " << place << ", build " << host;
          }
        }
  }
  for (unsigned where : {GLOBAL, BUFFER, SHARED, SHARED_STORE})
    EXPECT_GT(faults[where], 0u) << where;
}

} // namespace
