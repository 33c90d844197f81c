// Kernels at the edges of what can be probed: planned, applied and verified, or refused with the reason.
#include "tests/probe/written.h"

namespace {

// Each instruction is there once, in its order, and what is between is probes'.
void expect_origins(Written *kernel)
{
  uint32_t original = 0, last = 0, instructions = 0, probes = 0;
  bool is_probe = false, was_probe = true;
  for (uint64_t offset = 0; kernel->origin(offset, &original, &is_probe) == RAWHAL_OK;
       offset += 4) {
    EXPECT_LE(last, original);
    instructions += !is_probe && (was_probe || original != last);
    probes += is_probe;
    last = original;
    was_probe = is_probe;
  }
  EXPECT_EQ(RAWHAL_NOT_FOUND, kernel->error.status);
  EXPECT_EQ(kernel->info()->instructions, instructions);
  EXPECT_LT(0u, probes);
}

void expect_probed(Written *kernel)
{
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)})
    for (uint32_t kinds :
         {uint32_t(RAWHAL_PROBE_WAVES), uint32_t(RAWHAL_PROBE_BLOCKS), every_kind}) {
      ASSERT_EQ(RAWHAL_OK, kernel->plan(kinds, flags)) << kernel->error.message;
      const std::string clone = kernel->apply();
      ASSERT_FALSE(clone.empty()) << kernel->error.message;
      EXPECT_EQ(RAWHAL_OK, kernel->verify(clone)) << kernel->error.message;
      expect_origins(kernel);
    }
}

void expect_refused(Written *kernel, const char *reason, uint32_t kinds = every_kind,
                    uint32_t flags = 0)
{
  EXPECT_EQ(RAWHAL_UNSUPPORTED, kernel->plan(kinds, flags));
  EXPECT_TRUE(strstr(kernel->error.message, reason)) << kernel->error.message;
}

Written::Shape shape(uint32_t sgprs, uint32_t vgprs, uint32_t accum)
{
  Written::Shape made;
  made.sgprs = sgprs;
  made.vgprs = vgprs;
  made.accum = accum;
  return made;
}

} // namespace

TEST(ProbeEdges, OneInstruction)
{
  Written kernel({s_endpgm});
  expect_probed(&kernel);
  EXPECT_EQ(1u, kernel.info()->instructions);
}

TEST(ProbeEdges, LoopToTheFirstInstruction)
{
  Written kernel({0xbf048000 /* s_cmp_eq_u32 s0, 0 */, branch(s_cbranch_scc0, -2), s_endpgm});
  expect_probed(&kernel);
  Written forever({branch(s_branch, -1)});
  expect_probed(&forever);
}

TEST(ProbeEdges, BranchIntoALiteral)
{
  Written kernel({branch(s_cbranch_scc0, 1), 0xbe8300ff /* s_mov_b32 s3, */, s_endpgm, s_endpgm});
  expect_refused(&kernel, "two ways that overlap");
}

// What is only data by the way it is reached is not followed.
TEST(ProbeEdges, LiteralThatIsAnEnd)
{
  Written kernel({0xbe8300ff, s_endpgm, s_barrier, s_endpgm});
  expect_probed(&kernel);
  EXPECT_EQ(3u, kernel.info()->instructions);
}

TEST(ProbeEdges, BranchesOutOfTheCode)
{
  Written before({branch(s_branch, -100)});
  expect_refused(&before, "before the kernel");
  Written behind({branch(s_branch, 32000)});
  expect_refused(&behind, "beyond the code");
}

// With probes between, branches both ways need hops, and those others.
TEST(ProbeEdges, FarBranches)
{
  std::vector<uint32_t> code = {branch(s_cbranch_scc0, 30000)};
  for (int i = 0; i < 10000; ++i) {
    code.push_back(branch(s_cbranch_vccnz, 0)); // a block each
    code.push_back(s_barrier);
    code.push_back(s_nop);
  }
  code.push_back(branch(s_cbranch_scc0, -30000));
  code.push_back(s_endpgm);
  Written kernel(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES))
      << kernel.error.message;
  const std::string clone = kernel.apply();
  EXPECT_GT(clone.size(), 2u * 128 * 1024);
  EXPECT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
  uint32_t original = 0;
  bool is_probe = false;
  EXPECT_EQ(RAWHAL_OK, kernel.origin(UINT64_C(1) << 17, &original, &is_probe));
  EXPECT_LT(original, UINT32_C(1) << 17);
  EXPECT_EQ(RAWHAL_NOT_FOUND, kernel.origin(UINT64_MAX, &original, &is_probe));
}

