// Matrix instructions against a plain triple loop over small integers, which every format holds.
#include "valu_harness.h"

#include <set>

extern "C" {
#include "softgpu/isa/base/float.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

using namespace valu;

namespace {

struct Shape {
  unsigned size, k, blocks;
  char a, b; // f 32-bit, x xf32, h f16, b bf16, 8 fp8, 9 bf8, i int8, d f64
};

Shape shape_of(const std::string &name)
{
  Shape s = {};
  std::string rest = name.substr(name.find('_', 7) + 1); // 32x32x8f16, 4x4x1_16b_f32, ...
  unsigned same = 0;
  int used = 0;
  std::sscanf(rest.c_str(), "%ux%ux%u%n", &s.size, &same, &s.k, &used);
  rest = rest.substr((size_t)used);
  auto has = [&](const char *text) { return rest.find(text) != std::string::npos; };
  s.a = s.b = has("bf16")   ? 'b'
              : has("xf32") ? 'x'
              : has("f16")  ? 'h'
              : has("f64")  ? 'd'
              : has("f32")  ? 'f'
              : has("i8")   ? 'i'
                            : '8';
  if (s.a == '8') {
    s.a = rest.compare(0, 4, "_bf8") ? '8' : '9';
    s.b = rest.rfind("_bf8") == rest.size() - 4 ? '9' : '8';
  }
  // As many blocks as fill 64 lanes with the registers the mnemonic has: a source of one register
  // holds 4 bytes a lane, of two 8.
  unsigned bytes = s.a == 'd' ? 8 : s.a == 'f' || s.a == 'x' ? 4 : s.a == 'h' || s.a == 'b' ? 2 : 1;
  bool two = s.a == 'h' || s.a == 'd' || s.a == 'x' || s.a == '8' || s.a == '9' || has("_1k") ||
             (s.a == 'b' && rest[0] == '_') || (s.a == 'i' && s.size * s.k == 512);
  const unsigned all = s.size * s.k * bytes; // gfx950 has sources of four registers
  s.blocks = all == 1024 && s.a != 'd' ? 1 : 64 * (two ? 8 : 4) / all;
  return s;
}

unsigned bits_of(char format)
{
  return format == 'd'                    ? 64
         : format == 'f' || format == 'x' ? 32
         : format == 'h' || format == 'b' ? 16
                                          : 8;
}

uint64_t encode(char format, int value)
{
  switch (format) {
  case 'd':
    return bits((double)value);
  case 'f':
  case 'x':
    return bits((float)value);
  case 'h':
    return f16_bits(value);
  case 'b':
    return bits((float)value) >> 16;
  case 'i':
    return (uint8_t)value;
  default:
    return float_to_float8((float)value, format == '8' ? float8_fp8 : float8_bf8, false);
  }
}

// Element `item` of a lane, packed upwards from the first register.
void put(isa_row_t *rows, char format, unsigned lane, unsigned item, int value)
{
  unsigned bit = item * bits_of(format);
  uint64_t code = encode(format, value);
  if (bits_of(format) == 64)
    rows[1][lane] = (uint32_t)(code >> 32);
  rows[bit / 32][lane] |= (uint32_t)(code << bit % 32);
}

// The ISA document's formulas for results: H, B_I, M_I and G are its names.
void find_result(const Shape &s, unsigned i, unsigned j, unsigned b, unsigned *item, unsigned *lane)
{
  unsigned H = s.a == 'd' ? 1 : 4;
  unsigned B_I = (unsigned)std::ceil(64.0 / (s.size * s.size / H));
  unsigned M_I = 64 / B_I / s.size;
  unsigned G = s.size / (H * M_I);
  *item = i % H + H * (i / (H * M_I) + G * (b / B_I));
  *lane = j + s.size * (s.a == 'd' && B_I > 1 ? b % B_I + B_I * (i / H % M_I)
                                              : i / H % M_I + M_I * (b % B_I));
}

enum { A_ROW = 0, B_ROW = 8, D_ROW = 16 };

struct Product {
  Shape s;
  std::vector<int> a, b, c;
  int &A(unsigned block, unsigned i, unsigned k) { return a[(block * s.size + i) * s.k + k]; }
  int &B(unsigned block, unsigned k, unsigned j) { return b[(block * s.k + k) * s.size + j]; }
  int &C(unsigned block, unsigned i, unsigned j) { return c[(block * s.size + i) * s.size + j]; }
  explicit Product(const Shape &shape, Random &random) : s(shape)
  {
    a.resize(s.blocks * s.size * s.k), b.resize(a.size()), c.resize(s.blocks * s.size * s.size);
    for (auto *all : {&a, &b, &c})
      for (int &x : *all)
        x = (int)(random() % 9) - 4;
  }
  void load(Machine &machine, isa_row_t *a_rows, isa_row_t *b_rows, isa_row_t *c_rows)
  {
    (void)machine;
    unsigned items = s.size * s.k * s.blocks / 64;
    std::memset(a_rows, 0, 8 * sizeof *a_rows);
    std::memset(b_rows, 0, 8 * sizeof *b_rows);
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.size; ++i)
        for (unsigned k = 0; k < s.k; ++k) {
          unsigned lane = i + s.size * (block + s.blocks * (k / items));
          put(a_rows, s.a, lane, k % items, A(block, i, k));
          put(b_rows, s.b, lane, k % items, B(block, k, i));
        }
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.size; ++i)
        for (unsigned j = 0; j < s.size; ++j) {
          unsigned item, lane;
          find_result(s, i, j, block, &item, &lane);
          uint64_t code = s.a == 'd'   ? bits((double)C(block, i, j))
                          : s.a == 'i' ? (uint32_t)C(block, i, j)
                                       : bits((float)C(block, i, j));
          c_rows[s.a == 'd' ? 2 * item : item][lane] = (uint32_t)code;
          if (s.a == 'd')
            c_rows[2 * item + 1][lane] = (uint32_t)(code >> 32);
        }
  }
  double result(const isa_row_t *rows, unsigned block, unsigned i, unsigned j) const
  {
    unsigned item, lane;
    find_result(s, i, j, block, &item, &lane);
    if (s.a == 'd')
      return f64(rows[2 * item][lane] | (uint64_t)rows[2 * item + 1][lane] << 32);
    return s.a == 'i' ? (double)(int32_t)rows[item][lane] : (double)f32(rows[item][lane]);
  }
  int expected(unsigned block, unsigned i, unsigned j, unsigned a_block)
  {
    int sum = C(block, i, j);
    for (unsigned k = 0; k < s.k; ++k)
      sum += A(a_block, i, k) * B(block, k, j);
    return sum;
  }
};

