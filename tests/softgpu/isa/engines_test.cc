// Every instruction that the engine runs, on each of the engine's builds and on the reference
// engine: the same state afterwards, bit for bit, in at least 2,000 cases, 10,000 in the tier `all` (lanes; scalar
// instructions: executions) each, of GFX9. The file is compiled for waves of 64 and of 32 lanes; of
// chips that have both there are fewer in each. Operands of every kind, modifiers, SDWA, DPP, float modes and
// exec masks are random; registers and memory hold special values and random bits.
#include "valu_harness.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tests/extended.h"
#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/status.h"
#include "tests/softgpu/isa/words.h"

extern "C" {
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/reference/reference.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

using valu::sample;

namespace {

// The memory ends with the scratch slice of the wave.
enum { ROWS = 64, LDS = 2048, PRIVATE = 64, SCRATCH = ISA_LANES * PRIVATE };
enum { BYTES = 4096 + SCRATCH };

// All that an instruction can read or change.
struct State {
  isa_row_t v[ROWS], a[ROWS];
  isa_wave_t wave;
  softgpu_fault_t fault;
  std::vector<uint8_t> lds, memory;
  isa_gws_resource_t gws[ISA_GWS_RESOURCES] = {};
};

// Which chips instructions are decoded for, and how often each is tried at least.
struct Chips {
  const char *name;
  unsigned first, count; // softgpu_chip_t
  uint64_t cases, trials;
  bool is_gfx9() const { return first == SOFTGPU_GFX90A; }
  std::vector<uint32_t> words(unsigned chip, const isa_opcode &row, words::Random &random,
                              uint32_t vgprs) const
  {
    return is_gfx9() ? words::instruction(row, random, vgprs)
                     : words::instruction_of(chip, row, random, vgprs);
  }
  std::vector<isa_opcode> rows() const
  {
    return is_gfx9() ? words::all_opcodes() : words::opcodes_of(first + count - 1);
  }
};

const Chips gfx9 = {"", SOFTGPU_GFX90A, SOFTGPU_GFX9_COUNT, status::CASES, 0};

struct Family {
  const char *name;
  bool (*contains)(const isa_opcode &row);
  bool uses_vectors, uses_memory;
};

// One family's state and what its instructions are tried on.
struct Bench {
  const Chips &chips;
  softgpu_dispatch_t dispatch = {};
  device::Memory memory{BYTES};
  std::vector<uint8_t> lds = std::vector<uint8_t>(LDS); // of whichever state is run
  isa_thread_t thread = {};
  softgpu_gws_t gws;
  isa_limits_t limits = {};
  words::Random random{1};
  valu::Random samples{2};
  explicit Bench(const Chips &tried = gfx9) : chips(tried)
  {
    dispatch.shared_aperture_hi = 0x10000;
    dispatch.private_aperture_hi = 0x20000;
    dispatch.scratch_base = scratch();
    dispatch.scratch_bytes = SCRATCH;
    limits.lanes = ISA_LANES;
    limits.sgprs = chips.is_gfx9() ? 102 : 106;
    limits.vgprs = limits.agprs = limits.first_agpr = ROWS;
    isa_gws_open(&gws);
    dispatch.gws = &gws;
  }
  ~Bench() { isa_gws_close(&gws); }

  uint64_t scratch() const { return memory.address() + BYTES - SCRATCH; }

  void attach(State &s)
  {
    s.wave.v = s.v;
    s.wave.a = s.a;
    s.wave.fault = &s.fault;
    s.wave.lds = lds.data();
    s.wave.thread = &thread;
    s.wave.dispatch = &dispatch;
  }

  // Letters of the operands that a mnemonic speaks of, for values that matter to it.
  static std::string letters_of(const std::string &name)
  {
    std::string letters = "u";
    if (name.find("f64") != std::string::npos)
      letters = "gggu";
    if (name.find("f32") != std::string::npos)
      letters += "ffff";
    if (name.find("f16") != std::string::npos || name.find("fp8") != std::string::npos)
      letters += "eeee";
    return letters;
  }

  // Of a row of numbers, of which one in so many is a NaN, one is in nearly every row: what is without has its own case.
  static uint64_t finite(char letter, uint64_t bits)
  {
    const uint64_t exponent = letter == 'f' ? 0x7f800000 : 0x7c00, lowest = exponent & -exponent;
    if (letter != 'f' && letter != 'e')
      return bits;
    for (unsigned shift = 0; shift < 32; shift += letter == 'f' ? 32 : 16)
      if ((bits >> shift & exponent) == exponent)
        bits &= ~(lowest << shift);
    return bits;
  }

  void fill_vectors(State &s, const std::string &letters)
  {
    const bool are_finite = random.one_in(2);
    for (isa_row_t *rows : {s.v, s.a})
      for (unsigned row = 0; row < ROWS; row += 2) {
        char letter = letters[random.below((uint32_t)letters.size())];
        unsigned specials = random.one_in(2) ? 24 : 12; // below 12: a special value
        for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
          uint64_t value = sample(letter, samples, random.below(specials));
          uint64_t other = letter == 'g' ? value >> 32 : sample(letter, samples, lane % 24);
          rows[row][lane] = (uint32_t)(are_finite ? finite(letter, value) : value);
          rows[row + 1][lane] = (uint32_t)(are_finite ? finite(letter, other) : other);
        }
      }
  }

  // All lanes; any; none, one, those below or above a lane, which often is a vector's first.
  uint64_t exec()
  {
    const unsigned lane =
        random.one_in(2) ? random.below(ISA_LANES) : 8 * random.below(ISA_LANES / 8);
    switch (random.below(12)) {
    case 0:
      return 0;
    case 1:
      return 1ull << lane;
    case 2:
      return ~0ull << lane;
    case 3:
      return ~(~0ull << lane);
    case 4:
    case 5:
    case 6:
      return random();
    default:
      return ~0ull;
    }
  }

  void fill(State &s, const Family &family, const std::string &name)
  {
    s.wave = {};
    s.fault = {};
    const std::string letters = letters_of(name);
    for (uint32_t &value : s.wave.s)
      value = (uint32_t)sample(letters[random.below((uint32_t)letters.size())], samples,
                               random.below(24));
    s.wave.sgprs = limits.sgprs;
    s.wave.lanes = ISA_LANES;
    s.wave.vgprs = s.wave.agprs = ROWS;
    s.wave.pc = 0x1000000;
    s.wave.scc = random.below(2);
    s.wave.mode = random.one_in(2) ? 0xf0 : random.below(256);
    s.wave.mode |= random.below(4) << 8 | (random.one_in(4) ? ISA_MODE_FP16_OVFL : 0);
    s.wave.budget = 1000;
    s.wave.lds_bytes = LDS;
    s.wave.private_bytes = PRIVATE;
    s.wave.scratch = scratch();
    if (family.uses_vectors)
      isa_set_exec(&s.wave, exec() & ISA_ALL_LANES);
    if (family.uses_vectors && (!family.uses_memory || s.memory.empty() || random.one_in(4)))
      fill_vectors(s, letters);
    if (!chips.is_gfx9()) {
      s.wave.s[ISA_NULL] = 0;
      s.wave.flat_scratch = random();
      if (random.one_in(2)) // for v_movrel and its kind
        s.wave.s[ISA_M0] = random.below(random.one_in(4) ? 80 : 8) |
                           (random.one_in(2) ? random.below(80) << 16 : 0);
    } else if (random.one_in(16)) {
      s.wave.gpr_index_mode = (uint8_t)random.below(16);
      s.wave.s[ISA_M0] = random.below(random.one_in(2) ? 8 : 80);
    }
    if (family.uses_memory) {
      s.wave.lds_bytes -= random.one_in(2) ? 4 * random.below(LDS / 4) : 0;
      dispatch.sram_ecc = random.one_in(2) && chips.is_gfx9();
    }
    for (isa_gws_resource_t &r : s.gws) {
      r.barriers = random.below(3);
      r.released = random.below(3);
      r.queued = r.released + random.below(3);
      r.counter = r.queued > r.released ? 0 : random.below(4);
    }
    s.wave.gws_waits = random.one_in(4);
    s.wave.gws_ticket = random.below(4);
    s.wave.hw_id = random.below(1 << 16);
    s.wave.xcc_id = random.below(8);
    if (family.uses_memory && (s.memory.empty() || random.one_in(family.uses_vectors ? 4 : 64)))
      fill_memory(s);
  }

  void fill_memory(State &s)
  {
    s.memory.resize(BYTES);
    s.lds.resize(LDS);
    for (size_t i = 0; i < s.memory.size(); i += 4) {
      uint32_t value = (uint32_t)sample("ufeg"[random.below(4)], samples, random.below(24));
      memcpy(&s.memory[i], &value, 4);
    }
    for (size_t i = 0; i < s.lds.size(); i += 4) {
      uint32_t value = (uint32_t)sample("ufeg"[random.below(4)], samples, random.below(24));
      memcpy(&s.lds[i], &value, 4);
    }
  }

  // Random words of a row. False when they are no instruction of its kind, or one that tells time.
  bool decode(const isa_opcode &row, isa_inst_t &decoded)
  {
    // A row of gfx942 is gfx950's too, or else decodes to something else there.
    unsigned chip = chips.first + random.below(chips.count);
    while (!(row.chips >> (chip - chips.first) & 1))
      chip = chips.first + random.below(chips.count);
    std::vector<uint32_t> code = chips.words(chip, row, random, ROWS - 4);
    code.resize(ISA_MOST_DWORDS);
    return isa_decode_of(chip, ISA_LANES, code.data(), ISA_MOST_DWORDS, &decoded) == ISA_DECODED &&
           decoded.op == row.op && !tells_time(decoded);
  }

  // Not comparable.
  bool tells_time(const isa_inst_t &inst) const
  {
    enum { SHADER_CYCLES = 29 };
    if (inst.op == ISA_s_sendmsg_rtn_b32 || inst.op == ISA_s_sendmsg_rtn_b64)
      return inst.simm == 131;
    return inst.op == ISA_s_getreg_b32 && !chips.is_gfx9() && (inst.simm & 63) == SHADER_CYCLES;
  }

  // An instruction of the row that the engine runs. False when there seems to be none.
  bool find(const isa_opcode &row, isa_inst_t &decoded, isa_inst_t &prepared)
  {
    for (unsigned attempt = 0; attempt < 4000; ++attempt) {
      if (!decode(row, decoded))
        continue;
      if (prepare(decoded, prepared))
        return true;
    }
    return false;
  }

  // For the build in use.
  bool prepare(const isa_inst_t &decoded, isa_inst_t &prepared)
  {
    prepared = decoded;
    limits.chip = decoded.chip;
    return isa_prepare(&prepared, &limits);
  }

  bool run(State &s, const isa_inst_t &inst, bool (*how)(isa_wave_t *, const isa_inst_t *))
  {
    attach(s);
    const bool has_memory = !s.memory.empty();
    if (has_memory)
      memcpy(memory.as<void>(), s.memory.data(), BYTES), lds = s.lds;
    memcpy(gws.resources, s.gws, sizeof s.gws);
    s.wave.lds_loads = nullptr;
    bool ok = how(&s.wave, &inst);
    ok &= isa_lds_loads_land(&s.wave, UINT64_MAX);
    memcpy(s.gws, gws.resources, sizeof s.gws);
    if (has_memory)
      memcpy(s.memory.data(), memory.as<void>(), BYTES), s.lds = lds;
    return ok;
  }
};

#include "tests/softgpu/isa/engines_memory.inc"

::testing::AssertionResult same(const State &x, const State &y, bool vectors)
{
  auto fail = ::testing::AssertionFailure();
  for (unsigned i = 0; i < 128; ++i)
    if (x.wave.s[i] != y.wave.s[i])
      return fail << std::hex << "s" << std::dec << i << std::hex << " " << x.wave.s[i]
                  << ", reference " << y.wave.s[i];
  for (unsigned row = 0; vectors && row < 2 * ROWS; ++row)
    for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
      const isa_row_t &p = row < ROWS ? x.v[row] : x.a[row - ROWS];
      const isa_row_t &q = row < ROWS ? y.v[row] : y.a[row - ROWS];
      if (p[lane] != q[lane])
        return fail << (row < ROWS ? "v" : "a") << row % ROWS << " lane " << lane << std::hex << " "
                    << p[lane] << ", reference " << q[lane];
    }
  const isa_wave_t &a = x.wave, &b = y.wave;
  if (a.pc != b.pc || a.scc != b.scc || a.mode != b.mode || a.vskip != b.vskip ||
      a.gpr_index_mode != b.gpr_index_mode || a.flat_scratch != b.flat_scratch ||
      a.budget != b.budget || a.state != b.state)
    return fail << "pc, scc " << a.scc << " " << b.scc << ", mode or state";
  if (a.gws_waits != b.gws_waits || a.gws_ticket != b.gws_ticket ||
      memcmp(x.gws, y.gws, sizeof x.gws))
    return fail << "global wave sync";
  if (x.lds != y.lds)
    return fail << "LDS";
  if (x.memory != y.memory)
    return fail << "memory";
  return ::testing::AssertionSuccess();
}

