// Where probes keep what they need from a kernel's first instruction to its last: SGPRs, lanes of a VGPR, or scratch memory.
#include "tests/probe/written.h"

namespace {

Written::Shape full(uint32_t flags)
{
  Written::Shape made;
  made.flags = flags;
  made.sgprs = 112;
  made.vgprs = 512;
  made.accum = 256;
  return made;
}

void expect_refused(Written *kernel, const char *reason, uint32_t kinds, uint32_t flags = 0)
{
  EXPECT_EQ(RAWHAL_UNSUPPORTED, kernel->plan(kinds, flags));
  EXPECT_TRUE(strstr(kernel->error.message, reason)) << kernel->error.message;
}

} // namespace

// Scratch memory takes no register, where waves have it from their first instruction on.
TEST(ProbeKept, InScratchWhereNothingIsLeft)
{
  for (uint32_t flags : {Written::gfx942, Written::gfx950}) {
    Written kernel(everything(), full(flags));
    ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES)) << kernel.error.message;
    EXPECT_EQ(4u, kernel.info()->scratch_bytes);
    EXPECT_EQ(0u, kernel.info()->kept_sgprs + kernel.info()->kept_vgprs);
    EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
    expect_refused(&kernel, "no VGPR for probes", RAWHAL_PROBE_BLOCKS);
  }
  Written older(everything(), full(0x53f));
  expect_refused(&older, "no VGPR for probes", RAWHAL_PROBE_WAVES);
}

// An event's lanes need a VGPR: one of the kernel's, of which its value comes back.
TEST(ProbeKept, VgprsThatAreLent)
{
  // v2, v1, s[4:5]; v2, v0, s[4:5]; flat: v3, v[0:1]
  const std::vector<uint32_t> load = {0xdc508000, 0x02040001, 0xdc508000, 0x02040000,
                                      0xdc500000, 0x037f0000, s_endpgm};
  for (uint32_t flags : {Written::gfx942, Written::gfx950}) {
    Written kernel(all_vgprs() + load, full(flags));
    ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY)) << kernel.error.message;
    EXPECT_EQ(4u, kernel.info()->scratch_bytes);
    EXPECT_EQ(0u, kernel.info()->kept_vgprs);
    EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
    expect_refused(&kernel, "no VGPR for probes", RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_KEEP_IN_LANES);
    Written one(all_vgprs({7}) + load, full(flags)); // for what is in lanes
    ASSERT_EQ(RAWHAL_OK, one.plan(RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_KEEP_IN_LANES));
    EXPECT_EQ(4u, one.info()->scratch_bytes);
    EXPECT_EQ(7u, one.info()->first_kept_vgpr);
    EXPECT_EQ(RAWHAL_OK, one.verify(one.apply())) << one.error.message;
  }
  // Registers for waves' lanes are no more where there is no event of lanes.
  Written older(all_vgprs() + load, full(0x53f));
  expect_refused(&older, "no VGPR for probes", RAWHAL_PROBE_MEMORY);
  EXPECT_EQ(RAWHAL_OK, older.plan(RAWHAL_PROBE_BLOCKS)) << older.error.message;
  // An AGPR takes its value where one is free: of those that waves have, or one more.
  std::vector<uint32_t> few;
  for (uint32_t i = 0; i < 256; ++i)
    few.push_back(0x7e000280 | i << 17);
  for (uint32_t vgprs : {256u, 264u}) {
    Written::Shape shape = full(0x53f);
    shape.vgprs = vgprs;
    Written kernel(few + load, shape);
    ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY)) << kernel.error.message;
    EXPECT_EQ(0u, kernel.info()->scratch_bytes + kernel.info()->kept_vgprs);
    EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
  }
  const std::vector<uint32_t> agpr = {0xd3d94000, 0x18000080}; // v_accvgpr_write_b32 a0, 0
  Written::Shape shape = full(0x53f);
  shape.vgprs = 264;
  Written some(few + agpr + load, shape);
  ASSERT_EQ(RAWHAL_OK, some.plan(RAWHAL_PROBE_MEMORY)) << some.error.message;
  EXPECT_EQ(RAWHAL_OK, some.verify(some.apply())) << some.error.message;
  // Asked for: from a kernel with room, too, but not from one with scratch memory of its own, or for gfx90a.
  for (uint32_t flags : {0x53fu, Written::gfx942}) {
    Written::Shape small;
    small.flags = flags;
    Written kernel(load, small);
    for (uint32_t lending :
         {uint32_t(RAWHAL_PROBE_LEND_TO_AGPR), uint32_t(RAWHAL_PROBE_LEND_TO_SCRATCH)})
      for (uint32_t lanes : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
        if (flags == 0x53f && lending == RAWHAL_PROBE_LEND_TO_SCRATCH) {
          expect_refused(&kernel, "no VGPR for probes", RAWHAL_PROBE_MEMORY, lending | lanes);
          continue;
        }
        ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY, lending | lanes));
        EXPECT_EQ(lanes ? 1u : 0, kernel.info()->kept_vgprs);
        EXPECT_EQ(lending == RAWHAL_PROBE_LEND_TO_SCRATCH ? 4u : 0, kernel.info()->scratch_bytes);
        EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
      }
  }
}