isa_inst_t mfma(unsigned op)
{
  isa_inst_t inst = {};
  inst.op = (uint16_t)op;
  inst.encoding = ISA_VOP3P;
  inst.dst = inst.src[2] = vgpr(D_ROW);
  inst.src[0] = vgpr(A_ROW);
  inst.src[1] = vgpr(B_ROW);
  return inst;
}

TEST(ValuMfma, EveryShapeIsTheProductOfItsMatrices)
{
  unsigned tried = 0;
  for (unsigned op = 1; op < ISA_OP_COUNT; ++op) {
    std::string name = isa_op_name(op);
    if (name.compare(0, 7, "v_mfma_") ||
        (isa_mfma_find(op) && isa_mfma_find(op)->a == MFMA_MIXED) || op == ISA_v_mfma_ld_scale_b32)
      continue; // valu_gfx950_test.cc
    ++tried;
    Random random = {op};
    Shape s = shape_of(name);
    for (unsigned round = 0; round < 4; ++round) {
      Machine machine;
      Product product(s, random);
      isa_inst_t inst = mfma(op);
      bool in_agprs = round & 1;
      isa_row_t *rows = in_agprs ? machine.a : machine.v;
      product.load(machine, rows + A_ROW, rows + B_ROW, rows + D_ROW);
      if (in_agprs)
        inst.dst.kind = inst.src[0].kind = inst.src[1].kind = inst.src[2].kind = ISA_OPERAND_AGPR;
      isa_write_s64(&machine.wave, ISA_EXEC, round < 2 ? UINT64_MAX : 5); /* does not matter */
      Machine copy = machine;
      copy.wave.v = copy.v, copy.wave.a = copy.a;
      ASSERT_TRUE(isa_prepare(&inst, &machine.limits)) << name;
      inst.run(&machine.wave, &inst);
      for (unsigned b = 0; b < s.blocks; ++b)
        for (unsigned i = 0; i < s.size; ++i)
          for (unsigned j = 0; j < s.size; ++j)
            ASSERT_EQ(product.result(rows + D_ROW, b, i, j), product.expected(b, i, j, b))
                << name << " block " << b << " " << i << "," << j;
      isa_runs_on(&inst, isa_valu_portable.mfma);
      inst.run(&copy.wave, &inst);
      EXPECT_EQ(std::memcmp(copy.v, machine.v, sizeof copy.v), 0) << name;
      EXPECT_EQ(std::memcmp(copy.a, machine.a, sizeof copy.a), 0) << name;
    }
  }
  EXPECT_EQ(tried, 65u) << "all dense matrix instructions of one format a source";
}

