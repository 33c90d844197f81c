// Scalar models of floating-point arithmetic, from <cmath> and exact integers.
#include "valu_harness.h"

#include <algorithm>
#include <limits>

using namespace valu;

namespace {

__extension__ typedef __int128 i128;

// IEEE rules of v_min and v_max outside IEEE mode: NaNs lose, -0 is less than +0.
template <typename T> T least(T a, T b)
{
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  if (a == 0 && b == 0)
    return std::signbit(a) ? a : b;
  return std::min(a, b);
}
template <typename T> T most(T a, T b)
{
  return -least(-a, -b);
}
template <typename T> T middle(T a, T b, T c)
{
  if (std::isnan(a) || std::isnan(b) || std::isnan(c))
    return least(least(a, b), c);
  T sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3,
            [](T x, T y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); });
  return sorted[1];
}

// a * b + c of f16 operands in units of 2^-48, exact; rounded once, by hand.
uint64_t fma16(uint64_t ha, uint64_t hb, uint64_t hc)
{
  double a = f16(ha), b = f16(hb), c = f16(hc), rough = a * b + c;
  if (!std::isfinite(rough))
    return f16_bits(rough);
  i128 sum =
      (i128)std::ldexp(a, 24) * (i128)std::ldexp(b, 24) + (i128)std::ldexp(c, 24) * (1 << 24);
  if (sum == 0)
    return f16_bits(rough); /* the sign of zero is the host's */
  bool negative = sum < 0;
  i128 magnitude = negative ? -sum : sum;
  int top = 0;
  while (magnitude >> (top + 1))
    ++top;
  int drop = std::max(top - 10, 24);
  i128 kept = magnitude >> drop, rest = magnitude - (kept << drop), half = (i128)1 << (drop - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  double value = std::ldexp((double)kept, drop - 48);
  return f16_bits(negative ? -value : value);
}

float flush(float x)
{
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}
float mad32(float a, float b, float c)
{
  a = flush(a), b = flush(b), c = flush(c);
  return flush(flush(a * b) + c);
}
double flush16(double x)
{
  return std::fabs(x) < 0x1p-14 ? std::copysign(0.0, x) : x;
}
uint64_t mad16(const Lane &l)
{
  double a = flush16(f16(l.a)), b = flush16(f16(l.b)), c = flush16(f16(l.c));
  double product = flush16(f16(f16_bits(a * b)));
  return f16_bits(flush16(f16(f16_bits(product + c))));
}
// Whatever was multiplied by zero is zero.
float legacy(float a, float b)
{
  return a == 0 || b == 0 ? 0 : a * b;
}
float legacy_fma(float a, float b, float c)
{
  return a == 0 || b == 0 ? c + 0.0f : std::fma(a, b, c);
}
float lit(float a, float b, float c)
{
  const float least = -std::numeric_limits<float>::max();
  return std::isnan(b) || b <= least || std::isnan(c) || c <= 0 ? least : legacy(a, b);
}

template <typename T> T fraction(T x, T below_one)
{
  return std::min<T>(x - std::floor(x), below_one);
}
template <typename T> T mantissa(T x)
{
  int exponent;
  return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}
template <typename T> int exponent(T x)
{
  int result = 0;
  if (std::isfinite(x))
    std::frexp(x, &result);
  return result;
}
int small(uint64_t x)
{
  return (int)std::clamp<int64_t>((int32_t)x, -5000, 5000);
}

// The f32 special functions flush denormals on both sides.
float special(uint64_t bits, long double (*function)(long double))
{
  return flush((float)function(flush(f32(bits))));
}
long double reciprocal(long double x)
{
  return 1 / x;
}
long double reciprocal_root(long double x)
{
  return 1 / std::sqrt(x);
}
long double root(long double x)
{
  return std::sqrt(x);
}
long double power(long double x)
{
  return std::exp2(x);
}
long double logarithm(long double x)
{
  return std::log2(x);
}
const long double two_pi = 6.283185307179586476925286766559L;
long double sine(long double turns)
{
  long double rest = std::remainder(turns, 1.0L);
  // Exact at multiples of half a turn, where two_pi's last bit would show.
  return turns == 0 ? turns : std::fabs(rest) == 0.5L || rest == 0 ? 0 : std::sin(rest * two_pi);
}
long double cosine(long double turns)
{
  long double rest = std::remainder(turns, 1.0L);
  return std::fabs(rest) == 0.25L ? 0 : std::cos(rest * two_pi);
}
uint64_t special16(uint64_t half, long double (*function)(long double))
{
  return f16_bits((double)function(f16(half)));
}

#define MODEL(...)       [](const Lane &l) -> Value { return Value(__VA_ARGS__); }
#define A                f32(l.a)
#define B                f32(l.b)
#define C                f32(l.c)
#define HA               f16(l.a)
#define HB               f16(l.b)
#define HC               f16(l.c)
#define DA               f64(l.a)
#define DB               f64(l.b)
#define DC               f64(l.c)
#define HALF(expression) MODEL(f16_bits(expression))

const bool arithmetic = add({
    {ISA_v_add_f32, "f:ff", MODEL(A + B)},
    {ISA_v_sub_f32, "f:ff", MODEL(A - B)},
    {ISA_v_subrev_f32, "f:ff", MODEL(B - A)},
    {ISA_v_mul_f32, "f:ff", MODEL(A *B)},
    {ISA_v_mul_legacy_f32, "f:ff", MODEL(legacy(A, B))},
    {ISA_v_min_f32, "f:ff", MODEL(least(A, B))},
    {ISA_v_max_f32, "f:ff", MODEL(most(A, B))},
    {ISA_v_min3_f32, "f:fff", MODEL(least(least(A, B), C))},
    {ISA_v_max3_f32, "f:fff", MODEL(most(most(A, B), C))},
    {ISA_v_med3_f32, "f:fff", MODEL(middle(A, B, C))},
    {ISA_v_fma_f32, "f:fff", MODEL(std::fma(A, B, C))},
    {ISA_v_fmac_f32, "f:fff", MODEL(std::fma(A, B, C)), TIED},
    {ISA_v_fmamk_f32, "f:fff", MODEL(std::fma(A, B, C))},
    {ISA_v_fmaak_f32, "f:fff", MODEL(std::fma(A, B, C))},
    {ISA_v_mad_f32, "f:fff", MODEL(mad32(A, B, C))},
    {ISA_v_mac_f32, "f:fff", MODEL(mad32(A, B, C)), TIED},
    {ISA_v_madmk_f32, "f:fff", MODEL(mad32(A, B, C))},
    {ISA_v_madak_f32, "f:fff", MODEL(mad32(A, B, C))},
    {ISA_v_mad_legacy_f32, "f:fff", MODEL(flush(flush(legacy(flush(A), flush(B))) + flush(C)))},
    {ISA_v_add_f64, "g:gg", MODEL(DA + DB)},
    {ISA_v_mul_f64, "g:gg", MODEL(DA *DB)},
    {ISA_v_min_f64, "g:gg", MODEL(least(DA, DB))},
    {ISA_v_max_f64, "g:gg", MODEL(most(DA, DB))},
    {ISA_v_fma_f64, "g:ggg", MODEL(std::fma(DA, DB, DC))},
    {ISA_v_fmac_f64, "g:ggg", MODEL(std::fma(DA, DB, DC)), TIED},
    {ISA_v_add_f16, "e:ee", HALF(HA + HB)},
    {ISA_v_sub_f16, "e:ee", HALF(HA - HB)},
    {ISA_v_subrev_f16, "e:ee", HALF(HB - HA)},
    {ISA_v_mul_f16, "e:ee", HALF(HA *HB)},
    {ISA_v_min_f16, "e:ee", HALF(least(HA, HB))},
    {ISA_v_max_f16, "e:ee", HALF(most(HA, HB))},
    {ISA_v_min3_f16, "e:eee", HALF(least(least(HA, HB), HC))},
    {ISA_v_max3_f16, "e:eee", HALF(most(most(HA, HB), HC))},
    {ISA_v_med3_f16, "e:eee", HALF(middle(HA, HB, HC))},
    {ISA_v_fma_f16, "e:eee", MODEL(fma16(l.a, l.b, l.c))},
    {ISA_v_fma_legacy_f16, "e:eee", MODEL(fma16(l.a, l.b, l.c))},
    {ISA_v_fmac_f16, "e:eee", MODEL(fma16(l.a, l.b, l.c)), TIED},
    {ISA_v_fmamk_f16, "e:eee", MODEL(fma16(l.a, l.b, l.c))},
    {ISA_v_fmaak_f16, "e:eee", MODEL(fma16(l.a, l.b, l.c))},
    {ISA_v_fma_legacy_f32, "f:fff", MODEL(legacy_fma(A, B, C))},
    {ISA_v_fmac_legacy_f32, "f:fff", MODEL(legacy_fma(A, B, C)), TIED},
    {ISA_v_mullit_f32, "f:fff", MODEL(lit(A, B, C))},
    {ISA_v_mad_f16, "e:eee", MODEL(mad16(l))},
    {ISA_v_mad_legacy_f16, "e:eee", MODEL(mad16(l))},
    {ISA_v_mac_f16, "e:eee", MODEL(mad16(l)), TIED},
    {ISA_v_madmk_f16, "e:eee", MODEL(mad16(l))},
    {ISA_v_madak_f16, "e:eee", MODEL(mad16(l))},
});

const bool rounding = add({
    {ISA_v_floor_f32, "f:f", MODEL(std::floor(A))},
    {ISA_v_ceil_f32, "f:f", MODEL(std::ceil(A))},
    {ISA_v_trunc_f32, "f:f", MODEL(std::trunc(A))},
    {ISA_v_rndne_f32, "f:f", MODEL(std::nearbyint(A))},
    {ISA_v_fract_f32, "f:f", MODEL(fraction(A, 0x1.fffffep-1f))},
    {ISA_v_frexp_mant_f32, "f:f", MODEL(mantissa(A))},
    {ISA_v_frexp_exp_i32_f32, "u:f", MODEL(exponent(A))},
    {ISA_v_ldexp_f32, "f:fu", MODEL(std::ldexp(A, small(l.b)))},
    {ISA_v_floor_f64, "g:g", MODEL(std::floor(DA))},
    {ISA_v_ceil_f64, "g:g", MODEL(std::ceil(DA))},
    {ISA_v_trunc_f64, "g:g", MODEL(std::trunc(DA))},
    {ISA_v_rndne_f64, "g:g", MODEL(std::nearbyint(DA))},
    {ISA_v_fract_f64, "g:g", MODEL(fraction(DA, 0x1.fffffffffffffp-1))},
    {ISA_v_frexp_mant_f64, "g:g", MODEL(mantissa(DA))},
    {ISA_v_frexp_exp_i32_f64, "u:g", MODEL(exponent(DA))},
    {ISA_v_ldexp_f64, "g:gu", MODEL(std::ldexp(DA, small(l.b)))},
    {ISA_v_floor_f16, "e:e", HALF(std::floor(HA))},
    {ISA_v_ceil_f16, "e:e", HALF(std::ceil(HA))},
    {ISA_v_trunc_f16, "e:e", HALF(std::trunc(HA))},
    {ISA_v_rndne_f16, "e:e", HALF(std::nearbyint(HA))},
    {ISA_v_fract_f16, "e:e", HALF(fraction(HA, 0x1.ffcp-1))},
    {ISA_v_frexp_mant_f16, "e:e", HALF(mantissa(HA))},
    {ISA_v_frexp_exp_i16_f16, "h:e", MODEL((uint64_t)(uint16_t)exponent(HA))},
    {ISA_v_ldexp_f16, "e:eh", HALF(std::ldexp(HA, (int16_t)l.b))},
});

const bool special_functions = add({
    {ISA_v_rcp_f32, "f:f", MODEL(special(l.a, reciprocal)), ULP1},
    {ISA_v_rcp_iflag_f32, "f:f", MODEL(special(l.a, reciprocal)), ULP1},
    {ISA_v_rsq_f32, "f:f", MODEL(special(l.a, reciprocal_root)), ULP1},
    {ISA_v_sqrt_f32, "f:f", MODEL(special(l.a, root)), ULP1},
    {ISA_v_exp_f32, "f:f", MODEL(special(l.a, power)), ULP1},
    {ISA_v_log_f32, "f:f", MODEL(special(l.a, logarithm)), ULP1},
    {ISA_v_exp_legacy_f32, "f:f", MODEL(special(l.a, power)), ULP1},
    {ISA_v_log_legacy_f32, "f:f", MODEL(special(l.a, logarithm)), ULP1},
    {ISA_v_sin_f32, "f:f", MODEL(special(l.a, sine)), ULP1},
    {ISA_v_cos_f32, "f:f", MODEL(special(l.a, cosine)), ULP1},
    {ISA_v_rcp_f16, "e:e", MODEL(special16(l.a, reciprocal)), ULP1},
    {ISA_v_rsq_f16, "e:e", MODEL(special16(l.a, reciprocal_root)), ULP1},
    {ISA_v_sqrt_f16, "e:e", MODEL(special16(l.a, root)), ULP1},
    {ISA_v_exp_f16, "e:e", MODEL(special16(l.a, power)), ULP1},
    {ISA_v_log_f16, "e:e", MODEL(special16(l.a, logarithm)), ULP1},
    {ISA_v_sin_f16, "e:e", MODEL(special16(l.a, sine)), ULP1},
    {ISA_v_cos_f16, "e:e", MODEL(special16(l.a, cosine)), ULP1},
    {ISA_v_rcp_f64, "g:g", MODEL((double)(1 / (long double)DA)), ULP1},
    {ISA_v_rsq_f64, "g:g", MODEL((double)(1 / std::sqrt((long double)DA))), ULP1},
    {ISA_v_sqrt_f64, "g:g", MODEL(std::sqrt(DA)), ULP1},
});

// The face of a cube that a vector points to, and the coordinates on it (ISA document).
struct Cube {
  float face, s, t, major;
};
Cube cube(float x, float y, float z)
{
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y))
    return {z < 0 ? 5.0f : 4.0f, z < 0 ? -x : x, -y, 2 * z};
  if (std::fabs(y) >= std::fabs(x))
    return {y < 0 ? 3.0f : 2.0f, x, y < 0 ? -z : z, 2 * y};
  return {x < 0 ? 1.0f : 0.0f, x < 0 ? z : -z, -y, 2 * x};
}
const bool cubes = add({
    {ISA_v_cubeid_f32, "f:fff", MODEL(cube(A, B, C).face)},
    {ISA_v_cubesc_f32, "f:fff", MODEL(cube(A, B, C).s)},
    {ISA_v_cubetc_f32, "f:fff", MODEL(cube(A, B, C).t)},
    {ISA_v_cubema_f32, "f:fff", MODEL(cube(A, B, C).major)},
});

