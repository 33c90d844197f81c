// Clones that somebody has changed: what would harm the kernel or memory is refused, wherever in the code it is.
#include "tests/extended.h"
#include "tests/harness/allocator.h"
#include "tests/probe/written.h"

extern "C" {
#include "probe/code.h"
}

namespace {

// Loads, computes, stores, waits: s[0:1], s2, s4 to s7 and v0 to v3 are named.
const std::vector<uint32_t> code = {0xc00a0100,
                                    0x00000000, // s_load_dwordx4 s[4:7], s[0:1], 0x0
                                    0x24020082, // v_lshlrev_b32 v1, 2, v0
                                    0xbf8cc07f, // s_waitcnt lgkmcnt(0)
                                    0xdc508000,
                                    0x02040001, // global_load_dword v2, v1, s[4:5]
                                    0xbf8c0f70, // s_waitcnt vmcnt(0)
                                    0xbf048002,
                                    branch(s_cbranch_scc0, 1), // s_cmp_eq_u32 s2, 0
                                    s_barrier,                 //
                                    0xdc708000,
                                    0x00060201, // global_store_dword v1, v2, s[6:7]
                                    0x7e060280, // v_mov_b32 v3, 0
                                    branch(s_cbranch_vccnz, -12), // to the wait for memory
                                    s_endpgm};

const std::vector<uint32_t> offsets_of_v0 = {0xd1fd0000,
                                             0x00010700}; // v_lshl_add_u32 v0, v0, 3, s0

struct Harm {
  const char *text;
  std::vector<uint32_t> dwords;
  bool at_end; // also where the kernel ends
};

const Harm harms[] = {
    {"s_mov_b32 s0, 0", {0xbe800080}, false},
    {"s_mov_b64 s[0:1], 0", {0xbe800180}, false},
    {"v_readfirstlane_b32 s1, v0", {0x7e020500}, false},
    {"v_mov_b32 v0, 0", {0x7e000280}, true},
    {"s_mov_b64 exec, 0", {0xbefe0180}, false}, // where the entry has all lanes on, it is put back
    {"s_mov_b64 vcc, 0", {0xbeea0180}, true},
    {"s_mov_b32 m0, 0", {0xbefc0080}, true},
    {"s_endpgm", {s_endpgm}, false},
    {"s_barrier", {s_barrier}, true},
    {"s_setvskip 1, 0", {0xbf108081}, true},
    {"s_setprio 3", {0xbf8f0003}, true},
    {"s_trap 2", {s_trap}, true},
    {"s_mov_b32 s0, 0x1234", {0xbe8000ff, 0x1234}, false},
    {"s_store_dword s0, s[0:1], 0", {0xc0420000, 0}, true},
    {"s_store_dwordx4 s[0:3], s[0:1], 0", {0xc04a0000, 0}, true},
    {"s_atomic_add s0, s[0:1], 0", {0xc20a0000, 0}, true},
    {"s_atomic_add_x2 s[0:1], s[0:1], 64", {0xc28a0000, 64}, true},
    {"s_load_dwordx4 s[0:3], s[0:1], 0", {0xc00a0000, 0}, true},
    {"s_dcache_inv", {0xc0800000, 0}, true},
    {"v_writelane_b32 v0, s0, 0", {0xd28a0000, 0x00010000}, true},
    {"v_readlane_b32 s1, v0, 0", {0xd2890001, 0x00010100}, false},
    {"global_store_dword v0, v1, s[0:1]", {0xdc708000, 0x00000100}, true},
    {"flat_store_dword v[0:1], v2", {0xdc700000, 0x007f0200}, true},
    {"buffer_store_dword v0, off, s[0:3], 0", {0xe0700000, 0x80000000}, true},
    {"buffer_store_dword v0, v0, s[0:3], 0 offen", {0xe0701000, 0x80000000}, true},
    {"s_buffer_store_dwordx4 s[0:3], s[0:3], s0 offset:0", {0xc06a4000, 0x00000000}, true},
    {"v_lshl_add_u32 v0, v0, 3, s0", offsets_of_v0, true},
    {"ds_write_b32 v0, v1", {0xd81a0000, 0x00000100}, true},
    {"global_load_dword v0, v0, s[0:1]", {0xdc508000, 0}, true},
    {"scratch_load_dword v0, off, off", {0xdc504000, 0x007f0000}, true},
    {"scratch_load_dword v2, off, off offset:4", {0xdc504004, 0x027f0000}, true},
    {"scratch_load_dword v2, v1, off", {0xdc506000, 0x027f0001}, true},
    {"scratch_store_dword off, v0, off", {0xdc704000, 0x007f0000}, true},
    {"scratch_store_dword off, v1, off offset:4", {0xdc704004, 0x007f0100}, true},
    {"v_accvgpr_write_b32 a0, v1", {0xd3d94000, 0x18000101}, true},
    {"v_accvgpr_read_b32 v1, a0", {0xd3d84001, 0x18000100}, true},
    {"v_accvgpr_read_b32 v0, a1", {0xd3d84000, 0x18000101}, true},
};

struct Text {
  size_t at, dwords;
};

// The first with these flags, of those with the kernel's bytes.
Elf64_Shdr section_of(const std::string &clone, uint64_t flags)
{
  Elf64_Ehdr header;
  memcpy(&header, clone.data(), sizeof(header));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, clone.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_PROGBITS && section.sh_flags == flags)
      return section;
  }
  ADD_FAILURE() << "no section";
  return {};
}

