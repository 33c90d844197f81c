// Scalar models of the conversions; the 8-bit formats value by value.
#include "valu_harness.h"

#include <algorithm>

extern "C" {
#include "softgpu/isa/base/float.h"
}

using namespace valu;

namespace {

uint64_t to_int(double x, double low, double high)
{
  return std::isnan(x) ? 0 : (uint64_t)(int64_t)std::trunc(std::min(std::max(x, low), high));
}
uint64_t to_i32(double x)
{
  return (uint32_t)to_int(x, INT32_MIN, INT32_MAX);
}
uint64_t to_u32(double x)
{
  return to_int(x, 0, UINT32_MAX);
}
uint64_t snorm(double x)
{
  return std::isnan(x) ? 0 : (uint16_t)(int)std::nearbyint(std::clamp(x, -1.0, 1.0) * 32767);
}
uint64_t unorm(double x)
{
  return std::isnan(x) ? 0 : (uint64_t)std::nearbyint(std::clamp(x, 0.0, 1.0) * 65535);
}
// Toward zero: the nearest one, or its neighbour when that is larger.
uint64_t toward_zero(float x)
{
  if (std::isnan(x))
    return (bits(x) >> 16 & 0x8000) | 0x7e00 | (bits(x) >> 13 & 0x1ff);
  uint64_t nearest = f16_bits(x);
  return std::fabs(f16(nearest)) > std::fabs(x) ? nearest - 1 : nearest;
}
// A float of sign, 7 - mantissa bits of exponent and a bias, without infinities.
double small_float(unsigned byte, unsigned mantissa_bits, int bias)
{
  unsigned mantissa = byte & ((1u << mantissa_bits) - 1);
  int exponent = (int)(byte & 0x7f) >> mantissa_bits;
  if (byte == 0x80)
    return NAN;
  double magnitude = std::ldexp(exponent ? mantissa + (1 << mantissa_bits) : mantissa,
                                std::max(exponent, 1) - bias - (int)mantissa_bits);
  return byte & 0x80 ? -magnitude : magnitude;
}
float fp8(uint64_t byte)
{
  return (float)small_float(byte & 0xff, 3, 8);
}
float bf8(uint64_t byte)
{
  return (float)small_float(byte & 0xff, 2, 16);
}
uint64_t pair(float low, float high)
{
  return bits(low) | bits(high) << 32;
}

// The nearest of the 127 magnitudes, the even one on a tie; NaN when too large.
uint64_t nearest8(float x, unsigned mantissa_bits, int bias)
{
  if (!std::isfinite(x))
    return 0x80;
  double magnitude = std::fabs((double)x);
  unsigned best = 0;
  for (unsigned byte = 1; byte < 0x80; ++byte) {
    double distance = std::fabs(small_float(byte, mantissa_bits, bias) - magnitude);
    double so_far = std::fabs(small_float(best, mantissa_bits, bias) - magnitude);
    if (distance < so_far || (distance == so_far && byte % 2 == 0))
      best = byte;
  }
  double last = small_float(0x7f, mantissa_bits, bias);
  double step = last - small_float(0x7e, mantissa_bits, bias);
  if (magnitude >= last + step / 2)
    return 0x80;
  return best && std::signbit(x) ? best | 0x80 : best;
}

#define MODEL(...) [](const Lane &l) -> Value { return Value(__VA_ARGS__); }
#define A          f32(l.a)
#define B          f32(l.b)
#define HA         f16(l.a)
#define HB         f16(l.b)
#define DA         f64(l.a)

const bool registered = add({
    {ISA_v_cvt_f32_i32, "f:u", MODEL((float)(int32_t)l.a)},
    {ISA_v_cvt_f32_u32, "f:u", MODEL((float)(uint32_t)l.a)},
    {ISA_v_cvt_f64_i32, "g:u", MODEL((double)(int32_t)l.a)},
    {ISA_v_cvt_f64_u32, "g:u", MODEL((double)(uint32_t)l.a)},
    {ISA_v_cvt_f16_i16, "e:h", MODEL(f16_bits((int16_t)l.a))},
    {ISA_v_cvt_f16_u16, "e:h", MODEL(f16_bits((uint16_t)l.a))},
    {ISA_v_cvt_f32_ubyte0, "f:u", MODEL((float)(l.a % 256))},
    {ISA_v_cvt_f32_ubyte1, "f:u", MODEL((float)(l.a / 256 % 256))},
    {ISA_v_cvt_f32_ubyte2, "f:u", MODEL((float)(l.a / 65536 % 256))},
    {ISA_v_cvt_f32_ubyte3, "f:u", MODEL((float)(l.a / 16777216 % 256))},
    {ISA_v_cvt_off_f32_i4, "f:u",
     MODEL((float)(l.a % 16 < 8 ? (int)(l.a % 16) : (int)(l.a % 16) - 16) / 16)},
    {ISA_v_cvt_f32_f16, "f:e", MODEL((float)HA)},
    {ISA_v_cvt_f16_f32, "e:f", MODEL(f16_bits(A))},
    {ISA_v_cvt_f64_f32, "g:f", MODEL((double)A)},
    {ISA_v_cvt_f32_f64, "f:g", MODEL((float)DA)},
    {ISA_v_cvt_i32_f32, "u:f", MODEL(to_i32(A))},
    {ISA_v_cvt_u32_f32, "u:f", MODEL(to_u32(A))},
    {ISA_v_cvt_i32_f64, "u:g", MODEL(to_i32(DA))},
    {ISA_v_cvt_u32_f64, "u:g", MODEL(to_u32(DA))},
    {ISA_v_cvt_i16_f16, "h:e", MODEL(to_int(HA, -32768, 32767) & 0xffff)},
    {ISA_v_cvt_u16_f16, "h:e", MODEL(to_int(HA, 0, 65535))},
    {ISA_v_cvt_rpi_i32_f32, "u:f", MODEL(to_i32(std::floor((double)A + 0.5)))},
    {ISA_v_cvt_flr_i32_f32, "u:f", MODEL(to_i32(std::floor(A)))},
    {ISA_v_cvt_norm_i16_f16, "h:e", MODEL(snorm(HA))},
    {ISA_v_cvt_norm_u16_f16, "h:e", MODEL(unorm(HA))},
    {ISA_v_cvt_pknorm_i16_f32, "u:ff", MODEL(snorm(A) | snorm(B) << 16)},
    {ISA_v_cvt_pknorm_u16_f32, "u:ff", MODEL(unorm(A) | unorm(B) << 16)},
    {ISA_v_cvt_pknorm_i16_f16, "u:ee", MODEL(snorm(HA) | snorm(HB) << 16)},
    {ISA_v_cvt_pknorm_u16_f16, "u:ee", MODEL(unorm(HA) | unorm(HB) << 16)},
    {ISA_v_cvt_pkrtz_f16_f32, "u:ff", MODEL(toward_zero(A) | toward_zero(B) << 16)},
    {ISA_v_cvt_pk_u8_f32, "u:fuu",
     [](const Lane &l) -> Value {
       uint64_t byte = to_int(A, 0, 255), shift = 8 * (l.b % 4);
       return (uint32_t)((l.c & ~(255ull << shift)) + (byte << shift));
     }},
    {ISA_v_cvt_f32_fp8, "f:u", MODEL(fp8(l.a))},
    {ISA_v_cvt_f32_bf8, "f:u", MODEL(bf8(l.a))},
    {ISA_v_cvt_pk_f32_fp8, "q:h", MODEL(pair(fp8(l.a), fp8(l.a >> 8)))},
    {ISA_v_cvt_pk_f32_bf8, "q:h", MODEL(pair(bf8(l.a), bf8(l.a >> 8)))},
    {ISA_v_cvt_pk_fp8_f32, "h:ff", MODEL(nearest8(A, 3, 8) | nearest8(B, 3, 8) << 8)},
    {ISA_v_cvt_pk_bf8_f32, "h:ff", MODEL(nearest8(A, 2, 16) | nearest8(B, 2, 16) << 8)},
});

TEST(ValuConvert, Fp8RoundTripsEveryValue)
{
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte == 0x80)
      continue;
    EXPECT_EQ(float_to_float8(float8_to_float(byte, float8_fp8), float8_fp8, false), byte);
    EXPECT_EQ(float_to_float8(float8_to_float(byte, float8_bf8), float8_bf8, false), byte);
  }
  EXPECT_EQ(float8_to_float(0x7f, float8_fp8), 240.0f);
  EXPECT_EQ(float8_to_float(0x7f, float8_bf8), 57344.0f);
  EXPECT_EQ(float_to_float8(1e9f, float8_fp8, true), 0x7fu);
  EXPECT_EQ(float_to_float8(-INFINITY, float8_fp8, true), 0xffu);
  EXPECT_EQ(float_to_float8(1e9f, float8_fp8, false), 0x80u);
}

