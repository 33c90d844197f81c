/* An entry of Triton's cache against its code object, and on its way to a queue. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/near.h"
#include "library/triton/parts.h"

/* ---- The object ---- */

static rawhal_status_t check_target(const rawhal_hsaco_t *hsaco, rawhal_triton_kernel_t *entry,
                                    rawhal_error_t *error)
{
  const rawhal_target_t *target = &rawhal_hsaco_info(hsaco)->target;
  rawhal_target_t wanted;
  if (!entry->arch.size)
    return RAWHAL_OK;
  if (rawhal_target_parse(entry->arch, &wanted, NULL) == RAWHAL_OK
          ? !strcmp(wanted.processor, target->processor)
          : !strcmp(entry->arch.data, target->processor))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_TARGET_MISMATCH, "the JSON is for '%.*s', the object for '%s'",
                     RAWHAL_STRING_ARGS(entry->arch), target->processor);
}

static rawhal_status_t check_workgroup(const rawhal_kernel_t *kernel, rawhal_triton_kernel_t *entry,
                                       rawhal_error_t *error)
{
  const uint32_t *required = kernel->reqd_workgroup_size;
  uint32_t wave = kernel->wavefront_size;
  if (!entry->warp_size && !wave)
    return rawhal_fail(error, RAWHAL_MALFORMED, "neither the JSON nor the object has a warp_size");
  if (entry->warp_size && wave && entry->warp_size != wave)
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "'warp_size' is %" PRIu32 ", the kernel's waves have %" PRIu32,
                       entry->warp_size, wave);
  entry->warp_size = wave ? wave : entry->warp_size;
  entry->workgroup = entry->num_warps * entry->warp_size; /* at most 65,536: both are bounded */
  if (required[0] && (required[0] != entry->workgroup || required[1] != 1 || required[2] != 1))
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "'num_warps' is %" PRIu32 ": %" PRIu32
                       " work-items, the kernel requires %" PRIu32 "x%" PRIu32 "x%" PRIu32,
                       entry->num_warps, entry->workgroup, required[0], required[1], required[2]);
  if (kernel->max_flat_workgroup_size && entry->workgroup > kernel->max_flat_workgroup_size)
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "'num_warps' is %" PRIu32 ": %" PRIu32
                       " work-items, the kernel is for at most %" PRIu32,
                       entry->num_warps, entry->workgroup, kernel->max_flat_workgroup_size);
  return RAWHAL_OK;
}

/* Whether the pointers after the source's arguments are there. */
static rawhal_status_t check_scratch(const rawhal_kernel_t *kernel,
                                     const rawhal_triton_kernel_t *entry, rawhal_error_t *error)
{
  uint32_t left = kernel->has_arguments ? entry->scratch_pointers : 0, found = 0;
  for (uint32_t i = kernel->argument_count; i-- && found < left;) {
    const rawhal_argument_t *argument = &kernel->arguments[i];
    if (rawhal_argument_is_hidden(argument))
      continue;
    if (argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER || argument->size != 8)
      break;
    ++found;
  }
  if (found == left)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_MALFORMED,
                     "Triton '%.*s' puts %" PRIu32 " pointers after the arguments, the kernel "
                     "ends in %" PRIu32,
                     RAWHAL_STRING_ARGS(entry->triton_version), left, found);
}

static rawhal_string_t kernel_name(const void *hsaco, size_t number)
{
  return rawhal_hsaco_kernel(hsaco, number)->name;
}

static rawhal_status_t not_a_kernel(const rawhal_hsaco_t *hsaco, rawhal_string_t name,
                                    rawhal_error_t *error)
{
  const size_t count = rawhal_hsaco_info(hsaco)->kernel_count;
  const near_phrase_t nearest = near_phrase(name, kernel_name, hsaco, count, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "no kernel '%.*s' in the object, which has %zu%s",
                     RAWHAL_STRING_ARGS(name), count, nearest.text);
}

