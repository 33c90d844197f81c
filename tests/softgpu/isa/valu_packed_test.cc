// Scalar models of packed, mixed and dot-product instructions, with default selects; then selects.
#include "valu_harness.h"

#include <algorithm>

using namespace valu;

namespace {

using Half = std::function<uint64_t(uint64_t, uint64_t, uint64_t)>;

std::function<Value(const Lane &)> halves(Half model)
{
  return [model](const Lane &l) -> Value {
    uint64_t low = model(l.a & 0xffff, l.b & 0xffff, l.c & 0xffff);
    uint64_t high = model(l.a >> 16 & 0xffff, l.b >> 16 & 0xffff, l.c >> 16 & 0xffff);
    return (low & 0xffff) | (high & 0xffff) << 16;
  };
}
std::function<Value(const Lane &)> registers(std::function<float(float, float, float)> model)
{
  return [model](const Lane &l) -> Value {
    float low = model(f32(l.a), f32(l.b), f32(l.c));
    float high = model(f32(l.a >> 32), f32(l.b >> 32), f32(l.c >> 32));
    return bits(low) | bits(high) << 32;
  };
}
#define INT(expression)                                                                            \
  halves([](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {                                      \
    (void)b, (void)c;                                                                              \
    return (uint64_t)(expression);                                                                 \
  })
int64_t s(uint64_t x)
{
  return (int16_t)x;
}

int64_t dot(const Lane &l, unsigned width, bool is_signed)
{
  int64_t sum = 0, range = 1ll << width;
  for (unsigned shift = 0; shift < 32; shift += width) {
    int64_t a = (int64_t)(l.a >> shift) % range, b = (int64_t)(l.b >> shift) % range;
    if (is_signed) {
      a -= a >= range / 2 ? range : 0;
      b -= b >= range / 2 ? range : 0;
    }
    sum += a * b;
  }
  return sum + (int64_t)l.c;
}
#define DOT(...) [](const Lane &l) -> Value { return (uint32_t)dot(l, __VA_ARGS__); }

const bool registered = add({
    {ISA_v_pk_add_i16, "u:uu", INT(a + b), PACKED},
    {ISA_v_pk_sub_i16, "u:uu", INT(a - b), PACKED},
    {ISA_v_pk_mad_i16, "u:uuu", INT(a *b + c), PACKED},
    {ISA_v_pk_add_u16, "u:uu", INT(a + b), PACKED},
    {ISA_v_pk_sub_u16, "u:uu", INT(a - b), PACKED},
    {ISA_v_pk_mad_u16, "u:uuu", INT(a *b + c), PACKED},
    {ISA_v_pk_mul_lo_u16, "u:uu", INT(a *b), PACKED},
    {ISA_v_pk_lshlrev_b16, "u:uu", INT(b << a % 16), PACKED},
    {ISA_v_pk_lshrrev_b16, "u:uu", INT(b >> a % 16), PACKED},
    {ISA_v_pk_ashrrev_i16, "u:uu", INT(s(b) >> a % 16), PACKED},
    {ISA_v_pk_min_i16, "u:uu", INT(std::min(s(a), s(b))), PACKED},
    {ISA_v_pk_max_i16, "u:uu", INT(std::max(s(a), s(b))), PACKED},
    {ISA_v_pk_min_u16, "u:uu", INT(std::min(a, b)), PACKED},
    {ISA_v_pk_max_u16, "u:uu", INT(std::max(a, b)), PACKED},
    {ISA_v_dot2_i32_i16, "u:uuu", DOT(16, true), PACKED},
    {ISA_v_dot2_u32_u16, "u:uuu", DOT(16, false), PACKED},
    {ISA_v_dot4_i32_i8, "u:uuu", DOT(8, true), PACKED},
    {ISA_v_dot4_u32_u8, "u:uuu", DOT(8, false), PACKED},
    {ISA_v_dot8_i32_i4, "u:uuu", DOT(4, true), PACKED},
    {ISA_v_dot8_u32_u4, "u:uuu", DOT(4, false), PACKED},
    {ISA_v_dot2c_i32_i16, "u:uuu", DOT(16, true), TIED},
    {ISA_v_dot4c_i32_i8, "u:uuu", DOT(8, true), TIED},
    {ISA_v_dot8c_i32_i4, "u:uuu", DOT(4, true), TIED},
});

// Floats without NaNs here: their rule is checked on the scalar instructions.
struct PackedFloat {
  unsigned op;
  unsigned sources;
  bool tied;
  std::function<Value(const Lane &)> model;
  bool wide;
};
#define F16(expression)                                                                            \
  halves([](uint64_t ha, uint64_t hb, uint64_t hc) -> uint64_t {                                   \
    double a = f16(ha), b = f16(hb), c = f16(hc);                                                  \
    (void)c;                                                                                       \
    return f16_bits(expression);                                                                   \
  })
#define F32(expression)                                                                            \
  registers([](float a, float b, float c) -> float {                                               \
    (void)c;                                                                                       \
    return expression;                                                                             \
  })
double dot2(const Lane &l)
{
  return f16(l.a & 0xffff) * f16(l.b & 0xffff) + f16(l.a >> 16) * f16(l.b >> 16) + f32(l.c);
}

TEST(ValuPacked, FloatsOnBothHalves)
{
  // Sums are exact in f64 here: operands are kept within a few binades of each other.
  const PackedFloat table[] = {
      {ISA_v_pk_add_f16, 2, false, F16(a + b), false},
      {ISA_v_pk_mul_f16, 2, false, F16(a * b), false},
      {ISA_v_pk_min_f16, 2, false, F16(std::min(a, b)), false},
      {ISA_v_pk_max_f16, 2, false, F16(std::max(a, b)), false},
      {ISA_v_pk_fma_f16, 3, false, F16(a * b + c), false},
      {ISA_v_pk_fmac_f16, 3, true, F16(a * b + c), false},
      {ISA_v_pk_add_f32, 2, false, F32(a + b), true},
      {ISA_v_pk_mul_f32, 2, false, F32(a * b), true},
      {ISA_v_pk_fma_f32, 3, false, F32(std::fma(a, b, c)), true},
      {ISA_v_dot2_f32_f16, 3, false, [](const Lane &l) { return Value((float)dot2(l)); }, false},
      {ISA_v_dot2c_f32_f16, 3, true, [](const Lane &l) { return Value((float)dot2(l)); }, false},
  };
  Random random = {11};
  for (const PackedFloat &row : table) {
    bool is_dot = row.op == ISA_v_dot2_f32_f16 || row.op == ISA_v_dot2c_f32_f16;
    for (unsigned batch = 0; batch < 192; ++batch) {
      Machine machine;
      isa_inst_t inst = instruction(row.op, row.wide ? "q:qqq" : "u:uuu");
      inst.encoding = row.tied ? ISA_VOP2 : ISA_VOP3P;
      inst.vop.op_sel_hi = row.tied ? 0 : 7;
      if (row.sources == 2)
        inst.src[2] = {};
      if (row.tied)
        inst.dst = inst.src[2];
      Lane lanes[ISA_LANES];
      for (unsigned i = 0; i < ISA_LANES; ++i) {
        uint64_t values[3];
        for (unsigned n = 0; n < 3; ++n) {
          uint64_t r = random();
          values[n] = row.wide ? (r & 0x80ffffff80ffffff) | 0x3f0000003f000000
                               : (r & 0x83ff83ff) | 0x38003400;
          if (is_dot && n == 2)
            values[n] = (r & 0x807fffff) | 0x3f000000;
          machine.set(SRC + SRC_STEP * n, i, values[n], row.wide);
        }
        lanes[i] = {values[0], values[1], values[2], false, i};
      }
      ASSERT_TRUE(machine.run(inst)) << isa_op_name(row.op);
      for (unsigned i = 0; i < ISA_LANES; ++i)
        ASSERT_EQ(machine.get(inst.dst.index, i, row.wide), row.model(lanes[i]).d)
            << isa_op_name(row.op) << std::hex << " " << lanes[i].a << " " << lanes[i].b;
    }
  }
}

TEST(ValuPacked, SelectsAndSignsPerHalf)
{
  Machine machine;
  machine.v[SRC][0] = 0x40003c00;            /* 2, 1 */
  machine.v[SRC + SRC_STEP][0] = 0x44004200; /* 4, 3 */
  isa_inst_t inst = instruction(ISA_v_pk_add_f16, "u:uu");
  inst.encoding = ISA_VOP3P;
  inst.vop.op_sel = 1;    /* low: a.high + b.low */
  inst.vop.op_sel_hi = 2; /* high: a.low + b.high */
  inst.vop.neg = 2;
  inst.vop.neg_hi = 1;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[DST][0], 0x4200bc00u); /* -1 + 4, 2 - 3 */
}

TEST(ValuPacked, RegisterPairsSelectTheirHalves)
{
  Machine machine;
  machine.set(SRC, 3, bits(1.0f) | bits(2.0f) << 32, true);
  isa_write_s64(&machine.wave, 30, bits(10.0f) | bits(20.0f) << 32);
  isa_inst_t inst = instruction(ISA_v_pk_add_f32, "q:qq");
  inst.encoding = ISA_VOP3P;
  inst.src[1] = sgpr(30);
  inst.vop.op_sel = 1;
  inst.vop.op_sel_hi = 2;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.get(DST, 3, true), bits(12.0f) | bits(21.0f) << 32);
  inst.src[1] = constant(244); /* 2.0 for both, whatever is selected */
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.get(DST, 3, true), bits(4.0f) | bits(3.0f) << 32);
}