Text text_of(const std::string &clone)
{
  const Elf64_Shdr section = section_of(clone, SHF_ALLOC | SHF_EXECINSTR);
  return {section.sh_offset, section.sh_size / 4 - 64}; // without what is prefetched
}

// Dwords up to the kernel's last instruction that needs its registers, of the first `end`.
size_t last_branch(const std::string &clone, size_t end)
{
  const Text text = text_of(clone);
  const auto is_last = [&](size_t at) {
    uint32_t dword;
    memcpy(&dword, &clone[text.at + at * 4], 4);
    return dword >> 16 == branch(s_cbranch_vccnz, 0) >> 16;
  };
  while (end && !is_last(end - 1))
    --end;
  return end;
}

// Every instruction of the clone replaced by each harm of its length. What is only harm until the kernel ends is not looked
// for behind `end`, nor is what may be done with v0 where that is lent. Sanitizers see the same in every fourth place.
void expect_all_refused(Written *kernel, const std::string &clone, size_t end, bool lends = false)
{
  const Text text = text_of(clone);
  size_t tried = 0;
  for (size_t at = 0; at < text.dwords;) {
    code_t one;
    ASSERT_TRUE(code_decode(clone.data() + text.at + at * 4, text.dwords - at, &one)) << at;
    for (const Harm &harm : harms) {
      if (is_sanitized && at % 4)
        break;
      std::string changed = clone;
      char *place = &changed[text.at + at * 4];
      if (harm.dwords.size() != one.dwords || (at >= end && !harm.at_end) ||
          !memcmp(place, harm.dwords.data(), one.dwords * 4u) ||
          (lends && harm.dwords == offsets_of_v0))
        continue;
      memcpy(place, harm.dwords.data(), one.dwords * 4u);
      EXPECT_EQ(RAWHAL_MALFORMED, kernel->verify(changed))
          << harm.text << " at +0x" << std::hex << at * 4;
      ++tried;
    }
    at += one.dwords;
  }
  EXPECT_GT(tried, is_sanitized ? 50u : 200u);
}

} // namespace

TEST(ProbeDamaged, WhatHarmsIsRefused)
{
  Written kernel(code);
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)})
    for (uint32_t kinds : {uint32_t(RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES), every_kind}) {
      SCOPED_TRACE(testing::Message() << "kinds " << kinds << ", flags " << flags);
      ASSERT_EQ(RAWHAL_OK, kernel.plan(kinds, flags)) << kernel.error.message;
      const std::string clone = kernel.apply();
      ASSERT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
      // What is borrowed is written, and put back.
      const size_t end = flags ? 0 : text_of(clone).dwords;
      expect_all_refused(&kernel, clone, last_branch(clone, end));
    }
}

