#include "softgpu/probes/file.h"

#include <stdio.h>
#include <string.h>

static record_writer_t *writer;

rawhal_status_t file_open(const char *path, uint64_t bound, rawhal_error_t *error)
{
  return record_writer_create_new(path, &(record_options_t){.bound = bound}, &writer, error);
}

rawhal_status_t file_close(rawhal_error_t *error)
{
  rawhal_status_t status = record_writer_close(writer, error);
  writer = NULL;
  return status;
}

static rawhal_status_t write_dispatch(const softgpu_prober_device_t *device, const run_t *run,
                                      uint64_t *object, uint64_t *number, rawhal_error_t *error)
{
  const softgpu_prober_dispatch_t *from = &run->dispatch;
  const code_object_t *code = run->kernel->object;
  const uint32_t own = run->kernel->facts->descriptor->group_segment_size;
  char isa[64];
  uint32_t chip = 0, listed = 0;
  (void)device->chip(from->node, &chip, &listed);
  (void)snprintf(isa, sizeof(isa), "amdgcn-amd-amdhsa--gfx%x:sramecc%c:xnack-", listed,
                 from->sram_ecc ? '+' : '-');
  *object = record_writer_known(writer, code->hash);
  rawhal_status_t status =
      *object ? RAWHAL_OK
              : record_writer_object(writer, (rawhal_bytes_t){code->image.bytes, code->image.count},
                                     object, error);
  const record_dispatch_t dispatch = {
      .device = rawhal_string(isa),
      .kernel = run->kernel->facts->name,
      .object = *object,
      .queue = from->queue,
      .work_items = {from->grid[0], from->grid[1], from->grid[2]},
      .workgroup = {from->workgroup[0], from->workgroup[1], from->workgroup[2]},
      .dynamic_group_bytes = from->group_bytes > own ? from->group_bytes - own : 0,
      .private_bytes = from->private_bytes,
      .kernargs = {run->kernargs, run->kernarg_bytes}};
  return status == RAWHAL_OK ? record_writer_dispatch(writer, &dispatch, number, error) : status;
}

/* The kernel, once. */
static rawhal_status_t write_kernel(kernel_t *kernel, uint64_t object, rawhal_error_t *error)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(kernel->plan);
  const record_probe_t probe = {.object = object,
                                .kernel = kernel->facts->name,
                                .maker = RECORD_MADE_BY_DEVICE,
                                .kinds = info->kinds,
                                .entry = kernel->facts->descriptor->entry,
                                .code_bytes = info->code_bytes,
                                .counters = info->counters,
                                .event_bytes = info->event_bytes,
                                .point_count = (uint32_t)info->point_count,
                                .points = info->points};
  return kernel->number ? RAWHAL_OK : record_writer_probe(writer, &probe, &kernel->number, error);
}

static rawhal_status_t read_memory(void *context, record_probe_part_t part, uint64_t offset,
                                   void *to, size_t size, rawhal_error_t *error)
{
  const run_t *run = context;
  (void)error;
  memcpy(to, run->memory + (part == RECORD_PROBE_EVENTS ? run->room.events_at : 0) + offset, size);
  return RAWHAL_OK;
}

static rawhal_status_t write_records(const run_t *run, uint64_t dispatch, bool completed,
                                     uint64_t *lost, rawhal_error_t *error)
{
  enum { TIMESTAMP_HZ = 100000000 };
  record_probe_written_t written = {0};
  const record_probed_t probed = {.dispatch = dispatch,
                                  .probe = run->kernel->number,
                                  .flags = RECORD_PROBED_HOST_TIME |
                                           (completed ? 0 : (uint32_t)RECORD_PROBED_STOPPED),
                                  .frequency = TIMESTAMP_HZ,
                                  .allocation_count = run->allocation_count,
                                  .allocations = run->allocations};
  const record_probe_memory_t memory = {run->room.wave_capacity, run->room.event_capacity,
                                        read_memory, (void *)(uintptr_t)run};
  rawhal_status_t status = record_writer_probed(writer, &probed, &memory, &written, error);
  *lost = (uint64_t)written.lost_waves + written.lost_events;
  return status;
}

rawhal_status_t file_write(const softgpu_prober_device_t *device, const run_t *run, bool completed,
                           uint64_t *lost, rawhal_error_t *error)
{
  uint64_t number = 0, object = 0;
  const image_t *image = &run->kernel->object->image;
  *lost = 0;
  rawhal_status_t status = write_dispatch(device, run, &object, &number, error);
  if (status == RAWHAL_OK)
    status = write_kernel(run->kernel, object, error);
  if (status == RAWHAL_OK)
    status = record_writer_place(writer, number,
                                 &(record_place_t){image->base, image->size, image->base}, error);
  return status == RAWHAL_OK ? write_records(run, number, completed, lost, error) : status;
}
