/* What a batch must be before anything of it is reserved. */
#include "queue/submit.h"

#include "base/error.h"
#include "base/sized.h"
#include "kernarg/layout.h"

enum {
  FAST_FLAGS = RAWHAL_DISPATCH_CLAMP | RAWHAL_DISPATCH_KEEP_HIDDEN | RAWHAL_DISPATCH_OVERLAP |
               RAWHAL_DISPATCH_AGENT_SCOPE,
  KNOWN_FLAGS = FAST_FLAGS | RAWHAL_DISPATCH_COOPERATIVE, /* which the closer look is for */
};

/* ---- The closer look: every rule, and what to say when it is broken ---- */

/* What else would keep image_write() from writing: pointer arrays, and hidden arguments that may
 * not hold this launch's values. */
static rawhal_status_t check_image(const rawhal_dispatch_t *dispatch, const rawhal_launch_t *launch,
                                   rawhal_error_t *error)
{
  const rawhal_kernarg_layout_t *layout = dispatch->kernel->info.layout;
  return dispatch->arguments ? image_check_pointers(layout, dispatch->arguments,
                                                    dispatch->argument_count, launch, error)
                             : image_check_blob(layout, launch, error);
}

static rawhal_status_t check_device(const queue_device_t *device, const rawhal_dispatch_t *dispatch,
                                    rawhal_error_t *error)
{
  uint64_t flat = 1;
  for (int d = 0; d < 3; ++d) {
    flat *= dispatch->workgroup[d];
    if (dispatch->workgroup[d] > device->max_workgroup_dim[d])
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "work-group size %c is %u, the device allows %u", 'x' + d,
                         dispatch->workgroup[d], device->max_workgroup_dim[d]);
    if (dispatch->work_items[d] > device->max_grid_dim[d])
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "grid size %c is %u, the device allows %u",
                         'x' + d, dispatch->work_items[d], device->max_grid_dim[d]);
  }
  if (flat > device->max_workgroup_size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a work-group of %llu work-items, the device allows %u",
                       (unsigned long long)flat, device->max_workgroup_size);
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  const uint32_t resident = occupancy_work_items(kernel->chip, kernel->info.kernel);
  if (flat > resident)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a work-group of %llu work-items that cannot run: with the %u VGPRs and %u "
                       "SGPRs of each wave, a compute unit of %s has room for %u",
                       (unsigned long long)flat, kernel->info.kernel->descriptor->vgpr_count,
                       kernel->info.kernel->descriptor->sgpr_count, kernel->chip->processor,
                       resident);
  uint64_t lds = (uint64_t)dispatch->kernel->info.group_segment_size + dispatch->dynamic_lds;
  if (lds > device->lds_bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%llu bytes of LDS (%u of the kernel + %u dynamic), the device has %u",
                       (unsigned long long)lds, dispatch->kernel->info.group_segment_size,
                       dispatch->dynamic_lds, device->lds_bytes);
  return RAWHAL_OK;
}