// What is kept in scratch comes back as it went there, all of it, when it is there.
TEST(ProbeDamaged, Scratch)
{
  Written::Shape shape;
  shape.flags = Written::gfx942;
  Written kernel(code, shape), gfx90a(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH))
      << kernel.error.message;
  const std::string clone = kernel.apply();
  ASSERT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
  const Text text = text_of(clone);
  const size_t end = last_branch(clone, text.dwords);
  expect_all_refused(&kernel, clone, end);
  size_t waits = 0, writes = 0;
  for (size_t at = 0; at < text.dwords; ++at) {
    uint32_t dword;
    memcpy(&dword, &clone[text.at + at * 4], 4);
    if (dword == 0xbefe01c1 || (dword == 0xbf8c0f70 && at > end)) { // all lanes, vmcnt(0)
      const uint32_t some = 0xbefe0104;                             // s_mov_b64 exec, s[4:5]
      for (const uint32_t instead : {s_nop, dword == 0xbefe01c1 ? some : s_nop}) {
        std::string changed = clone;
        memcpy(&changed[text.at + at * 4], &instead, 4);
        EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at;
      }
      waits += dword == 0xbf8c0f70;
      writes += dword != 0xbf8c0f70;
    }
  }
  EXPECT_EQ(1u, waits);
  EXPECT_EQ(2u, writes);
  // A clone that has none, or whose waves are not given any.
  for (size_t place : {4, 52}) {
    std::string changed = clone;
    changed[section_of(clone, SHF_ALLOC).sh_offset + place] &= char(~5);
    EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << place;
  }
}

// A VGPR that is lent has its value again, all of it, and in time.
TEST(ProbeDamaged, Lending)
{
  Written::Shape shape;
  shape.flags = Written::gfx942;
  Written kernel(code, shape);
  for (const uint32_t to : {RAWHAL_PROBE_LEND_TO_AGPR, RAWHAL_PROBE_LEND_TO_SCRATCH})
    for (const uint32_t lanes : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
      SCOPED_TRACE(to | lanes);
      ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY, to | lanes)) << kernel.error.message;
      const std::string clone = kernel.apply();
      ASSERT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
      const Text text = text_of(clone);
      expect_all_refused(&kernel, clone, lanes ? 0 : last_branch(clone, text.dwords), true);
      const auto dword = [&](size_t at) {
        uint32_t value = 0;
        memcpy(&value, &clone[text.at + at * 4], 4);
        return value;
      };
      const auto status = [&](size_t at, std::vector<uint32_t> instead) {
        std::string changed = clone;
        memcpy(&changed[text.at + at * 4], instead.data(), instead.size() * 4);
        return kernel.verify(changed);
      };
      // There and back, by the same way and of the same VGPR.
      const bool is_agpr = to == RAWHAL_PROBE_LEND_TO_AGPR;
      const uint32_t takes = is_agpr ? 0xd3d94000 : 0xdc704000,
                     gives = is_agpr ? 0xd3d84000 : 0xdc504000;
      size_t taken = 0, given = 0;
      for (size_t at = 0; at < text.dwords; ++at) {
        const bool is_taken = (dword(at) & ~0xffu) == takes;
        if (!is_taken && (dword(at) & ~0xffu) != gives)
          continue;
        EXPECT_EQ(RAWHAL_MALFORMED, status(at, {s_nop, s_nop})) << at;
        EXPECT_EQ(RAWHAL_MALFORMED, status(at, {dword(at) ^ 1, dword(at + 1)})) << at;
        for (uint32_t bit : {0, 8, 24})
          EXPECT_EQ(RAWHAL_MALFORMED, status(at, {dword(at), dword(at + 1) ^ 1u << bit})) << at;
        if (is_taken) { // s_waitcnt 0; s_nop 15; s_nop 3
          ++taken;
          ASSERT_EQ(0xbf8c0000, dword(at - 3));
          EXPECT_EQ(RAWHAL_OK, status(at - 3, {0xbf8c0070})); // but for exports
          EXPECT_EQ(RAWHAL_MALFORMED, status(at - 3, {0xbf8c0001}));
          EXPECT_EQ(RAWHAL_MALFORMED, status(at - 3, {0xbf8c4000}));
          if (lanes) // what is borrowed takes a while, and has waited
            continue;
          EXPECT_EQ(taken == 1, status(at - 3, {0xbf8c0f00}) == RAWHAL_OK); // the kernel has waited
          EXPECT_EQ(RAWHAL_MALFORMED, status(at - 2, {s_nop}));
        } else {
          ++given;
          const uint32_t wait = is_agpr ? 0xbf800001 : 0xbf8c0f70;
          ASSERT_EQ(wait, dword(at + 2));
          if (!lanes || !is_agpr) {
            EXPECT_EQ(RAWHAL_MALFORMED, status(at + 2, {s_nop})) << at;
          }
        }
      }
      EXPECT_EQ(2u, taken);
      EXPECT_EQ(2u, given);
    }
}

