// What is recorded of a dispatch's kernel, and a copy of it that does so itself.
#ifndef RAWHAL_TESTS_PROBE_TWIN_PLAN_H
#define RAWHAL_TESTS_PROBE_TWIN_PLAN_H

#include <rawhal/probe.h>
#include <rawhal/rawhal.h>

#include <map>
#include <vector>

struct TwinPlan {
  TwinPlan(const rawhal_dispatch_t &dispatch, uint32_t kinds, uint32_t flags);
  TwinPlan(const TwinPlan &) = delete;
  ~TwinPlan();
  const rawhal_probe_plan_info_t *info() const { return rawhal_probe_plan_info(plan); }

  // Makes the copy, holds it against the original, and loads it. Expectations fail where that does.
  void load(rawhal_device_t *device);

  // The points at the same instructions of the copy, but for what is recorded behind an instruction; and from their places back.
  std::vector<rawhal_probe_point_t> in_copy(std::map<uint32_t, uint32_t> *back) const;

  const rawhal_kernel_t *original;
  uint64_t load_delta;                 // of its object
  rawhal_probe_plan_t *plan = nullptr; // NULL: it is refused, and
  rawhal_error_t error = {};           // why
  rawhal_executable_t *executable = nullptr;
  const rawhal_device_kernel_t *copy = nullptr;

private:
  uint32_t place_in_copy(uint32_t place) const;
};

#endif