// The bits below the last one kept, added to noise: 1.25 lies a third of the noise range apart.
TEST(ValuConvert, StochasticRoundingGoesUpAsOftenAsTheFractionSays)
{
  float x = 1 + 0.125f * 0.25f; /* a quarter of the way from 1 to the next fp8 */
  uint32_t one = float_to_float8(1, float8_fp8, false);
  EXPECT_EQ(float_to_float8_stochastic(x, float8_fp8, 0, false), one);
  EXPECT_EQ(float_to_float8_stochastic(x, float8_fp8, 0xbfffffff, false), one);
  EXPECT_EQ(float_to_float8_stochastic(x, float8_fp8, 0xc0000000, false), one + 1);
  EXPECT_EQ(float_to_float8_stochastic(x, float8_fp8, 0xffffffff, false), one + 1);
}

TEST(ValuConvert, StochasticResultsGoToTheChosenByte)
{
  for (unsigned op : {ISA_v_cvt_sr_fp8_f32, ISA_v_cvt_sr_bf8_f32}) {
    for (unsigned byte = 0; byte < 4; ++byte) {
      Machine machine;
      isa_inst_t inst = instruction(op, "u:fu");
      inst.vop.op_sel = (uint8_t)(byte << 2);
      machine.set(SRC, 9, bits(1.0f), false);
      machine.set(SRC + SRC_STEP, 9, 0, false);
      machine.set(DST, 9, 0xdeadbeef, false);
      ASSERT_TRUE(machine.run(inst));
      uint32_t one = op == ISA_v_cvt_sr_fp8_f32 ? 0x40 : 0x40;
      EXPECT_EQ(machine.v[DST][9], (0xdeadbeef & ~(255u << 8 * byte)) | one << 8 * byte);
    }
  }
}