// Where a VGPR's value was in scratch memory, nothing else is any more.
TEST(ProbeDamaged, ScratchOfTwoKinds)
{
  Written::Shape shape;
  shape.flags = Written::gfx942;
  shape.sgprs = 32;
  Written kernel({s_barrier, s_barrier, s_endpgm}, shape);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH))
      << kernel.error.message;
  const std::string clone = kernel.apply();
  const uint32_t at = kernel.info()->argument_offset, wait = 0xbf8cc07f;
  const std::vector<uint32_t> entry = {0xc00a0100, at,               // s_load_dwordx4 s[4:7]
                                       0xc0060200, at + 16,    wait, // s_load_dwordx2 s[8:9]
                                       0xbe8a0081, 0xc20b0282, 0,          wait, // s_atomic_add s10
                                       0xd28a0001, 0x0001400a, // v_writelane_b32 v1
                                       0xbe8c017e, 0xbefe01c1, 0xdc704000, 0x007f0100,
                                       0xbefe010c}, // scratch_store_dword
      end = {wait,       0xbefe01c1,
             0xdc504000, 0x017f0000,
             0xbf8c0f70,                                    // scratch_load_dword v1
             0xd289000a, 0x00014101,                        // v_readlane_b32 s10
             0xbf09080a, branch(5 /* s_cbranch_scc1 */, 5), // s_cmp_ge_u32 s10, s8
             0x8e0b860a, 0x800c0b04,
             0x820d8005,        // its address
             0xc0460386, 0x40}, // s_store_dwordx2
      lends = {0xbf8c0000, 0xbf80000f, 0xbf800003, 0xdc704000,
               0x007f0000, 0xdc504000, 0x007f0000, 0xbf8c0f70};
  for (int place = 0; place < 4; ++place) {
    std::vector<uint32_t> made = entry;
    const auto add = [&](const std::vector<uint32_t> &more) {
      made.insert(made.end(), more.begin(), more.end());
    };
    add(place == 1 ? lends : std::vector<uint32_t>{});
    add({s_barrier});
    add(place == 2 ? lends : std::vector<uint32_t>{});
    add({s_barrier});
    add(place == 3 ? lends : std::vector<uint32_t>{});
    add(end);
    add({s_endpgm});
    std::string changed = clone;
    ASSERT_LT(made.size(), text_of(clone).dwords + 64);
    memcpy(&changed[text_of(clone).at], made.data(), made.size() * 4);
    EXPECT_EQ(place ? RAWHAL_MALFORMED : RAWHAL_OK, kernel.verify(changed))
        << place << ": " << kernel.error.message;
  }
}