TEST(ValuMfma, ConstantsStandForC)
{
  Random random = {1};
  for (auto [op, code, addend] : {std::tuple{ISA_v_mfma_f32_16x16x4f32, 242u, 1},
                                  std::tuple{ISA_v_mfma_i32_16x16x16i8, 208u, -16},
                                  std::tuple{ISA_v_mfma_f64_16x16x4f64, 128u, 0}}) {
    Machine machine;
    Product product(shape_of(isa_op_name(op)), random);
    product.load(machine, machine.v + A_ROW, machine.v + B_ROW, machine.v + D_ROW);
    for (int &c : product.c)
      c = addend;
    isa_inst_t inst = mfma(op);
    inst.src[2] = constant(code);
    ASSERT_TRUE(machine.run(inst));
    for (unsigned i = 0; i < 16; ++i)
      EXPECT_EQ(product.result(machine.v + D_ROW, 0, i, 3), product.expected(0, i, 3, 0));
  }
}

TEST(ValuMfma, OneBlockOfACanStandForSeveral)
{
  Random random = {2};
  for (unsigned cbsz = 0; cbsz <= 4; ++cbsz)
    for (unsigned abid = 0; abid < 1u << cbsz; ++abid) {
      Machine machine;
      Product product(shape_of("v_mfma_f32_4x4x4f16"), random);
      product.load(machine, machine.v + A_ROW, machine.v + B_ROW, machine.v + D_ROW);
      isa_inst_t inst = mfma(ISA_v_mfma_f32_4x4x4f16);
      inst.vop.cbsz = (uint8_t)cbsz;
      inst.vop.abid = (uint8_t)abid;
      ASSERT_TRUE(machine.run(inst));
      for (unsigned b = 0; b < 16; ++b)
        EXPECT_EQ(product.result(machine.v + D_ROW, b, 1, 2),
                  product.expected(b, 1, 2, (b >> cbsz << cbsz) + abid));
    }
}

TEST(ValuMfma, LanesOfBCanBeBroadcast)
{
  for (unsigned blgp = 0; blgp < 8; ++blgp) {
    Machine machine;
    for (unsigned i = 0; i < 64; ++i) {
      machine.v[A_ROW][i] = (uint32_t)bits(1.0f);
      machine.v[B_ROW][i] = (uint32_t)bits((float)i);
    }
    isa_inst_t inst = mfma(ISA_v_mfma_f32_16x16x1f32); /* one lane of B is one column of a block */
    inst.vop.blgp = (uint8_t)blgp;
    ASSERT_TRUE(machine.run(inst));
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned from[] = {lane,      lane % 32,      lane % 32 + 32, (lane + 16) % 64,
                         lane % 16, lane % 16 + 16, lane % 16 + 32, lane % 16 + 48};
      unsigned block = lane / 16, column = lane % 16;
      EXPECT_EQ(f32(machine.v[D_ROW + 4 * block][column]), (float)from[blgp]) << blgp;
    }
  }
}

TEST(ValuMfma, DoublesTakeBlgpAsSigns)
{
  Random random = {3};
  for (unsigned blgp = 0; blgp < 8; ++blgp) {
    Machine machine;
    Product product(shape_of("v_mfma_f64_4x4x4f64"), random);
    product.load(machine, machine.v + A_ROW, machine.v + B_ROW, machine.v + D_ROW);
    isa_inst_t inst = mfma(ISA_v_mfma_f64_4x4x4f64);
    inst.vop.blgp = (uint8_t)blgp;
    ASSERT_TRUE(machine.run(inst));
    int sign_ab = (blgp & 1) != (blgp >> 1 & 1) ? -1 : 1, sign_c = blgp & 4 ? -1 : 1;
    for (unsigned b = 0; b < 4; ++b) {
      int c = product.C(b, 2, 1), ab = product.expected(b, 2, 1, b) - c;
      EXPECT_EQ(product.result(machine.v + D_ROW, b, 2, 1), sign_ab * ab + sign_c * c);
    }
  }
}