rawhal_status_t triton_check(const rawhal_hsaco_t *hsaco, rawhal_triton_kernel_t *entry,
                             rawhal_error_t *error)
{
  rawhal_status_t status = check_target(hsaco, entry, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(hsaco, entry->name);
  if (!kernel)
    return not_a_kernel(hsaco, entry->name, error);
  if (!kernel->usable)
    return rawhal_fail(error, RAWHAL_MALFORMED, "kernel '%.*s' cannot be used: %.*s",
                       RAWHAL_STRING_ARGS(entry->name),
                       RAWHAL_STRING_ARGS(kernel->unusable_reason));
  status = check_workgroup(kernel, entry, error);
  return status == RAWHAL_OK ? check_scratch(kernel, entry, error) : status;
}

/* ---- The launch ---- */

static rawhal_status_t check_launch(const rawhal_triton_kernel_t *entry,
                                    const rawhal_device_info_t *device,
                                    const rawhal_device_kernel_info_t *kernel,
                                    rawhal_error_t *error)
{
  if (entry->status != RAWHAL_OK)
    return rawhal_fail(error, entry->status, "%.*s", (int)entry->why_not.size, entry->why_not.data);
  if (kernel->kernel->name.size != entry->name.size ||
      memcmp(kernel->kernel->name.data, entry->name.data, entry->name.size) != 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the entry is of '%.*s', the kernel is '%.*s'",
                       RAWHAL_STRING_ARGS(entry->name), RAWHAL_STRING_ARGS(kernel->kernel->name));
  if (entry->num_ctas > 1)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "clusters of %" PRIu32 " work-groups (num_ctas)",
                       entry->num_ctas);
  if (entry->workgroup > device->max_workgroup_size || entry->workgroup > UINT16_MAX)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a work-group has %" PRIu32 " work-items, on the device at most %" PRIu32,
                       entry->workgroup, device->max_workgroup_size);
  uint64_t lds = (uint64_t)kernel->group_segment_size + entry->shared;
  if (lds > device->lds_bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%" PRIu64 " bytes of LDS ('shared' is %" PRIu32 ", the kernel's own are "
                       "%" PRIu32 "), a work-group has at most %" PRIu32,
                       lds, entry->shared, kernel->group_segment_size, device->lds_bytes);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_triton_dispatch(const rawhal_triton_kernel_t *entry,
                                       const rawhal_device_t *device,
                                       const rawhal_device_kernel_t *kernel,
                                       const uint32_t programs[3], rawhal_dispatch_t *dispatch,
                                       rawhal_error_t *error)
{
  if (!entry || !device || !kernel || !programs || !dispatch)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !entry      ? "entry"
                       : !device   ? "device"
                       : !kernel   ? "kernel"
                       : !programs ? "programs"
                                   : "dispatch");
  rawhal_status_t status =
      check_launch(entry, rawhal_device_info(device), rawhal_device_kernel_info(kernel), error);
  if (status != RAWHAL_OK)
    return status;
  for (int i = 0; i < 3; ++i) {
    uint64_t items = (uint64_t)programs[i] * (i ? 1 : entry->workgroup);
    if (!items)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no programs in dimension %c", 'x' + i);
    if (items > UINT32_MAX)
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "%" PRIu32 " programs of %" PRIu32 " work-items, more than %" PRIu32
                         " in all",
                         programs[i], entry->workgroup, UINT32_MAX);
  }
  dispatch->kernel = kernel;
  for (int i = 0; i < 3; ++i) {
    dispatch->workgroup[i] = (uint16_t)(i ? 1 : entry->workgroup);
    dispatch->work_items[i] = programs[i] * dispatch->workgroup[i];
  }
  dispatch->dynamic_lds = entry->shared;
  if (entry->launch_cooperative_grid)
    dispatch->flags |= RAWHAL_DISPATCH_COOPERATIVE;
  return RAWHAL_OK;
}
