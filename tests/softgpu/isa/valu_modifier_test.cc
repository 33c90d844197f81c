// What all instructions share: constants, signs, SDWA, DPP, modes, clamp, omod, exec, bounds.
#include "valu_harness.h"

#include <cfenv>

using namespace valu;

namespace {

struct ValuModifier : ::testing::Test {
  Machine machine;
  void SetUp() override
  {
    Random random = {5};
    for (auto &row : machine.v)
      for (uint32_t &lane : row)
        lane = (uint32_t)random();
  }
  isa_row_t &d() { return machine.v[DST]; }
  isa_row_t &a() { return machine.v[SRC]; }
  isa_row_t &b() { return machine.v[SRC + SRC_STEP]; }
};

TEST_F(ValuModifier, InlineConstantsFollowTheOperandsType)
{
  struct {
    unsigned op;
    const char *types;
    unsigned code;
    uint64_t expected;
  } const table[] = {
      {ISA_v_mov_b32, "u:u", 128, 0},
      {ISA_v_mov_b32, "u:u", 192, 64},
      {ISA_v_mov_b32, "u:u", 193, 0xffffffff},
      {ISA_v_mov_b32, "u:u", 208, 0xfffffff0},
      {ISA_v_mov_b32, "u:u", 240, 0x3f000000},
      {ISA_v_mov_b32, "u:u", 247, 0xc0800000},
      {ISA_v_mov_b32, "u:u", 248, 0x3e22f983},
      {ISA_v_mov_b64, "q:q", 208, 0xfffffffffffffff0},
      {ISA_v_floor_f64, "g:g", 245, bits(-2.0)},
      {ISA_v_max_f64, "g:g", 242, bits(1.0)},
      {ISA_v_floor_f16, "e:e", 246, 0x4400},
      {ISA_v_cvt_f32_f16, "f:e", 243, bits(-1.0f)},
  };
  for (const auto &row : table) {
    isa_inst_t inst = instruction(row.op, row.types);
    inst.src[0] = constant(row.code);
    if (row.op == ISA_v_max_f64)
      inst.src[1] = constant(row.code);
    ASSERT_TRUE(machine.run(inst)) << isa_op_name(row.op);
    EXPECT_EQ(machine.get(DST, ISA_LANES - 1, is_wide(row.types[0])), row.expected)
        << isa_op_name(row.op);
  }
}

TEST_F(ValuModifier, LiteralsFillTheHighHalfOfDoubles)
{
  isa_inst_t inst = instruction(ISA_v_trunc_f64, "g:g");
  inst.src[0] = literal(0x40590000);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(f64(machine.get(DST, 0, true)), 100.0);
  inst = instruction(ISA_v_ashrrev_i64, "q:uq");
  inst.src[0] = constant(128);
  inst.src[1] = literal(0x80000000);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.get(DST, 0, true), 0xffffffff80000000);
  inst = instruction(ISA_v_mov_b64, "q:q");
  inst.src[0] = literal(0x80000000);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.get(DST, 0, true), 0x80000000);
}

TEST_F(ValuModifier, ScalarsAndConditionCodesAreTheSameForAllLanes)
{
  machine.wave.s[5] = 0x1234;
  machine.wave.scc = 1;
  isa_inst_t inst = instruction(ISA_v_add_u32, "u:uu");
  inst.src[0] = sgpr(5);
  inst.src[1] = {ISA_OPERAND_SPECIAL, ISA_WHOLE, 253, 0};
  ASSERT_TRUE(machine.run(inst));
  for (uint32_t lane : d())
    EXPECT_EQ(lane, 0x1235u);
  inst.src[1] = {ISA_OPERAND_SPECIAL, ISA_WHOLE, 251, 0}; /* vccz */
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[7], 0x1235u);
}

