/* Everything but command buffers. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rawhal_error_t drv_error;

void drv_die(const char *call)
{
  fprintf(stderr, "hal_driver: %s: %s\n", call, drv_error.message);
  exit(1);
}

void *drv_allocate(size_t count, size_t size)
{
  void *memory = calloc(count, size);
  if (!memory) {
    fputs("hal_driver: no memory\n", stderr);
    exit(1);
  }
  return memory;
}

void drv_device_open(drv_device_t *device)
{
  memset(device, 0, sizeof(*device));
  DRV_CHECK(rawhal_instance_create(NULL, &device->instance, &drv_error));
  device->device = rawhal_instance_device(device->instance, 0);
  static const char *const names[] = {[DRV_COMPUTE] = "compute", [DRV_TRANSFER] = "transfer"};
  for (int i = 0; i < DRV_QUEUES; ++i) {
    DRV_CHECK(rawhal_queue_create(device->device, NULL, &device->queues[i], &drv_error));
    rawhal_queue_label(device->queues[i], names[i]);
  }
  static const rawhal_memory_kind_t kinds[] = {RAWHAL_MEMORY_DEVICE, RAWHAL_MEMORY_HOST};
  for (int i = 0; i < 2; ++i) {
    const rawhal_pool_options_t options = {
        .size = sizeof(options), .kind = kinds[i], .budget_bytes = 64 << 20, .slab_bytes = 8 << 20};
    DRV_CHECK(rawhal_pool_create(device->device, &options, &device->pools[kinds[i]], &drv_error));
  }
}

void drv_device_close(drv_device_t *device)
{
  for (int i = 0; i < DRV_QUEUES; ++i)
    rawhal_queue_destroy(device->queues[i]);
  for (int i = 0; i < 2; ++i)
    rawhal_pool_destroy(device->pools[i]);
  rawhal_instance_destroy(device->instance);
}

/* ---- Queues ---- */

static void wait_for(rawhal_queue_t *queue, drv_fence_t fence)
{
  if (fence.count)
    DRV_CHECK(rawhal_queue_timeline(queue, fence.points, fence.count, NULL, 0, RAWHAL_FOREVER, NULL,
                                    &drv_error));
}

static void signal_all(rawhal_queue_t *queue, drv_fence_t fence)
{
  if (fence.count)
    DRV_CHECK(rawhal_queue_timeline(queue, NULL, 0, fence.points, fence.count, RAWHAL_FOREVER, NULL,
                                    &drv_error));
}

void drv_queue_execute(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                       drv_command_buffer_t *commands, drv_table_t table)
{
  wait_for(device->queues[queue], wait);
  drv_command_buffer_launch(device->queues[queue], commands, table);
  signal_all(device->queues[queue], signal);
}

/* ---- Memory ---- */

void drv_queue_alloca(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                      rawhal_memory_kind_t kind, uint64_t bytes, const char *label,
                      drv_buffer_t *buffer)
{
  wait_for(device->queues[queue], wait);
  const rawhal_pool_request_t request = {.size = sizeof(request), .bytes = bytes, .label = label};
  buffer->kind = kind;
  DRV_CHECK(rawhal_pool_allocate_with(device->pools[kind], device->queues[queue], &request,
                                      RAWHAL_FOREVER, &buffer->memory, &drv_error));
  signal_all(device->queues[queue], signal);
}

const rawhal_pool_allocation_t *drv_memory(const drv_buffer_ref_t *ref, drv_table_t table)
{
  if (!ref->buffer && ref->slot >= table.count)
    drv_die("a binding table that is too short");
  return ref->buffer ? &ref->buffer->memory : &table.buffers[ref->slot]->memory;
}

void drv_queue_dealloca(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                        drv_buffer_t *buffer)
{
  wait_for(device->queues[queue], wait);
  DRV_CHECK(rawhal_pool_free(device->pools[buffer->kind], device->queues[queue], &buffer->memory,
                             &drv_error));
  signal_all(device->queues[queue], signal);
}

/* ---- Executables ---- */

void drv_executable_open(drv_device_t *device, const char *path, const char *name,
                         drv_executable_t *executable)
{
  memset(executable, 0, sizeof(*executable));
  const char *object = path, *dot = strrchr(path, '.');
  if (dot && strcmp(dot, ".json") == 0) {
    DRV_CHECK(rawhal_triton_open_file(path, NULL, &executable->triton, &drv_error));
    object = rawhal_triton_kernel(executable->triton, 0)->hsaco_path.data;
  }
  const rawhal_string_t wanted = {name, strlen(name)};
  DRV_CHECK(rawhal_executable_open_file(device->device, object, NULL, &executable->executable,
                                        &drv_error));
  DRV_CHECK(rawhal_executable_kernel(executable->executable, wanted, 0,
                                     &executable->dispatch.kernel, &drv_error));
  DRV_CHECK(rawhal_bindings_create(rawhal_device_kernel_info(executable->dispatch.kernel)->layout,
                                   &executable->layout, &drv_error));
  const rawhal_kernel_t *facts = rawhal_device_kernel_info(executable->dispatch.kernel)->kernel;
  for (int d = 0; d < 3; ++d)
    executable->dispatch.workgroup[d] = (uint16_t)facts->reqd_workgroup_size[d];
  static const uint32_t one[3] = {1, 1, 1};
  if (executable->triton) /* whose entries know it, and the LDS */
    DRV_CHECK(rawhal_triton_dispatch(rawhal_triton_kernel(executable->triton, 0), device->device,
                                     executable->dispatch.kernel, one, &executable->dispatch,
                                     &drv_error));
}

size_t drv_pack(const drv_work_t *work, unsigned char *blob)
{
  const rawhal_bindings_t *layout = work->executable->layout;
  const rawhal_device_kernel_info_t *info =
      rawhal_device_kernel_info(work->executable->dispatch.kernel);
  const size_t size = rawhal_kernarg_layout_info(info->layout)->explicit_end;
  const uint32_t count = rawhal_bindings_info(layout)->binding_count;
  uint64_t addresses[DRV_MOST_BUFFERS] = {0};
  if (size > DRV_MOST_BYTES || count > DRV_MOST_BUFFERS || work->buffer_count > count)
    drv_die("too many arguments");
  for (size_t i = 0; i < work->buffer_count; ++i)
    if (work->buffers[i].buffer)
      addresses[i] = work->buffers[i].buffer->memory.address + work->buffers[i].offset;
  DRV_CHECK(rawhal_bindings_pack(layout, addresses, count, work->constants,
                                 work->constant_count * sizeof(*work->constants), blob, size,
                                 &drv_error));
  return size;
}

void drv_executable_close(drv_executable_t *executable)
{
  rawhal_bindings_destroy(executable->layout);
  rawhal_executable_destroy(executable->executable);
  rawhal_triton_close(executable->triton);
}
