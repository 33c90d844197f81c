// Instructions that name single lanes, and the list of everything the vector ALU should run.
#include "valu_harness.h"

extern "C" {
#include "softgpu/isa/decode/family.h"
}

#include <algorithm>
#include <map>
#include <set>

using namespace valu;

namespace {

TEST(ValuLane, ReadFirstLaneTakesTheLowestActive)
{
  Machine machine;
  for (unsigned i = 0; i < ISA_LANES; ++i)
    machine.v[SRC][i] = 100 + i;
  isa_inst_t inst = instruction(ISA_v_readfirstlane_b32, "u:u");
  inst.dst = sgpr(7);
  isa_write_s64(&machine.wave, ISA_EXEC, 0xff00);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.wave.s[7], 108u);
  isa_write_s64(&machine.wave, ISA_EXEC, 0);
  ASSERT_TRUE(machine.run(inst));
  EXPECT_EQ(machine.wave.s[7], 100u) << "lane 0 when none is active";
}

TEST(ValuLane, ReadAndWriteLaneIgnoreExec)
{
  Machine machine;
  isa_write_s64(&machine.wave, ISA_EXEC, 0);
  isa_inst_t write = instruction(ISA_v_writelane_b32, "u:uu");
  write.src[0] = constant(242);
  write.src[1] = sgpr(9);
  machine.wave.s[9] = ISA_LANES + 23; /* modulo the lanes */
  ASSERT_TRUE(machine.run(write));
  EXPECT_EQ(machine.v[DST][23], 0x3f800000u);
  EXPECT_EQ(machine.v[DST][22], 0u);
  isa_inst_t read = instruction(ISA_v_readlane_b32, "u:uu");
  read.dst = sgpr(11);
  read.src[0] = vgpr(DST);
  read.src[1] = constant(128 + 23);
  ASSERT_TRUE(machine.run(read));
  EXPECT_EQ(machine.wave.s[11], 0x3f800000u);
  read.dst = vgpr(3);
  EXPECT_FALSE(machine.run(read));
}

TEST(ValuLane, SwapExchangesActiveLanes)
{
  Machine machine;
  for (unsigned i = 0; i < ISA_LANES; ++i)
    machine.v[SRC][i] = i, machine.v[DST][i] = 1000 + i;
  isa_write_s64(&machine.wave, ISA_EXEC, 1);
  ASSERT_TRUE(machine.run(instruction(ISA_v_swap_b32, "u:u")));
  EXPECT_EQ(machine.v[SRC][0], 1000u);
  EXPECT_EQ(machine.v[DST][0], 0u);
  EXPECT_EQ(machine.v[SRC][1], 1u);
}

TEST(ValuLane, NothingDoesNothing)
{
  Machine machine, before = machine;
  isa_inst_t inst = {};
  inst.encoding = ISA_VOP1;
  for (unsigned op : {ISA_v_nop, ISA_v_clrexcp}) {
    inst.op = (uint16_t)op;
    ASSERT_TRUE(machine.run(inst));
  }
  EXPECT_EQ(std::memcmp(before.v, machine.v, sizeof before.v), 0);
}

// Not run, each with its reason; a kernel that uses one gets a clean illegal-instruction fault.
const std::map<std::string, const char *> not_run = {
    {"v_screen_partition_4se_b32", "its table is not published"},
    {"v_cvt_pkaccum_u8_f32", "rounding not published, no compiler emits it"},
    {"v_mqsad_u32_u8", "128-bit result, no compiler emits it"},
};