TEST_F(ValuModifier, AbsThenNegOnEveryFloatWidth)
{
  a()[0] = (uint32_t)bits(-2.0f);
  b()[0] = (uint32_t)bits(3.0f);
  isa_inst_t inst = instruction(ISA_v_mul_f32, "f:ff");
  inst.vop.abs = 1;
  inst.vop.neg = 3;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(f32(d()[0]), 6.0f); /* -|-2| * -3 */
  machine.set(SRC, 0, bits(-2.0), true);
  machine.set(SRC + SRC_STEP, 0, bits(3.0), true);
  inst = instruction(ISA_v_mul_f64, "g:gg");
  inst.vop.abs = 1;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(f64(machine.get(DST, 0, true)), 6.0);
  a()[0] = 0x1234c000; /* -2 */
  b()[0] = 0x56784200; /* 3 */
  inst = instruction(ISA_v_mul_f16, "e:ee");
  inst.vop.neg = 1;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0x4600u);
  inst = instruction(ISA_v_cndmask_b32, "u:uum");
  inst.vop.neg = 2;
  isa_write_s64(&machine.wave, MASK_IN, 2);
  a()[0] = b()[1] = 5;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 5u);
  EXPECT_EQ(d()[1], 0x80000005u);
  inst = instruction(ISA_v_add_u32, "u:uu");
  inst.vop.neg = 1;
  EXPECT_FALSE(machine.run(inst)) << "integers have no sign modifier";
}

TEST_F(ValuModifier, SdwaSelectsExtendsAndPlaces)
{
  a()[0] = 0x81f2c3d4;
  b()[0] = 0x00000001;
  const uint32_t selected[2][7] = {
      {0xd4, 0xc3, 0xf2, 0x81, 0xc3d4, 0x81f2, 0x81f2c3d4},
      {0xffffffd4, 0xffffffc3, 0xfffffff2, 0xffffff81, 0xffffc3d4, 0xffff81f2, 0x81f2c3d4}};
  const unsigned shifts[] = {0, 8, 16, 24, 0, 16, 0}, widths[] = {8, 8, 8, 8, 16, 16, 32};
  for (unsigned sext = 0; sext < 2; ++sext)
    for (unsigned src = 0; src < 7; ++src)
      for (unsigned dst = 0; dst < 7; ++dst)
        for (unsigned unused = 0; unused < 3; ++unused) {
          isa_inst_t inst = instruction(ISA_v_add_u32, "u:uu");
          inst.encoding = ISA_VOP2;
          inst.vop.has_sdwa = true;
          inst.vop.sdwa = {
              {(uint8_t)src, ISA_SEL_DWORD}, {sext != 0, false}, (uint8_t)dst, (uint8_t)unused};
          d()[0] = 0x5a5a5a5a;
          ASSERT_TRUE(machine.run(inst));
          uint32_t result = selected[sext][src] + 1;
          uint64_t field = ((1ull << widths[dst]) - 1) << shifts[dst];
          uint64_t value = (uint64_t)result << shifts[dst] & field;
          bool negative = result >> (widths[dst] - 1) & 1;
          uint64_t above = ~0ull << (shifts[dst] + widths[dst]);
          uint64_t rest = unused == 2 ? 0x5a5a5a5a & ~field : unused == 1 && negative ? above : 0;
          EXPECT_EQ(d()[0], (uint32_t)(value | rest)) << src << " " << dst << " " << unused;
        }
}

TEST_F(ValuModifier, SdwaOnFloatsAndComparisons)
{
  a()[0] = 0xc0003c00; /* f16 -2, 1 */
  isa_inst_t inst = instruction(ISA_v_cvt_f32_f16, "f:e");
  inst.encoding = ISA_VOP1;
  inst.vop.has_sdwa = true;
  inst.vop.sdwa = {{ISA_SEL_WORD_1, ISA_SEL_DWORD}, {}, ISA_SEL_DWORD, 0};
  inst.vop.abs = 1;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(f32(d()[0]), 2.0f);
  inst = instruction(ISA_v_cmp_eq_u32, "m:uu");
  inst.encoding = ISA_VOPC;
  inst.vop.has_sdwa = true;
  inst.vop.sdwa = {{ISA_SEL_BYTE_1, ISA_SEL_BYTE_0}, {}, ISA_SEL_DWORD, 0};
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    a()[i] = i << 8 | 0xff0000ff;
    b()[i] = i % 3 ? i : i + 1;
  }
  ASSERT_TRUE(machine.run(inst));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(isa_read_s64(&machine.wave, MASK_OUT) >> i & 1, i % 3 ? 1u : 0u);
}