std::string text_of(const isa_inst_t &inst, const State &before)
{
  char text[200], more[100];
  isa_text(&inst, text, sizeof text);
  snprintf(more, sizeof more, " [mode %x exec %llx%s]", before.wave.mode,
           (unsigned long long)isa_exec(&before.wave),
           !isa_is_memory(&inst) && inst.vop.has_sdwa ? " sdwa" : "");
  std::string all = std::string(text) + more;
  for (unsigned i = 0; isa_is_memory(&inst) && inst.mem.saddr.kind && inst.row->sdst == 4 && i < 4;
       ++i) { // a descriptor
    snprintf(more, sizeof more, " %08x", before.wave.s[inst.mem.saddr.index + i]);
    all += more;
  }
  return all;
}

struct Trial {
  std::unique_ptr<State> before{new State()}, engine{new State()}, reference{new State()};
  isa_inst_t decoded = {}, prepared = {}; // a scalar instruction is tried on four states
  const isa_opcode *row = nullptr;
  unsigned uses = 0;
};

void duplicate(State &to, const State &from, const Family &family)
{
  if (family.uses_vectors) {
    memcpy(to.v, from.v, sizeof to.v);
    memcpy(to.a, from.a, sizeof to.a);
  }
  to.wave = from.wave;
  to.fault = from.fault;
  to.lds = from.lds;
  to.memory = from.memory;
  memcpy(to.gws, from.gws, sizeof to.gws);
}