// What goes round branches of the kernel's own is not taken for what goes round hops.
TEST(ProbeEdges, BranchesOverBranches)
{
  Written kernel({branch(s_cbranch_scc0, 1), branch(s_branch, 1), branch(s_branch, 1), s_barrier,
                  branch(s_branch, 2), branch(s_branch, -6), branch(s_branch, -5), s_endpgm});
  expect_probed(&kernel);
}

// The kernel's own instructions may look like the probes', which come first.
TEST(ProbeEdges, LooksLikeProbes)
{
  const uint32_t s_cbranch_scc1 = 5, named = 0xbe800065; // s_mov_b32 s0, s101
  std::vector<uint32_t> code = {branch(s_cbranch_scc1, 7)};
  code.insert(code.end(), 27, 0); // v_cndmask_b32 v0, s0, v0
  code.insert(code.end(), {named, s_endpgm});
  Written kernel(code, shape(112, 8, 4));
  expect_probed(&kernel);
}

TEST(ProbeEdges, ReadsItsPc)
{
  Written kernel({0xbe841c00 /* s_getpc_b64 s[4:5] */, s_endpgm});
  expect_probed(&kernel);
  EXPECT_TRUE(kernel.info()->reads_pc);
  EXPECT_TRUE(kernel.apply(RAWHAL_PROBE_NOWHERE).empty());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, kernel.error.status);
  const std::string clone = kernel.apply(0x7f0000000000);
  EXPECT_EQ(RAWHAL_OK, kernel.verify(clone, 0x7f0000000000));
  EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(clone, 0x7f0000001000)); // loaded elsewhere
}

TEST(ProbeEdges, CallsAndIndirectJumps)
{
  for (uint32_t call : {0xbe801d04u /* s_setpc_b64 s[4:5] */, 0xbe801e04u /* s_swappc_b64 */,
                        0xba840000u /* s_call_b64 */}) {
    Written kernel({call, s_endpgm});
    expect_refused(&kernel, "calls");
  }
}

TEST(ProbeEdges, AllSgprs)
{
  Written kernel(all_sgprs() + std::vector<uint32_t>{s_barrier, s_endpgm}, shape(112, 8, 4));
  expect_probed(&kernel);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind));
  EXPECT_EQ(102u, kernel.info()->named_sgprs);
  EXPECT_EQ(0u, kernel.info()->kept_sgprs); // in lanes
}

// What no instruction names is free wherever it is.
TEST(ProbeEdges, SgprsBetweenOthers)
{
  const uint32_t s101 = 0xbee50080; // s_mov_b32 s101, 0
  Written one({s101, s_barrier, s_endpgm}, shape(112, 8, 4));
  expect_probed(&one);
  ASSERT_EQ(RAWHAL_OK, one.plan(every_kind));
  EXPECT_EQ(102u, one.info()->named_sgprs);
  EXPECT_EQ(3u, one.info()->first_kept_sgpr); // behind s[0:2], which it begins with
  EXPECT_LT(0u, one.info()->kept_sgprs);
  // Each where it fits: a pair, and one more.
  Written few(all_sgprs({7, 50, 51, 64, 65}) + std::vector<uint32_t>{s_endpgm}, shape(112, 8, 4));
  ASSERT_EQ(RAWHAL_OK, few.plan(RAWHAL_PROBE_BLOCKS));
  EXPECT_EQ(4u, few.info()->kept_sgprs);
  EXPECT_EQ(50u, few.info()->first_kept_sgpr);
  EXPECT_EQ(RAWHAL_OK, few.verify(few.apply())) << few.error.message;
  ASSERT_EQ(RAWHAL_OK, few.plan(RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EXEC));
  EXPECT_EQ(0u, few.info()->kept_sgprs); // a pair too few
  // Nowhere for what the entry needs.
  Left scattered;
  for (uint32_t i = 4; i < 102; i += 12)
    scattered.insert({i, i + 1, i + 2, i + 3});
  Written kernel(all_sgprs(scattered) + std::vector<uint32_t>{s_barrier, s_endpgm},
                 shape(112, 8, 4));
  expect_probed(&kernel);
}