// Lane that reads, by the ISA document's words; -1 for none.
int source_lane(unsigned ctrl, int i)
{
  int row = i / 16 * 16, column = i % 16, n = (int)ctrl & 15;
  if (ctrl < 0x100)
    return i / 4 * 4 + (int)(ctrl >> 2 * (i % 4)) % 4;
  if (ctrl > 0x100 && ctrl < 0x110)
    return column + n > 15 ? -1 : i + n;
  if (ctrl > 0x110 && ctrl < 0x120)
    return column - n < 0 ? -1 : i - n;
  if (ctrl > 0x120 && ctrl < 0x130)
    return row + (column - n + 16) % 16;
  if (ctrl >= 0x150)
    return row + n;
  switch (ctrl) {
  case 0x130:
    return i + 1 > ISA_LANES - 1 ? -1 : i + 1;
  case 0x134:
    return (i + 1) % ISA_LANES;
  case 0x138:
    return i - 1;
  case 0x13c:
    return (i + ISA_LANES - 1) % ISA_LANES;
  case 0x140:
    return row + 15 - column;
  case 0x141:
    return i / 8 * 8 + 7 - i % 8;
  case 0x142:
    return i < 16 ? -1 : row - 1;
  default:
    return i < 32 ? -1 : 31;
  }
}

TEST_F(ValuModifier, DppReadsOtherLanes)
{
  std::vector<unsigned> controls = {0x00,  0x1b,  0xe4,  0xb1,  0x4e,  0xff,  0x130, 0x134,
                                    0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15f};
  for (unsigned n = 1; n < 16; ++n)
    controls.insert(controls.end(), {0x100 + n, 0x110 + n, 0x120 + n});
  Random random = {17};
  for (unsigned ctrl : controls)
    for (unsigned variant = 0; variant < 6; ++variant) {
      isa_inst_t inst = instruction(ISA_v_mov_b32, "u:u");
      inst.encoding = ISA_VOP1;
      inst.vop.has_dpp = true;
      inst.vop.dpp.ctrl = (uint16_t)ctrl;
      inst.vop.dpp.bound_ctrl = variant & 1;
      inst.vop.dpp.row_mask = variant < 2 ? 15 : (uint8_t)random() & 15;
      inst.vop.dpp.bank_mask = variant < 2 ? 15 : (uint8_t)random() & 15;
      uint64_t exec = variant < 4 ? UINT64_MAX : random();
      isa_write_s64(&machine.wave, ISA_EXEC, exec);
      isa_row_t old;
      std::memcpy(old, d(), sizeof old);
      ASSERT_TRUE(machine.run(inst)) << ctrl;
      for (int i = 0; i < ISA_LANES; ++i) {
        int lane = source_lane(ctrl, i);
        bool valid = lane >= 0 && (exec >> lane & 1);
        bool chosen = (exec >> i & 1) && (inst.vop.dpp.row_mask >> i / 16 & 1) &&
                      (inst.vop.dpp.bank_mask >> i % 16 / 4 & 1);
        uint32_t expected = !chosen                   ? old[i]
                            : valid                   ? a()[lane]
                            : inst.vop.dpp.bound_ctrl ? 0
                                                      : old[i];
        ASSERT_EQ(d()[i], expected) << std::hex << ctrl << " lane " << std::dec << i;
      }
    }
}

TEST_F(ValuModifier, DppMovesPairsAndWorksInPlace)
{
  isa_inst_t inst = instruction(ISA_v_mov_b64, "q:q");
  inst.encoding = ISA_VOP1;
  inst.vop.has_dpp = true;
  inst.vop.dpp = {0x153, 15, 15, false, false};
  ASSERT_TRUE(machine.run(inst));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(machine.get(DST, i, true), machine.get(SRC, i / 16 * 16 + 3, true));
  isa_row_t old;
  std::memcpy(old, a(), sizeof old);
  inst = instruction(ISA_v_add_u32, "u:uu");
  inst.encoding = ISA_VOP2;
  inst.dst = inst.src[1] = inst.src[0];
  inst.vop.has_dpp = true;
  inst.vop.dpp = {0x140, 15, 15, false, false};
  ASSERT_TRUE(machine.run(inst));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(a()[i], old[i] + old[i / 16 * 16 + 15 - i % 16]);
  inst.vop.dpp.ctrl = 0x100;
  EXPECT_FALSE(machine.run(inst)) << "row_shl by 0 does not exist";
}

