#include "front/instead.h"

#include "front/blocks.h"
#include "front/kernargs.h"

#include "base/error.h"

/* ---- Making ---- */

/* Only the code that launches such kernels knows what scratch they need. */
static rawhal_status_t check_stack(const instead_t *instead, rawhal_error_t *error)
{
  return instead->replacement->facts->descriptor->uses_dynamic_stack &&
                 !instead->original->facts->descriptor->uses_dynamic_stack
             ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "the replacement has a stack of unknown depth, the original does not")
             : RAWHAL_OK;
}

rawhal_status_t instead_create(instead_t *instead, const front_kernel_t *original,
                               const replacement_t *replacement, const remap_extra_t *extras,
                               size_t count, rawhal_error_t *error)
{
  const remap_kernel_t one = {original->facts, original->layout},
                       other = {replacement->facts, replacement->layout};
  *instead = (instead_t){original, replacement, NULL};
  rawhal_status_t status = remap_create(&one, &other, extras, count, &instead->remap, error);
  return status == RAWHAL_OK ? check_stack(instead, error) : status;
}

void instead_destroy(instead_t *instead)
{
  remap_destroy(instead->remap);
  *instead = (instead_t){0};
}

/* ---- Dispatches ---- */

static uint64_t beyond(uint32_t asked, uint32_t fixed)
{
  return asked > fixed ? asked - fixed : 0;
}

/* Its kernargs, in a block. */
static rawhal_status_t extend(const instead_t *instead, const rawhal_launch_t *launch,
                              instead_values_fn *values_of, void *context,
                              hsa_kernel_dispatch_packet_t *packet, void **block,
                              rawhal_error_t *error)
{
  uint64_t values[REMAP_EXTRAS];
  const uint32_t room = remap_room(instead->remap);
  kernargs_t kernargs;
  kernargs_copy(&kernargs, packet, remap_bytes(instead->remap));
  rawhal_status_t status =
      kernargs.unread ? rawhal_fail(error, RAWHAL_UNSUPPORTED, "the host cannot read its kernargs")
                      : RAWHAL_OK;
  *block = status == RAWHAL_OK ? blocks_take(room) : NULL;
  if (status == RAWHAL_OK && !*block)
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for its kernargs");
  if (status == RAWHAL_OK) {
    values_of(context, values);
    status = remap_write(instead->remap, kernargs.bytes.data, launch, values, *block, error);
  }
  kernargs_give_back(&kernargs);
  if (status == RAWHAL_OK) {
    packet->kernarg_address = *block;
    return status;
  }
  instead_give_back(instead, *block);
  *block = NULL;
  return status;
}

rawhal_status_t instead_dispatch(const instead_t *instead, const front_device_t *device,
                                 instead_values_fn *values, void *context,
                                 hsa_kernel_dispatch_packet_t *packet, void **block,
                                 rawhal_error_t *error)
{
  const rawhal_descriptor_t *one = instead->original->facts->descriptor,
                            *other = instead->replacement->facts->descriptor;
  const uint64_t dynamic = beyond(packet->group_segment_size, one->group_segment_size),
                 group = other->group_segment_size + dynamic,
                 scratch = other->private_segment_size +
                           beyond(packet->private_segment_size, one->private_segment_size);
  const rawhal_launch_t launch = {
      .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .dimensions = packet->setup & 3,
      .dynamic_lds = (uint32_t)dynamic};
  *block = NULL;
  if (group > UINT32_MAX || (device->group_bytes && group > device->group_bytes))
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "the replacement needs %llu bytes of group memory; the device has %u",
                       (unsigned long long)group, device->group_bytes);
  if (scratch > UINT32_MAX)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "the replacement needs too much scratch");
  rawhal_status_t status = rawhal_launch_check(instead->replacement->facts, &launch, error);
  if (status == RAWHAL_OK && !remap_is_identity(instead->remap))
    status = extend(instead, &launch, values, context, packet, block, error);
  if (status != RAWHAL_OK)
    return status;
  packet->kernel_object = instead->replacement->kernel_object;
  packet->group_segment_size = (uint32_t)group;
  packet->private_segment_size = (uint32_t)scratch;
  return status;
}

void instead_give_back(const instead_t *instead, void *block)
{
  blocks_give_back(block, remap_room(instead->remap));
}