// Tested by name outside the rows.
const std::set<std::string> tested_elsewhere = {"v_nop",
                                                "v_clrexcp",
                                                "v_readfirstlane_b32",
                                                "v_readlane_b32",
                                                "v_writelane_b32",
                                                "v_swap_b32",
                                                "v_trig_preop_f64",
                                                "v_div_scale_f32",
                                                "v_div_scale_f64",
                                                "v_div_fmas_f32",
                                                "v_div_fmas_f64",
                                                "v_div_fixup_f16",
                                                "v_div_fixup_legacy_f16",
                                                "v_cvt_sr_fp8_f32",
                                                "v_cvt_sr_bf8_f32",
                                                "v_cvt_sr_f16_f32", // engines_test.cc
                                                "v_cvt_sr_bf16_f32",
                                                "v_movreld_b32", // valu_gfx10_test.cc
                                                "v_movrels_b32",
                                                "v_movrelsd_b32",
                                                "v_movrelsd_2_b32",
                                                "v_permlane16_b32",
                                                "v_permlanex16_b32",
                                                "v_pipeflush",
                                                "v_swaprel_b32",
                                                "v_permlane16_swap_b32",
                                                "v_permlane32_swap_b32",
                                                "v_bitop3_b16",
                                                "v_bitop3_b32",
                                                "v_pk_minimum3_f16",
                                                "v_pk_maximum3_f16",
                                                "v_dot2_f32_bf16",
                                                "v_dot2c_f32_bf16",
                                                "v_pk_add_f16",
                                                "v_pk_mul_f16",
                                                "v_pk_min_f16",
                                                "v_pk_max_f16",
                                                "v_pk_fma_f16",
                                                "v_pk_fmac_f16",
                                                "v_pk_add_f32",
                                                "v_pk_mul_f32",
                                                "v_pk_fma_f32",
                                                "v_pk_mov_b32",
                                                "v_dot2_f32_f16",
                                                "v_dot2c_f32_f16",
                                                "v_fma_mix_f32",
                                                "v_fma_mixlo_f16",
                                                "v_fma_mixhi_f16"};

// Every vector ALU mnemonic has a row, is named above, or is excluded for a reason.
TEST(ValuCoverage, EveryMnemonicIsTestedOrExcluded)
{
  std::set<std::string> tested = tested_elsewhere;
  for (const Row &row : rows())
    tested.insert(isa_op_name(row.op));
  std::set<unsigned> ops; // others are only decoded
  for (unsigned chip : {SOFTGPU_GFX90A, SOFTGPU_GFX1030}) {
    if (chip == SOFTGPU_GFX90A && ISA_LANES == 32)
      continue;
    const isa_family_t *executed = isa_family(chip);
    for (size_t i = 0; i < executed->opcode_count; ++i)
      ops.insert(executed->opcodes[i].op);
  }
  EXPECT_GT(ops.size(), 900u);
  for (unsigned op : ops) {
    std::string name = isa_op_name(op);
    if (name.compare(0, 2, "v_") || !name.compare(0, 6, "v_mfma") ||
        !name.compare(0, 8, "v_smfmac") || !name.compare(0, 14, "v_cvt_scalef32"))
      continue;
    bool is_run = isa_valu_portable.ops[op].lanes || tested_elsewhere.count(name);
    if (not_run.count(name))
      EXPECT_FALSE(is_run) << name << " is listed as not run";
    else
      EXPECT_TRUE(is_run && tested.count(name))
          << name << (is_run ? " has no row in valu_*_test.cc" : " has no row in exec/vector");
  }
}

TEST(ValuLane, DivFixupHalfHandlesTheSpecialCases)
{
  struct {
    uint16_t quotient, denominator, numerator, expected;
  } const table[] = {
      {0x3c00, 0x4000, 0xc000, 0xbc00}, /* the sign comes from the operands */
      {0x3c00, 0, 0x3c00, 0x7c00},      {0x3c00, 0x8000, 0x3c00, 0xfc00},
      {0x3c00, 0, 0, 0xfe00},           {0x3c00, 0x7c00, 0xfc00, 0xfe00},
      {0x3c00, 0x7c00, 0x3c00, 0},      {0x3c00, 0x3c00, 0x7c01, 0x7e01},
      {0x3c00, 0x7d00, 0x3c00, 0x7f00}, {0x3c00, 0x3c00, 0xfc00, 0xfc00},
  };
  for (unsigned op : {ISA_v_div_fixup_f16, ISA_v_div_fixup_legacy_f16})
    for (const auto &row : table) {
      Machine machine;
      machine.v[SRC][0] = row.quotient;
      machine.v[SRC + SRC_STEP][0] = row.denominator;
      machine.v[SRC + 2 * SRC_STEP][0] = row.numerator;
      ASSERT_TRUE(machine.run(instruction(op, "e:eee")));
      EXPECT_EQ(machine.v[DST][0], row.expected) << std::hex << row.denominator;
    }
}

} // namespace
