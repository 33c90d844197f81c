// What gfx950 has beyond gfx942, against models written from OCP's and AMD's documents: numbers by
// their definition, roundings by trying every code, matrices against sums in double.
#include "small_model.h"
#include "valu_harness.h"

#include <array>
#include <memory>

extern "C" {
#include "softgpu/isa/base/small.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

using namespace valu;

namespace {

const small_format_t small[] = {small_e4m3, small_e5m2, small_e2m3, small_e3m2, small_e2m1};

TEST(Gfx950, EveryCodeOfEverySmallFormatIsItsNumber)
{
  for (unsigned n = 0; n < 5; ++n)
    for (unsigned code = 0; code < 1u << formats[n].width(); ++code) {
      const double expected = formats[n].value(code), got = small_to_float(code, small[n]);
      EXPECT_TRUE(std::isnan(expected)
                      ? std::isnan(got)
                      : got == expected && std::signbit(got) == std::signbit(expected))
          << formats[n].name << " " << code << ": " << got << ", expected " << expected;
    }
}

TEST(Gfx950, SmallFormatsRoundToNearestEven)
{
  Random random = {3};
  for (unsigned n = 0; n < 5; ++n) {
    const Format &f = formats[n];
    std::vector<double> values = {0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, 1e-30};
    for (unsigned code = 0; code <= f.largest() + 1; ++code) { // numbers, and what is between two
      const double x = f.magnitude(code), y = f.magnitude(code + 1);
      for (double z : {x, (x + y) / 2, x + (y - x) * 0.49, x + (y - x) * 0.51})
        values.push_back(z), values.push_back(-z);
    }
    for (unsigned i = 0; i < 5000; ++i)
      values.push_back(f32((uint32_t)random()));
    for (double x : values)
      for (int scale : {127, 120, 140}) {
        const double scaled = std::ldexp((float)x, scale - 127);
        if (scaled != (double)(float)scaled)
          continue;
        EXPECT_EQ(small_of_float((float)scaled, (uint32_t)scale, small[n], nullptr, false),
                  f.nearest(std::ldexp(scaled, 127 - scale)))
            << f.name << " " << x << " scale " << scale;
      }
  }
  EXPECT_EQ(small_of_float(1e9f, 127, small_e4m3, nullptr, true), 0x7eu);
  EXPECT_EQ(small_of_float(-INFINITY, 127, small_e5m2, nullptr, true), 0xfbu);
  EXPECT_EQ(small_of_float(1.0f, 255, small_e4m3, nullptr, false), 0x7fu) << "a NaN as scale";
}

TEST(Gfx950, NoiseRoundsUpAsOftenAsTheFractionSays)
{
  for (unsigned sixteenth = 0; sixteenth < 16; ++sixteenth) {
    const float x = 1 + (float)sixteenth / 128; // between 1 and 1.125
    unsigned ups = 0;
    for (unsigned i = 0; i < 16; ++i) {
      const uint32_t noise = i << 28;
      ups += small_of_float(x, 127, small_e4m3, &noise, false) == 0x39;
    }
    EXPECT_EQ(ups, sixteenth);
  }
}

// --- matrices ---

unsigned code_of(const Format &f, Random &random) // of a number that sums exactly
{
  for (;;) {
    const unsigned code = (unsigned)random() & ((1u << f.width()) - 1);
    const double x = f.value(code);
    if (std::isfinite(x) && std::fabs(x) <= 4 && x * 4 == std::floor(x * 4))
      return code;
  }
}

// Where element k of a row is: 4-bit elements 32 neighbours a lane, larger ones twice 16.
void put_element(isa_row_t *rows, const Format &f, unsigned size, unsigned i, unsigned k,
                 unsigned code)
{
  const unsigned groups = 64 / size;
  const bool is_wide = f.width() > 4;
  const unsigned group = is_wide ? k / 16 % groups : k / 32;
  const unsigned item = is_wide ? k / (16 * groups) * 16 + k % 16 : k % 32;
  put_bits(rows, i + size * group, item * f.width(), f.width(), code);
}

struct Mixed {
  unsigned size, k, a, b;
  bool has_scale;
};

void check_product(const Mixed &m, Random &random)
{
  enum { A = 0, B = 8, D = 16, SCALE_A = 40, SCALE_B = 41 };
  Machine machine;
  std::vector<double> a(m.size * m.k), b(m.size * m.k), c(m.size * m.size);
  isa_inst_t inst = {};
  inst.op = m.size == 16 ? ISA_v_mfma_f32_16x16x128_f8f6f4 : ISA_v_mfma_f32_32x32x64_f8f6f4;
  inst.encoding = ISA_VOP3P;
  inst.chip = SOFTGPU_GFX950;
  inst.dst = inst.src[2] = vgpr(D);
  inst.src[0] = vgpr(A), inst.src[1] = vgpr(B);
  inst.vop.cbsz = (uint8_t)m.a, inst.vop.blgp = (uint8_t)m.b;
  inst.vop.has_scale = m.has_scale;
  inst.vop.scale[0] = vgpr(SCALE_A), inst.vop.scale[1] = vgpr(SCALE_B);
  inst.vop.op_sel = random() & 3, inst.vop.op_sel_hi = random() & 3;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row : {SCALE_A, SCALE_B})
      for (unsigned byte = 0; byte < 4; ++byte)
        machine.v[row][lane] |= (uint32_t)(126 + random() % 3) << 8 * byte;
  auto scale = [&](unsigned n, unsigned i, unsigned k) {
    const unsigned byte = (inst.vop.op_sel >> n & 1u) + 2u * (inst.vop.op_sel_hi >> n & 1u);
    const uint32_t word = machine.v[n ? SCALE_B : SCALE_A][i + m.size * (k / 32)];
    return m.has_scale ? std::ldexp(1, (int)(word >> 8 * byte & 255) - 127) : 1;
  };
  for (unsigned i = 0; i < m.size; ++i)
    for (unsigned k = 0; k < m.k; ++k) {
      const unsigned x = code_of(formats[m.a], random), y = code_of(formats[m.b], random);
      put_element(machine.v + A, formats[m.a], m.size, i, k, x);
      put_element(machine.v + B, formats[m.b], m.size, i, k, y);
      a[i * m.k + k] = formats[m.a].value(x) * scale(0, i, k);
      b[i * m.k + k] = formats[m.b].value(y) * scale(1, i, k);
    }
  auto result = [&](unsigned i, unsigned j) -> uint32_t & { // as every 16x16 and 32x32 has them
    const unsigned groups = 64 / m.size, lane = j + m.size * (i / 4 % groups);
    return machine.v[D + i % 4 + 4 * (i / (4 * groups))][lane];
  };
  for (unsigned i = 0; i < m.size; ++i)
    for (unsigned j = 0; j < m.size; ++j) {
      c[i * m.size + j] = (double)(random() % 33) - 16;
      result(i, j) = (uint32_t)bits((float)c[i * m.size + j]);
    }
  ASSERT_TRUE(machine.run(inst)) << formats[m.a].name << " " << formats[m.b].name;
  for (unsigned i = 0; i < m.size; ++i)
    for (unsigned j = 0; j < m.size; ++j) {
      double sum = c[i * m.size + j];
      for (unsigned k = 0; k < m.k; ++k)
        sum += a[i * m.k + k] * b[j * m.k + k];
      ASSERT_EQ((double)f32(result(i, j)), sum)
          << m.size << " " << formats[m.a].name << " " << formats[m.b].name << " scaled "
          << m.has_scale << " at " << i << ", " << j;
    }
}

TEST(Gfx950, MixedMatricesAreTheirProductInEveryPairOfFormats)
{
  Random random = {11};
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = 0; b < 5; ++b)
      for (bool has_scale : {false, true}) {
        check_product({16, 128, a, b, has_scale}, random);
        check_product({32, 64, a, b, has_scale}, random);
      }
}