// Where vector instructions are skipped they are so again behind a probe, and lanes are moved only where they are not.
TEST(ProbeDamaged, Skips)
{
  Written::Shape shape;
  shape.sgprs = 112;
  Written kernel(all_sgprs({91, 97}) +
                     std::vector<uint32_t>{0xbf108081, s_barrier, 0xdc508000, 0x02040001, s_endpgm},
                 shape);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind)) << kernel.error.message;
  const std::string clone = kernel.apply();
  ASSERT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
  const Text text = text_of(clone);
  const uint32_t off = 0xbf108080, again = 0xbf10805b /* s_setvskip s91, 0 */,
                 reads = 0xb8800701 | 91 << 16; // s_getreg_b32 s91, hwreg(MODE, 28, 1)
  size_t offs = 0, agains = 0, reads_of = 0;
  for (size_t at = 0; at < text.dwords; ++at) {
    uint32_t dword;
    memcpy(&dword, &clone[text.at + at * 4], 4);
    if (dword != off && dword != again && dword != reads)
      continue;
    std::string changed = clone;
    memcpy(&changed[text.at + at * 4], &s_nop, 4);
    EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << std::hex << dword << " at " << at;
    offs += dword == off;
    agains += dword == again;
    reads_of += dword == reads;
  }
  EXPECT_EQ(agains, 1u); // a barrier
  EXPECT_EQ(offs, 2u);   // and at the end
  EXPECT_EQ(reads_of, 2u);
}

// So it is before the first instruction, where a loop comes back to it that skips.
TEST(ProbeDamaged, SkipsBackToTheFirst)
{
  Written::Shape shape;
  shape.sgprs = 112;
  std::vector<uint32_t> code = all_sgprs({91, 97});
  code.push_back(0xbf108081); // s_setvskip 1, 0
  code.push_back(branch(4 /* s_cbranch_scc0 */, -static_cast<int>(code.size()) - 1));
  code.push_back(s_endpgm);
  Written kernel(code, shape);
  for (uint32_t kinds : {uint32_t(RAWHAL_PROBE_BLOCKS), every_kind}) {
    ASSERT_EQ(RAWHAL_OK, kernel.plan(kinds)) << kernel.error.message;
    const std::string clone = kernel.apply();
    ASSERT_EQ(RAWHAL_OK, kernel.verify(clone)) << kernel.error.message;
    const Text text = text_of(clone);
    size_t skips = 0;
    for (size_t at = 0; at < text.dwords; ++at) {
      uint32_t dword;
      memcpy(&dword, &clone[text.at + at * 4], 4);
      if (dword == code[0])
        break;
      if (dword != 0xbf108080 && dword != 0xbf10805b) // s_setvskip 0, 0; and s91, 0
        continue;
      std::string changed = clone;
      memcpy(&changed[text.at + at * 4], &s_nop, 4);
      EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << std::hex << dword << " at " << at;
      ++skips;
    }
    EXPECT_EQ(skips, kinds == every_kind ? 4u : 2u); // lanes, too
  }
}

// A record's place is that of the number that there is room for, not of one that was taken before it.
TEST(ProbeDamaged, TwoNumbers)
{
  Written::Shape shape;
  shape.flags = Written::gfx942;
  shape.sgprs = 32;
  Written kernel({s_endpgm}, shape);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES, RAWHAL_PROBE_KEEP_IN_SCRATCH))
      << kernel.error.message;
  const std::string clone = kernel.apply();
  const uint32_t at = kernel.info()->argument_offset, wait = 0xbf8cc07f;
  const auto code_of = [&](bool again) {
    std::vector<uint32_t> made = {0xc00a0100, at,                           // s_load_dwordx4 s[4:7]
                                  0xc0060200, at + 16,    wait,             // s_load_dwordx2 s[8:9]
                                  0xbe8a0081, 0xc20b0282, 0,          wait, // s_atomic_add s10
                                  0xd28a0001, 0x0001400a, 0xbefe01c1,       // v_writelane_b32 v1
                                  0xdc704000, 0x007f0100};                  // scratch_store_dword
    if (again)
      made.insert(made.end(), {0xbe8a0081, 0xc20b0282, 0, wait});
    made.insert(made.end(), {0xbf09080a, branch(5 /* s_cbranch_scc1 */, 11), // s_cmp_ge_u32 s10, s8
                             0xdc504000, 0x017f0000, 0xbf8c0f70,       // scratch_load_dword v1
                             0xd289000a, 0x00014101,                   // v_readlane_b32 s10
                             0x8e0b860a, 0x800c0b04, 0x820d8005,       // its address
                             0xc0460386, 0x40, 0xbf800000, s_endpgm}); // s_store_dwordx2
    std::string changed = clone;
    memcpy(&changed[text_of(clone).at], made.data(), made.size() * 4);
    return changed;
  };
  EXPECT_EQ(RAWHAL_OK, kernel.verify(code_of(false))) << kernel.error.message;
  EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(code_of(true)));
}

