// v_cvt_scalef32_* in all its forms, v_cvt_sr_*, products of bfloat16 and minima of gfx950, against
// numbers by the formats' definitions.
#include "small_model.h"
#include "valu_harness.h"

#include <array>

using namespace valu;

namespace {

// What a mnemonic says: v_cvt_scalef32_[sr_][pk_|pk32_|2xpk16_]TO_FROM.
struct Form {
  std::string name;
  const Format *small;
  std::string wide; // f32, f16, bf16
  unsigned count;
  bool is_down, has_noise, has_two;
};

Form form_of(const std::string &name)
{
  Form f = {name, nullptr, "", 1, false, false, false};
  std::string rest = name.substr(strlen("v_cvt_scalef32_"));
  auto skip = [&](const char *word) {
    const bool is_there = rest.rfind(word, 0) == 0;
    rest = is_there ? rest.substr(strlen(word)) : rest;
    return is_there;
  };
  f.has_noise = skip("sr_");
  f.has_two = skip("2xpk16_");
  f.count = f.has_two || skip("pk32_") ? 32 : skip("pk_") ? 2 : 1;
  const std::string to = rest.substr(0, rest.find('_')), from = rest.substr(rest.find('_') + 1);
  for (const Format &format : formats) {
    if (to == format.name)
      f.small = &format, f.is_down = true, f.wide = from;
    if (from == format.name)
      f.small = &format, f.wide = to;
  }
  f.has_two |= f.is_down && !f.has_noise && f.count == 2 && f.wide == "f32";
  return f;
}

std::vector<std::pair<unsigned, Form>> forms()
{
  std::vector<std::pair<unsigned, Form>> all;
  for (unsigned op = 1; op < ISA_OP_COUNT; ++op)
    if (!std::string(isa_op_name(op)).compare(0, 15, "v_cvt_scalef32_"))
      all.push_back({op, form_of(isa_op_name(op))});
  return all;
}

double number(const std::string &format, uint32_t code)
{
  return format == "f32"    ? (double)f32(code)
         : format == "bf16" ? (double)f32((uint64_t)code << 16)
                            : f16(code);
}

uint32_t code_of(const std::string &format, double x)
{
  return format == "f32"    ? (uint32_t)bits((float)x)
         : format == "bf16" ? (uint32_t)bf16_bits(bits((float)x))
                            : (uint32_t)f16_bits(x);
}

uint32_t read_bits(const isa_row_t *rows, unsigned lane, unsigned first, unsigned width)
{
  uint32_t out = 0;
  for (unsigned bit = 0; bit < width; ++bit)
    out |= (rows[(first + bit) / 32][lane] >> (first + bit) % 32 & 1) << bit;
  return out;
}

// Which part of a register op_sel names: of 8 bits one of four, of 16 one of two.
unsigned start_of(unsigned all, unsigned select)
{
  return all == 8 ? 8 * select : all == 16 ? 16 * (select & 1) : 0;
}

enum { WIDE = 0, NUMBERS = 33, OTHER = 50, OUT = 66 };

struct Large : Machine { // room for the widest
  isa_row_t more[160] = {};
  Large()
  {
    wave.v = more;
    wave.vgprs = limits.vgprs = 160;
  }
};

uint32_t next(uint32_t noise) // v_prng_b32's sequence
{
  return noise * 2 ^ (noise & 0x80000000 ? 0xc5u : 0u);
}

void check_down(unsigned op, const Form &f, Random &random)
{
  Large machine;
  isa_inst_t inst = decoded_row(op, f.has_two || f.has_noise ? "u:uuu" : "u:uu");
  const unsigned scale_row = 90, noise_row = 91, width = f.small->width();
  const unsigned wide = f.wide == "f32" ? 32 : 16, from = random() & 1, to = random() & 3;
  inst.src[0] = vgpr(WIDE);
  inst.src[1] = vgpr(f.has_two ? WIDE + 16u : f.has_noise ? noise_row : scale_row);
  if (f.has_two || f.has_noise)
    inst.src[2] = vgpr(scale_row);
  inst.dst = vgpr(100);
  inst.vop.op_sel = 0;
  if (f.count * width == 8) /* both bits of four bytes; a lone source half too */
    inst.vop.op_sel = (uint8_t)(to << 2 | (wide == 16 && f.count == 1 ? from : 0));
  if (f.count * width == 16)
    inst.vop.op_sel = (uint8_t)((to & 1) << 3);
  isa_row_t *v = machine.more;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned row = 0; row < 32; ++row)
      for (unsigned half = 0; half < 32 / wide; ++half) {
        const double x = std::ldexp((double)(random() % 8192) / 256 - 16, (int)(random() % 8) - 5);
        v[row][lane] |= code_of(f.wide, x) << half * wide;
      }
    v[scale_row][lane] = (uint32_t)bits(std::ldexp(1.5f, (int)lane % 5 - 2));
    v[noise_row][lane] = (uint32_t)random();
    for (unsigned row = 0; row < 6; ++row)
      v[100 + row][lane] = 0xffffffff;
  }
  isa_wave_t &wave = machine.wave;
  wave.v = v;
  ASSERT_TRUE(isa_prepare(&inst, &machine.limits)) << f.name;
  inst.run(&wave, &inst);
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint32_t noise = v[noise_row][lane];
    const unsigned all = f.count * width;
    const unsigned start = start_of(all, all == 8 ? to : to & 1);
    for (unsigned i = 0; i < f.count; ++i, noise = next(noise)) {
      const unsigned at = f.has_two ? i / 2 : i;
      const isa_row_t *rows = v + WIDE + (f.has_two ? 16 * (i % 2) : 0);
      const unsigned first = f.count == 1 && wide == 16 ? 16 * from * (all == 8) : at * wide;
      const double x =
          std::ldexp(number(f.wide, read_bits(rows, lane, first, wide)), 2 - (int)lane % 5);
      ASSERT_EQ(read_bits(v + 100, lane, start + i * width, width),
                f.has_noise ? f.small->noisy(x, noise) : f.small->nearest(x))
          << f.name << " number " << i << ": " << x << " noise " << noise;
    }
    for (unsigned bit = 0; all < 32 && bit < 32; ++bit)
      if (bit < start || bit >= start + all) {
        ASSERT_TRUE(v[100][lane] >> bit & 1) << f.name << ": the rest of the register stays";
      }
  }
}