TEST_F(ValuModifier, DenormalsAreFlushedPerType)
{
  struct {
    unsigned op;
    const char *types;
    uint64_t denormal, one, tiny, result;
  } const table[] = {
      {ISA_v_mul_f32, "f:ff", 1, bits(1.0f), 0x00800000, 0x00400000},
      {ISA_v_mul_f64, "g:gg", 1, bits(1.0), 1ull << 52, 1ull << 51},
      {ISA_v_mul_f16, "e:ee", 1, 0x3c00, 0x400, 0x200},
  };
  for (const auto &row : table)
    for (unsigned field = 0; field < 4; ++field) {
      bool is_f32 = row.op == ISA_v_mul_f32, wide = is_wide(row.types[0]);
      machine.wave.mode = is_f32 ? field << 4 | 0xc0 : field << 6 | 0x30;
      uint64_t half = wide ? bits(0.5) : is_f32 ? bits(0.5f) : 0x3800;
      uint64_t sign = wide ? 1ull << 63 : is_f32 ? 1u << 31 : 0x8000;
      machine.set(SRC, 0, row.denormal | sign, wide);
      machine.set(SRC + SRC_STEP, 0, row.one, wide);
      machine.set(SRC, 1, row.tiny, wide);
      machine.set(SRC + SRC_STEP, 1, half, wide);
      ASSERT_TRUE(machine.run(instruction(row.op, row.types)));
      bool in = field & 1, out = field & 2;
      EXPECT_EQ(machine.get(DST, 0, wide), sign | (in && out ? row.denormal : 0)) << field;
      EXPECT_EQ(machine.get(DST, 1, wide), out ? row.result : 0) << field;
    }
}

TEST_F(ValuModifier, RoundingModesLeaveTheHostAlone)
{
  const int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  volatile float third = 3, one = 1;
  volatile double dthird = 3, done = 1;
  for (unsigned mode = 0; mode < 4; ++mode) {
    fesetround(host[mode]);
    volatile float sum = one / third + one;
    volatile float quotient = one / third;
    volatile double dsum = done / dthird + done;
    volatile float converted = (float)(done / dthird);
    float expected = sum, q = quotient, narrowed = converted;
    double dexpected = dsum, dq = done / dthird;
    fesetround(FE_TONEAREST);
    machine.wave.mode = 0xf0 | mode | mode << 2;
    a()[0] = (uint32_t)bits(q), b()[0] = (uint32_t)bits(1.0f);
    ASSERT_TRUE(machine.run(instruction(ISA_v_add_f32, "f:ff")));
    EXPECT_EQ(f32(d()[0]), expected);
    machine.set(SRC, 0, bits(dq), true);
    machine.set(SRC + SRC_STEP, 0, bits(1.0), true);
    ASSERT_TRUE(machine.run(instruction(ISA_v_add_f64, "g:gg")));
    EXPECT_EQ(f64(machine.get(DST, 0, true)), dexpected);
    ASSERT_TRUE(machine.run(instruction(ISA_v_cvt_f32_f64, "f:g")));
    EXPECT_EQ(f32(d()[0]), narrowed);
    a()[0] = 0x3f801001; /* just above 1 + 2^-11, between two f16 */
    ASSERT_TRUE(machine.run(instruction(ISA_v_cvt_f16_f32, "e:f")));
    EXPECT_EQ(d()[0], mode < 2 ? 0x3c01u : 0x3c00u);
    a()[0] = (uint32_t)bits(2.5f);
    ASSERT_TRUE(machine.run(instruction(ISA_v_rndne_f32, "f:f")));
    EXPECT_EQ(f32(d()[0]), 2.0f);
    EXPECT_EQ(fegetround(), FE_TONEAREST);
  }
}