// Whatever bit is turned, there is an answer; and waits that something needs are not left out.
TEST(ProbeDamaged, BitsAndWaits)
{
  Written kernel(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY, RAWHAL_PROBE_KEEP_IN_LANES));
  const std::string clone = kernel.apply();
  const Text text = text_of(clone);
  size_t waits = 0, refused = 0;
  for (size_t at = 0; at < text.dwords; ++at) {
    std::string changed = clone;
    changed[text.at + at * 4 + at % 4] ^= char(1 << at % 8);
    (void)!kernel.verify(changed);
    uint32_t dword;
    memcpy(&dword, &clone[text.at + at * 4], 4);
    if (dword != 0xbf8cc07f)
      continue;
    changed = clone;
    memcpy(&changed[text.at + at * 4], &s_nop, 4);
    ++waits;
    refused += kernel.verify(changed) != RAWHAL_OK;
  }
  EXPECT_GT(waits, 6u);
  EXPECT_GE(refused * 2, waits); // two that are neighbours stand in for each other
}

// What is loaded is waited for where that is done, as no probe after it waits.
TEST(ProbeDamaged, LoadsAreWaitedFor)
{
  Written kernel({s_barrier, branch(s_cbranch_scc0, 0), s_barrier, s_endpgm});
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_EDGES));
  const std::string clone = kernel.apply();
  const auto expect_refused = [&](const std::vector<uint32_t> &from,
                                  const std::vector<uint32_t> &to) {
    std::string changed = clone;
    const std::string bytes(reinterpret_cast<const char *>(from.data()), from.size() * 4);
    const size_t at = clone.find(bytes, text_of(clone).at);
    ASSERT_NE(std::string::npos, at);
    memcpy(&changed[at], to.data(), to.size() * 4);
    EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed));
  };
  expect_refused({0xbf8cc07f}, {s_nop});
  expect_refused({0xc28a0182, 64}, {0xc0940200, 0}); // s_atomic_add_x2 s[6:7]; s_memrealtime s[8:9]
}

// What scalar memory reads and writes is where it belongs, and the kernel's own waits are there.
TEST(ProbeDamaged, PlacesAndWaits)
{
  Written kernel(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind));
  const std::string clone = kernel.apply();
  const Text text = text_of(clone);
  size_t places = 0, waits = 0;
  for (size_t at = 0; at < text.dwords;) {
    code_t one;
    ASSERT_TRUE(code_decode(clone.data() + text.at + at * 4, text.dwords - at, &one));
    std::string changed = clone;
    if (one.format == CODE_SMEM && one.dword[0] >> 17 & 1) { // with an offset
      const uint32_t beyond = one.dword[1] + 0x1000;
      memcpy(&changed[text.at + at * 4 + 4], &beyond, 4);
      EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at;
      ++places;
    } else if (one.dword[0] == 0xbf8c0f70 || one.dword[0] >> 16 == 0xbf85) { // s_waitcnt vmcnt(0);
      memcpy(&changed[text.at + at * 4], &s_nop, 4); // and where there is no room, s_cbranch_scc1
      EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at;
      ++waits;
    }
    at += one.dwords;
  }
  EXPECT_GT(places, 20u);
  EXPECT_EQ(1u + 2, waits); // twice of the wave
}

// Events go to a buffer that ends where their memory does.
TEST(ProbeDamaged, Resources)
{
  Written kernel(code);
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)}) {
    ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY, flags));
    const std::string clone = kernel.apply();
    const Text text = text_of(clone);
    size_t tried = 0;
    for (size_t at = 0; at < text.dwords;) {
      code_t one;
      ASSERT_TRUE(code_decode(clone.data() + text.at + at * 4, text.dwords - at, &one));
      const bool is_size = one.dword[0] >> 23 == 0x124 && !tried, // s_mul_i32
          is_last = one.dwords == 2 && one.dword[1] == 0x27000;
      if (is_size || is_last) {
        std::string changed = clone;
        for (uint32_t i = 0; i < one.dwords; ++i)
          memcpy(&changed[text.at + (at + i) * 4], &s_nop, 4);
        EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at;
        changed = clone;
        changed[text.at + at * 4 + 5] ^= 0x20;
        EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at;
        ++tried;
      }
      at += one.dwords;
    }
    EXPECT_EQ(2u, tried);
  }
}

