// Kernels written down instruction by instruction, and what comes of probing them. Nothing of it runs.
#ifndef RAWHAL_TESTS_PROBE_WRITTEN_H
#define RAWHAL_TESTS_PROBE_WRITTEN_H

#include <rawhal/probe.h>

#include "tests/hsaco/builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

// s_mov_b32, v_mov_b32 and v_accvgpr_write_b32 of all, but for some.
using Left = std::set<uint32_t>;
inline std::vector<uint32_t> all_sgprs(const Left &left = {})
{
  std::vector<uint32_t> code;
  for (uint32_t i = 0; i < 102; ++i)
    if (!left.count(i))
      code.push_back(0xbe800080 | i << 16);
  return code;
}
inline std::vector<uint32_t> all_vgprs(const Left &left = {})
{
  std::vector<uint32_t> code;
  for (uint32_t i = 0; i < 256; ++i)
    if (!left.count(i))
      code.push_back(0x7e000280 | i << 17);
  for (uint32_t i = 0; i < 256; ++i)
    code.insert(code.end(), {0xd3d94000 | i, 0x18000080});
  return code;
}
inline std::vector<uint32_t> operator+(std::vector<uint32_t> a, const std::vector<uint32_t> &b)
{
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What leaves nothing of a wave's registers: each of them is written, vectors are skipped, and no lane is active.
inline std::vector<uint32_t> everything()
{
  std::vector<uint32_t> code = all_sgprs() + all_vgprs();
  code.insert(code.end(), {0xbeea0180, 0xbefc0080, 0xbf108081, 0xbefe0180, // VCC, M0, VSKIP, EXEC
                           0xbf810000});
  return code;
}

// One kernel of an object: with its arguments in s[0:1] and the work-group in s2.
class Written {
public:
  struct Shape {
    uint32_t flags = 0x53f; // gfx90a
    uint32_t sgprs = 16, vgprs = 8, accum = 4;
    uint32_t preloaded = 0; // dwords
    uint32_t scratch = 0;   // bytes for each work-item
    bool has_scratch = false;
    bool documented = true;
    uint32_t entry = 0;             // bytes before the first instruction
    std::vector<int64_t> relocated; // places that the loader changes, bytes from that
  };
  static constexpr uint32_t gfx942 = 0x54c, gfx950 = 0x54f;

  explicit Written(const std::vector<uint32_t> &code) : Written(code, Shape()) {}
  Written(const std::vector<uint32_t> &code, const Shape &shape)
  {
    object_.flags = shape.flags;
    object_.kernels = {build::plain_kernel("written")};
    object_.more_code = code.size() * 4;
    if (!shape.documented)
      object_.notes = {build::pack_metadata({})};
    object_.build();
    for (int64_t place : shape.relocated) // R_AMDGPU_RELATIVE64
      object_.relocations.push_back(
          {object_.text + shape.entry + static_cast<uint64_t>(place), 13, 0});
    object_.build();
    object_.set<uint64_t>(object_.rodata + 16, object_.text + shape.entry - object_.rodata);
    memcpy(&object_.bytes[object_.text], code.data(), code.size() * 4);
    const uint32_t user = 2 + shape.preloaded;
    object_.set<uint32_t>(object_.rodata + 44, shape.accum / 4 - 1);
    object_.set<uint32_t>(object_.rodata + 48,
                          (shape.vgprs / 8 - 1) | (shape.sgprs / 16 - 1) * 2 << 6);
    object_.set<uint32_t>(object_.rodata + 4, shape.scratch);
    object_.set<uint32_t>(object_.rodata + 52, user << 1 | 1 << 7 | shape.has_scratch);
    object_.set<uint16_t>(object_.rodata + 56, 8);
    object_.set<uint16_t>(object_.rodata + 58, static_cast<uint16_t>(shape.preloaded));
    EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(object_.bytes.data(), object_.bytes.size(), nullptr,
                                           &hsaco_, &error))
        << error.message;
  }
  ~Written()
  {
    rawhal_probe_plan_destroy(plan_);
    rawhal_hsaco_close(hsaco_);
  }
  Written(const Written &) = delete;

  const std::string &bytes() const { return object_.bytes; }
  const rawhal_kernel_t *kernel() const { return rawhal_hsaco_kernel(hsaco_, 0); }
  const rawhal_probe_plan_info_t *info() const { return rawhal_probe_plan_info(plan_); }

  rawhal_status_t plan(uint32_t kinds, uint32_t flags = 0)
  {
    rawhal_probe_spec_t spec = {};
    spec.size = sizeof(spec);
    spec.kinds = kinds;
    spec.flags = flags;
    rawhal_probe_plan_destroy(plan_);
    return rawhal_probe_plan(kernel(), &spec, &plan_, &error);
  }

  // What apply gives; empty when there is an error.
  std::string apply(uint64_t load_delta = 0x7f0000000000)
  {
    rawhal_bytes_t bytes = {};
    std::string copy;
    if (rawhal_probe_apply(plan_, load_delta, &bytes, &error) == RAWHAL_OK)
      copy.assign(static_cast<const char *>(bytes.data), bytes.size);
    rawhal_probe_free(plan_, &bytes);
    return copy;
  }
  rawhal_status_t origin(uint64_t offset, uint32_t *original, bool *is_probe)
  {
    return rawhal_probe_origin(plan_, offset, original, is_probe, &error);
  }
  rawhal_status_t verify(const std::string &clone, uint64_t load_delta = 0x7f0000000000)
  {
    return rawhal_probe_verify(kernel(), clone.data(), clone.size(), load_delta, &error);
  }

  rawhal_error_t error = {};

private:
  build::Object object_;
  rawhal_hsaco_t *hsaco_ = nullptr;
  rawhal_probe_plan_t *plan_ = nullptr;
};

constexpr uint32_t every_kind = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES |
                                RAWHAL_PROBE_EXEC | RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_BARRIERS;

constexpr uint32_t s_endpgm = 0xbf810000, s_nop = 0xbf800000, s_barrier = 0xbf8a0000,
                   s_trap = 0xbf920002;
constexpr uint32_t branch(uint32_t op, int dwords) // from the instruction after it
{
  return 0xbf800000 | op << 16 | (static_cast<uint32_t>(dwords) & 0xffff);
}
constexpr uint32_t s_branch = 2, s_cbranch_scc0 = 4, s_cbranch_vccnz = 7;

#endif