// The halves become what they are one after the other; a NaN that is found late finds its sources.
TEST(ValuPacked, NansOfEitherHalfOfASumInPlace)
{
  const unsigned sum = SRC + 2 * SRC_STEP, lane_of_nan = 9;
  for (unsigned host = 0; host < ISA_VALU_HOSTS; ++host) {
    const valu_build_t *build = isa_valu_build_of((isa_valu_host_t)host);
    if (!build)
      continue;
    isa_valu_use(build);
    for (unsigned nans = 0; nans < 4; ++nans) // bit 0: in the low half, bit 1: in the high one
      for (unsigned scalar = 0; scalar < 4; ++scalar)   // source n is; 3: none
        for (unsigned select = 0; select < 2; ++select) // 1: the high half's summand is the low one
          for (uint64_t exec : {(uint64_t)UINT64_MAX, (uint64_t)0x0000ff00000002f1}) {
            Machine machine;
            isa_write_s64(&machine.wave, ISA_EXEC, exec);
            isa_write_s64(&machine.wave, 30, bits(1.5f) | bits(-2.0f) << 32);
            isa_inst_t inst = instruction(ISA_v_pk_fma_f32, "q:qqq");
            inst.encoding = ISA_VOP3P;
            inst.dst = vgpr(sum);
            inst.vop.op_sel_hi = select ? 3 : 7;
            if (scalar < 3)
              inst.src[scalar] = sgpr(30);
            float of[3][2][ISA_LANES];
            uint32_t before[2][ISA_LANES];
            for (unsigned i = 0; i < ISA_LANES; ++i) {
              for (unsigned n = 0; n < 3; ++n)
                for (unsigned half = 0; half < 2; ++half) {
                  of[n][half][i] =
                      n == scalar ? half ? -2.0f : 1.5f : 0.25f * (float)(i + 3 * n + 7 * half);
                  machine.v[SRC + SRC_STEP * n + half][i] = (uint32_t)bits(of[n][half][i]);
                }
              for (unsigned half = 0; half < 2; ++half)
                if (nans >> half & 1 && i == lane_of_nan)
                  machine.v[sum + half][i] = 0x7f812345; // signals
              before[0][i] = machine.v[sum][i];
              before[1][i] = machine.v[sum + 1][i];
            }
            ASSERT_TRUE(machine.run(inst));
            for (unsigned i = 0; i < ISA_LANES; ++i)
              for (unsigned half = 0; half < 2; ++half) {
                const unsigned summand = select ? 0 : half;
                uint32_t expected =
                    (uint32_t)bits(std::fma(of[0][half][i], of[1][half][i], of[2][summand][i]));
                if (i == lane_of_nan && scalar != 2 && nans >> summand & 1)
                  expected = 0x7fc12345;
                if (!(exec >> i & 1))
                  expected = before[half][i];
                ASSERT_EQ(machine.v[sum + half][i], expected)
                    << "host " << host << " nans " << nans << " scalar " << scalar << " select "
                    << select << " lane " << i << " half " << half;
              }
          }
  }
  isa_valu_use(nullptr);
}