// Runs one instruction everywhere. Adds the cases it was.
::testing::AssertionResult compare(Bench &bench, const Family &family, const isa_opcode &row,
                                   Trial &trial, uint64_t &cases)
{
  isa_inst_t &decoded = trial.decoded, prepared;
  if (trial.uses++ % 4 == 0 || family.uses_vectors || trial.row != &row)
    if (!bench.find(row, decoded, trial.prepared))
      return ::testing::AssertionFailure() << "no operands found";
  trial.row = &row;
  prepared = trial.prepared;
  State &before = *trial.before;
  bench.fill(before, family, isa_op_name(row.op));
  if (family.uses_memory)
    aim(bench, before, decoded);
  duplicate(*trial.engine, before, family);
  duplicate(*trial.reference, before, family);
  bool ok = bench.run(*trial.engine, prepared, prepared.run);
  bool reference_ok = bench.run(*trial.reference, decoded, isa_reference_run);
  const softgpu_fault_t &x = trial.engine->fault, &y = trial.reference->fault;
  if (ok != reference_ok || x.kind != y.kind ||
      (!ok && (x.lane != y.lane || x.address != y.address)))
    return ::testing::AssertionFailure()
           << text_of(decoded, before) << ": fault " << x.kind << " lane " << x.lane << " at "
           << std::hex << x.address << ", reference " << y.kind << " " << y.lane << " " << y.address
           << (y.kind == SOFTGPU_FAULT_ILLEGAL_INSTRUCTION ? " (illegal instruction)" : "");
  if (!ok) {
    cases += x.kind == SOFTGPU_FAULT_TRAP; // is what the instruction is for
    return ::testing::AssertionSuccess();
  }
  auto result = same(*trial.engine, *trial.reference, family.uses_vectors);
  if (!result)
    return ::testing::AssertionFailure() << text_of(decoded, before) << ": " << result.message();
  cases += family.uses_vectors ? (uint64_t)__builtin_popcountll(isa_exec(&before.wave)) : 1;
  for (int host = 0; host < ISA_VALU_HOSTS && result; ++host) {
    isa_inst_t built;
    const valu_build_t *build = isa_valu_build_of((isa_valu_host_t)host), *used = isa_valu_build();
    if (!build || build == used)
      continue;
    isa_valu_use(build);
    // Memory's instructions ask for the build when they run.
    if (bench.prepare(decoded, built) && (built.run_on != prepared.run_on || family.uses_memory)) {
      duplicate(*trial.engine, before, family);
      bench.run(*trial.engine, built, built.run);
      result = same(*trial.engine, *trial.reference, family.uses_vectors);
    }
    isa_valu_use(NULL);
    if (!result)
      return ::testing::AssertionFailure()
             << text_of(decoded, before) << ", build " << host << ": " << result.message();
  }
  return result;
}

