// What the vector ALU of GFX10 has that GFX9 has not, of encoded instructions, in waves of either width.
#include "valu_harness.h"

#include <algorithm>
#include <map>

using namespace valu;

namespace {

enum { D = 50, A = 10, B = 20, C = 30 }; // registers of the instructions below
const uint64_t all = isa_all_lanes(ISA_LANES);

struct ValuGfx10 : ::testing::Test {
  Machine machine;
  Random random = {23};
  void SetUp() override
  {
    machine.limits.chip = SOFTGPU_GFX1030;
    machine.wave.sgprs = machine.limits.sgprs = 106;
    isa_write_s64(&machine.wave, ISA_EXEC, UINT64_MAX);
    shuffle();
  }
  void shuffle()
  {
    for (auto &row : machine.v)
      for (uint32_t &lane : row)
        lane = (uint32_t)random();
  }
  isa_inst_t decode(std::vector<uint32_t> words)
  {
    isa_inst_t inst = {};
    EXPECT_EQ(
        isa_decode_of(SOFTGPU_GFX1030, ISA_LANES, words.data(), (uint32_t)words.size(), &inst),
        ISA_DECODED);
    EXPECT_EQ(inst.dwords, words.size());
    return inst;
  }
  bool run(std::vector<uint32_t> words) { return machine.run(decode(std::move(words))); }
  isa_row_t &v(unsigned row) { return machine.v[row]; }
  uint32_t &s(unsigned index) { return machine.wave.s[index]; }
  void set_exec(uint64_t mask) { isa_write_s64(&machine.wave, ISA_EXEC, mask); }
  std::vector<uint32_t> row(unsigned n) { return {v(n), v(n) + ISA_LANES}; }
};

TEST_F(ValuGfx10, CmpxWritesExecAlone)
{
  const std::vector<uint32_t> cases[] = {
      {0x7da2290a},             // v_cmpx_lt_u32_e32 v10, v20
      {0xd4d1007e, 0x0002290a}, // _e64
  };
  for (const auto &words : cases) {
    for (unsigned i = 0; i < ISA_LANES; ++i)
      v(A)[i] = i, v(B)[i] = 20;
    for (unsigned index : {+ISA_VCC, ISA_VCC + 1, ISA_EXEC + 1})
      s(index) = 0x5a5a5a5a;
    s(ISA_EXEC) = 0x55555555;
    ASSERT_TRUE(run(words));
    EXPECT_EQ(s(ISA_EXEC), 0x55555u);
    EXPECT_EQ(s(ISA_EXEC + 1), ISA_LANES == 64 ? 0 : 0x5a5a5a5au) << "a register in waves of 32";
    EXPECT_EQ(s(ISA_VCC), 0x5a5a5a5au);
    EXPECT_EQ(s(ISA_VCC + 1), 0x5a5a5a5au);
  }
}

TEST_F(ValuGfx10, SixteenBitResultsLeaveTheOtherHalf)
{
  const struct {
    std::vector<uint32_t> words;
    std::function<uint32_t(uint32_t a, uint32_t b, uint32_t c, uint32_t old)> expected;
  } cases[] = {
      // v_add_nc_u16 v50, v10, v20
      {{0xd7030032, 0x0002290a},
       [](uint32_t a, uint32_t b, uint32_t, uint32_t old) {
         return (old & 0xffff0000) | ((a + b) & 0xffff);
       }},
      // op_sel:[1,0,1]
      {{0xd7034832, 0x0002290a},
       [](uint32_t a, uint32_t b, uint32_t, uint32_t old) {
         return (old & 0xffff) | ((a >> 16) + b) << 16;
       }},
      // v_mul_lo_u16 v50, v10, v20
      {{0xd7050032, 0x0002290a},
       [](uint32_t a, uint32_t b, uint32_t, uint32_t old) {
         return (old & 0xffff0000) | ((a * b) & 0xffff);
       }},
      // v_max_i16 v50, v10, v20
      {{0xd70a0032, 0x0002290a},
       [](uint32_t a, uint32_t b, uint32_t, uint32_t old) {
         return (old & 0xffff0000) | (uint16_t)std::max((int16_t)a, (int16_t)b);
       }},
      // v_mad_u16 v50, v10, v20, v30
      {{0xd7400032, 0x047a290a},
       [](uint32_t a, uint32_t b, uint32_t c, uint32_t old) {
         return (old & 0xffff0000) | ((a * b + c) & 0xffff);
       }},
      // v_cvt_u16_f16_e32 v50, v10
      {{0x7e64a50a},
       [](uint32_t a, uint32_t, uint32_t, uint32_t old) {
         const double x = f16(a & 0xffff);
         const double whole = std::isnan(x) || x < 0 ? 0 : std::min(std::trunc(x), 65535.0);
         return (old & 0xffff0000) | (uint32_t)whole;
       }},
      // v_cvt_f16_f32_e32 v50, v10
      {{0x7e64150a},
       [](uint32_t a, uint32_t, uint32_t, uint32_t old) {
         return (old & 0xffff0000) | (uint32_t)f16_bits(f32(a));
       }},
  };
  for (unsigned host = 0; host < ISA_VALU_HOSTS; ++host) {
    const valu_build_t *build = isa_valu_build_of((isa_valu_host_t)host);
    if (!build)
      continue;
    isa_valu_use(build);
    for (uint64_t exec : {UINT64_MAX, (uint64_t)random()})
      for (const auto &c : cases) {
        shuffle();
        for (uint32_t &lane : v(A)) // no NaNs, whose payload is not the model's
          lane &= 0x8fffffff | (lane & 0x70000000 ? 0x30000000 : 0);
        for (uint32_t &lane : v(A))
          lane &= 0xffffbfff;
        set_exec(exec);
        const auto old = row(D);
        ASSERT_TRUE(run(c.words));
        for (unsigned i = 0; i < ISA_LANES; ++i)
          ASSERT_EQ(v(D)[i], exec >> i & 1 ? c.expected(v(A)[i], v(B)[i], v(C)[i], old[i]) : old[i])
              << std::hex << c.words[0] << " host " << host << " a " << v(A)[i];
      }
  }
  isa_valu_use(nullptr);
}

// Which are pairs, or whole registers, are written whole.
TEST_F(ValuGfx10, PairsOfHalvesAreWrittenWhole)
{
  std::fill(v(A), v(A) + ISA_LANES, (uint32_t)bits(1.0f));
  std::fill(v(B), v(B) + ISA_LANES, (uint32_t)bits(-2.0f));
  ASSERT_TRUE(run({0x5e64290a})); // v_cvt_pkrtz_f16_f32_e32 v50, v10, v20
  EXPECT_EQ(v(D)[7], 0xc0003c00u);
}

TEST_F(ValuGfx10, LongEncodingsHaveLiteralsAndTwoScalars)
{
  s(5) = (uint32_t)bits(3.0f), s(6) = (uint32_t)bits(0.5f);
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    v(A)[i] = (uint32_t)bits((float)i);
    v(B)[i] = (uint32_t)bits((float)i + 1);
  }
  ASSERT_TRUE(run({0xd54b0032, 0x0019ff0a, 0x40a00000})); // v_fma_f32 v50, v10, 5.0, s6
  for (unsigned i = 0; i < ISA_LANES; ++i)
    ASSERT_EQ(f32(v(D)[i]), 5 * (float)i + 0.5f);
  ASSERT_TRUE(run({0xd54b0032, 0x001a2805})); // v_fma_f32 v50, s5, v20, s6
  for (unsigned i = 0; i < ISA_LANES; ++i)
    ASSERT_EQ(f32(v(D)[i]), 3 * ((float)i + 1) + 0.5f);
  ASSERT_TRUE(run({0xd7460032, 0x00190605})); // v_lshl_add_u32 v50, s5, 3, s6
  EXPECT_EQ(v(D)[3], (s(5) << 3) + s(6));
  machine.set(A, 3, bits(1.5), true);
  ASSERT_TRUE(run({0xd5640032, 0x0001ff0a, 0x40590000})); // v_add_f64 v[50:51], v[10:11], 100
  EXPECT_EQ(f64(machine.get(D, 3, true)), 101.5);
  std::fill(v(A), v(A) + ISA_LANES, 0x44003c00);          // 4, 1
  ASSERT_TRUE(run({0xcc0f4032, 0x1801ff0a, 0x40003c00})); // v_pk_add_f16 v50, v10, {2, 1}
  EXPECT_EQ(v(D)[3], 0x46004000u);
  // op_sel:[0,1] op_sel_hi:[1,0]: the literal's halves change places
  ASSERT_TRUE(run({0xcc0f5032, 0x0801ff0a, 0x40003c00}));
  EXPECT_EQ(v(D)[3], 0x45004200u);
}