TEST(ValuPacked, PairMoveTakesEachHalfFromItsSource)
{
  Machine machine;
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    machine.set(SRC, i, 0x2222222211111111, true);
    machine.set(SRC + SRC_STEP, i, 0x4444444433333333, true);
    machine.set(DST, i, 7, true);
  }
  isa_write_s64(&machine.wave, ISA_EXEC, 0xf);
  isa_inst_t inst = instruction(ISA_v_pk_mov_b32, "q:qq");
  inst.encoding = ISA_VOP3P;
  const uint64_t expected[] = {0x3333333311111111, 0x3333333322222222, 0x4444444411111111,
                               0x4444444422222222};
  for (unsigned select = 0; select < 4; ++select) {
    inst.vop.op_sel = (uint8_t)select;
    ASSERT_TRUE(machine.run(inst));
    EXPECT_EQ(machine.get(DST, 2, true), expected[select]);
    EXPECT_EQ(machine.get(DST, 9, true), 7u);
  }
  inst.src[1] = sgpr(30);
  isa_write_s64(&machine.wave, 30, 0x6666666655555555);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.get(DST, 0, true), 0x6666666622222222u);
}

// Which sources are f16 halves, op_sel_hi says; abs and neg are neg_hi and neg.
TEST(ValuPacked, MixedPrecision)
{
  Machine machine;
  machine.v[SRC][0] = 0x40003c00; /* 2, 1 */
  machine.v[SRC + SRC_STEP][0] = (uint32_t)bits(-3.0f);
  machine.v[SRC + 2 * SRC_STEP][0] = (uint32_t)bits(0.5f);
  for (unsigned op : {ISA_v_fma_mix_f32, ISA_v_fma_mixlo_f16, ISA_v_fma_mixhi_f16}) {
    isa_inst_t inst = instruction(op, "u:uuu");
    inst.encoding = ISA_VOP3P;
    inst.vop.op_sel_hi = 1;
    inst.vop.op_sel = 1; /* the high half: 2 */
    inst.vop.neg_hi = 2; /* |-3| */
    inst.vop.neg = 4;
    machine.v[DST][0] = 0xaaaabbbb;
    ASSERT_TRUE(machine.run(inst));
    uint32_t expected = op == ISA_v_fma_mix_f32     ? (uint32_t)bits(5.5f)
                        : op == ISA_v_fma_mixlo_f16 ? 0xaaaa0000 | (uint32_t)f16_bits(5.5)
                                                    : 0xbbbb | (uint32_t)f16_bits(5.5) << 16;
    EXPECT_EQ(machine.v[DST][0], expected) << isa_op_name(op);
  }
}

