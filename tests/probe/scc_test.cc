// What scalar instructions do with SCC, as softgpu runs them, beside what probes take for granted of them.
#include "tests/probe/probed.h"
#include "tests/probe/written.h"

extern "C" {
#include "probe/code.h"
}

namespace {

constexpr uint32_t to = 12, a = 14, b = 16, left = 20; // pairs; and four that are stored

struct Op {
  uint32_t dword;
  const char *format;
  uint32_t op;
};

std::vector<Op> all_ops()
{
  std::vector<Op> ops;
  const auto add = [&](const char *format, uint32_t first, uint32_t last, uint32_t shift,
                       uint32_t rest) {
    for (uint32_t op = first; op <= last; ++op)
      ops.push_back({rest | op << shift, format, op});
  };
  const uint32_t sop2 = 0x80000000 | to << 16 | b << 8 | a, sop1 = 0xbe800000 | to << 16 | a,
                 sopc = 0xbf000000 | b << 8 | a, sopk = 0xb0000000 | to << 16 | 0x1234;
  add("SOP2", 0x00, 0x28, 23, sop2); // without what branches
  add("SOP2", 0x2a, 0x2a, 23, sop2);
  add("SOP2", 0x2c, 0x34, 23, sop2);
  add("SOP1", 0x00, 0x1b, 8, sop1); // without s_getpc and its like, and what is relative to M0
  add("SOP1", 0x20, 0x29, 8, sop1);
  add("SOP1", 0x30, 0x30, 8, sop1);
  add("SOP1", 0x33, 0x37, 8, sop1);
  add("SOPC", 0x00, 0x0f, 16, sopc); // without what changes modes
  add("SOPC", 0x12, 0x13, 16, sopc);
  add("SOPK", 0x00, 0x0f, 23, sopk);
  ops.push_back({0xb0000000 | 0x11 << 23 | to << 16 | 2 | 31 << 11, "s_getreg of STATUS", 0x11});
  ops.push_back({0xb0000000 | 0x11 << 23 | to << 16 | 4 | 31 << 11, "s_getreg of HW_ID", 0x11});
  ops.push_back({0xbe800000 | to << 16 | CODE_SCC, "s_mov_b32 of SCC", 0});
  return ops;
}

// Operands with which SCC, and what it does to a result, differ.
const uint32_t operands[][4] = {
    {0, 0, 0, 0}, {UINT32_MAX, UINT32_MAX, 0, 0}, {5, 7, 3, 0}, {0x80000000, 1, 0x7fffffff, 9}};
constexpr size_t tries = sizeof(operands) / sizeof(operands[0]);

struct Left {
  uint32_t low, high, scc, zero;
};

std::vector<uint32_t> code_of(const std::vector<Op> &ops)
{
  std::vector<uint32_t> code = {0xc0060100, 0, 0xbf8cc07f}; // s_load_dwordx2 s[4:5], s[0:1], 0
  uint32_t at = 0;
  for (const Op &op : ops)
    for (const uint32_t *values : operands)
      for (uint32_t scc : {0u, 1u}) {
        for (uint32_t i = 0; i < 4; ++i)
          code.insert(code.end(), {0xbe8000ff | (a + i) << 16, values[i]});
        code.insert(code.end(),
                    {0xbefe01c1, 0xbe800180 | to << 16,       // s_mov_b64 exec, -1
                     scc ? 0xbf068080 : 0xbf078080,           // s_cmp_eq, s_cmp_lg 0, 0
                     op.dword, 0x85008081 | (left + 2) << 16, // s_cselect_b32 1, 0
                     0xbe800000 | left << 16 | to, 0xbe800000 | (left + 1) << 16 | (to + 1),
                     0xc04a0002 | left << 6, at, 0xbf8cc07f}); // s_store_dwordx4
        at += sizeof(Left);
      }
  code.insert(code.end(), {0xc0840000, 0, s_endpgm}); // s_dcache_wb
  return code;
}

} // namespace

using ProbeScc = ProbedTest;

TEST_F(ProbeScc, IsReadAndWrittenAsProbesTakeIt)
{
  const std::vector<Op> ops = all_ops();
  Written::Shape shape;
  shape.sgprs = 32;
  Written written(code_of(ops), shape);
  const std::vector<char> object(written.bytes().begin(), written.bytes().end());
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(rawhal_executable_kernel(load(object), rawhal_string("written"), 0, &kernel, &error));
  rawhal_buffer_t *out = buffer(ops.size() * tries * 2 * sizeof(Left));
  Blob blob;
  blob.add(rawhal_buffer_address(out));
  blob.bytes.resize(rawhal_device_kernel_info(kernel)->kernel->kernarg_segment_size);
  ASSERT_OK(run(queue(), dispatch_of(kernel, 1, 1, blob)));
  const std::vector<Left> all = download<Left>(out, ops.size() * tries * 2);

  for (size_t i = 0; i < ops.size(); ++i) {
    SCOPED_TRACE(testing::Message() << ops[i].format << " 0x" << std::hex << ops[i].op);
    code_t code;
    ASSERT_TRUE(code_decode(&ops[i].dword, 1, &code));
    const uint8_t scc = code_scc(&code);
    bool keeps = true, depends = false, reads = false;
    for (size_t t = 0; t < tries; ++t) {
      const Left *without = &all[(i * tries + t) * 2], *with = without + 1;
      keeps &= without->scc == 0 && with->scc == 1;
      depends |= without->scc != with->scc;
      reads |= without->low != with->low || without->high != with->high;
    }
    EXPECT_EQ(!(scc & CODE_WRITES_SCC), keeps);
    EXPECT_EQ((scc & CODE_READS_SCC) != 0, reads);
    EXPECT_FALSE(depends && (scc & CODE_WRITES_SCC) && !(scc & CODE_READS_SCC));
  }
}