TEST_F(ValuGfx10, MasksAreAsWideAsWaves)
{
  s(ISA_VCC + 1) = 0x12345678;
  for (unsigned i = 0; i < ISA_LANES; ++i)
    v(A)[i] = i % 3 ? 0xffffffff : 1, v(B)[i] = i;
  const uint64_t vcc = 0x00ff00ff0f0f1234;
  isa_write_mask(&machine.wave, ISA_VCC, vcc);
  const uint32_t beyond = s(ISA_VCC + 1);
  ASSERT_TRUE(run({0x5064290a})); // v_add_co_ci_u32_e32 v50, vcc, v10, v20, vcc
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    const uint64_t sum = (uint64_t)v(A)[i] + v(B)[i] + (vcc >> i & 1);
    ASSERT_EQ(v(D)[i], (uint32_t)sum);
    ASSERT_EQ(isa_vcc(&machine.wave) >> i & 1, sum >> 32);
  }
  if (ISA_LANES == 32) {
    EXPECT_EQ(s(ISA_VCC + 1), beyond);
    s(41) = 0x80000001;
    s(42) = 0xffffffff;
    ASSERT_TRUE(run({0xd5010032, 0x00a6290a})); // v_cndmask_b32_e64 v50, v10, v20, s41
    for (unsigned i = 0; i < ISA_LANES; ++i)
      ASSERT_EQ(v(D)[i], i % 31 ? v(A)[i] : v(B)[i]);
    s(ISA_VCC) = 77;
    ASSERT_TRUE(run({0xd4c10069, 0x0002290a})); // v_cmp_lt_u32_e64 s105, v10, v20
    EXPECT_EQ(s(105), 0x49249248u) << "1 < i, where i % 3 is 0";
    EXPECT_EQ(s(ISA_VCC), 77u);
  }
}