TEST(ValuConvert, HalfRoundsInEveryMode)
{
  Random random = {3};
  for (unsigned n = 0; n < 200000; ++n) {
    float x = f32(sample('f', random, n % 24));
    if (std::isnan(x))
      continue;
    uint32_t in = (uint32_t)bits(x);
    uint64_t nearest = f16_bits(x), zero = toward_zero(x);
    bool exact = f16(zero) == x, negative = std::signbit(x);
    uint64_t away = exact || std::isinf(x) ? zero : zero + 1;
    EXPECT_EQ(float_bits_to_half(in), nearest);
    EXPECT_EQ(float_bits_to_half_mode(in, 0), nearest);
    EXPECT_EQ(float_bits_to_half_mode(in, 1), negative ? zero : away) << x;
    EXPECT_EQ(float_bits_to_half_mode(in, 2), negative ? away : zero) << x;
    EXPECT_EQ(float_bits_to_half_mode(in, 3), zero) << x;
  }
  for (uint32_t half = 0; half < 65536; ++half) {
    float widened = float_of(half_to_float_bits(half));
    if (std::isnan(widened))
      EXPECT_TRUE(std::isnan(f16(half)));
    else
      EXPECT_EQ(bits(widened), bits((float)f16(half)));
  }
}

} // namespace
