#include "tests/probe/twin_plan.h"

#include "tests/assert_ok.h"

TwinPlan::TwinPlan(const rawhal_dispatch_t &dispatch, uint32_t kinds, uint32_t flags)
{
  const rawhal_device_kernel_info_t *kernel = rawhal_device_kernel_info(dispatch.kernel);
  original = kernel->kernel;
  load_delta = kernel->kernel_object - original->descriptor->address;
  rawhal_probe_spec_t spec = {};
  spec.size = sizeof spec;
  spec.kinds = kinds;
  spec.flags = flags;
  if (rawhal_probe_plan(original, &spec, &plan, &error) != RAWHAL_OK)
    plan = nullptr;
}

TwinPlan::~TwinPlan()
{
  rawhal_executable_destroy(executable);
  rawhal_probe_plan_destroy(plan);
}

void TwinPlan::load(rawhal_device_t *device)
{
  rawhal_bytes_t bytes = {};
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_probe_apply(plan, load_delta, &bytes, &error));
  EXPECT_OK(rawhal_probe_verify(original, bytes.data, bytes.size, load_delta, &error));
  EXPECT_OK(rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, &error));
  if (hsaco)
    EXPECT_OK(rawhal_executable_load(device, hsaco, &executable, &error));
  if (executable)
    EXPECT_OK(rawhal_executable_kernel(executable, original->name, 0, &copy, &error));
  rawhal_hsaco_close(hsaco);
  rawhal_probe_free(plan, &bytes);
}

// By halves, as instructions are in their order; what is put before one counts as its own.
uint32_t TwinPlan::place_in_copy(uint32_t place) const
{
  rawhal_error_t none;
  uint32_t found = 0;
  bool is_probe = false;
  const auto is_before = [&](uint32_t dword) {
    return rawhal_probe_origin(plan, uint64_t{dword} * 4, &found, &is_probe, &none) == RAWHAL_OK &&
           found < place;
  };
  uint32_t low = 0, high = 1;
  while (is_before(high))
    low = high, high *= 2;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (is_before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  while (rawhal_probe_origin(plan, uint64_t{low} * 4, &found, &is_probe, &none) == RAWHAL_OK &&
         is_probe)
    ++low;
  EXPECT_EQ(found, place);
  return low * 4;
}

std::vector<rawhal_probe_point_t> TwinPlan::in_copy(std::map<uint32_t, uint32_t> *back) const
{
  std::vector<rawhal_probe_point_t> points;
  uint32_t last = UINT32_MAX, place = 0;
  for (size_t i = 0; i < info()->point_count; ++i) {
    rawhal_probe_point_t point = info()->points[i];
    if (point.action == RAWHAL_PROBE_PASSED)
      continue;
    if (point.offset != last)
      place = place_in_copy(last = point.offset);
    (*back)[place] = point.offset;
    point.offset = place;
    points.push_back(point);
  }
  return points;
}