TEST(ProbeEdges, AllVgprs)
{
  const std::vector<uint32_t> end = {s_endpgm};
  Written scalar(all_vgprs() + end, shape(16, 512, 256));
  ASSERT_EQ(RAWHAL_OK, scalar.plan(RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS))
      << scalar.error.message;
  EXPECT_EQ(0u, scalar.info()->kept_vgprs);
  EXPECT_EQ(256u, scalar.info()->named_agprs);
  expect_refused(&scalar, "no VGPR", RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_LANES);
}

TEST(ProbeEdges, VgprsBetweenOthers)
{
  const std::vector<uint32_t> load = {0xdc508000, 0x02040001, s_endpgm}; // v2, v1, s[4:5]
  Written one(all_vgprs({77}) + load, shape(16, 512, 256));
  ASSERT_EQ(RAWHAL_OK, one.plan(RAWHAL_PROBE_MEMORY)) << one.error.message;
  EXPECT_EQ(77u, one.info()->first_kept_vgpr);
  EXPECT_EQ(RAWHAL_OK, one.verify(one.apply())) << one.error.message;
  expect_refused(&one, "all but one", RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_KEEP_IN_LANES);
  Written two(all_vgprs({77, 200}) + load, shape(16, 512, 256));
  expect_probed(&two);
  EXPECT_EQ(2u, two.info()->kept_vgprs);
  // v0 is not free: it is what waves begin with.
  Written ids(all_vgprs({0}) + load, shape(16, 512, 256));
  expect_refused(&ids, "no VGPR", RAWHAL_PROBE_MEMORY);
}

// A wrong accum offset, as code by hand has it: v9 is the kernel's all the same; with AGPRs it may be one of them.
TEST(ProbeEdges, VgprsBeyondTheAccumOffset)
{
  const uint32_t v9 = 0x7e120280;
  Written kernel({v9, s_endpgm}, shape(16, 16, 8));
  expect_probed(&kernel);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind, RAWHAL_PROBE_KEEP_IN_LANES));
  EXPECT_EQ(10u, kernel.info()->first_kept_vgpr);
  Written with_agprs({v9, 0xd3d84000, 0x18000101, s_endpgm}, shape(16, 16, 8));
  expect_refused(&with_agprs, "v9, of 8");
  // Of an access by one that waves do not have something can be recorded, as they get all that are named.
  Written access({0x7ffe0280, 0xdc508000, 0x02040008, s_endpgm},
                 shape(16, 8, 8)); // v255; v2, v8, s[4:5]
  ASSERT_EQ(RAWHAL_OK, access.plan(RAWHAL_PROBE_MEMORY)) << access.error.message;
  EXPECT_EQ(RAWHAL_OK, access.verify(access.apply())) << access.error.message;
  expect_refused(&access, "its waves have fewer", RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_KEEP_IN_LANES);
  // Those that waves do have are no AGPRs, and between them there is room as anywhere.
  std::vector<uint32_t> most;
  for (uint32_t i = 1; i < 256; ++i)
    if (i != 61 && i != 62)
      most.push_back(0x7e000280 | i << 17);
  Written between(most + std::vector<uint32_t>{0xdc508000, 0x020400c8, s_endpgm},
                  shape(16, 256, 128)); // v2, v200, s[4:5]
  expect_probed(&between);
  EXPECT_EQ(61u, between.info()->first_kept_vgpr);
  // An AGPR that waves do not have is one all the same: those that they have stay.
  const uint32_t shift = 0x24020082, mfma[] = {0xd3e40000, 0x04020300};
  Written agpr({shift, 0xdc508000, 0xbe841c01, mfma[0], mfma[1], s_endpgm},
               shape(24, 8, 4)); // a190, v1, s[4:5]
  expect_probed(&agpr);
}

