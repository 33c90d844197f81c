#include "front/record_file.h"

#include "base/error.h"
#include "queue/limit/parse.h"

#include <stdlib.h>

rawhal_status_t record_file_bound(const char *variable, uint64_t *bound, rawhal_error_t *error)
{
  const char *text = secure_getenv(variable);
  rawhal_error_t why;
  *bound = 0;
  if (!text || !*text)
    return RAWHAL_OK;
  if (limit_parse(text, RAWHAL_UNIT_BYTES, 0, bound, &why) != RAWHAL_OK)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s: %s", variable, why.message);
  *bound = *bound == 0 ? 1 : *bound < INT64_MAX ? *bound : INT64_MAX; /* of 0 nothing fits in */
  return RAWHAL_OK;
}

record_dispatch_t record_file_describe(const front_device_t *device, uint64_t queue_id,
                                       const front_kernel_t *kernel,
                                       const hsa_kernel_dispatch_packet_t *packet,
                                       rawhal_bytes_t kernargs)
{
  const uint32_t own = kernel->facts->descriptor->group_segment_size;
  return (record_dispatch_t){
      .device = rawhal_string(device->executes),
      .kernel = kernel->facts->name,
      .queue = queue_id,
      .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .dynamic_group_bytes =
          packet->group_segment_size > own ? packet->group_segment_size - own : 0,
      .private_bytes = packet->private_segment_size,
      .kernargs = kernargs};
}

rawhal_status_t record_file_write(record_writer_t *writer, record_dispatch_t *dispatch,
                                  const front_kernel_t *kernel, uint64_t *number,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  dispatch->object = record_writer_known(writer, object_hash(kernel->object));
  if (!dispatch->object) /* its bytes are looked at once: they may be many */
    status = record_writer_object(writer, object_given(kernel->object), &dispatch->object, error);
  return status == RAWHAL_OK ? record_writer_dispatch(writer, dispatch, number, error) : status;
}