// ROCm's documentation, "MI200 MFMA behavior specifics": F16 and BF16 lose denormals on the way in
// and out; MI300 keeps them.
TEST(ValuMfma, Mi200FlushesDenormalsOfHalfPrecision)
{
  struct {
    unsigned op;
    uint32_t one, denormal; // of two elements
  } const table[] = {{ISA_v_mfma_f32_4x4x4f16, 0x3c003c00, 0x03ff8001},
                     {ISA_v_mfma_f32_4x4x4bf16_1k, 0x3f803f80, 0x007f8001}};
  for (const auto &row : table)
    for (unsigned chip : {SOFTGPU_GFX90A, SOFTGPU_GFX942}) {
      const bool keeps = chip == SOFTGPU_GFX942;
      auto run = [&](uint32_t a, uint32_t b, uint32_t c) {
        Machine machine;
        for (unsigned i = 0; i < 64; ++i) {
          machine.v[A_ROW][i] = a, machine.v[B_ROW][i] = b;
          machine.v[A_ROW + 1][i] = machine.v[B_ROW + 1][i] = 0;
          machine.v[D_ROW][i] = c;
        }
        isa_inst_t inst = mfma(row.op);
        inst.chip = (uint8_t)chip;
        EXPECT_TRUE(machine.run(inst));
        return machine.v[D_ROW][5];
      };
      EXPECT_EQ(run(row.denormal, row.one, 0) != 0, keeps) << isa_op_name(row.op) << " A";
      EXPECT_EQ(run(row.one, row.denormal, 0) != 0, keeps) << isa_op_name(row.op) << " B";
      EXPECT_EQ(run(0, 0, 0x80000123), keeps ? 0x80000123 : 0) << isa_op_name(row.op) << " C";
      EXPECT_EQ(run(row.one, row.one, 0), bits(2.0f));
    }
  Machine machine; // of floats, both keep them
  isa_inst_t inst = mfma(ISA_v_mfma_f32_4x4x1f32);
  machine.v[A_ROW][0] = 1, machine.v[B_ROW][0] = (uint32_t)bits(1.0f);
  inst.chip = SOFTGPU_GFX90A;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[D_ROW][0], 1u);
}

TEST(ValuMfma, RegistersBeyondTheAllocationAreRefused)
{
  Machine machine;
  isa_inst_t inst = mfma(ISA_v_mfma_f32_32x32x8f16);
  inst.dst = vgpr(48);
  EXPECT_TRUE(isa_prepare(&inst, &machine.limits));
  inst.dst = vgpr(49);
  EXPECT_FALSE(isa_prepare(&inst, &machine.limits));
  inst = mfma(ISA_v_mfma_f32_32x32x8f16);
  machine.limits.agprs = 0;
  inst.src[0] = agpr(0);
  EXPECT_FALSE(isa_prepare(&inst, &machine.limits));
}

TEST(ValuMfma, AccumulationRegistersMoveBothWays)
{
  Machine machine;
  machine.v[3][5] = 0x1234;
  isa_inst_t inst = instruction(ISA_v_accvgpr_write_b32, "u:u");
  inst.encoding = ISA_VOP3P;
  inst.dst = agpr(7);
  inst.src[0] = vgpr(3);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.a[7][5], 0x1234u);
  inst = instruction(ISA_v_accvgpr_mov_b32, "u:u");
  inst.encoding = ISA_VOP1;
  inst.dst = agpr(8);
  inst.src[0] = agpr(7);
  ASSERT_TRUE(machine.run(inst));
  isa_write_s64(&machine.wave, ISA_EXEC, 1ull << 5);
  inst = instruction(ISA_v_accvgpr_read_b32, "u:u");
  inst.encoding = ISA_VOP3P;
  inst.src[0] = agpr(8);
  machine.v[DST][6] = 9;
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.v[DST][5], 0x1234u);
  EXPECT_EQ(machine.v[DST][6], 9u);
}

} // namespace