TEST(ValuPacked, ClampSaturates)
{
  Machine machine;
  isa_inst_t inst = instruction(ISA_v_pk_add_i16, "u:uu");
  inst.encoding = ISA_VOP3P;
  inst.vop.op_sel_hi = 3;
  inst.vop.clamp = true;
  machine.v[SRC][0] = 0x7fff8000;
  machine.v[SRC + SRC_STEP][0] = 0x0001ffff;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[DST][0], 0x7fff8000u);
  inst = instruction(ISA_v_dot4_i32_i8, "u:uuu");
  inst.encoding = ISA_VOP3P;
  inst.vop.clamp = true;
  machine.v[SRC][0] = machine.v[SRC + SRC_STEP][0] = 0x7f7f7f7f;
  machine.v[SRC + 2 * SRC_STEP][0] = 0x7fffff00;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[DST][0], 0x7fffffffu);
}

// PyTorch's notes on numerical accuracy: V_DOT2 of MI200 loses denormals on the way in and out.
TEST(ValuPacked, Mi200FlushesDenormalsOfDotProducts)
{
  for (unsigned chip : {SOFTGPU_GFX90A, SOFTGPU_GFX942}) {
    const bool keeps = chip == SOFTGPU_GFX942;
    auto dot = [&](uint32_t a, uint32_t b, uint32_t c) {
      Machine machine;
      isa_inst_t inst = instruction(ISA_v_dot2_f32_f16, "u:uuu");
      inst.encoding = ISA_VOP3P;
      inst.vop.op_sel_hi = 7;
      inst.chip = (uint8_t)chip;
      machine.v[SRC][0] = a;
      machine.v[SRC + SRC_STEP][0] = b;
      machine.v[SRC + 2 * SRC_STEP][0] = c;
      EXPECT_TRUE(machine.run(inst));
      return machine.v[DST][0];
    };
    EXPECT_EQ(f32(dot(0x00013c00, 0x3c003c00, 0)), keeps ? 1 + 0x1p-24f : 1.0f);
    EXPECT_EQ(f32(dot(0x3c003c00, 0x3c000001, 0)), keeps ? 1 + 0x1p-24f : 1.0f);
    EXPECT_EQ(dot(0, 0, 1), keeps ? 1u : 0u);
    EXPECT_EQ(dot(0x04000000, 0x04000000, 0x00800000), bits(0x1p-28f + 0x1p-126f));
  }
}

} // namespace