TEST(Gfx950, SourcesAreAsWideAsTheirFormat)
{
  Machine machine; // 64 registers
  isa_inst_t inst = {};
  inst.op = ISA_v_mfma_f32_16x16x128_f8f6f4;
  inst.encoding = ISA_VOP3P;
  inst.chip = SOFTGPU_GFX950;
  inst.dst = inst.src[2] = vgpr(0);
  inst.src[0] = vgpr(60), inst.src[1] = vgpr(8);
  for (unsigned format = 0; format < 5; ++format) {
    inst.vop.cbsz = (uint8_t)format;
    isa_inst_t copy = inst;
    EXPECT_EQ(isa_prepare(&copy, &machine.limits), format == 4);
  }
}

// --- bits and lanes ---

TEST(Gfx950, Bitop3LooksUpEveryTable)
{
  Random random = {5};
  for (unsigned op : {ISA_v_bitop3_b32, ISA_v_bitop3_b16})
    for (unsigned table = 0; table < 256; ++table) {
      Machine machine;
      isa_inst_t inst = decoded_row(op, "u:uuu");
      inst.simm = (int32_t)table;
      const unsigned selects = op == ISA_v_bitop3_b16 ? random() & 15 : 0;
      inst.vop.op_sel = (uint8_t)selects;
      uint32_t s[3][64];
      for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned n = 0; n < 3; ++n)
          s[n][lane] = machine.v[SRC + SRC_STEP * n][lane] = (uint32_t)random();
        machine.v[DST][lane] = 0x12345678;
      }
      ASSERT_TRUE(machine.run(inst));
      for (unsigned lane = 0; lane < 64; ++lane) {
        uint32_t expected = op == ISA_v_bitop3_b16 ? 0x12345678 : 0;
        for (unsigned bit = 0; bit < (op == ISA_v_bitop3_b16 ? 16u : 32u); ++bit) {
          unsigned at = 0;
          for (unsigned n = 0; n < 3; ++n)
            at = at << 1 | (s[n][lane] >> (bit + (selects >> n & 1) * 16) & 1);
          const unsigned to = bit + (selects >> 3) * 16;
          expected = (expected & ~(1u << to)) | (table >> at & 1) << to;
        }
        ASSERT_EQ(machine.v[DST][lane], expected) << table;
      }
    }
}