TEST(ProbeEdges, ModesOfVectors)
{
  const uint32_t on = 0xbf118004 /* s_set_gpr_idx_on s4, 0 */, off = 0xbf9c0000, skip = 0xbf108081;
  Written indexed({on, s_barrier, off, s_barrier, s_endpgm});
  EXPECT_EQ(RAWHAL_OK, indexed.plan(every_kind)) << indexed.error.message;
  EXPECT_EQ(RAWHAL_OK, indexed.verify(indexed.apply())) << indexed.error.message;
  expect_refused(&indexed, "s_set_gpr_idx_on", every_kind, RAWHAL_PROBE_KEEP_IN_LANES);
  // What may be skipped is probed where there are SGPRs to say that, and to have it otherwise.
  const uint32_t load = 0xdc508000, of = 0x02040001; // global_load_dword v2, v1, s[4:5]
  const std::vector<uint32_t> bodies[] = {
      {skip, s_barrier, s_endpgm},
      {skip, load, of, s_endpgm},
      {skip, 0xbf048002, load, of, branch(s_cbranch_scc0, 0), s_endpgm},
      {skip, branch(s_branch, 1), s_endpgm, s_barrier, s_endpgm}};
  for (const std::vector<uint32_t> &body : bodies) {
    Written skipped(body);
    expect_probed(&skipped);
    Written full(all_sgprs() + body, shape(112, 8, 4));
    expect_refused(&full, "s_setvskip");
    Written some(all_sgprs({91, 97}) + body, shape(112, 8, 4));
    expect_probed(&some);
  }
  // MODE's own bit of indexing: any VGPR may be named.
  Written by_mode({0xb900f6c1 | 0x10 << 16 /* s_setreg_b32 hwreg(MODE, 27, 31) */, s_endpgm},
                  shape(16, 32, 16));
  ASSERT_EQ(RAWHAL_OK, by_mode.plan(RAWHAL_PROBE_WAVES)) << by_mode.error.message;
  EXPECT_EQ(16u, by_mode.info()->named_vgprs);
}

// Each way to a place has the mode that it comes in, and a probe that only one of them runs is judged by that.
TEST(ProbeEdges, ModesOfWaysThatMeet)
{
  const uint32_t skip = 0xbf108081;
  Written again({s_barrier, skip, branch(s_cbranch_vccnz, -3), s_endpgm}); // the entry reads v0
  ASSERT_EQ(RAWHAL_OK, again.plan(every_kind)) << again.error.message;
  EXPECT_EQ(RAWHAL_OK, again.verify(again.apply())) << again.error.message;
  const auto expect_in_lanes = [](uint32_t kind, const std::vector<uint32_t> &code) {
    Written kernel(code);
    ASSERT_EQ(RAWHAL_OK, kernel.plan(kind, RAWHAL_PROBE_KEEP_IN_LANES)) << kernel.error.message;
    EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
  };
  // What is counted after a branch, before what another one leads to.
  for (uint32_t target : {s_barrier, s_nop})
    expect_in_lanes(RAWHAL_PROBE_EDGES,
                    {branch(s_cbranch_scc0, 3), target, skip, branch(s_branch, -3), s_endpgm});
  // Behind what does not go on, where nothing skips.
  expect_in_lanes(RAWHAL_PROBE_BLOCKS,
                  {branch(s_cbranch_scc0, 2), skip, s_endpgm, branch(s_cbranch_scc0, 0), s_endpgm});
}

// VCC, M0, EXEC and trap registers are no SGPRs of the kernel's.
TEST(ProbeEdges, SpecialRegisters)
{
  Written kernel({0xbeea01fe - 0x80 /* s_mov_b64 vcc, exec */, 0xbefc0080 /* m0 */,
                  0xbefe01c1 /* exec */, 0xbeec0080 /* ttmp0 */, s_barrier, s_endpgm});
  expect_probed(&kernel);
  EXPECT_EQ(0u, kernel.info()->named_sgprs);
}

TEST(ProbeEdges, WithoutMetadata)
{
  Written::Shape bare;
  bare.documented = false;
  Written kernel({s_endpgm}, bare);
  const rawhal_status_t status = kernel.plan(every_kind);
  EXPECT_TRUE(status == RAWHAL_OK || status == RAWHAL_UNSUPPORTED) << kernel.error.message;
}

TEST(ProbeEdges, ProbedAlready)
{
  Written kernel({s_endpgm});
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES));
  const std::string clone = kernel.apply();
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(clone.data(), clone.size(), nullptr, &hsaco, nullptr));
  rawhal_probe_spec_t spec = {};
  rawhal_probe_plan_t *plan = nullptr;
  rawhal_error_t error = {};
  spec.size = sizeof(spec);
  spec.kinds = RAWHAL_PROBE_WAVES;
  EXPECT_EQ(RAWHAL_UNSUPPORTED,
            rawhal_probe_plan(rawhal_hsaco_kernel(hsaco, 0), &spec, &plan, &error));
  EXPECT_STREQ("it has probes already", error.message);
  rawhal_hsaco_close(hsaco);
}