TEST_F(ValuModifier, IeeeModeLetsSignallingNansWin)
{
  a()[0] = 0x7f800001;
  b()[0] = (uint32_t)bits(1.0f);
  a()[1] = (uint32_t)bits(1.0f);
  b()[1] = 0xffa00000;
  a()[2] = 0x7fc00001;
  b()[2] = (uint32_t)bits(1.0f);
  isa_inst_t inst = instruction(ISA_v_max_f32, "f:ff");
  ASSERT_TRUE(machine.run(inst));
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(f32(d()[i]), 1.0f);
  machine.wave.mode |= ISA_MODE_IEEE;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0x7fc00001u);
  EXPECT_EQ(d()[1], 0xffe00000u);
  EXPECT_EQ(f32(d()[2]), 1.0f);
}

// "Output modifiers are not IEEE compatible: -0 is flushed to +0" (ISA documents), whether it was -0 before or becomes it.
// Clamp alone leaves -0, as LLVM's folding of constants does.
TEST_F(ValuModifier, OmodHasNoNegativeZero)
{
  const uint32_t inputs[] = {0x80000000, 0x80000001, 0xbf800000, 0};
  for (unsigned i = 0; i < 4; ++i)
    a()[i] = inputs[i], b()[i] = (uint32_t)bits(1.0f);
  for (unsigned clamp = 0; clamp < 2; ++clamp) {
    isa_inst_t inst = instruction(ISA_v_mul_f32, "f:ff");
    inst.vop.clamp = clamp;
    inst.vop.omod = 3;
    machine.wave.mode = 0;
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(d()[0], 0u);
    EXPECT_EQ(d()[1], 0u) << "a denormal, flushed";
    EXPECT_EQ(f32(d()[2]), clamp ? 0 : -0.5f);
    machine.wave.mode = ISA_MODE_DENORM_F32; // where omod is ignored
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(d()[0], 0x80000000u);

    // Rounded up, half of what is below every f16 is no less than -0.
    inst = instruction(ISA_v_cvt_f16_f32, "e:f");
    inst.vop.clamp = clamp;
    inst.vop.omod = 3;
    machine.wave.mode = 0x34;
    ASSERT_TRUE(machine.run(inst));
    for (unsigned i = 0; i < 2; ++i)
      EXPECT_EQ(d()[i], 0u) << "clamp " << clamp << ", lane " << i;
    EXPECT_EQ(d()[2], clamp ? 0u : 0xb800u);
    machine.wave.mode = 0xb4; // f16 denormals are kept
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(d()[0], 0x8000u);
  }
}

// An f16 is rounded last: what is too large for f32 as well is rounded as any other.
TEST_F(ValuModifier, OmodOfHugeHalves)
{
  for (unsigned i = 0; i < 2; ++i)
    a()[i] = (uint32_t)bits(i ? 0x1p127f : -0x1p127f);
  isa_inst_t inst = instruction(ISA_v_cvt_f16_f32, "e:f");
  inst.vop.omod = 2;
  machine.wave.mode = 0x4; // up
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0xfbffu);
  EXPECT_EQ(d()[1], 0x7c00u);
  machine.wave.mode = ISA_MODE_FP16_OVFL;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0xfbffu);
  EXPECT_EQ(d()[1], 0x7bffu);
}

TEST_F(ValuModifier, ClampAndOmod)
{
  const float inputs[] = {-3, 0.25f, 7, NAN, INFINITY};
  for (unsigned i = 0; i < 5; ++i)
    a()[i] = (uint32_t)bits(inputs[i]), b()[i] = (uint32_t)bits(1.0f);
  isa_inst_t inst = instruction(ISA_v_mul_f32, "f:ff");
  inst.vop.clamp = true;
  ASSERT_TRUE(machine.run(inst));
  const float clamped[] = {0, 0.25f, 1, 0, 1};
  for (unsigned i = 0; i < 5; ++i)
    EXPECT_EQ(f32(d()[i]), clamped[i]);
  machine.wave.mode &= ~(uint32_t)ISA_MODE_DX10_CLAMP;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_TRUE(std::isnan(f32(d()[3])));

  inst.vop.clamp = false;
  const float factors[] = {1, 2, 4, 0.5f};
  for (unsigned omod = 0; omod < 4; ++omod) {
    inst.vop.omod = (uint8_t)omod;
    machine.wave.mode = 0; /* denormals flushed, no IEEE: omod works */
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(f32(d()[2]), 7 * factors[omod]);
    machine.wave.mode = ISA_MODE_IEEE;
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(f32(d()[2]), 7.0f);
    machine.wave.mode = ISA_MODE_DENORM_F32;
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(f32(d()[2]), 7.0f);
  }
}