void check_up(unsigned op, const Form &f, Random &random)
{
  Large machine;
  isa_inst_t inst = decoded_row(op, "u:uu");
  const unsigned width = f.small->width(), wide = f.wide == "f32" ? 32 : 16;
  const unsigned all = f.count * width, select = random() & (all == 8 ? 3 : all == 16 ? 1 : 0);
  const unsigned high = f.count == 1 && wide == 16 ? random() & 1 : 0;
  inst.vop.op_sel = (uint8_t)(select | high << 3);
  inst.src[0] = vgpr(0), inst.src[1] = vgpr(10), inst.dst = vgpr(20);
  isa_row_t *v = machine.more;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned row = 0; row < 6; ++row)
      v[row][lane] = (uint32_t)random();
    v[10][lane] = (uint32_t)bits(std::ldexp(1.25f, (int)lane - 32));
    v[20][lane] = 0x12345678;
  }
  machine.wave.v = v;
  ASSERT_TRUE(isa_prepare(&inst, &machine.limits)) << f.name;
  inst.run(&machine.wave, &inst);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned i = 0; i < f.count; ++i) {
      const unsigned code = read_bits(v, lane, start_of(all, select) + i * width, width);
      const double x = std::ldexp(f.small->value(code), (int)lane - 32);
      const uint32_t got = read_bits(v + 20, lane, i * wide + 16 * high, wide);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(number(f.wide, got))) << f.name << " " << code;
        continue;
      }
      ASSERT_EQ(got, code_of(f.wide, x)) << f.name << " " << code << ": " << x;
      if (f.count == 1 && wide == 16) {
        ASSERT_EQ(v[20][lane] >> 16 * !high & 0xffff, high ? 0x5678u : 0x1234u) << f.name;
      }
    }
}

TEST(ValuScale, EveryFormConvertsNumbersByTheirDefinition)
{
  unsigned down = 0, up = 0;
  for (const auto &[op, form] : forms()) {
    Random random = {op};
    ASSERT_NE(form.small, nullptr) << form.name;
    for (unsigned round = 0; round < 8; ++round)
      if (form.is_down)
        check_down(op, form, random);
      else
        check_up(op, form, random);
    (form.is_down ? down : up)++;
  }
  EXPECT_EQ(down, 30u);
  EXPECT_EQ(up, 19u);
}

// --- rows for valu_table_test.cc ---

const Format binary16 = {"f16", 5, 10, 15, Format::IEEE};

uint64_t noisy_half(uint64_t source, uint64_t noise)
{
  if ((source & 0x7fffffff) > 0x7f800000)
    return (source >> 31 << 15) | 0x7e00;
  return binary16.noisy(f32(source), (uint32_t)noise);
}

// The upper half, and the lower one as its fraction: no number needs more.
uint64_t noisy_bf16(uint64_t source, uint64_t noise)
{
  if ((source & 0x7fffffff) > 0x7f800000)
    return (source >> 31 << 15) | 0x7fc0;
  if ((source & 0x7f800000) == 0x7f800000)
    return source >> 16;
  const uint64_t fraction = (source & 0xffff) << 16;
  return (source >> 16) + ((fraction + (uint32_t)noise) >> 32);
}