// Lane that reads, by the ISA document's words; -1 for none.
int source_lane(unsigned ctrl, int i)
{
  const int row = i / 16 * 16, column = i % 16, n = (int)ctrl & 15;
  switch (ctrl >> 4) {
  case 0x10:
    return column + n > 15 ? -1 : i + n;
  case 0x11:
    return column - n < 0 ? -1 : i - n;
  case 0x12:
    return row + (column - n + 16) % 16;
  case 0x14:
    return ctrl & 1 ? i / 8 * 8 + 7 - i % 8 : row + 15 - column;
  case 0x15:
    return row + n;
  case 0x16:
    return row + (column ^ n);
  default:
    return i / 4 * 4 + (int)(ctrl >> 2 * (i % 4)) % 4;
  }
}

TEST_F(ValuGfx10, DppMovesWithinRows)
{
  for (unsigned ctrl = 0; ctrl < 0x200; ++ctrl) {
    const bool exists = ctrl < 0x100 || (ctrl < 0x130 && ctrl & 15) ||
                        (ctrl >= 0x140 && ctrl < 0x142) || (ctrl >= 0x150 && ctrl < 0x170);
    for (unsigned variant = 0; variant < 8; ++variant) {
      const bool fi = variant & 1, bound = variant & 2;
      const unsigned masks = variant & 4 ? random() & 255 : 255;
      // v_mov_b32_dpp v50, v10
      const std::vector<uint32_t> words = {0x7e6402fa, (uint32_t)A | ctrl << 8 | fi << 18 |
                                                           bound << 19 | masks << 24};
      shuffle();
      const uint64_t exec = variant ? random() & random() : UINT64_MAX;
      set_exec(exec);
      const auto old = row(D);
      ASSERT_EQ(run(words), exists) << std::hex << ctrl;
      for (int i = 0; i < ISA_LANES && exists; ++i) {
        const int lane = source_lane(ctrl, i);
        const bool is_there = lane >= 0 && (fi || exec >> lane & 1);
        const bool is_chosen =
            exec >> i & 1 && masks >> (4 + i / 16) & 1 && masks >> i % 16 / 4 & 1;
        ASSERT_EQ(v(D)[i], !is_chosen || (!is_there && !bound) ? old[i]
                           : is_there                          ? v(A)[lane]
                                                               : 0)
            << std::hex << ctrl << " lane " << std::dec << i;
      }
    }
  }
}

