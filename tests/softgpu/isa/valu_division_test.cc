// clang's division sequences, instruction by instruction, must give the correctly rounded quotient.
#include "valu_harness.h"

using namespace valu;

namespace {

// Registers of one sequence; pairs for f64.
enum { NUM = 0, DEN = 2, SCALED_DEN = 4, SCALED_NUM = 6, X = 8, Y = 10, Z = 12, OUT = 14 };

struct Sequence {
  Machine machine;
  bool wide;
  unsigned chip;
  Sequence(bool is_f64, unsigned of_chip) : wide(is_f64), chip(of_chip) {}

  void run(unsigned op, unsigned d, std::initializer_list<unsigned> sources, unsigned neg = 0)
  {
    isa_inst_t inst = {};
    inst.op = (uint16_t)op;
    inst.chip = (uint8_t)chip;
    inst.encoding = ISA_VOP3;
    inst.dst = vgpr(d);
    inst.vop.neg = (uint8_t)neg;
    unsigned n = 0;
    for (unsigned source : sources)
      inst.src[n++] = source == 255 ? constant(242) : vgpr(source); /* 242 is 1.0 */
    if (op == ISA_v_div_scale_f32 || op == ISA_v_div_scale_f64)
      inst.sdst = sgpr(d == SCALED_NUM ? (unsigned)ISA_VCC : 20u);
    ASSERT_TRUE(machine.run(inst)) << isa_op_name(op);
  }

  void divide32()
  {
    const unsigned scale = ISA_v_div_scale_f32, fma = ISA_v_fma_f32;
    run(scale, SCALED_DEN, {DEN, DEN, NUM});
    run(scale, SCALED_NUM, {NUM, DEN, NUM});
    run(ISA_v_rcp_f32, X, {SCALED_DEN});
    run(fma, Y, {SCALED_DEN, X, 255}, 1);
    run(fma, X, {Y, X, X});
    run(ISA_v_mul_f32, Y, {SCALED_NUM, X});
    run(fma, Z, {SCALED_DEN, Y, SCALED_NUM}, 1);
    run(fma, Y, {Z, X, Y});
    run(fma, Z, {SCALED_DEN, Y, SCALED_NUM}, 1);
    run(ISA_v_div_fmas_f32, OUT, {Z, X, Y});
    run(ISA_v_div_fixup_f32, OUT, {OUT, DEN, NUM});
  }

  void divide64()
  {
    const unsigned scale = ISA_v_div_scale_f64, fma = ISA_v_fma_f64;
    run(scale, SCALED_DEN, {DEN, DEN, NUM});
    run(ISA_v_rcp_f64, X, {SCALED_DEN});
    run(fma, Y, {SCALED_DEN, X, 255}, 1);
    run(fma, X, {X, Y, X});
    run(fma, Y, {SCALED_DEN, X, 255}, 1);
    run(scale, SCALED_NUM, {NUM, DEN, NUM});
    run(fma, X, {X, Y, X});
    run(ISA_v_mul_f64, Y, {SCALED_NUM, X});
    run(fma, Z, {SCALED_DEN, Y, SCALED_NUM}, 1);
    run(ISA_v_div_fmas_f64, OUT, {Z, X, Y});
    run(ISA_v_div_fixup_f64, OUT, {OUT, DEN, NUM});
  }

  // A denormal half way between two: there what v_div_fmas adds, which comes by a reciprocal that was
  // rounded, decides when it is rounded once.
  static bool is_half_way(uint64_t n, uint64_t d, uint64_t got, uint64_t expected)
  {
    const int exponent = std::ilogb(f64(d));
    const uint64_t got_size = got & INT64_MAX, size = expected & INT64_MAX;
    return (got_size == size + 1 || got_size + 1 == size) && (got ^ expected) >> 52 == 0 &&
           size <= 1ull << 52 &&
           std::fma(std::fabs(std::ldexp(f64(d), -exponent)), (double)(got_size + size),
                    -std::fabs(std::ldexp(f64(n), 1075 - exponent))) == 0;
  }