TEST_F(ValuModifier, IntegerClampSaturates)
{
  struct {
    unsigned op;
    const char *types;
    uint32_t a, b, c, expected;
  } const table[] = {
      {ISA_v_add_u32, "u:uu", 0xffffffff, 2, 0, 0xffffffff},
      {ISA_v_sub_u32, "u:uu", 1, 2, 0, 0},
      {ISA_v_subrev_u32, "u:uu", 2, 1, 0, 0},
      {ISA_v_add_i32, "u:uu", 0x7fffffff, 1, 0, 0x7fffffff},
      {ISA_v_sub_i32, "u:uu", 0x80000000, 1, 0, 0x80000000},
      {ISA_v_add_u16, "h:hh", 0xffff, 1, 0, 0xffff},
      {ISA_v_sub_u16, "h:hh", 0, 1, 0, 0},
      {ISA_v_mad_u32_u24, "u:uuu", 0xffffff, 0xffffff, 0, 0xffffffff},
      {ISA_v_mad_i32_i24, "u:uuu", 0x800000, 0x7fffff, 0, 0x80000000},
      {ISA_v_sad_u32, "u:uuu", 0xffffffff, 0, 1, 0xffffffff},
      {ISA_v_mul_u32_u24, "u:uu", 0xffffff, 0xffffff, 0, 0xffffffff},
      {ISA_v_mul_i32_i24, "u:uu", 0x800000, 0x7fffff, 0, 0x80000000},
      {ISA_v_add_co_u32, "c:uu", 0xffffffff, 1, 0, 0xffffffff},
      {ISA_v_sub_co_u32, "c:uu", 0, 1, 0, 0},
  };
  for (const auto &row : table) {
    isa_inst_t inst = instruction(row.op, row.types);
    inst.vop.clamp = true;
    a()[4] = row.a, b()[4] = row.b, machine.v[SRC + 2 * SRC_STEP][4] = row.c;
    d()[4] = 0;
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(d()[4], row.expected) << isa_op_name(row.op);
  }
  isa_inst_t inst = instruction(ISA_v_mad_u64_u32, "C:uuq");
  inst.vop.clamp = true;
  EXPECT_FALSE(machine.run(inst)) << "not run rather than run without saturating";
}

TEST_F(ValuModifier, HalfResultsZeroOrKeepTheOtherHalf)
{
  a()[0] = 0x40003c00, b()[0] = 0x40003c00, machine.v[SRC + 2 * SRC_STEP][0] = 0;
  d()[0] = 0xaaaabbbb;
  ASSERT_TRUE(machine.run(instruction(ISA_v_mul_f16, "e:ee")));
  EXPECT_EQ(d()[0], 0x3c00u);
  d()[0] = 0xaaaabbbb;
  isa_inst_t inst = instruction(ISA_v_fma_f16, "e:eee");
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0xaaaa3c00u);
  inst.vop.op_sel = 1 | 8; /* source 0 and the result high */
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[0], 0x40003c00u);
}

TEST_F(ValuModifier, Fp16OverflowModeKeepsToTheLargestNumber)
{
  a()[0] = 0x7bff, b()[0] = 0x4400;
  a()[1] = 0xfc00, b()[1] = 0x3c00;
  machine.wave.mode |= ISA_MODE_FP16_OVFL;
  ASSERT_TRUE(machine.run(instruction(ISA_v_mul_f16, "e:ee")));
  EXPECT_EQ(d()[0], 0x7bffu);
  EXPECT_EQ(d()[1], 0xfc00u) << "an infinity that came in stays one";
}

