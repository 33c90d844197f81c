// Kernels whose code is laid out in other ways than one behind the other: what stands before it, what it shares, where it
// ends, and what the loader changes in it.
#include "tests/probe/written.h"

namespace {

constexpr uint32_t preamble_dwords = 64; // what loads preloaded arguments, where hardware does not

// It goes on at the kernel's first instruction, which is behind it.
std::vector<uint32_t> preamble(uint32_t leads_to)
{
  std::vector<uint32_t> code = {0xc0060100, 0, 0xbf8cc07f}; // s_load_dwordx2 s[4:5], s[0:1], 0
  code.push_back(branch(s_branch, static_cast<int>(leads_to - code.size() - 1)));
  code.resize(preamble_dwords, s_nop);
  return code;
}

Written::Shape preloaded()
{
  Written::Shape made;
  made.preloaded = 2;
  return made;
}

void expect_probed(Written *kernel)
{
  for (uint32_t flags : {0u, uint32_t(RAWHAL_PROBE_KEEP_IN_LANES)})
    for (uint32_t kinds : {uint32_t(RAWHAL_PROBE_WAVES), every_kind}) {
      ASSERT_EQ(RAWHAL_OK, kernel->plan(kinds, flags)) << kernel->error.message;
      EXPECT_EQ(RAWHAL_OK, kernel->verify(kernel->apply())) << kernel->error.message;
    }
}

size_t count_of(const std::string &bytes, const std::vector<uint32_t> &code)
{
  const std::string wanted(reinterpret_cast<const char *>(code.data()), code.size() * 4);
  size_t count = 0;
  for (size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at + 4))
    ++count;
  return count;
}

} // namespace

// Hardware that preloads arguments enters behind what loads them; others run that first. It stays as it is.
TEST(ProbeShapes, PreloadedArguments)
{
  const std::vector<uint32_t> before = preamble(preamble_dwords),
                              body = {s_barrier, 0xdc508000, 0x02040001, s_endpgm};
  Written kernel(before + body, preloaded());
  expect_probed(&kernel);
  EXPECT_EQ(3u, kernel.info()->instructions);
  std::string clone = kernel.apply();
  EXPECT_EQ(1u, count_of(clone, before));
  const uint32_t first = before[0], other = s_nop;
  const size_t at = clone.find(std::string(reinterpret_cast<const char *>(&first), 4));
  ASSERT_NE(std::string::npos, at);
  memcpy(&clone[at], &other, 4);
  EXPECT_EQ(RAWHAL_MALFORMED, kernel.verify(clone));
  EXPECT_TRUE(strstr(kernel.error.message, "what stands before")) << kernel.error.message;
}

TEST(ProbeShapes, PreloadedArgumentsThatLeadElsewhere)
{
  for (uint32_t leads_to : {preamble_dwords + 1, 20u}) {
    Written kernel(preamble(leads_to) + std::vector<uint32_t>{s_nop, s_endpgm}, preloaded());
    EXPECT_EQ(RAWHAL_UNSUPPORTED, kernel.plan(every_kind));
    EXPECT_TRUE(strstr(kernel.error.message, "does not lead to it")) << kernel.error.message;
  }
  Written ends({s_endpgm}, preloaded());
  EXPECT_NE(RAWHAL_OK, ends.plan(every_kind));
}

// Two kernels end in one piece of code. Each copy has its own, and nothing of the other kernel.
TEST(ProbeShapes, SharedTail)
{
  constexpr uint32_t second = 64; // dwords
  const std::vector<uint32_t> ones = {0xbe8300ff, 0x11111111}, twos = {0xbe8300ff, 0x22222222},
                              tail = {s_barrier, 0xbe8300ff, 0x33333333, s_endpgm};
  std::vector<uint32_t> code = ones;
  code.push_back(branch(s_branch, second + 3 - 3)); // to the tail
  code.resize(second, s_trap);
  code = code + twos + std::vector<uint32_t>{branch(s_branch, 0)} + tail;
  Written::Shape behind;
  behind.entry = second * 4;
  Written a(code), b(code, behind);
  expect_probed(&a);
  expect_probed(&b);
  const std::string of_a = a.apply(), of_b = b.apply();
  EXPECT_EQ(1u, count_of(of_a, {0x33333333}));
  EXPECT_EQ(1u, count_of(of_b, {0x33333333}));
  EXPECT_EQ(1u, count_of(of_a, {0x11111111}));
  EXPECT_EQ(0u, count_of(of_a, {0x22222222}));
  EXPECT_EQ(0u, count_of(of_b, {0x11111111}));
  EXPECT_EQ(1u, count_of(of_b, {0x22222222}));
  EXPECT_EQ(RAWHAL_MALFORMED, a.verify(of_b));
}

// What the loader changes is not what was walked; elsewhere it may change what it likes.
TEST(ProbeShapes, RelocatedCode)
{
  constexpr uint32_t entry = 256;
  const std::vector<uint32_t> code = std::vector<uint32_t>(entry / 4, s_nop) +
                                     std::vector<uint32_t>{0xbe8300ff, 0, s_barrier, s_endpgm};
  const struct {
    int64_t place;
    bool refused;
  } cases[] = {{0, true}, {4, true}, {-7, true}, {8, true}, {15, true}, {16, false}, {-8, false}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.place);
    Written::Shape shape;
    shape.entry = entry;
    shape.relocated = {one.place};
    Written kernel(code, shape);
    EXPECT_EQ(one.refused ? RAWHAL_UNSUPPORTED : RAWHAL_OK, kernel.plan(every_kind))
        << kernel.error.message;
    EXPECT_EQ(one.refused, strstr(kernel.error.message, "has a relocation") != nullptr)
        << kernel.error.message;
  }
}

// There is no v256.
TEST(ProbeShapes, AnAddressBehindTheLastRegister)
{
  for (const uint32_t first : {254u, 255u}) {
    SCOPED_TRACE(first);
    // tbuffer_load_format_x v0, v[first:first+1], s[0:3], 0 idxen offen
    Written kernel({0xe8083000, 0x80000000 | first, s_endpgm});
    EXPECT_EQ(first == 255 ? RAWHAL_UNSUPPORTED : RAWHAL_OK, kernel.plan(RAWHAL_PROBE_MEMORY))
        << kernel.error.message;
    if (first == 255)
      EXPECT_TRUE(strstr(kernel.error.message, "behind v255")) << kernel.error.message;
    else
      EXPECT_EQ(RAWHAL_OK, kernel.verify(kernel.apply())) << kernel.error.message;
  }
}

// Each end has what ends a wave's record.
TEST(ProbeShapes, SeveralEnds)
{
  std::vector<uint32_t> code;
  for (int i = 0; i < 5; ++i)
    code.insert(code.end(), {branch(s_cbranch_scc0, 1), s_endpgm, s_barrier});
  code.push_back(s_endpgm);
  Written kernel(code);
  expect_probed(&kernel);
  ASSERT_EQ(RAWHAL_OK, kernel.plan(RAWHAL_PROBE_WAVES));
  EXPECT_EQ(6u, count_of(kernel.apply(), {s_endpgm}));
  EXPECT_EQ(6u, count_of(kernel.apply(), {0xc0840000, 0})); // s_dcache_wb
}