TEST(ProbeDamaged, BranchesLeadElsewhere)
{
  Written kernel(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_BLOCKS));
  const std::string clone = kernel.apply();
  const Text text = text_of(clone);
  size_t tried = 0;
  for (size_t at = 0; at < text.dwords; ++at) {
    uint32_t dword;
    memcpy(&dword, &clone[text.at + at * 4], 4);
    for (uint32_t op : {s_cbranch_scc0, s_cbranch_vccnz})
      for (int dwords : {-1, 0})
        if (dword >> 16 == branch(op, 0) >> 16) {
          std::string changed = clone;
          const uint32_t other = branch(op, dwords);
          memcpy(&changed[text.at + at * 4], &other, 4);
          EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(changed)) << at << ": " << dwords;
          ++tried;
        }
  }
  EXPECT_EQ(4u, tried);
}

TEST(ProbeDamaged, DescriptorsAndOthersCode)
{
  Written kernel(code), other({s_endpgm});
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind));
  ASSERT_EQ(RAWHAL_OK, other.plan(every_kind));
  const std::string clone = kernel.apply();
  EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(other.apply()));
  EXPECT_EQ(RAWHAL_MALFORMED, other.verify(clone));
  Written shorter({s_barrier, s_endpgm}), longer({s_barrier, s_trap, s_endpgm});
  ASSERT_EQ(RAWHAL_OK, shorter.plan(every_kind));
  EXPECT_EQ(RAWHAL_MALFORMED, longer.verify(shorter.apply()));
  EXPECT_TRUE(strstr(longer.error.message, "is not an instruction that probes are made of"))
      << longer.error.message;
  for (size_t size = 0; size < clone.size(); size += 97)
    EXPECT_NE(RAWHAL_OK, kernel.verify(clone.substr(0, size))) << size;
}

// Each failed allocation is said, and leaves nothing.
TEST(ProbeDamaged, NoMemory)
{
  Written kernel(code);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(every_kind));
  const std::string clone = kernel.apply();
  for (long allowed = 0; allowed < 1000; ++allowed) {
    Allocator own;
    rawhal_hsaco_options_t options = {};
    options.size = sizeof(options);
    options.allocator = own.hook();
    rawhal_hsaco_t *hsaco = nullptr;
    ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(kernel.bytes().data(), kernel.bytes().size(), &options,
                                           &hsaco, nullptr));
    const rawhal_kernel_t *one = rawhal_hsaco_kernel(hsaco, 0);
    const size_t before = own.live();
    rawhal_probe_spec_t spec = {};
    rawhal_probe_plan_t *plan = nullptr;
    rawhal_bytes_t bytes = {};
    rawhal_error_t error = {};
    spec.size = sizeof(spec);
    spec.kinds = every_kind;
    own.left = allowed;
    rawhal_status_t status = rawhal_probe_plan(one, &spec, &plan, &error);
    EXPECT_EQ(status == RAWHAL_OK, plan != nullptr);
    if (status == RAWHAL_OK) {
      status = rawhal_probe_apply(plan, 0, &bytes, &error);
      EXPECT_EQ(status == RAWHAL_OK, bytes.data != nullptr);
      rawhal_probe_free(plan, &bytes);
    }
    if (status == RAWHAL_OK)
      status = rawhal_probe_verify(one, clone.data(), clone.size(), 0, &error);
    own.left = -1;
    rawhal_probe_plan_destroy(plan);
    EXPECT_EQ(before, own.live());
    rawhal_hsaco_close(hsaco);
    if (!own.refused) {
      EXPECT_EQ(RAWHAL_OK, status) << error.message;
      EXPECT_GT(allowed, 10);
      return;
    }
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << allowed << ": " << error.message;
  }
  ADD_FAILURE() << "no end";
}
