// clang's division sequences, instruction by instruction, must give the correctly rounded quotient.
#include "valu_harness.h"

using namespace valu;

namespace {

// Registers of one sequence; pairs for f64.
enum { NUM = 0, DEN = 2, SCALED_DEN = 4, SCALED_NUM = 6, X = 8, Y = 10, Z = 12, OUT = 14 };

struct Sequence {
  Machine machine;
  bool wide;
  explicit Sequence(bool is_f64) : wide(is_f64) {}

  void run(unsigned op, unsigned d, std::initializer_list<unsigned> sources, unsigned neg = 0)
  {
    isa_inst_t inst = {};
    inst.op = (uint16_t)op;
    inst.encoding = ISA_VOP3;
    inst.dst = vgpr(d);
    inst.neg = (uint8_t)neg;
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
      else
        ASSERT_EQ(got, expected) << std::hex << n << " / " << d;
    }
  }
};

void check_special_and_random(bool wide, unsigned batches)
{
  Sequence sequence(wide);
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
  check_special_and_random(false, 6000);
}
TEST(ValuDivision, DoublePrecisionSequenceRoundsCorrectly)
{
  check_special_and_random(true, 6000);
}

// The scaled result of v_div_fmas is rounded once, also where it becomes denormal.
TEST(ValuDivision, ScaledMultiplyAddRoundsOnce)
{
  Sequence sequence(false);
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