// Who records without code needs no registers.
TEST(ProbeKept, NothingWhereThereAreOnlyPoints)
{
  Written kernel(everything(), full(0x53f));
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_BLOCKS, RAWHAL_PROBE_POINTS_ONLY))
      << kernel.error.message;
  EXPECT_EQ(1u, kernel.info()->point_count);
  EXPECT_EQ(0u, kernel.info()->kept_sgprs + kernel.info()->kept_vgprs);
  EXPECT_TRUE(kernel.apply().empty());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, kernel.error.status);
  Written skips(all_sgprs() + std::vector<uint32_t>{0xbf108081 /* s_setvskip 1, 0 */, 0xdc508000,
                                                    0x02040001, s_endpgm},
                full(0x53f));
  expect_refused(&skips, "cannot use lanes", RAWHAL_PROBE_MEMORY);
  EXPECT_EQ(RAWHAL_OK, skips.plan(RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_POINTS_ONLY));
}

TEST(ProbeKept, InScratchOnlyWhereTheKernelHasNone)
{
  const std::vector<uint32_t> others[] = {
      {0xbe8000e6 - 0x80, s_endpgm},       // s_mov_b32 s0, flat_scratch_lo
      {0xbee60080, s_endpgm},              // s_mov_b32 flat_scratch_lo, 0
      {0xbee60180, s_endpgm},              // s_mov_b64 flat_scratch, 0
      {0xdc504000, 0x007f0000, s_endpgm},  // scratch_load_dword v0, off, off
      {0xdc704000, 0x007f0000, s_endpgm},  // scratch_store_dword off, v0, off
      {0xbe802a00, s_endpgm},              // s_movrels_b32: any SGPR
      {0xd2890066, 0x00010100, s_endpgm},  // v_readlane_b32 flat_scratch_lo, v0, 0
      {0x7ecc0500, s_endpgm},              // v_readfirstlane_b32 flat_scratch_lo, v0
      {0xd0c90066, 0x00020080, s_endpgm}}; // v_cmp_lt_u32 flat_scratch, 0, v0
  for (const std::vector<uint32_t> &code : others) {
    Written kernel(code, full(Written::gfx942));
    expect_refused(&kernel, "scratch memory of its own", RAWHAL_PROBE_WAVES,
                   RAWHAL_PROBE_KEEP_IN_SCRATCH);
    EXPECT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES)) << kernel.error.message;
  }
  Written plain({0xbee50080 /* s_mov_b32 s101, 0 */, s_endpgm}, full(Written::gfx942));
  EXPECT_EQ(RAWHAL_OK, plain.plan(RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH))
      << plain.error.message;
  EXPECT_EQ(RAWHAL_OK, plain.verify(plain.apply())) << plain.error.message;
  expect_refused(&plain, "places in the middle", RAWHAL_PROBE_BLOCKS, RAWHAL_PROBE_KEEP_IN_SCRATCH);
  for (uint32_t sized : {0u, 1u}) {
    Written::Shape own = full(Written::gfx942);
    own.scratch = sized ? 16 : 0;
    own.has_scratch = !sized;
    Written kernel({s_endpgm}, own);
    expect_refused(&kernel, "scratch memory of its own", RAWHAL_PROBE_WAVES,
                   RAWHAL_PROBE_KEEP_IN_SCRATCH);
  }
}

namespace {

// Instructions of a clone whose bits under the mask are so.
size_t count_of(const std::string &clone, uint32_t mask, uint32_t bits)
{
  size_t count = 0;
  for (size_t at = 0; at + 4 <= clone.size(); at += 4) {
    uint32_t dword;
    memcpy(&dword, &clone[at], 4);
    count += (dword & mask) == bits;
  }
  return count;
}

} // namespace