TEST(Gfx950, RowsAndHalvesOfLanesChangePlaces)
{
  for (unsigned op : {ISA_v_permlane16_swap_b32, ISA_v_permlane32_swap_b32}) {
    Machine machine;
    isa_inst_t inst = decoded_row(op, "u:u");
    const unsigned step = op == ISA_v_permlane16_swap_b32 ? 16 : 32;
    for (unsigned lane = 0; lane < 64; ++lane)
      machine.v[DST][lane] = 100 + lane, machine.v[SRC][lane] = 200 + lane;
    ASSERT_TRUE(machine.run(inst));
    for (unsigned lane = 0; lane < 64; ++lane) {
      const bool is_odd = lane / step % 2;
      EXPECT_EQ(machine.v[DST][lane], is_odd ? 200 + lane - step : 100 + lane) << lane;
      EXPECT_EQ(machine.v[SRC][lane], is_odd ? 200 + lane : 100 + lane + step) << lane;
    }
  }
}

// --- v_cvt_scalef32_* with packed numbers: every code up, every number down ---

TEST(Gfx950, ScaledConversionsUpAreExact)
{
  struct {
    unsigned op, format, count;
  } const table[] = {
      {ISA_v_cvt_scalef32_pk_f32_fp8, 0, 2},    {ISA_v_cvt_scalef32_pk_f32_bf8, 1, 2},
      {ISA_v_cvt_scalef32_pk32_f32_fp6, 2, 32}, {ISA_v_cvt_scalef32_pk32_f32_bf6, 3, 32},
      {ISA_v_cvt_scalef32_pk_f32_fp4, 4, 2},    {ISA_v_cvt_scalef32_f32_fp8, 0, 1},
      {ISA_v_cvt_scalef32_f32_bf8, 1, 1}};
  Random random = {7};
  for (const auto &row : table) {
    const Format &f = formats[row.format];
    Machine machine;
    isa_inst_t inst = decoded_row(row.op, "u:uu");
    inst.dst = vgpr(32);
    std::vector<std::array<unsigned, 32>> codes(64);
    const unsigned select = row.count * f.width() == 8 ? 3 : row.count * f.width() == 16 ? 1 : 0;
    inst.vop.op_sel = (uint8_t)select;
    for (unsigned lane = 0; lane < 64; ++lane) {
      machine.v[SRC + SRC_STEP][lane] = (uint32_t)bits(std::ldexp(1.75f, (int)lane - 32));
      const unsigned start = select * row.count * f.width();
      for (unsigned i = 0; i < row.count; ++i) {
        codes[lane][i] = (unsigned)random() & ((1u << f.width()) - 1);
        put_bits(machine.v + SRC, lane, start + i * f.width(), f.width(), codes[lane][i]);
      }
    }
    ASSERT_TRUE(machine.run(inst)) << isa_op_name(row.op);
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned i = 0; i < row.count; ++i) {
        const double expected = std::ldexp(f.value(codes[lane][i]), (int)lane - 32);
        const float got = f32(machine.v[32 + i][lane]);
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected)
            << isa_op_name(row.op) << " " << codes[lane][i] << ": " << got << " " << expected;
      }
  }
}

