// Every row of the models against the instruction, in both builds of the vector ALU.
#include "valu_harness.h"

#include <algorithm>
#include <map>
#include <set>

extern "C" {
#include "softgpu/isa/decode/family.h"
}

using namespace valu;

namespace {

bool is_nan(char letter, uint64_t x)
{
  switch (base_letter(letter)) {
  case 'f':
    return (x & 0x7fffffff) > 0x7f800000;
  case 'e':
    return (x & 0x7fff) > 0x7c00;
  case 'g':
    return (x & INT64_MAX) > 0x7ff0000000000000;
  default:
    return false;
  }
}

uint64_t quiet(char letter, uint64_t nan)
{
  char base = base_letter(letter);
  return base == 'f' ? nan | 0x400000 : base == 'e' ? (nan & 0xffff) | 0x200 : nan | 1ull << 51;
}

// Payloads move with the mantissa's top; what has no room is lost.
uint64_t convert_nan(char from, char to, uint64_t nan)
{
  auto width = [](char letter) { return letter == 'f' ? 23 : letter == 'e' ? 10 : 52; };
  auto size = [](char letter) { return letter == 'f' ? 32 : letter == 'e' ? 16 : 64; };
  uint64_t payload = (nan & ((1ull << width(from)) - 1)) << (52 - width(from));
  uint64_t sign = nan >> (size(from) - 1) & 1;
  uint64_t exponent = (1ull << (size(to) - 1 - width(to))) - 1;
  return quiet(to, sign << (size(to) - 1) | exponent << width(to) | payload >> (52 - width(to)));
}

// The rule of valu.h: the first NaN among the operands, quieted, or the default one.
uint64_t expected_nan(const Row &row, const Lane &lane)
{
  const uint64_t sources[] = {lane.a, lane.b, lane.c};
  char result = base_letter(row.types[0]);
  for (unsigned n = 0; n + 2 < row.types.size(); ++n)
    if (is_nan(row.types[n + 2], sources[n]))
      return convert_nan(row.types[n + 2], result, sources[n]);
  return result == 'f' ? 0x7fc00000 : result == 'e' ? 0x7e00 : 0x7ff8000000000000;
}

int64_t ordered(uint64_t x, unsigned bits)
{
  uint64_t sign = 1ull << (bits - 1);
  return x & sign ? -(int64_t)(x - sign) : (int64_t)x;
}

bool agrees(const Row &row, uint64_t got, uint64_t expected)
{
  if (got == expected)
    return true;
  if (!(row.flags & ULP1))
    return false;
  unsigned size = base_letter(row.types[0]) == 'g'   ? 64
                  : base_letter(row.types[0]) == 'f' ? 32
                                                     : 16;
  return std::llabs(ordered(got, size) - ordered(expected, size)) <= 1;
}

struct Case {
  Machine machine;
  std::vector<Lane> lanes;
};

void fill(Case &c, const Row &row, Random &random, unsigned batch)
{
  c.lanes.assign(ISA_LANES, {});
  uint64_t mask_in = 0, vcc = random();
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    uint64_t values[3] = {};
    for (unsigned n = 0; n + 2 < row.types.size(); ++n) {
      char letter = row.types[n + 2];
      values[n] = sample(letter, random, (batch * ISA_LANES + i + n * (batch % 3)) % 24);
      if (letter == 'm')
        mask_in |= values[n] << i;
      else
        c.machine.set(SRC + SRC_STEP * n, i, values[n], is_wide(letter));
      if (std::strchr("he", letter) && !(row.flags & PACKED))
        values[n] &= 0xffff;
    }
    c.machine.set(DST, i, random(), true);
    c.lanes[i] = {values[0], values[1], values[2], (vcc >> i & 1) != 0, i};
  }
  isa_write_s64(&c.machine.wave, MASK_IN, mask_in);
  isa_write_s64(&c.machine.wave, ISA_VCC, vcc);
  isa_write_s64(&c.machine.wave, ISA_EXEC, batch % 4 == 3 ? random() : UINT64_MAX);
}

// GFX10's v_cmpx writes EXEC alone.
isa_inst_t build(const Row &row, unsigned chip)
{
  isa_inst_t inst = instruction(row.op, row.types);
  inst.chip = (uint8_t)chip;
  if (chip == SOFTGPU_GFX1030 && !std::strncmp(isa_op_name(row.op), "v_cmpx", 6))
    inst.sdst = sgpr(ISA_EXEC);
  if (row.flags & PACKED) {
    inst.encoding = ISA_VOP3P;
    inst.vop.op_sel_hi = 7;
  }
  if (row.flags & TIED)
    inst.dst = inst.src[2];
  return inst;
}