// As exponents have it: a denormal's is one less than the least of normal numbers.
template <typename T> int exponent_field(T x)
{
  return std::max(std::ilogb(x), std::numeric_limits<T>::min_exponent - 2);
}

// The result of v_div_fixup when nothing is special is the quotient with the operands' sign. On RDNA what is no number
// has overflowed, and fields of exponents say what is too small.
template <typename T>
T fixup(const Lane &l, T quotient, T denominator, T numerator, int overflow, int underflow)
{
  const bool is_rdna = l.chip >= SOFTGPU_GFX1030;
  if (std::isnan(numerator) || std::isnan(denominator))
    return std::isnan(numerator) ? numerator : denominator;
  bool both_zero = denominator == 0 && numerator == 0;
  bool both_infinite = std::isinf(denominator) && std::isinf(numerator);
  if (both_zero || both_infinite)
    return std::copysign((T)NAN, (T)-1);
  T magnitude = std::fabs(quotient);
  if (denominator == 0 || std::isinf(numerator))
    magnitude = INFINITY;
  else if (numerator == 0 || std::isinf(denominator))
    magnitude = 0;
  else if (is_rdna && exponent_field(numerator) - exponent_field(denominator) <= underflow)
    magnitude = 0;
  else if (is_rdna)
    magnitude = std::isnan(quotient) ? (T)INFINITY : magnitude;
  else if (std::ilogb(numerator) - std::ilogb(denominator) > overflow)
    magnitude = INFINITY;
  else if (std::ilogb(numerator) - std::ilogb(denominator) <= underflow)
    magnitude = 0;
  bool negative = std::signbit(denominator) != std::signbit(numerator);
  return negative ? -magnitude : magnitude;
}
template <typename T> T quieted(T x)
{
  return std::isnan(x) ? x + x : x;
}