// Not comparable: clocks.
bool is_excluded(unsigned op)
{
  return op == ISA_s_memtime || op == ISA_s_memrealtime;
}

#if ISA_LANES == 64
// Of every chip.
void check(const Family &family, unsigned part = 0, unsigned parts = 1)
{
  Bench bench;
  Trial trial;
  status::Counter counter(family.name + std::to_string(part));
  std::set<unsigned> done;
  for (const isa_opcode &first : words::all_opcodes()) {
    const unsigned op = first.op;
    if (!family.contains(first) || op % parts != part || is_excluded(op) || !done.insert(op).second)
      continue;
    isa_inst_t decoded, prepared;
    std::vector<const isa_opcode *> rows;
    bench.random = {op};
    bench.samples = {op};
    for (const isa_opcode *row : words::rows_of(op))
      if (family.contains(*row) && bench.find(*row, decoded, prepared))
        rows.push_back(row);
    if (rows.empty()) {
      EXPECT_TRUE(status::is_unsupported(op)) << isa_op_name(op) << " is not run";
      continue;
    }
    EXPECT_FALSE(status::is_unsupported(op)) << isa_op_name(op) << " is run";
    uint64_t cases = 0;
    ::testing::AssertionResult result = ::testing::AssertionSuccess();
    for (unsigned n = 0; cases < status::CASES && n < 20 * status::CASES && result; ++n)
      result = compare(bench, family, *rows[n / 4 % rows.size()], trial, cases);
    EXPECT_TRUE(result) << isa_op_name(op);
    EXPECT_TRUE(!result || cases >= status::CASES) << isa_op_name(op) << ": " << cases << " cases";
    counter.add(op, cases);
  }
  EXPECT_FALSE(done.empty());
}