TEST(Gfx950, ScaledConversionsDownRoundToNearest)
{
  struct {
    unsigned op, format, count;
  } const table[] = {{ISA_v_cvt_scalef32_pk_fp8_f32, 0, 2},
                     {ISA_v_cvt_scalef32_pk_bf8_f32, 1, 2},
                     {ISA_v_cvt_scalef32_pk_fp4_f32, 4, 2},
                     {ISA_v_cvt_scalef32_2xpk16_fp6_f32, 2, 32},
                     {ISA_v_cvt_scalef32_2xpk16_bf6_f32, 3, 32}};
  Random random = {8};
  for (const auto &row : table) {
    const Format &f = formats[row.format];
    Machine machine;
    isa_inst_t inst = decoded_row(row.op, "u:uuu");
    inst.src[0] = vgpr(0), inst.src[1] = vgpr(16), inst.src[2] = vgpr(34), inst.dst = vgpr(40);
    float numbers[2][16][64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      machine.v[34][lane] = (uint32_t)bits(std::ldexp(1.5f, (int)lane % 5 - 2));
      machine.v[40][lane] = 0xffffffff;
      for (unsigned n = 0; n < 2; ++n)
        for (unsigned i = 0; i < row.count / 2; ++i) {
          const float x = std::ldexp((float)(random() % 4096) / 256 - 8, (int)(random() % 6) - 3);
          numbers[n][i][lane] = x;
          machine.v[16 * n + i][lane] = (uint32_t)bits(x);
        }
    }
    ASSERT_TRUE(machine.run(inst)) << isa_op_name(row.op);
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned i = 0; i < row.count; ++i) {
        const double x = std::ldexp(numbers[i % 2][i / 2][lane], -((int)lane % 5 - 2));
        unsigned got = 0;
        for (unsigned bit = 0; bit < f.width(); ++bit) {
          const unsigned at = i * f.width() + bit;
          got |= (machine.v[40 + at / 32][lane] >> at % 32 & 1) << bit;
        }
        EXPECT_EQ(got, f.nearest(x)) << isa_op_name(row.op) << " " << x;
      }
    if (row.count == 2) {
      EXPECT_EQ(machine.v[40][0] >> (2 * f.width()), 0xffffffffu >> (2 * f.width()))
          << "the rest of the register stays";
    }
  }
}

// --- rows for valu_table_test.cc ---

#define MODEL(e) [](const Lane &l) { return Value(e); }
#define A        f32(l.a)
#define B        f32(l.b)
#define C        f32(l.c)

uint64_t f16_of(uint64_t x)
{
  if ((x & 0x7fffffff) > 0x7f800000)
    return (x >> 16 & 0x8000) | 0x7e00 | (x >> 13 & 0x3ff);
  return f16_bits(f32(x));
}

double extreme(const Lane &l, bool most)
{
  const float all[] = {A, B, C};
  float best = all[0];
  for (float x : all) {
    if (std::isnan(x) || std::isnan(best))
      return NAN;
    if (most ? x > best || (x == best && !std::signbit(x))
             : x < best || (x == best && std::signbit(x)))
      best = x;
  }
  return best;
}

uint64_t shifted_bytes(const Lane &l, int64_t low, int64_t high)
{
  uint64_t out = 0;
  for (unsigned n = 0; n < 2; ++n) {
    const int64_t x = (int64_t)(int32_t)(n ? l.b : l.a) >> (l.c & 31);
    out |= ((uint64_t)std::min(std::max(x, low), high) & 255) << 8 * n;
  }
  return out;
}

const bool added = add({
    {ISA_v_prng_b32, "u:u", MODEL((uint32_t)(l.a * 2) ^ (l.a & 0x80000000 ? 0xc5u : 0u))},
    {ISA_v_ashr_pk_i8_i32, "h:uuu", MODEL(shifted_bytes(l, -128, 127))},
    {ISA_v_ashr_pk_u8_i32, "h:uuu", MODEL(shifted_bytes(l, 0, 255))},
    {ISA_v_minimum3_f32, "f:fff", MODEL((float)extreme(l, false))},
    {ISA_v_maximum3_f32, "f:fff", MODEL((float)extreme(l, true))},
    {ISA_v_cvt_pk_bf16_f32, "u:ff", MODEL(bf16_bits(l.a) | bf16_bits(l.b) << 16)},
    {ISA_v_cvt_pk_f16_f32, "u:ff", MODEL(f16_of(l.a) | f16_of(l.b) << 16)},
    {ISA_v_cvt_f32_bf16, "u:h",
     MODEL((uint32_t)(l.a << 16 | ((l.a & 0x7fff) > 0x7f80 ? 0x400000 : 0)))},
    {ISA_v_cvt_f32_fp8_ocp, "f:u", MODEL((float)formats[0].value(l.a & 255))},
    {ISA_v_cvt_f32_bf8_ocp, "f:u", MODEL((float)formats[1].value(l.a & 255))},
    {ISA_v_cvt_pk_fp8_f32_ocp, "h:ff",
     MODEL((uint64_t)formats[0].nearest(A) | (uint64_t)formats[0].nearest(B) << 8)},
    {ISA_v_cvt_pk_bf8_f32_ocp, "h:ff",
     MODEL((uint64_t)formats[1].nearest(A) | (uint64_t)formats[1].nearest(B) << 8)},
});

} // namespace