TEST(ProbeEdges, BytesAtAnyAddress)
{
  Written kernel({s_barrier, s_endpgm});
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind));
  const std::string clone = " " + kernel.apply();
  EXPECT_EQ(RAWHAL_OK, rawhal_probe_verify(kernel.kernel(), clone.data() + 1, clone.size() - 1, 0,
                                           &kernel.error))
      << kernel.error.message;
}

// ---- Jumps by s_setpc_b64 ----

namespace {

// Over `dwords` from its end, forward or back; s[4:5] and s6.
std::vector<uint32_t> far_jump(int32_t dwords)
{
  if (dwords >= 0) // from behind s_getpc_b64, 5 dwords before the end
    return {0xbe841c00, 0x810684ff,          static_cast<uint32_t>(dwords + 5) * 4 - 4,
            0x80040604, 0x82058005 /* +0 */, 0xbe801d04};
  return {0xbe841c00, 0x810684ff, static_cast<uint32_t>(dwords + 6) * 4 - 4, 0xbe863006, 0x80840604,
          0x82858005, 0xbe801d04};
}

// Past a trap, back to before it, and to the end.
std::vector<uint32_t> there_and_back()
{
  return far_jump(2) + std::vector<uint32_t>{s_trap, s_endpgm} + far_jump(-8) +
         std::vector<uint32_t>{s_trap};
}

} // namespace

TEST(ProbeEdges, FarJumps)
{
  Written kernel(there_and_back());
  expect_probed(&kernel);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_BLOCKS)) << kernel.error.message;
  EXPECT_EQ(kernel.info()->instructions,
            5u + 6u + 1u); // and the s_endpgm before which it comes back
  EXPECT_EQ(kernel.info()->blocks, 3u);
}

TEST(ProbeEdges, FarJumpsThatLeadElsewhereAreNone)
{
  const std::vector<uint32_t> right = far_jump(1) + std::vector<uint32_t>{s_trap, s_endpgm};
  Written kernel(right);
  EXPECT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES)) << kernel.error.message;
  const struct {
    size_t at;
    uint32_t dword;
  } changes[] = {{0, 0xbe861c00}, {1, 0x810784ff}, {1, 0x810484ff},
                 {1, 0x810683ff}, {3, 0x80040704}, {3, 0x80840604},
                 {4, 0x82058105}, {4, 0x82858005}, {5, 0xbe801d06}};
  for (const auto &change : changes) {
    SCOPED_TRACE(testing::Message() << change.at << ": " << std::hex << change.dword);
    std::vector<uint32_t> code = right;
    code[change.at] = change.dword;
    Written other(code);
    expect_refused(&other, "goes where a register says");
  }
  // A constant, -8, where s72 is meant: but for one bit its number is the same.
  Written constant(
      {0xbec81c00, 0x810684ff, right[2], 0x80c806c8, 0x82c980c9, 0xbe801dc8, s_trap, s_endpgm});
  expect_refused(&constant, "goes where a register says");
  for (uint32_t literal : {0x7fffff00u, 0x80000000u, 0x11u}) {
    std::vector<uint32_t> code = right;
    code[2] = literal;
    Written other(code);
    expect_refused(&other, literal % 4 ? "goes where a register says" : "branches to beyond");
  }
}

// Whoever comes to the middle of one has other registers: by a branch from before it, or from behind.
TEST(ProbeEdges, FarJumpsThatAreEnteredAreRefused)
{
  for (int into : {1, 3, 4, 5}) {
    SCOPED_TRACE(into);
    Written before(std::vector<uint32_t>{branch(s_cbranch_scc0, into)} + far_jump(0) +
                   std::vector<uint32_t>{s_endpgm});
    expect_refused(&before, into == 5 ? "goes where a register says" : "");
    Written behind(far_jump(0) + std::vector<uint32_t>{branch(s_cbranch_scc0, into - 7), s_endpgm});
    expect_refused(&behind, "is reached in two ways");
  }
  Written whole(std::vector<uint32_t>{branch(s_cbranch_scc0, 0)} + far_jump(0) +
                std::vector<uint32_t>{branch(s_cbranch_scc0, -7), s_endpgm});
  expect_probed(&whole);
}
