// What a dispatch may be, against the rules one by one: most dispatches are let through by a few
// comparisons with bounds that were computed when the kernel was loaded, and none of them may be
// one that a rule forbids.
#include "check_shim.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/kernarg/kernel_builder.h"

extern "C" {
#include "tests/kernarg/naive.h"
}

using namespace kernarg_test;

namespace {

std::mt19937_64 engine(20);

uint32_t below(uint32_t bound)
{
  return static_cast<uint32_t>(engine() % bound);
}

bool one_in(uint32_t chances)
{
  return below(chances) == 0;
}

// Around a limit, or anything up to twice as much.
uint32_t near(uint64_t limit)
{
  return static_cast<uint32_t>(one_in(3) ? limit - 1 + below(3) : engine() % (2 * limit + 2));
}

shim_device_t make_device()
{
  shim_device_t device = {};
  device.lds_bytes = one_in(8) ? below(4096) : 65536;
  device.max_workgroup_size = one_in(4) ? 1 + below(1024) : 1024;
  for (int d = 0; d < 3; ++d) {
    device.max_workgroup_dim[d] = static_cast<uint16_t>(one_in(4) ? 1 + below(1024) : 1024);
    device.max_grid_dim[d] = one_in(2) ? 1 + below(5000) : UINT32_MAX;
  }
  device.processor = one_in(2) ? "gfx90a" : nullptr;
  return device;
}

// What the kernel itself demands; most demand nothing.
void make_demands(rawhal_kernel_t *facts, const shim_device_t &device)
{
  facts->max_flat_workgroup_size = one_in(2) ? 1 + below(1024) : 0;
  facts->uniform_work_group_size = one_in(3);
  bool required = one_in(4), counted = one_in(8);
  for (int d = 0; d < 3; ++d) {
    facts->reqd_workgroup_size[d] = required ? 1 + below(one_in(3) ? 2000 : 8) : 0;
    facts->max_num_workgroups[d] = counted ? 1 + below(10) : 0;
  }
  facts->group_segment_fixed_size = one_in(2) ? 0 : near(device.lds_bytes);
}

rawhal_dispatch_t make_dispatch(const rawhal_kernel_t &facts, const shim_device_t &device,
                                const naive_layout_t &layout, const std::vector<char> &bytes)
{
  rawhal_dispatch_t dispatch = {};
  for (int d = 0; d < 3; ++d) {
    uint32_t group = one_in(2) ? 1 + below(8) : one_in(6) ? near(device.max_workgroup_dim[d]) : 1;
    if (facts.reqd_workgroup_size[d] && !one_in(8))
      group = facts.reqd_workgroup_size[d];
    dispatch.workgroup[d] = static_cast<uint16_t>(one_in(40) ? 0 : group);
    uint32_t grid = one_in(8) ? near(device.max_grid_dim[d]) : below(2000);
    if (group && !one_in(4))
      grid = grid / group * group;
    dispatch.work_items[d] = one_in(40) ? 0 : grid;
  }
  uint32_t rest = device.lds_bytes > facts.group_segment_fixed_size
                      ? device.lds_bytes - facts.group_segment_fixed_size
                      : 0;
  dispatch.dynamic_lds = one_in(2) ? 0 : one_in(20) ? UINT32_MAX : near(rest);
  dispatch.flags = one_in(4) ? below(16) : one_in(20) ? 1u << below(32) : 0;
  dispatch.blob = one_in(10) ? nullptr : bytes.data();
  dispatch.blob_size = one_in(8)   ? below(static_cast<uint32_t>(bytes.size()))
                       : one_in(2) ? layout.effective_size
                                   : layout.explicit_end;
  return dispatch;
}

// Whether a gfx90a's compute unit holds so many waves at once: four SIMDs of 512 VGPRs and 800 SGPRs, which are given
// out in units of 8 and 16, and of 8 waves.
bool holds(uint64_t waves, uint32_t vgprs, uint32_t sgprs)
{
  uint64_t of_simd = 0;
  while (of_simd < 8 && (of_simd + 1) * ((vgprs + 7) / 8 * 8) <= 512 &&
         (of_simd + 1) * ((sgprs + 15) / 16 * 16) <= 800)
    ++of_simd;
  return waves <= 4 * of_simd;
}

// The rules of queue.h and kernarg.h, one by one.
bool allowed(const rawhal_kernel_t &facts, const shim_device_t &device, bool elsewhere,
             const naive_layout_t &layout, const rawhal_dispatch_t &dispatch)
{
  uint32_t known = RAWHAL_DISPATCH_CLAMP | RAWHAL_DISPATCH_KEEP_HIDDEN | RAWHAL_DISPATCH_OVERLAP |
                   RAWHAL_DISPATCH_AGENT_SCOPE;
  if (elsewhere || dispatch.flags & ~known || (!dispatch.blob && dispatch.blob_size))
    return false;
  uint64_t flat = 1;
  for (int d = 0; d < 3; ++d) {
    uint64_t grid = dispatch.work_items[d], group = dispatch.workgroup[d];
    if (!grid || !group || group > device.max_workgroup_dim[d] || grid > device.max_grid_dim[d])
      return false;
    if (facts.reqd_workgroup_size[d] && group != facts.reqd_workgroup_size[d])
      return false;
    if (facts.uniform_work_group_size && grid % group)
      return false;
    if (facts.max_num_workgroups[d] && (grid + group - 1) / group > facts.max_num_workgroups[d])
      return false;
    flat *= group;
  }
  if (flat > device.max_workgroup_size ||
      (facts.max_flat_workgroup_size && flat > facts.max_flat_workgroup_size))
    return false;
  const uint64_t lanes = facts.wavefront_size ? facts.wavefront_size : 64;
  if (device.processor && facts.descriptor &&
      !holds((flat + lanes - 1) / lanes, facts.descriptor->vgpr_count,
             facts.descriptor->sgpr_count))
    return false;
  if (uint64_t{facts.group_segment_fixed_size} + dispatch.dynamic_lds > device.lds_bytes)
    return false;
  uint32_t clamp = dispatch.flags & RAWHAL_DISPATCH_CLAMP ? RAWHAL_KERNARG_CLAMP : 0;
  if (naive_check(&layout, dispatch.blob_size, clamp) != RAWHAL_OK)
    return false;
  rawhal_launch_t launch = {};
  for (int d = 0; d < 3; ++d) {
    launch.work_items[d] = dispatch.work_items[d];
    launch.workgroup[d] = dispatch.workgroup[d];
  }
  launch.dynamic_lds = dispatch.dynamic_lds;
  return naive_launch(&facts, &launch) == RAWHAL_OK;
}

TEST(Check, LetsThroughWhatEveryRuleAllowsAndNothingElse)
{
  int let_through = 0, refused = 0;
  for (int k = 0; k < 10000; ++k) {
    shim_device_t device = make_device();
    Kernel kernel(one_in(8) ? 0 : 32);
    if (!one_in(8))
      AddVectorAdd(kernel);
    if (one_in(3))
      AddHiddenV5(kernel, 32);
    if (one_in(6)) // narrower than its value
      kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 300, 2);
    else if (one_in(6))
      kernel.NoArguments();
    rawhal_kernel_t *facts = kernel.facts();
    if (!facts->has_arguments)
      facts->argument_count = 0;
    make_demands(facts, device);
    rawhal_descriptor_t descriptor = {};
    descriptor.vgpr_count = one_in(2) ? below(64) : below(530);
    descriptor.sgpr_count = below(128);
    facts->descriptor = one_in(4) ? nullptr : &descriptor;
    Layout layout;
    rawhal_kernarg_layout_t *made = nullptr;
    rawhal_error_t error = {};
    ASSERT_EQ(rawhal_kernarg_layout_create(facts, 0, &made, &error), RAWHAL_OK) << error.message;
    layout.reset(made);
    naive_layout_t naive = naive_compile(facts, 0);
    std::vector<char> bytes(naive.effective_size + 64);
    rawhal_device_kernel_info_t info = {};
    info.kernel = facts;
    info.layout = made;
    info.group_segment_size = facts->group_segment_fixed_size;
    for (int i = 0; i < 50; ++i) {
      rawhal_dispatch_t dispatch = make_dispatch(*facts, device, naive, bytes);
      bool elsewhere = one_in(50);
      uint32_t blocks = 0;
      error = {};
      rawhal_status_t status = shim_check(&device, &info, elsewhere, &dispatch, &blocks, &error);
      bool right = allowed(*facts, device, elsewhere, naive, dispatch);
      ASSERT_EQ(status == RAWHAL_OK, right)
          << error.message << "; kernel " << k << ", dispatch " << i;
      if (right)
        ASSERT_EQ(blocks, naive.image_size / 64);
      else
        ASSERT_STRNE(error.message, "");
      ++(right ? let_through : refused);
    }
  }
  EXPECT_GT(let_through, 50000);
  EXPECT_GT(refused, 50000);
}

} // namespace