TEST_F(ValuGfx10, Dpp8MovesWithinEightLanes)
{
  for (unsigned batch = 0; batch < 200; ++batch) {
    const bool fi = batch & 1;
    const uint32_t selects = (uint32_t)random() & 0xffffff;
    // v_add_nc_u32_dpp v50, v10, v20
    const std::vector<uint32_t> words = {fi ? 0x4a6428eau : 0x4a6428e9u, A | selects << 8};
    shuffle();
    const uint64_t exec = batch < 2 ? UINT64_MAX : random();
    set_exec(exec);
    const auto old = row(D);
    ASSERT_TRUE(run(words));
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      const unsigned lane = i / 8 * 8 + (selects >> 3 * (i % 8)) % 8;
      const uint32_t a = fi || exec >> lane & 1 ? v(A)[lane] : 0;
      ASSERT_EQ(v(D)[i], exec >> i & 1 ? a + v(B)[i] : old[i]);
    }
  }
}

TEST_F(ValuGfx10, PermlaneTakesFromItsRowOrTheOneBeside)
{
  for (unsigned batch = 0; batch < 400; ++batch) {
    const bool is_beside = batch & 1, fi = batch & 2, bound = batch & 4;
    // v_permlane16_b32 or v_permlanex16_b32 v50, v10, s5, s6 op_sel:[fi,bound]
    const std::vector<uint32_t> words = {
        0xd7770032 + ((uint32_t)is_beside << 16) + (fi << 11) + (bound << 12), 0x00180b0a};
    shuffle();
    s(5) = (uint32_t)random(), s(6) = (uint32_t)random();
    const uint64_t exec = batch < 8 ? UINT64_MAX : random();
    set_exec(exec);
    const auto old = row(D), had = row(A);
    const bool in_place = batch % 16 > 7;
    isa_inst_t inst = decode(words);
    inst.dst = in_place ? inst.src[0] : inst.dst;
    ASSERT_TRUE(machine.run(inst));
    for (unsigned i = 0; i < ISA_LANES; ++i) {
      const unsigned select = s(i % 16 < 8 ? 5 : 6) >> 4 * (i % 8) & 15;
      const unsigned lane = ((i / 16) ^ is_beside) * 16 + select;
      const bool is_there = fi || exec >> lane & 1;
      const uint32_t before = in_place ? had[i] : old[i];
      ASSERT_EQ(v(in_place ? A : D)[i], !(exec >> i & 1) || (!is_there && !bound) ? before
                                        : is_there                                ? had[lane]
                                                                                  : 0);
    }
  }
  // v_permlanex16_b32 v50, v10, -1, 0x76543210 op_sel:[1,1]
  set_exec(UINT64_MAX);
  ASSERT_TRUE(run({0xd7781832, 0x03fd830a, 0x76543210}));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(v(D)[i], v(A)[((i / 16) ^ 1) * 16 + (i % 16 < 8 ? 15 : i % 8)]);
}