const bool division = add({
    {ISA_v_div_fixup_f32, "f:fff", MODEL(quieted(fixup(l, A, B, C, 128, -151))), OWN_NAN},
    {ISA_v_div_fixup_f64, "g:ggg", MODEL(quieted(fixup(l, DA, DB, DC, 1024, -1076))), OWN_NAN},
});

// Examples of AMD's documents, by which the whole range is supported, and numbers far from 0.
TEST(ValuFloat, SinesAndCosinesOfAllNumbers)
{
  const struct {
    unsigned op;
    float x;
    uint32_t expected;
  } cases[] = {
      {ISA_v_sin_f32, -0x1.fffffep127f, 0},
      {ISA_v_sin_f32, -0.0f, 0x80000000},
      {ISA_v_sin_f32, 0.25f, 0x3f800000},
      {ISA_v_cos_f32, -0x1.fffffep127f, 0x3f800000},
      {ISA_v_cos_f32, -0.0f, 0x3f800000},
      {ISA_v_cos_f32, 0.25f, 0},
      {ISA_v_sin_f32, 0.5f, 0},
      {ISA_v_sin_f32, 256.25f, 0x3f800000},
      {ISA_v_sin_f32, -4194303.25f, 0xbf800000},
      {ISA_v_cos_f32, 8388607.5f, 0xbf800000},
      {ISA_v_cos_f32, 0x1p24f, 0x3f800000},
  };
  for (const auto &c : cases) {
    Machine machine;
    machine.set(SRC, 3, bits(c.x), false);
    ASSERT_TRUE(machine.run(instruction(c.op, "f:f")));
    EXPECT_EQ(machine.get(DST, 3, false), c.expected) << isa_op_name(c.op) << " " << c.x;
  }
}