#endif

bool is_matrix(const isa_opcode &row)
{
  const std::string name = isa_op_name(row.op);
  return !name.find("v_mfma") || !name.find("v_smfmac") || !name.find("v_wmma");
}

const Family scalar = {"scalar", [](const isa_opcode &row) { return row.encoding <= ISA_SOPP; },
                       false, false};
const Family smem = {"scalar memory",
                     [](const isa_opcode &row) { return row.encoding == ISA_SMEM; }, false, true};
const Family vector = {"vector",
                       [](const isa_opcode &row) {
                         return row.encoding >= ISA_VOP1 && row.encoding <= ISA_VOP3P &&
                                !is_matrix(row);
                       },
                       true, false};
const Family matrix = {"matrix", is_matrix, true, false};
const Family lds = {"LDS", [](const isa_opcode &row) { return row.encoding == ISA_DS; }, true,
                    true};
const Family flat = {
    "flat",
    [](const isa_opcode &row) { return row.encoding >= ISA_FLAT && row.encoding <= ISA_SCRATCH; },
    true, true};
const Family buffer = {
    "buffer",
    [](const isa_opcode &row) { return row.encoding == ISA_MUBUF || row.encoding == ISA_MTBUF; },
    true, true};

const Family image = {"image", [](const isa_opcode &row) { return row.encoding == ISA_MIMG; }, true,
                      true};