  // Divides a pair in each lane and compares.
  void check(const uint64_t (&numerators)[ISA_LANES], const uint64_t (&denominators)[ISA_LANES])
  {
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      machine.set(NUM, i, numerators[i], wide);
      machine.set(DEN, i, denominators[i], wide);
    }
    wide ? divide64() : divide32();
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      uint64_t n = numerators[i], d = denominators[i], got = machine.get(OUT, i, wide);
      uint64_t expected = wide ? bits(f64(n) / f64(d)) : bits(f32(n) / f32(d));
      bool is_nan = wide ? std::isnan(f64(expected)) : std::isnan(f32(expected));
      if (is_nan)
        ASSERT_TRUE(wide ? std::isnan(f64(got)) : std::isnan(f32(got)));
      else if (wide && chip == SOFTGPU_GFX1030 && got != expected)
        ASSERT_TRUE(is_half_way(n, d, got, expected)) << std::hex << n << " / " << d;
      else
        ASSERT_EQ(got, expected) << std::hex << n << " / " << d;
    }
  }
};

void check_special_and_random(bool wide, unsigned chip, unsigned batches)
{
  Sequence sequence(wide, chip);
  Random random = {7};
  unsigned width = wide ? 52 : 23;
  uint64_t top = wide ? 2047 : 255, fraction = (1ull << width) - 1;
  for (unsigned batch = 0; batch < batches; ++batch) {
    uint64_t n[ISA_LANES], d[ISA_LANES];
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      char letter = wide ? 'g' : 'f';
      n[i] = sample(letter, random, i % 24);
      d[i] = sample(letter, random, i / 3 % 24);
      uint64_t r = random();
      if (batch % 4 == 1) { // a quotient around the smallest normal, often with few bits
        uint64_t e = top / 2 + 1 + r % (top / 2 - 1);
        uint64_t bias = top / 2, ne = e > bias + r % 8 ? e - bias + 3 - r / 64 % (width / 2) : 0;
        d[i] = (d[i] & fraction & (batch & 8 ? ~0ull << (width - 6) : ~0ull)) | e << width;
        n[i] = (n[i] & fraction) | (ne & top) << width;
      } else if (batch % 4 == 2) { // the quotient is h exactly, or one step of the numerator off
        double h = (double)(r % 4096 + 1), x = (double)(r / 4096 % 4096 + 1);
        int shift = wide ? -1040 - (int)(r >> 40) % 50 : -140 - (int)(r >> 40) % 20;
        double y = std::ldexp(1.0, (int)(r >> 50) % 100);
        double product = std::ldexp(h * x * y, shift), denominator = x * y;
        n[i] = (wide ? bits(product) : bits((float)product)) + r / 7 % 3 - (product > 0);
        d[i] = wide ? bits(denominator) : bits((float)denominator);
      } else if (batch % 4 == 3) { // near overflow
        n[i] = (n[i] & fraction) | (top - 1 - r % 3) << width;
        d[i] = (d[i] & fraction) | (r / 8 % 30) << width;
      }
    }
    sequence.check(n, d);
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

TEST(ValuDivision, SinglePrecisionSequenceRoundsCorrectly)
{
  check_special_and_random(false, SOFTGPU_GFX90A, 6000);
}
TEST(ValuDivision, DoublePrecisionSequenceRoundsCorrectly)
{
  check_special_and_random(true, SOFTGPU_GFX90A, 6000);
}

// Another rule, and as good.
TEST(ValuDivision, SequencesScaledByExponentsRoundCorrectly)
{
  check_special_and_random(false, SOFTGPU_GFX1030, 3000);
  check_special_and_random(true, SOFTGPU_GFX1030, 3000);
}

// AMD's measurements of RDNA: exponents alone decide.
TEST(ValuDivision, ExponentsSayWhatIsScaled)
{
  const struct {
    float denominator, numerator;
    int scale[2]; // of the two, as powers of two
    bool vcc;
  } cases[] = {
      {1.0f, 1.0f, {0, 0}, false},
      {1.0f, 0x1p95f, {0, 0}, false},
      {1.0f, 0x1p96f, {64, 0}, true},
      {0x1.fffffep0f, 0x1p96f, {64, 0}, true},
      {0x1p-130f, 0x1p-40f, {64, 64}, false}, // a denormal's exponent is 0, as if it were 2^-127
      {0x1p-130f, 0x1p-31f, {64, 0}, true},
      {0x1p125f, 1.0f, {0, 64}, true},
      {0x1p126f, 1.0f, {-64, 0}, true},
      {0x1p126f, 0x1p31f, {-64, -64}, false},
      {0x1p126f, 0x1p30f, {-64, 0}, true},
      {0x1p-7f, 0x1p-103f, {0, 64}, true},
      {0x1p-8f, 0x1p-103f, {64, 64}, false},
      {0x1p-8f, 0x1p-102f, {0, 0}, false},
  };
  for (const auto &c : cases)
    for (unsigned which = 0; which < 2; ++which) {
      Sequence sequence(false, SOFTGPU_GFX1030);
      sequence.machine.set(DEN, 3, bits(c.denominator), false);
      sequence.machine.set(NUM, 3, bits(c.numerator), false);
      sequence.run(ISA_v_div_scale_f32, SCALED_NUM, {which ? NUM : DEN, DEN, NUM});
      EXPECT_EQ(f32(sequence.machine.get(SCALED_NUM, 3, false)),
                std::ldexp(which ? c.numerator : c.denominator, c.scale[which]))
          << c.denominator << " " << c.numerator << " " << which;
      EXPECT_EQ(isa_vcc(&sequence.machine.wave) >> 3 & 1, c.vcc);
    }
}

// They decide of zeros, too, with which the operand is a NaN.
TEST(ValuDivision, ExponentsOfZerosSayWhatVccIs)
{
  const struct {
    float denominator, numerator;
    bool vcc;
  } cases[] = {
      {0, 1, true}, {1, 0, true}, {0, 0x1p-40f, false}, {0, 0, false}, {0x1p-60f, 0, false}};
  for (const auto &c : cases) {
    Sequence sequence(false, SOFTGPU_GFX1030);
    sequence.machine.set(DEN, 3, bits(c.denominator), false);
    sequence.machine.set(NUM, 3, bits(c.numerator), false);
    sequence.run(ISA_v_div_scale_f32, SCALED_NUM, {DEN, DEN, NUM});
    EXPECT_EQ(sequence.machine.get(SCALED_NUM, 3, false), 0x7fc00000u);
    EXPECT_EQ(isa_vcc(&sequence.machine.wave) >> 3 & 1, c.vcc)
        << c.denominator << " " << c.numerator;
  }
}

// Where the mode flushes sources' denormals, they are zeros, too: hardware gave a NaN of one.
TEST(ValuDivision, FlushedDenormalsAreNotScaled)
{
  const struct {
    bool wide;
    uint32_t mode;
    uint64_t denominator, numerator;
    bool is_nan, vcc;
  } cases[] = {
      {false, 0xc0, 1, bits(1.0f), true, true},
      {false, 0xf0, 1, bits(1.0f), false, true},
      {false, 0xc0, bits(1.0f), 0x80000001, true, true},
      {false, 0xc0, bits(1.0f), bits(0x1p-126f), false, true},
      {false, 0x10, 1, bits(1.0f), false, true},
      {true, 0x30, 1, bits(1.0), true, true},
      {true, 0xc0, 1, bits(1.0), false, true},
  };
  for (const auto &c : cases) {
    Sequence sequence(c.wide, SOFTGPU_GFX1100);
    sequence.machine.wave.mode = c.mode;
    sequence.machine.set(DEN, 3, c.denominator, c.wide);
    sequence.machine.set(NUM, 3, c.numerator, c.wide);
    sequence.run(c.wide ? ISA_v_div_scale_f64 : ISA_v_div_scale_f32, SCALED_NUM, {DEN, DEN, NUM});
    const uint64_t got = sequence.machine.get(SCALED_NUM, 3, c.wide);
    EXPECT_EQ(c.wide ? std::isnan(f64(got)) : std::isnan(f32(got)), c.is_nan) << std::hex << c.mode;
    EXPECT_EQ(isa_vcc(&sequence.machine.wave) >> 3 & 1, c.vcc) << std::hex << c.mode;
  }
}

// On hardware a NaN of two numbers becomes an infinity: that and one too small are what the mode makes of them.
TEST(ValuDivision, QuotientsOutOfRangeAreRounded)
{
  const float most = 0x1.fffffep127f, least = 0x1p-149f;
  const struct {
    uint32_t rounding;
    float quotient, denominator, numerator, expected;
  } cases[] = {
      {0, NAN, 1, 1, INFINITY},
      {0, NAN, -1, 1, -INFINITY},
      {1, NAN, 1, 1, INFINITY},
      {1, NAN, -1, 1, -most},
      {2, NAN, 1, 1, most},
      {2, NAN, -1, 1, -INFINITY},
      {3, NAN, 1, 1, most},
      {3, -INFINITY, 1, 1, most},
      {0, INFINITY, 1, -1, -INFINITY},
      {0, 7, 0x1p51f, 0x1p-100f, 0},
      {1, 7, 0x1p51f, 0x1p-100f, least},
      {2, 7, 0x1p51f, -0x1p-100f, -least},
      {3, 7, 0x1p51f, 0x1p-100f, 0},
      {0, 7, 0x1p50f, 0x1p-100f, 7},
  };
  for (const auto &c : cases) {
    Sequence sequence(false, SOFTGPU_GFX1100);
    sequence.machine.wave.mode = 0xf0 | c.rounding;
    sequence.machine.set(X, 3, bits(c.quotient), false);
    sequence.machine.set(DEN, 3, bits(c.denominator), false);
    sequence.machine.set(NUM, 3, bits(c.numerator), false);
    sequence.run(ISA_v_div_fixup_f32, OUT, {X, DEN, NUM});
    EXPECT_EQ(f32(sequence.machine.get(OUT, 3, false)), c.expected)
        << c.rounding << " " << c.quotient << " " << c.denominator << " " << c.numerator;
  }
}

TEST(ValuDivision, WideQuotientsOutOfRangeAreRounded)
{
  const struct {
    uint32_t mode;
    double quotient, denominator, numerator, expected;
  } cases[] = {
      {0xf3, NAN, 1, -1, -INFINITY},
      {0xfc, NAN, 1, -1, -0x1.fffffffffffffp1023},
      {0xf4, 7, 0x1p1000, 0x1p-76, 0x1p-1074},
      {0xf4, 7, 0x1p1000, 0x1p-75, 7},
  };
  for (const auto &c : cases) {
    Sequence sequence(true, SOFTGPU_GFX1100);
    sequence.machine.wave.mode = c.mode;
    sequence.machine.set(X, 3, bits(c.quotient), true);
    sequence.machine.set(DEN, 3, bits(c.denominator), true);
    sequence.machine.set(NUM, 3, bits(c.numerator), true);
    sequence.run(ISA_v_div_fixup_f64, OUT, {X, DEN, NUM});
    EXPECT_EQ(f64(sequence.machine.get(OUT, 3, true)), c.expected) << c.mode << " " << c.numerator;
  }
}

// Whatever is infinite stays so.
TEST(ValuDivision, ScaledMultiplyAddOfInfinities)
{
  for (unsigned chip : {SOFTGPU_GFX90A, SOFTGPU_GFX1030})
    for (bool wide : {false, true}) {
      Sequence sequence(wide, chip);
      Machine &machine = sequence.machine;
      isa_write_s64(&machine.wave, ISA_VCC, UINT64_MAX);
      for (unsigned i = 0; i < ISA_LANES; ++i) {
        const double infinity = i & 1 ? INFINITY : -INFINITY;
        machine.set(X, i, wide ? bits(3.0) : bits(3.0f), wide);
        machine.set(Y, i, wide ? bits(0.5) : bits(0.5f), wide);
        machine.set(Z, i, wide ? bits(infinity) : bits((float)infinity), wide);
      }
      sequence.run(wide ? ISA_v_div_fmas_f64 : ISA_v_div_fmas_f32, OUT, {X, Y, Z});
      for (unsigned i = 0; i < 2; ++i)
        EXPECT_EQ(machine.get(OUT, i, wide), machine.get(Z, i, wide)) << i;
    }
}

// Of RDNA, scaled down, a product may be larger than any number.
TEST(ValuDivision, ScaledProductsComeBack)
{
  for (uint32_t mode : {0xf0, 0xfc}) {
    Sequence sequence(true, SOFTGPU_GFX1030);
    Machine &machine = sequence.machine;
    machine.wave.mode = mode;
    isa_write_s64(&machine.wave, ISA_VCC, UINT64_MAX);
    machine.set(X, 1, bits(-0x1.8p1020), true);
    machine.set(Y, 1, bits(0x1p100), true);
    machine.set(Z, 1, bits(1.0), true);
    sequence.run(ISA_v_div_fmas_f64, OUT, {X, Y, Z});
    EXPECT_EQ(f64(machine.get(OUT, 1, true)),
              mode == 0xfc ? std::nextafter(-0x1.8p992, 0) : -0x1.8p992);
  }
}

// Rounded toward one side, also where a sum comes half way between two denormals and where scaling leaves nothing of
// the addend.
TEST(ValuDivision, ScaledSumsAreRoundedToOneSide)
{
  struct {
    uint32_t mode;
    uint64_t x, y, z, expected;
  } const cases[] = {
      {0xf4, 0x47effffff0000000, 0x000fffffffffffff, 0x000000ff8a1cb018, 0xffffff8000000},
      {0xfc, bits(0x1p1010), bits(1.0), bits(-0x1p-1000), bits(std::nextafter(0x1p882, 0))},
      {0xf4, bits(-0x1p1010), bits(1.0), bits(0x1p-1000), bits(std::nextafter(-0x1p882, 0))},
  };
  for (const auto &c : cases) {
    Sequence sequence(true, SOFTGPU_GFX1030);
    sequence.machine.wave.mode = c.mode;
    isa_write_s64(&sequence.machine.wave, ISA_VCC, UINT64_MAX);
    sequence.machine.set(X, 1, c.x, true);
    sequence.machine.set(Y, 1, c.y, true);
    sequence.machine.set(Z, 1, c.z, true);
    sequence.run(ISA_v_div_fmas_f64, OUT, {X, Y, Z});
    EXPECT_EQ(sequence.machine.get(OUT, 1, true), c.expected) << std::hex << c.x;
  }
}

// The scaled result of v_div_fmas is rounded once, also where it becomes denormal.
TEST(ValuDivision, ScaledMultiplyAddRoundsOnce)
{
  Sequence sequence(false, SOFTGPU_GFX90A);
  Machine &machine = sequence.machine;
  isa_write_s64(&machine.wave, ISA_VCC, UINT64_MAX);
  // 2^-64 * (2^-70 (1 + 2^-23) + 2^-120): denormal, just above a tie that the addend alone is on.
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    machine.set(X, i, bits(i & 1 ? 0x1p-60f : -0x1p-60f), false);
    machine.set(Y, i, bits(0x1p-60f), false);
    machine.set(Z, i, bits(0x1.000006p-63f), false);
  }
  sequence.run(ISA_v_div_fmas_f32, OUT, {X, Y, Z});
  // 2^-127 (1 + 3 * 2^-23) has 22 bits of fraction left: 2^-127 + 1.5 units of 2^-149.
  EXPECT_EQ(machine.get(OUT, 1, false), 0x400002u);
  EXPECT_EQ(machine.get(OUT, 0, false), 0x400001u);
}

} // namespace