TEST_F(ValuGfx10, RegistersAreNamedByM0)
{
  const struct {
    uint32_t word;
    bool adds_to_source, adds_to_destination, apart;
  } cases[] = {{0x7e64850a, false, true, false}, // v_movreld_b32_e32 v50, v10
               {0x7e64870a, true, false, false}, // v_movrels_b32_e32
               {0x7e64890a, true, true, false},  // v_movrelsd_b32_e32
               {0x7e64910a, true, true, true}};  // v_movrelsd_2_b32_e32
  const uint32_t rows = Machine::ROWS;
  for (const auto &c : cases)
    for (uint32_t m0 : {0u, 3u, 13u, 14u, 0x100u, 0x30005u, 0xf0002u, 0x50040u, 0xffffffffu,
                        0xfffffff6u, 0x04000002u}) {
      shuffle();
      const uint64_t exec = random();
      set_exec(exec);
      s(ISA_M0) = m0;
      const uint64_t source = c.adds_to_source ? c.apart ? m0 & 0x3ff : m0 : 0;
      const uint64_t destination = c.adds_to_destination ? c.apart ? m0 >> 16 & 0x3ff : m0 : 0;
      Machine before = machine;
      ASSERT_TRUE(run({c.word}));
      const auto &from = before.v[A + source < rows ? A + source : 0];
      for (unsigned n = 0; n < rows; ++n)
        for (unsigned i = 0; i < ISA_LANES; ++i)
          ASSERT_EQ(v(n)[i], n == D + destination && exec >> i & 1 ? from[i] : before.v[n][i])
              << std::hex << c.word << " m0 " << m0;
    }
}

TEST_F(ValuGfx10, MovesByM0HaveOtherForms)
{
  s(ISA_M0) = 2;
  ASSERT_TRUE(run({0x7e6484f2})); // v_movreld_b32_e32 v50, 1.0
  EXPECT_EQ(v(D + 2)[5], bits(1.0f));
  v(D)[5] = 0x11223344, v(A + 2)[5] = 0xaabbccdd;
  // v_movrels_b32_sdwa v50, v10 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0
  ASSERT_TRUE(run({0x7e6486f9, 0x0000150a}));
  EXPECT_EQ(v(D)[5], 0x00dd3344u);
  // v_movreld_b32_dpp v50, v10 quad_perm:[3,2,1,0]
  ASSERT_TRUE(run({0x7e6484fa, 0xff001b0a}));
  for (unsigned i = 0; i < ISA_LANES; ++i)
    EXPECT_EQ(v(D + 2)[i], v(A)[i ^ 3]);
}

TEST_F(ValuGfx10, SwaprelExchangesWhatIsThere)
{
  for (uint32_t m0 : {0u, 0x30005u, 0xd0035u, 0xe0001u, 0x10036u, 0x28u}) {
    shuffle();
    const uint64_t exec = random();
    set_exec(exec);
    s(ISA_M0) = m0;
    const unsigned a = D + (m0 >> 16), b = A + (m0 & 0x3ff);
    const bool is_there = a < Machine::ROWS && b < Machine::ROWS;
    Machine before = machine;
    ASSERT_TRUE(run({0x7e64d10a})); // v_swaprel_b32 v50, v10
    for (unsigned n = 0; n < Machine::ROWS; ++n)
      for (unsigned i = 0; i < ISA_LANES; ++i) {
        const unsigned from = !is_there || !(exec >> i & 1) ? n : n == a ? b : n == b ? a : n;
        ASSERT_EQ(v(n)[i], before.v[from][i]) << std::hex << m0;
      }
  }
}

TEST_F(ValuGfx10, LanesAreCountedModuloTheWidth)
{
  s(5) = 3 * ISA_LANES + 9;
  set_exec(0);
  ASSERT_TRUE(run({0xd7600007, 0x00000b0a})); // v_readlane_b32 s7, v10, s5
  EXPECT_EQ(s(7), v(A)[9]);
  ASSERT_TRUE(run({0xd7610032, 0x00000aff, 0x12345})); // v_writelane_b32 v50, 0x12345, s5
  EXPECT_EQ(v(D)[9], 0x12345u);
  set_exec(all);
  ASSERT_TRUE(run({0xd7660032, 0x0002290a})); // v_mbcnt_hi_u32_b32 v50, v10, v20
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(v(D)[i], v(B)[i]);
}

TEST_F(ValuGfx10, PipeflushDoesNothing)
{
  Machine before = machine;
  ASSERT_TRUE(run({0x7e003600}));
  EXPECT_EQ(std::memcmp(before.v, machine.v, sizeof before.v), 0);
}

} // namespace