uint64_t half_extreme(uint64_t a, uint64_t b, uint64_t c, bool most)
{
  const uint64_t all[] = {a & 0xffff, b & 0xffff, c & 0xffff};
  uint64_t best = all[0];
  for (uint64_t x : all)
    if (std::isnan(f16(x)))
      return x | 0x200; // the first NaN, quieted
  auto order = [](uint64_t x) { return x & 0x8000 ? -(int)(x & 0x7fff) - 1 : (int)x; };
  for (uint64_t x : all)
    best = (order(x) > order(best)) == most && x != best ? x : best;
  return best;
}

std::function<Value(const Lane &)> half_extremes(bool most)
{
  return [most](const Lane &l) -> Value {
    return half_extreme(l.a, l.b, l.c, most) | half_extreme(l.a >> 16, l.b >> 16, l.c >> 16, most)
                                                   << 16;
  };
}

const bool added = add({
    {ISA_v_cvt_sr_f16_f32, "h:fu", [](const Lane &l) { return Value(noisy_half(l.a, l.b)); }},
    {ISA_v_cvt_sr_bf16_f32, "h:fu", [](const Lane &l) { return Value(noisy_bf16(l.a, l.b)); }},
    {ISA_v_pk_minimum3_f16, "u:eee", half_extremes(false), PACKED},
    {ISA_v_pk_maximum3_f16, "u:eee", half_extremes(true), PACKED},
});

// Of bfloat16 integers, whose products and sums f32 holds whatever the order.
TEST(ValuScale, ProductsOfTwoBfloat16AreAdded)
{
  for (unsigned op : {ISA_v_dot2_f32_bf16, ISA_v_dot2c_f32_bf16}) {
    const bool is_tied = op == ISA_v_dot2c_f32_bf16;
    Random random = {op};
    for (unsigned round = 0; round < 64; ++round) {
      Machine machine;
      isa_inst_t inst = instruction(op, is_tied ? "f:uu" : "f:uuf");
      inst.vop.op_sel_hi = 7;
      inst.encoding = is_tied ? ISA_VOP2 : ISA_VOP3P;
      if (is_tied)
        inst.src[2] = inst.dst;
      const unsigned addend = is_tied ? DST : SRC + 2 * SRC_STEP;
      float expected[64];
      for (unsigned lane = 0; lane < 64; ++lane) {
        int x[5];
        for (int &number : x)
          number = (int)(random() % 511) - 255;
        auto pair = [](int low, int high) {
          return (uint32_t)(bits((float)low) >> 16 | (bits((float)high) & 0xffff0000));
        };
        machine.v[SRC][lane] = pair(x[0], x[1]);
        machine.v[SRC + SRC_STEP][lane] = pair(x[2], x[3]);
        machine.v[addend][lane] = (uint32_t)bits((float)x[4]);
        expected[lane] = (float)(x[0] * x[2] + x[1] * x[3] + x[4]);
      }
      ASSERT_TRUE(machine.run(inst)) << isa_op_name(op);
      for (unsigned lane = 0; lane < 64; ++lane)
        ASSERT_EQ(f32(machine.v[DST][lane]), expected[lane]) << isa_op_name(op);
    }
  }
}

// --- matrices with large scales ---

// The largest numbers of a format, with scales that may take them beyond f32 before their products
// come back; and what is beyond f32 afterwards too.
TEST(ValuScale, MatricesMultiplyByLargeAndSmallScales)
{
  struct {
    uint32_t a, b; // E4M3
    double product;
  } const pairs[] = {{0x7e, 0xfe, -448.0 * 448},
                     {0x7e, 0x01, 448.0 / 512},
                     {0x7e, 0, 0},
                     {0x3c, 0xba, -1.5 * 1.25}};
  for (const auto &pair : pairs)
    for (int a_scale : {-127, -60, 0, 60, 111, 112, 127})
      for (int b_scale : {-127, -112, -60, 0, 60, 127}) {
        Machine machine;
        isa_inst_t inst = {};
        inst.op = ISA_v_mfma_f32_16x16x128_f8f6f4;
        inst.encoding = ISA_VOP3P;
        inst.chip = SOFTGPU_GFX950;
        inst.dst = inst.src[2] = vgpr(16);
        inst.src[0] = vgpr(0), inst.src[1] = vgpr(8);
        inst.vop.has_scale = true;
        inst.vop.scale[0] = vgpr(40), inst.vop.scale[1] = vgpr(41);
        for (unsigned lane = 0; lane < 64; ++lane) {
          machine.v[0][lane] = pair.a; // k of 0, 16, 32, 48
          machine.v[8][lane] = pair.b;
          machine.v[40][lane] = (uint32_t)(127 + a_scale);
          machine.v[41][lane] = (uint32_t)(127 + b_scale);
        }
        ASSERT_TRUE(machine.run(inst));
        const double sum = std::ldexp(pair.product * 4, a_scale + b_scale);
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned row = 16; row < 20; ++row)
            ASSERT_EQ(f32(machine.v[row][lane]), (float)sum)
                << pair.product << " times 2^" << a_scale << " and 2^" << b_scale;
      }
}

} // namespace
