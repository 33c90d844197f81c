/* Checking a launch's geometry against what the kernel's metadata demands. */
#include "kernarg/hidden.h"

#include "base/error.h"
#include "base/sized.h"

static const char axis[] = "xyz";

rawhal_status_t launch_known_closely(const rawhal_launch_t *launch, rawhal_error_t *error)
{
  rawhal_launch_t ignored; /* ours is the first version: all others have what it has */
  return SIZED_TAKE(&ignored, launch, shared_base_hi, error);
}

static rawhal_status_t check_sizes(const rawhal_launch_t *launch, rawhal_error_t *error)
{
  if (launch->dimensions > 3)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%u dimensions; there are 3",
                       launch->dimensions);
  unsigned used = launch->dimensions ? launch->dimensions : 3;
  for (unsigned d = 0; d < 3; ++d) {
    if (launch->work_items[d] == 0 || launch->workgroup[d] == 0)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s size %c is 0",
                         launch->work_items[d] == 0 ? "grid" : "work-group", axis[d]);
    if (d >= used && (launch->work_items[d] != 1 || launch->workgroup[d] != 1))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "grid %u and work-group %u in unused dimension %c, must be 1",
                         launch->work_items[d], launch->workgroup[d], axis[d]);
  }
  return RAWHAL_OK;
}

/* Metadata that is absent is zero and demands nothing; most kernels are spared the divisions. */
static rawhal_status_t check_dimension(const rawhal_kernel_t *kernel, const rawhal_launch_t *launch,
                                       int d, rawhal_error_t *error)
{
  uint32_t grid = launch->work_items[d], group = launch->workgroup[d];
  uint32_t required = kernel->reqd_workgroup_size[d], most = kernel->max_num_workgroups[d];
  if (required && group != required)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "work-group size %c is %u, the kernel requires %u", axis[d], group,
                       required);
  if (kernel->uniform_work_group_size && grid % group != 0)
    return rawhal_fail(
        error, RAWHAL_INVALID_ARGUMENT,
        "grid size %c of %u is not a multiple of the work-group's %u, and the kernel "
        "allows no partial work-groups",
        axis[d], grid, group);
  if (most && grid / group + (grid % group != 0) > most)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%u work-groups in dimension %c, the kernel allows %u",
                       grid / group + (grid % group != 0), axis[d], most);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_launch_check(const rawhal_kernel_t *kernel, const rawhal_launch_t *launch,
                                    rawhal_error_t *error)
{
  if (!kernel || !launch)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", kernel ? "launch" : "kernel");
  rawhal_status_t status = launch_known(launch, error);
  if (status == RAWHAL_OK)
    status = check_sizes(launch, error);
  for (int d = 0; d < 3 && status == RAWHAL_OK; ++d)
    status = check_dimension(kernel, launch, d, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t flat = (uint64_t)launch->workgroup[0] * launch->workgroup[1] * launch->workgroup[2];
  if (kernel->max_flat_workgroup_size && flat > kernel->max_flat_workgroup_size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a work-group of %ux%ux%u is %llu work-items, the kernel allows %u",
                       launch->workgroup[0], launch->workgroup[1], launch->workgroup[2],
                       (unsigned long long)flat, kernel->max_flat_workgroup_size);
  return RAWHAL_OK;
}