TEST(ValuFloat, TrigPreopGivesSegmentsOfTwoOverPi)
{
  Machine machine;
  double sum = 0;
  for (unsigned segment = 0; segment < 3; ++segment) {
    isa_inst_t inst = instruction(ISA_v_trig_preop_f64, "g:gu");
    inst.src[1] = constant(128 + segment);
    for (unsigned i = 0; i < ISA_LANES; ++i)
      machine.set(SRC, i, bits(1.0), true);
    ASSERT_TRUE(machine.run(inst));
    double part = f64(machine.get(DST, 5, true));
    if (segment == 0) {
      EXPECT_NEAR(part, 2 / 3.14159265358979323846, 0x1p-52);
    }
    EXPECT_LT(part, std::ldexp(1.0, -53 * (int)segment));
    sum += part;
  }
  EXPECT_EQ(sum, 2 / 3.14159265358979323846);
  // A large operand starts further right: 1077 - 1023 = 54 is the last exponent that does not.
  isa_inst_t inst = instruction(ISA_v_trig_preop_f64, "g:gu");
  inst.src[1] = constant(128);
  machine.set(SRC, 0, bits(0x1p54), true);
  machine.set(SRC, 1, bits(0x1p55), true);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(f64(machine.get(DST, 0, true)), f64(0x3fe45f306dc9c882)); /* 0.1010... in binary */
  EXPECT_NEAR(f64(machine.get(DST, 1, true)), 2 / 3.14159265358979323846 - 0.5, 0x1p-53);
}