TEST_F(ValuModifier, ExecLimitsWritesAndCmpxReplacesIt)
{
  isa_write_s64(&machine.wave, ISA_EXEC, 0x5555555555555555);
  isa_row_t old;
  std::memcpy(old, d(), sizeof old);
  ASSERT_TRUE(machine.run(instruction(ISA_v_not_b32, "u:u")));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(d()[i], i % 2 ? old[i] : ~a()[i]);
  for (unsigned i = 0; i < ISA_LANES; ++i)
    a()[i] = i, b()[i] = 20;
  ASSERT_TRUE(machine.run(instruction(ISA_v_cmpx_lt_u32, "m:uu")));
  EXPECT_EQ(isa_exec(&machine.wave), 0x55555u);
  EXPECT_EQ(isa_read_s64(&machine.wave, MASK_OUT), 0x55555u);
}

TEST_F(ValuModifier, OverlappingPairsGiveWhatSeparateOnesDo)
{
  for (int shift = -1; shift <= 1; ++shift) {
    uint64_t expected[ISA_LANES];
    for (unsigned i = 0; i < ISA_LANES; ++i)
      expected[i] = machine.get(SRC, i, true) << 3;
    isa_inst_t inst = instruction(ISA_v_lshlrev_b64, "q:uq");
    inst.src[0] = constant(131);
    inst.src[1] = vgpr(SRC);
    inst.dst = vgpr((unsigned)(SRC + shift));
    ASSERT_TRUE(machine.run(inst));
    for (unsigned i = 0; i < ISA_LANES; ++i)
      EXPECT_EQ(machine.get((unsigned)(SRC + shift), i, true), expected[i]);
  }
}

TEST_F(ValuModifier, GprIndexingOffsetsVectorOperands)
{
  machine.wave.s[ISA_M0] = 3;
  machine.wave.gpr_index_mode = 1 | 8;
  isa_inst_t inst = instruction(ISA_v_mov_b32, "u:u");
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[DST + 3][8], machine.v[SRC + 3][8]);
  machine.wave.s[ISA_M0] = 60; /* beyond the registers: v0 is read, nothing is written */
  machine.wave.gpr_index_mode = 1;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(d()[8], machine.v[0][8]);
  machine.wave.s[ISA_M0] = 63 - SRC; /* the last register, and none after it for a pair */
  isa_inst_t pair = instruction(ISA_v_pk_add_f32, "q:qq");
  pair.encoding = ISA_VOP3P;
  pair.vop.op_sel_hi = 3;
  ASSERT_TRUE(machine.run(pair));
  EXPECT_EQ(f32(machine.v[DST + 1][8]),
            f32(machine.v[1][8]) + f32(machine.v[SRC + SRC_STEP + 1][8]));
  machine.wave.s[ISA_M0] = 60;
  Machine before = machine;
  machine.wave.gpr_index_mode = 8;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(std::memcmp(before.v, machine.v, sizeof before.v), 0);
}

TEST_F(ValuModifier, PrepareRefusesWhatDoesNotExist)
{
  auto refuses = [&](isa_inst_t inst) { return !isa_prepare(&inst, &machine.limits); };
  isa_inst_t good = instruction(ISA_v_add_f64, "g:gg");
  EXPECT_FALSE(refuses(good));
  isa_inst_t inst = good;
  inst.dst = vgpr(63);
  EXPECT_TRUE(refuses(inst)) << "the pair ends outside";
  inst = good, inst.src[1] = vgpr(64);
  EXPECT_TRUE(refuses(inst));
  inst = good, inst.src[0] = sgpr(101);
  EXPECT_TRUE(refuses(inst));
  inst = good, inst.src[0] = sgpr(ISA_VCC);
  EXPECT_FALSE(refuses(inst));
  inst = good, inst.src[0] = {};
  EXPECT_TRUE(refuses(inst));
  inst = good, inst.dst = sgpr(0);
  EXPECT_TRUE(refuses(inst));
  inst = good, inst.src[2] = vgpr(0);
  EXPECT_TRUE(refuses(inst)) << "a third source";
  inst = instruction(ISA_v_cmp_eq_u32, "m:uu"), inst.sdst = {};
  EXPECT_TRUE(refuses(inst)) << "no place for the mask";
  inst = good, inst.op = ISA_s_nop;
  EXPECT_TRUE(refuses(inst));
  inst = good, inst.op = ISA_OP_COUNT;
  EXPECT_TRUE(refuses(inst));
}

} // namespace