// What each engine refuses it decides for itself. Words of every row: mostly with operands that
// exist, some beyond the wave's registers, some with other bits of them changed.
void check_verdicts(const Chips &chips, uint64_t least)
{
  Bench bench(chips);
  State state;
  bench.fill(state, scalar, "");
  isa_set_exec(&state.wave, 0);
  std::map<std::string, std::string> differences;
  uint64_t verdicts[2] = {};
  for (const isa_opcode &row : chips.rows())
    for (unsigned n = 0; n < 400 && !is_excluded(row.op); ++n) {
      const unsigned chip = chips.first + bench.random.below(chips.count);
      std::vector<uint32_t> code = chips.words(chip, row, bench.random, n % 4 ? ROWS - 4 : 256);
      code.resize(ISA_MOST_DWORDS);
      if (n % 4 == 1)
        code[bench.random.below(2)] ^= 1u << bench.random.below(32);
      else if (n % 4 == 3) // fields as a whole
        code[bench.random.below(2)] ^= bench.random.below(256) << bench.random.below(25);
      isa_inst_t decoded, prepared;
      if (isa_decode_of(chip, ISA_LANES, code.data(), ISA_MOST_DWORDS, &decoded) != ISA_DECODED)
        continue;
      const bool is_run = bench.prepare(decoded, prepared);
      bool is_allowed = isa_reference_allows(&state.wave, &decoded);
      if (is_allowed && !is_run) { // by its operands; what there is no code for shows when it runs
        state.fault = {};
        bench.run(state, decoded, isa_reference_run);
        is_allowed = state.fault.kind != SOFTGPU_FAULT_ILLEGAL_INSTRUCTION;
      }
      ++verdicts[is_run];
      if (is_run != is_allowed)
        differences[isa_op_name(decoded.op)] =
            text_of(decoded, state) +
            (is_run ? ": refused by the reference" : ": run by the reference");
    }
  std::string all;
  for (const auto &[name, text] : differences)
    all += "\n  " + text;
  EXPECT_EQ(all, "");
  EXPECT_GT(verdicts[false], least);
  EXPECT_GT(verdicts[true], 10 * least);
}

#include "tests/softgpu/isa/engines_rdna.inc"

#if ISA_LANES == 64
TEST(Engines, AgreeOnWhatIsIllegal)
{
  check_verdicts(gfx9, 10000);
}

TEST(Engines, ScalarFirstHalf)
{
  check(scalar, 0, 2);
}
TEST(Engines, ScalarSecondHalf)
{
  check(scalar, 1, 2);
}
TEST(Engines, ScalarMemoryFirstHalf)
{
  check(smem, 0, 2);
}
TEST(Engines, ScalarMemorySecondHalf)
{
  check(smem, 1, 2);
}
TEST(Engines, VectorFirstQuarter)
{
  check(vector, 0, 4);
}
TEST(Engines, VectorSecondQuarter)
{
  check(vector, 1, 4);
}
TEST(Engines, VectorThirdQuarter)
{
  check(vector, 2, 4);
}
TEST(Engines, VectorFourthQuarter)
{
  check(vector, 3, 4);
}
TEST(Engines, MatricesFirstThird)
{
  check(matrix, 0, 3);
}
TEST(Engines, MatricesSecondThird)
{
  check(matrix, 1, 3);
}
TEST(Engines, MatricesLastThird)
{
  check(matrix, 2, 3);
}
TEST(Engines, Lds)
{
  check(lds);
}
TEST(Engines, Flat)
{
  check(flat);
}
TEST(Engines, Buffers)
{
  check(buffer);
}
TEST(Engines, Images)
{
  check(image);
}
#endif

} // namespace