// Fixed-point numbers of one integer word and many of fraction, highest first.
using Long = std::vector<uint32_t>;
enum { WORDS = 44 };

Long divided(Long x, uint32_t by)
{
  uint64_t rest = 0;
  for (uint32_t &word : x) {
    rest = rest << 32 | word;
    word = (uint32_t)(rest / by);
    rest %= by;
  }
  return x;
}

// x + factor * y, of small factors.
Long plus(Long x, const Long &y, int factor)
{
  int64_t carry = 0;
  for (size_t i = x.size(); i-- > 0;) {
    carry += (int64_t)x[i] + (int64_t)y[i] * factor;
    x[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return x;
}

Long arc_tangent_of_inverse(uint32_t n)
{
  Long one(WORDS);
  one[0] = 1;
  Long power = divided(one, n), sum = power;
  for (uint32_t k = 3; k < 2000; k += 2) {
    power = divided(power, n * n);
    sum = plus(sum, divided(power, k), k % 4 == 3 ? -1 : 1);
  }
  return sum;
}

// By Machin's formula, and division a bit at a time.
std::vector<bool> two_over_pi()
{
  Long pi = plus(Long(WORDS), arc_tangent_of_inverse(5), 16), rest(WORDS);
  pi = plus(pi, arc_tangent_of_inverse(239), -4);
  rest[0] = 2;
  std::vector<bool> bits;
  while (bits.size() < 1201) { // as many as the hardware has
    rest = plus(rest, rest, 1);
    bits.push_back(rest >= pi);
    if (bits.back())
      rest = plus(rest, pi, -1);
  }
  return bits;
}

TEST(ValuFloat, TrigPreopTakesItsBitsFromTwoOverPi)
{
  const std::vector<bool> constant_bits = two_over_pi();
  Random random = {11};
  for (unsigned batch = 0; batch < 160; ++batch) {
    Machine machine;
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      machine.set(SRC, i, sample('g', random, i % 24), true);
      machine.v[SRC + SRC_STEP][i] = (uint32_t)random();
    }
    ASSERT_TRUE(machine.run(instruction(ISA_v_trig_preop_f64, "g:gu")));
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      const uint64_t x = machine.get(SRC, i, true), exponent = x >> 52 & 2047;
      const uint64_t shift =
          machine.v[SRC + SRC_STEP][i] % 32 * 53 + (exponent > 1077 ? exponent - 1077 : 0);
      uint64_t window = 0;
      for (uint64_t bit = shift; bit < shift + 53; ++bit)
        window = window * 2 + (bit < constant_bits.size() && constant_bits[bit]);
      double expected = std::ldexp((double)window, -53 - (int)shift + (exponent >= 1968 ? 128 : 0));
      if (std::isnan(f64(x)))
        continue; // that comes out
      ASSERT_EQ(machine.get(DST, i, true), bits(expected)) << std::hex << x;
    }
  }
}

} // namespace