static rawhal_status_t check_dispatch(const dispatch_place_t *place,
                                      const rawhal_dispatch_t *dispatch, rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");
  if (kernel->agent != place->device->agent.handle)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the kernel is loaded on another device than the queue's");
  if (dispatch->flags & ~(uint32_t)KNOWN_FLAGS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown dispatch flags 0x%x",
                       dispatch->flags & ~(uint32_t)KNOWN_FLAGS);
  if (dispatch->arguments && (dispatch->blob || dispatch->blob_size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "both a blob and an array of arguments are given");
  const rawhal_kernarg_layout_t *layout = kernel->info.layout;
  rawhal_launch_t launch = launch_of(place->launch, dispatch);
  rawhal_status_t status = rawhal_launch_check(kernel->info.kernel, &launch, error);
  if (status == RAWHAL_OK)
    status = check_device(place->device, dispatch, error);
  if (status == RAWHAL_OK && !dispatch->arguments)
    status = rawhal_kernarg_check(layout, dispatch->blob, dispatch->blob_size,
                                  kernarg_flags(dispatch), error);
  if (status == RAWHAL_OK && dispatch->flags & RAWHAL_DISPATCH_COOPERATIVE)
    status = check_resident(place->compute_units, dispatch, error);
  if (status == RAWHAL_OK && (dispatch->arguments || layout->hidden.narrow))
    status = check_image(dispatch, &launch, error);
  return status;
}

/* ---- Most dispatches need none ---- */

static inline bool within(uint64_t value, kernel_range_t range)
{
  return value - range.least <= range.span;
}

static inline bool has_partial_workgroups(const rawhal_dispatch_t *dispatch)
{
  bool partial = false;
  for (int d = 0; d < 3; ++d)
    partial |= dispatch->workgroup[d] > 1 && dispatch->work_items[d] % dispatch->workgroup[d] != 0;
  return partial;
}

/* True only for what check_dispatch() would allow; it need not be for all of that. */
static inline bool check_fast(const queue_device_t *device, const rawhal_dispatch_t *dispatch)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  if (!kernel || kernel->agent != device->agent.handle || dispatch->flags & ~(uint32_t)FAST_FLAGS ||
      dispatch->arguments || (!dispatch->blob && dispatch->blob_size))
    return false;
  const kernel_bounds_t *bounds = &kernel->bounds;
  uint64_t flat =
      (uint64_t)dispatch->workgroup[0] * dispatch->workgroup[1] * dispatch->workgroup[2];
  bool right = flat - 1 < bounds->flat_workgroup && dispatch->dynamic_lds <= bounds->dynamic_lds &&
               within(dispatch->blob_size, bounds->blob);
  for (int d = 0; d < 3; ++d)
    right = right && within(dispatch->workgroup[d], bounds->workgroup[d]) &&
            within(dispatch->work_items[d], bounds->grid[d]);
  return right && !(bounds->uniform && has_partial_workgroups(dispatch));
}

rawhal_status_t dispatch_check(const dispatch_place_t *place, const rawhal_dispatch_t *dispatch,
                               rawhal_error_t *error)
{
  return check_fast(place->device, dispatch) ? RAWHAL_OK : check_dispatch(place, dispatch, error);
}

static rawhal_status_t check_strange_stride(const batch_t *batch, rawhal_error_t *error)
{
  const size_t first = offsetof(rawhal_dispatch_t, label), ours = sizeof(rawhal_dispatch_t);
  return sized_array(batch->first, batch->stride, batch->count, batch->stride < ours ? first : ours,
                     "rawhal_dispatch_t", error);
}

rawhal_status_t batch_check(const batch_t *batch, rawhal_error_t *error)
{
  if (!batch->first || batch->count == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no dispatches");
  return __builtin_expect(batch->stride == sizeof(rawhal_dispatch_t), 1)
             ? RAWHAL_OK
             : check_strange_stride(batch, error);
}

rawhal_status_t submit_check(const rawhal_queue_t *queue, const batch_t *batch, uint32_t *blocks,
                             rawhal_error_t *error)
{
  size_t count = batch->count;
  rawhal_status_t status = batch_check(batch, error);
  if (status != RAWHAL_OK)
    return status;
  if (count > queue->ring.packets - closing_packets(queue))
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a batch of %zu dispatches can never fit into a ring of %u packets", count,
                       queue->ring.packets);
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const rawhal_dispatch_t *dispatch = batch_at(batch, i);
    if (__builtin_expect(!check_fast(queue->device, dispatch), 0)) {
      const dispatch_place_t place = {queue->device, &queue->launch, queue->compute_units};
      status = check_dispatch(&place, dispatch, error);
      if (status != RAWHAL_OK)
        return count == 1 ? status : rawhal_fail_of(error, status, "dispatch %zu", i);
    }
    total += (uint64_t)dispatch->kernel->block_count + dispatch->kernel->spare_blocks;
  }
  if (__builtin_expect(total > queue->ring.blocks, 0))
    return rawhal_kernarg_block_count(total * KERNARG_BLOCK_BYTES, queue->ring.blocks, blocks,
                                      error);
  *blocks = (uint32_t)total;
  return RAWHAL_OK;
}
