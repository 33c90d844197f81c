// Sparse matrix instructions against dense products of small integers, which every format holds.
//
// Where k lies is what AMD published: A's, B's and the indices' lanes as its fpsan found them on
// MI300 and MI350 (amdgcn_smfmac.hpp), and single products as probes of gfx950 showed them.
#include "valu_harness.h"

extern "C" {
#include "softgpu/isa/base/float.h"
#include "softgpu/isa/describe/matrix.h"
}

using namespace valu;

namespace {

enum { A_ROW = 0, B_ROW = 8, INDEX_ROW = 16, D_ROW = 20 };

struct Shape {
  unsigned op, size, k, bits;
  char a, b; // h f16, b bf16, i int8, 8 fp8, 9 bf8
  unsigned parts() const { return 64 / size; }
  unsigned pairs() const { return k * size / 256; }         // of A's elements in a lane
  bool is_deep() const { return k * size * bits == 16384; } // gfx950's
};

Shape shape_of(unsigned op)
{
  const std::string name = isa_op_name(op);
  Shape s = {};
  unsigned same;
  s.op = op;
  std::sscanf(name.c_str() + sizeof "v_smfmac_f32", "%ux%ux%u", &s.size, &same, &s.k);
  auto ends = [&](const char *text) {
    return name.compare(name.size() - strlen(text), strlen(text), text) == 0;
  };
  s.a = s.b = ends("_bf16") ? 'b' : ends("_f16") ? 'h' : ends("_i8") ? 'i' : '8';
  if (s.a == '8') {
    s.a = name.find("_bf8_") != std::string::npos ? '9' : '8';
    s.b = ends("_bf8") ? '9' : '8';
  }
  s.bits = s.a == 'b' || s.a == 'h' ? 16 : 8;
  return s;
}

std::vector<Shape> shapes()
{
  std::vector<Shape> all;
  for (unsigned op = 1; op < ISA_OP_COUNT; ++op)
    if (!std::string(isa_op_name(op)).compare(0, 9, "v_smfmac_"))
      all.push_back(shape_of(op));
  return all;
}

struct Place {
  unsigned part, item;
};

Place place_of_b(const Shape &s, unsigned k)
{
  return {k / 8 % s.parts(), k / 8 / s.parts() * 8 + k % 8};
}

// Of element c of a row whose zeros were left out.
Place place_of_a(const Shape &s, unsigned c)
{
  const unsigned bit[] = {c & 1, c >> 1 & 1, c >> 2 & 1, c >> 3 & 1, c >> 4 & 1, c >> 5 & 1};
  if (s.bits == 16)
    return {c / (2 * s.pairs()), c % (2 * s.pairs())};
  if (!s.is_deep())
    return {c / 4 % s.parts(), c / 4 / s.parts() * 4 + c % 4};
  if (s.size == 16)
    return {2 * bit[5] + bit[3], 8 * bit[2] + 4 * bit[4] + c % 4};
  return {bit[4], 8 * bit[2] + 4 * bit[3] + c % 4};
}

uint32_t encode(char format, int value)
{
  switch (format) {
  case 'h':
    return (uint32_t)f16_bits(value);
  case 'b':
    return (uint32_t)bits((float)value) >> 16;
  case 'i':
    return (uint8_t)value;
  default:
    return float_to_float8((float)value, format == '8' ? float8_fp8 : float8_bf8, false);
  }
}

void put(isa_row_t *rows, const Shape &s, Place at, unsigned i, uint32_t code)
{
  rows[at.item * s.bits / 32][i + s.size * at.part] |= code << at.item * s.bits % 32;
}

uint32_t &result(isa_row_t *rows, const Shape &s, unsigned i, unsigned j)
{
  const unsigned parts = s.parts();
  return rows[i % 4 + 4 * (i / (4 * parts))][j + s.size * (i / 4 % parts)];
}

isa_inst_t smfmac(const Shape &s)
{
  isa_inst_t inst = {};
  inst.op = (uint16_t)s.op;
  inst.encoding = ISA_VOP3P;
  inst.chip = SOFTGPU_GFX942; // whose 8-bit floats are those of `encode`
  inst.dst = vgpr(D_ROW);
  inst.src[0] = vgpr(A_ROW), inst.src[1] = vgpr(B_ROW), inst.src[2] = vgpr(INDEX_ROW);
  return inst;
}

// Sixteen bits of index a lane leave room for another set, eight for three.
void put_indices(Machine &machine, const Shape &s, isa_inst_t &inst, Random &random,
                 const std::vector<unsigned> &chosen)
{
  const unsigned width = 4 * s.pairs(), sets = 32 / width;
  inst.vop.cbsz = random() % 2 ? 0 : (uint8_t)(random() % 8);
  inst.vop.abid = (uint8_t)(random() % 16);
  const unsigned set = inst.vop.cbsz % 4 ? 0 : inst.vop.abid % sets;
  for (uint32_t &word : machine.v[INDEX_ROW])
    word = (uint32_t)random();
  for (unsigned i = 0; i < s.size; ++i)
    for (unsigned c = 0; c < s.k / 2; ++c) {
      const Place at = place_of_a(s, c);
      const unsigned shift = set * width + 2 * at.item;
      uint32_t &word = machine.v[INDEX_ROW][i + s.size * at.part];
      word = (word & ~(3u << shift)) | chosen[i * s.k / 2 + c] << shift;
    }
}

void check(const Shape &s, Random &random, bool in_agprs)
{
  Machine machine;
  isa_inst_t inst = smfmac(s);
  std::vector<int> a(s.size * s.k), b(s.size * s.k), d(s.size * s.size);
  std::vector<unsigned> chosen(s.size * s.k / 2);
  for (unsigned i = 0; i < s.size; ++i)
    for (unsigned c = 0; c < s.k / 2; c += 2) {
      const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
      for (unsigned n = 0; n < 2; ++n) {
        const unsigned k = c * 2 + (n ? second : first);
        a[i * s.k + k] = (int)(random() % 9) - 4;
        chosen[i * s.k / 2 + c + n] = k % 4;
        put(machine.v + A_ROW, s, place_of_a(s, c + n), i, encode(s.a, a[i * s.k + k]));
      }
    }
  put_indices(machine, s, inst, random, chosen);
  for (unsigned j = 0; j < s.size; ++j)
    for (unsigned k = 0; k < s.k; ++k) {
      b[k * s.size + j] = (int)(random() % 9) - 4;
      put(machine.v + B_ROW, s, place_of_b(s, k), j, encode(s.b, b[k * s.size + j]));
    }
  isa_row_t *out = (in_agprs ? machine.a : machine.v) + D_ROW;
  inst.dst.kind = in_agprs ? ISA_OPERAND_AGPR : ISA_OPERAND_VGPR;
  for (unsigned i = 0; i < s.size; ++i)
    for (unsigned j = 0; j < s.size; ++j) {
      const int x = d[i * s.size + j] = (int)(random() % 201) - 100;
      result(out, s, i, j) = s.a == 'i' ? (uint32_t)x : (uint32_t)bits((float)x);
    }
  isa_write_s64(&machine.wave, ISA_EXEC, random()); /* does not matter */
  Machine copy = machine;
  copy.wave.v = copy.v, copy.wave.a = copy.a;
  ASSERT_TRUE(isa_prepare(&inst, &machine.limits)) << isa_op_name(s.op);
  inst.run(&machine.wave, &inst);
  for (unsigned i = 0; i < s.size; ++i)
    for (unsigned j = 0; j < s.size; ++j) {
      int sum = d[i * s.size + j];
      for (unsigned k = 0; k < s.k; ++k)
        sum += a[i * s.k + k] * b[k * s.size + j];
      const uint32_t got = result(out, s, i, j);
      ASSERT_EQ(s.a == 'i' ? (int32_t)got : (int)f32(got), sum)
          << isa_op_name(s.op) << " at " << i << ", " << j << " cbsz " << (int)inst.vop.cbsz
          << " abid " << (int)inst.vop.abid;
    }
  isa_runs_on(&inst, isa_valu_portable.smfmac);
  inst.run(&copy.wave, &inst);
  EXPECT_EQ(std::memcmp(copy.v, machine.v, sizeof copy.v), 0) << isa_op_name(s.op);
  EXPECT_EQ(std::memcmp(copy.a, machine.a, sizeof copy.a), 0) << isa_op_name(s.op);
}

TEST(ValuSmfmac, EveryShapeIsTheProductOfItsMatrices)
{
  const std::vector<Shape> all = shapes();
  EXPECT_EQ(all.size(), 28u) << "14 of gfx942, and as many of gfx950";
  for (const Shape &s : all) {
    Random random = {s.op};
    for (unsigned round = 0; round < 8; ++round)
      check(s, random, round & 1);
  }
}

// "D0 A4/G1 <- B0/G3": element 4 of lanes 16 to 31 of A meets element 0 of lanes 48 to 63 of B in
// row 0, whose indices are 0 and 1; those of row 1 are 2 and 3.
TEST(ValuSmfmac, Gfx950MultipliesWhatProbesOfItShowed)
{
  struct {
    unsigned row, a, a_group, b, b_group;
  } const probes[] = {
      {0, 0, 0, 0, 0},  {0, 0, 1, 0, 2}, {0, 0, 2, 8, 0},  {0, 0, 3, 8, 2},  {1, 0, 3, 10, 2},
      {0, 1, 1, 1, 2},  {0, 2, 0, 4, 0}, {0, 2, 2, 12, 0}, {1, 2, 3, 14, 2}, {1, 3, 0, 7, 0},
      {0, 4, 0, 0, 1},  {0, 4, 1, 0, 3}, {1, 4, 2, 10, 1}, {0, 5, 3, 9, 3},  {1, 6, 0, 6, 1},
      {0, 6, 3, 12, 3}, {1, 7, 1, 7, 3}, {0, 7, 3, 13, 3},
  };
  for (const auto &probe : probes)
    for (unsigned lane = 0; lane < 64; lane += 16)
      for (unsigned item = 0; item < 16; ++item) {
        Machine machine;
        machine.v[A_ROW + probe.a / 2][16 * probe.a_group + probe.row] = 0x3c00u
                                                                         << 16 * (probe.a % 2);
        machine.v[B_ROW + item / 2][lane] = 0x3c00u << 16 * (item % 2);
        for (unsigned i = 0; i < 64; ++i)
          machine.v[INDEX_ROW][i] = i % 2 ? 0xeeee : 0x4444;
        ASSERT_TRUE(machine.run(smfmac(shape_of(ISA_v_smfmac_f32_16x16x64_f16))));
        EXPECT_EQ(f32(machine.v[D_ROW + probe.row][0]),
                  lane == 16 * probe.b_group && item == probe.b ? 1.0f : 0.0f)
            << "D" << probe.row << " A" << probe.a << "/G" << probe.a_group << " B" << item << "/G"
            << lane / 16;
      }
}

TEST(ValuSmfmac, ElementsThatNoIndexNamesDoNotCount)
{
  Machine machine;
  for (unsigned lane = 0; lane < 64; ++lane) {
    machine.v[INDEX_ROW][lane] = 0x99; // 1 and 2, twice
    for (unsigned row = 0; row < 2; ++row) {
      machine.v[A_ROW + row][lane] = 0x3c003c00;
      machine.v[B_ROW + 2 * row][lane] = 0x40007e00;     // a NaN, 2
      machine.v[B_ROW + 2 * row + 1][lane] = 0x7c004200; // 3, infinity
    }
  }
  ASSERT_TRUE(machine.run(smfmac(shape_of(ISA_v_smfmac_f32_16x16x32_f16))));
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(f32(machine.v[D_ROW][lane]), 8 * 5.0f);
}

TEST(ValuSmfmac, IndicesStandInArchitecturalRegisters)
{
  Machine machine; // 64 registers
  const Shape s = shape_of(ISA_v_smfmac_f32_32x32x32_f16);
  auto is_run = [&](isa_inst_t inst) { return isa_prepare(&inst, &machine.limits); };
  isa_inst_t inst = smfmac(s);
  EXPECT_TRUE(is_run(inst));
  inst.src[2] = agpr(INDEX_ROW);
  EXPECT_FALSE(is_run(inst));
  inst.src[2] = constant(128);
  EXPECT_FALSE(is_run(inst));
  inst.src[2] = vgpr(63);
  EXPECT_TRUE(is_run(inst)) << "one register";
  inst.src[2] = vgpr(64);
  EXPECT_FALSE(is_run(inst));
  inst = smfmac(s);
  inst.src[0] = vgpr(60), inst.src[1] = agpr(56), inst.dst = agpr(48);
  EXPECT_TRUE(is_run(inst)) << "4, 8 and 16";
  for (isa_operand_t *operand : {&inst.src[0], &inst.src[1], &inst.dst}) {
    ++operand->index;
    EXPECT_FALSE(is_run(inst));
    --operand->index;
  }
}

} // namespace