// Neighbours take their numbers together, as far as the same lanes are active and all of them are run.
TEST(ProbeKept, NumbersTogether)
{
  const uint32_t load = 0xdc508000, of = 0x02040001, exec = 0xbefe01c1 /* s_mov_b64 exec, -1 */;
  const auto loads = [&](int count) {
    std::vector<uint32_t> made;
    for (int i = 0; i < count; ++i)
      made.insert(made.end(), {load, of});
    return made;
  };
  const std::vector<uint32_t> end = {s_endpgm};
  const struct {
    const char *text;
    std::vector<uint32_t> code;
    size_t takes;
  } cases[] = {
      {"one", loads(1) + end, 1},
      {"neighbours", loads(8) + end, 1},
      {"as many as there may be", loads(9) + end, 2},
      {"others between", loads(2) + std::vector<uint32_t>{0x7e060280, 0xbf8c0f70} + loads(2) + end,
       1},
      {"other lanes", loads(2) + std::vector<uint32_t>{exec} + loads(2) + end, 2},
      {"a comparison into EXEC", loads(2) + std::vector<uint32_t>{0x7da20000} + loads(2) + end, 2},
      {"v_readlane_b32 exec_lo",
       loads(2) + std::vector<uint32_t>{0xd289007e, 0x00010100} + loads(2) + end, 2},
      {"a barrier", loads(2) + std::vector<uint32_t>{s_barrier} + loads(2) + end, 2},
      {"a branch", loads(2) + std::vector<uint32_t>{branch(s_cbranch_vccnz, 4)} + loads(2) + end,
       2},
      {"a branch's target", loads(2) + std::vector<uint32_t>{branch(s_cbranch_vccnz, -3)} + end,
       2}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.text);
    Written kernel(one.code);
    for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
      ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY, flags)) << kernel.error.message;
      const std::string clone = kernel.apply();
      EXPECT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
      // s_atomic_add glc, of which one is the wave's
      const size_t takes = flags ? kernel.info()->point_count : one.takes;
      EXPECT_EQ(1 + takes, count_of(clone, 0xffff0000, 0xc20b0000));
    }
  }
}

// SCC is put back where the kernel may read what it was, by whatever way.
TEST(ProbeKept, SccWhereItMayBeRead)
{
  const uint32_t compares = 0xbf048002, load = 0xdc508000, to = 0x02040001, cmov = 0xbe800280,
                 reads_status = 0xb8800002 | 31 << 11, vector = 0x7e0202fd; // v_mov_b32 v1, scc
  const auto branches = [](int dwords) { return branch(s_cbranch_scc0, dwords); };
  const struct {
    const char *text;
    std::vector<uint32_t> code;
    bool needed;
  } cases[] = {
      {"nothing reads it", {s_barrier, load, to, s_endpgm}, false},
      {"written first", {s_barrier, load, to, compares, branches(0), s_endpgm}, false},
      {"a branch", {compares, load, to, branches(0), s_endpgm}, true},
      {"behind a branch of others",
       {s_barrier, load, to, branch(s_cbranch_vccnz, 1), cmov, s_endpgm},
       true},
      {"where a branch leads",
       {s_barrier, load, to, branch(s_cbranch_vccnz, 1), s_endpgm, cmov, s_endpgm},
       true},
      {"where a jump leads",
       {s_barrier, load, to, branch(s_branch, 1), s_barrier, cmov, s_endpgm},
       true},
      {"jumped over", {s_barrier, load, to, branch(s_branch, 1), cmov, s_endpgm}, false},
      {"the next round", {compares, branches(0), load, to, branch(s_branch, -5), s_endpgm}, false},
      {"back to it", {s_barrier, branches(3), load, to, branch(s_branch, -5), s_endpgm}, true},
      {"STATUS", {s_barrier, load, to, reads_status, s_endpgm}, true},
      {"an operand of vectors", {s_barrier, load, to, vector, s_endpgm}, true},
  };
  for (const auto &one : cases) {
    SCOPED_TRACE(one.text);
    Written kernel(one.code);
    ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY)) << kernel.error.message;
    const std::string clone = kernel.apply();
    EXPECT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
    EXPECT_EQ(one.needed, count_of(clone, 0xff80ffff, 0x85008081) == 1); // s_cselect_b32 1, 0
    std::string changed = clone;
    for (size_t at = 0; at + 4 <= changed.size(); at += 4)
      if (one.needed && !memcmp(&changed[at + 2], "\x07\xbf", 2)) // s_cmp_lg_u32
        memcpy(&changed[at], &s_nop, 4);
    EXPECT_EQ(one.needed, kernel.verify(changed) != RAWHAL_OK) << kernel.error.message;
  }
}