::testing::AssertionResult check_batch(const Row &row, unsigned chip, Random &random,
                                       unsigned batch)
{
  Case before;
  fill(before, row, random, batch);
  Machine other = before.machine, &machine = before.machine;
  isa_inst_t inst = build(row, chip);
  if (!isa_prepare(&inst, &machine.limits))
    return ::testing::AssertionFailure() << "refused";
  machine.wave.v = machine.v, machine.wave.a = machine.a;
  other.wave.v = other.v, other.wave.a = other.a;
  isa_row_t old[2];
  std::memcpy(old, machine.v[inst.dst.index], sizeof old);
  uint64_t exec = isa_exec(&machine.wave);
  inst.run(&machine.wave, &inst);
  bool wide = is_wide(row.types[0]);
  bool is_half = std::strchr("he", row.types[0]) && !(row.flags & PACKED);
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    before.lanes[i].chip = chip;
    Value value = row.model(before.lanes[i]);
    uint64_t got = machine.get(inst.dst.index, i, wide), expected = value.d;
    if (is_nan(row.types[0], expected) && !(row.flags & (OWN_NAN | PACKED)))
      expected = expected_nan(row, before.lanes[i]);
    bool active = exec >> i & 1;
    if (!active)
      expected = old[0][i] | (wide ? (uint64_t)old[1][i] << 32 : 0);
    else if (is_half && chip == SOFTGPU_GFX1030 && (got ^ old[0][i]) >> 16)
      return ::testing::AssertionFailure() << "lane " << i << " has lost the other half";
    else if (is_half)
      got &= 0xffff;
    if (row.types[0] != 'm' && !(active ? agrees(row, got, expected) : got == expected))
      return ::testing::AssertionFailure()
             << std::hex << " a " << before.lanes[i].a << " b " << before.lanes[i].b << " c "
             << before.lanes[i].c << " lane " << std::dec << i << std::hex << ": got " << got
             << ", expected " << expected;
    bool mask = isa_read_mask(&machine.wave, inst.sdst.index) >> i & 1;
    if (has_mask(row.types[0]) && mask != (active && value.mask))
      return ::testing::AssertionFailure()
             << std::hex << " a " << before.lanes[i].a << " b " << before.lanes[i].b << " c "
             << before.lanes[i].c << ": mask " << mask;
  }
  // The other build gives the same bits, and so does the general path.
  for (isa_run_t run : {isa_valu_portable.plain, isa_valu_portable.general}) {
    if (inst.run_on == isa_valu_build()->pair_move ||
        isa_valu_portable.ops[row.op].lanes == nullptr)
      break;
    if (run == isa_valu_portable.plain && inst.run_on != isa_valu_build()->plain)
      continue;
    Machine copy = other;
    copy.wave.v = copy.v, copy.wave.a = copy.a;
    isa_inst_t again = inst;
    again.plan = &isa_valu_portable.ops[row.op];
    isa_runs_on(&again, run);
    again.run(&copy.wave, &again);
    if (std::memcmp(copy.v, machine.v, sizeof copy.v) ||
        std::memcmp(copy.wave.s, machine.wave.s, sizeof copy.wave.s))
      return ::testing::AssertionFailure() << "the builds differ";
  }
  return ::testing::AssertionSuccess();
}

bool is_on(unsigned chip, unsigned op)
{
  const isa_family_t *family = isa_family(chip);
  return std::any_of(family->opcodes, family->opcodes + family->opcode_count,
                     [op](const isa_opcode_t &row) { return row.op == op; });
}

void check_row(const Row &row, unsigned chip, unsigned batches)
{
  Random random = {row.op * 1000003ull};
  for (unsigned batch = 0; batch < batches; ++batch) {
    auto result = check_batch(row, chip, random, batch);
    EXPECT_TRUE(result) << isa_op_name(row.op) << " of gfx" << std::hex << isa_chip(chip)->number;
    if (!result)
      break;
  }
}

// 192 batches are more than 10,000 active lanes.
void check_rows(unsigned part, unsigned parts)
{
  for (size_t n = part; n < rows().size(); n += parts) {
    const Row &row = rows()[n];
    const bool is_old = is_on(SOFTGPU_GFX90A, row.op);
    if (is_old)
      check_row(row, SOFTGPU_GFX90A, ISA_LANES == 64 ? 192 : 24);
    if (is_on(SOFTGPU_GFX1030, row.op))
      check_row(row, SOFTGPU_GFX1030, ISA_LANES == 64 && is_old ? 24 : 192);
    else
      EXPECT_TRUE(is_old) << isa_op_name(row.op) << " is nowhere";
  }
}

TEST(ValuTable, ModelsFirstQuarter)
{
  check_rows(0, 4);
}
TEST(ValuTable, ModelsSecondQuarter)
{
  check_rows(1, 4);
}
TEST(ValuTable, ModelsThirdQuarter)
{
  check_rows(2, 4);
}
TEST(ValuTable, ModelsFourthQuarter)
{
  check_rows(3, 4);
}

} // namespace
