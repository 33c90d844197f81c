#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/module/registry.h"

/* ---- kernel<<<...>>>: kept from the program's code to the stub that it calls next ---- */

enum { MOST_NESTED = 16 };

static _Thread_local struct {
  struct call {
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
  } calls[MOST_NESTED];
  unsigned count;
} pushed;

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream)
{
  if (pushed.count == MOST_NESTED)
    return fail(hipErrorInvalidConfiguration, "kernel<<<>>> in its own arguments, %d deep",
                MOST_NESTED);
  pushed.calls[pushed.count++] = (struct call){grid, block, shared, stream};
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream)
{
  if (!pushed.count)
    return fail(hipErrorInvalidConfiguration, "a kernel's stub was called without <<<>>>");
  const struct call *call = &pushed.calls[--pushed.count];
  *grid = call->grid;
  *block = call->block;
  *shared = call->shared;
  *stream = call->stream;
  return hipSuccess;
}

/* ---- Geometry ---- */

typedef struct request {
  loaded_t loaded;
  const rawhal_device_kernel_info_t *info;
  dim3 grid, block; /* grid in work-groups */
  size_t shared;
  void **arguments; /* or a blob */
  const void *blob;
  size_t blob_size;
  bool cooperative; /* its work-groups wait for each other */
} request_t;

/* HIP's rules where they are narrower than the field: grid times block in 32 bits. */
static hipError_t set_geometry(const request_t *request, rawhal_dispatch_t *dispatch)
{
  const uint32_t grid[3] = {request->grid.x, request->grid.y, request->grid.z};
  const uint32_t block[3] = {request->block.x, request->block.y, request->block.z};
  for (int i = 0; i < 3; ++i) {
    if (!grid[i] || !block[i])
      return fail(hipErrorInvalidValue, "kernel %s: no work-groups or work-items in dimension %c",
                  request->loaded.name, 'x' + i);
    if (block[i] > UINT16_MAX || (uint64_t)grid[i] * block[i] > UINT32_MAX)
      return fail(hipErrorInvalidConfiguration,
                  "kernel %s: %u work-groups of %u work-items in dimension %c",
                  request->loaded.name, grid[i], block[i], 'x' + i);
    dispatch->work_items[i] = grid[i] * block[i];
    dispatch->workgroup[i] = (uint16_t)block[i];
  }
  const uint32_t lds = request->loaded.image->device->info->lds_bytes;
  if (request->shared > lds || request->info->group_segment_size > lds - request->shared)
    return fail(hipErrorInvalidValue,
                "kernel %s: %u bytes of LDS and %zu dynamic ones, of %u that a work-group can have",
                request->loaded.name, request->info->group_segment_size, request->shared, lds);
  dispatch->dynamic_lds = (uint32_t)request->shared;
  rawhal_launch_t launch = {.dynamic_lds = dispatch->dynamic_lds};
  memcpy(launch.work_items, dispatch->work_items, sizeof(launch.work_items));
  memcpy(launch.workgroup, dispatch->workgroup, sizeof(launch.workgroup));
  rawhal_error_t error;
  if (rawhal_launch_check(request->info->kernel, &launch, &error))
    return fail(hipErrorInvalidConfiguration, "kernel %s, <<<(%u, %u, %u), (%u, %u, %u)>>>: %s",
                request->loaded.name, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                error.message);
  return hipSuccess;
}

/* ---- Pointers ---- */

typedef enum pointer_check { CHECK_WARN, CHECK_REFUSE, CHECK_OFF } pointer_check_t;

/* What becomes of a pointer into no live allocation. By default it is only named: a kernel may get
 * pointers that it does not follow, and it is the device's part to stop it when it does. */
static pointer_check_t pointer_check(void)
{
  const char *text = secure_getenv("RAWHAL_HIPLAUNCH_POINTERS");
  if (text && !strcmp(text, "refuse"))
    return CHECK_REFUSE;
  return text && !strcmp(text, "off") ? CHECK_OFF : CHECK_WARN;
}

/* The end of an allocation is not part of it, but is as valid. */
static bool is_live(uint64_t pointer)
{
  allocation_t allocation;
  return !pointer || memory_find(pointer, &allocation) || memory_find(pointer - 1, &allocation);
}

/* "argument 1 'in' is 0x7f0000001000". Compilers leave the names out where they are not told to
 * keep them. */
static void argument_say(char *text, size_t size, const rawhal_kernarg_layout_t *layout,
                         uint32_t index, uint64_t value)
{
  rawhal_string_t name = rawhal_kernarg_layout_argument(layout, index)->name;
  const char *quote = name.size ? "'" : "";
  snprintf(text, size, "argument %u%s%s%.*s%s is 0x%llx", index, name.size ? " " : "", quote,
           (int)name.size, name.data ? name.data : "", quote, (unsigned long long)value);
}

static const void *bytes_of(const request_t *request, size_t index,
                            const rawhal_kernarg_argument_t *argument)
{
  if (request->arguments)
    return request->arguments[index];
  bool there = request->blob && argument->offset <= request->blob_size &&
               argument->size <= request->blob_size - argument->offset;
  return there ? (const char *)request->blob + argument->offset : NULL;
}

static hipError_t check_pointers(const request_t *request)
{
  const rawhal_kernarg_layout_t *layout = request->info->layout;
  const pointer_check_t check = pointer_check();
  if (check == CHECK_OFF)
    return hipSuccess;
  const rawhal_kernarg_argument_t *argument;
  size_t visible = 0;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i) {
    uint64_t value;
    const void *bytes = argument->hidden ? NULL : bytes_of(request, visible, argument);
    visible += !argument->hidden;
    if (!bytes || argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER ||
        argument->size != sizeof(value))
      continue;
    memcpy(&value, bytes, sizeof(value));
    if (is_live(value))
      continue;
    char text[200];
    argument_say(text, sizeof(text), layout, (uint32_t)i, value);
    if (check == CHECK_REFUSE)
      return fail(hipErrorInvalidDevicePointer, "kernel %s: %s, in no live allocation",
                  request->loaded.name, text);
    note(RAWHAL_SEVERITY_WARNING, "kernel %s: %s, in no live allocation", request->loaded.name,
         text);
  }
  return hipSuccess;
}

/* ---- Launching ---- */

enum { NEEDS_SERVICES = 1, NEEDS_FLUSH = 2 };

static unsigned needs_of(const rawhal_kernarg_layout_t *layout)
{
  unsigned needs = 0;
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i) {
    if (argument->value_kind == RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER ||
        argument->value_kind == RAWHAL_VALUE_HIDDEN_HEAP_V1)
      needs |= NEEDS_SERVICES;
    if (argument->value_kind == RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER)
      needs |= NEEDS_SERVICES | NEEDS_FLUSH;
  }
  return needs;
}

/* Records count formats by their place in the code object, so what one kernel has left is printed
 * before another prints; HIP waits here, too. */
static hipError_t print_now(const request_t *request, lane_t *lane, rawhal_ticket_t ticket)
{
  rawhal_error_t error;
  hipError_t status = lane_wait(lane, ticket, RAWHAL_FOREVER);
  if (status == hipSuccess &&
      rawhal_services_flush(lane->services, request->loaded.image->executable, &error))
    return fail_rawhal(&error, "what kernel %s has printed", request->loaded.name);
  return status;
}

static hipError_t launch(request_t *request, hipStream_t handle)
{
  rawhal_dispatch_t dispatch = {
      .kernel = request->loaded.kernel,
      .flags = request->cooperative ? RAWHAL_DISPATCH_COOPERATIVE : 0,
      .arguments = (const void *const *)request->arguments,
      .argument_count =
          request->arguments ? rawhal_kernarg_layout_info(request->info->layout)->visible_count : 0,
      .blob = request->blob,
      .blob_size = request->blob_size,
  };
  struct ihipStream_t *stream;
  hipError_t status = set_geometry(request, &dispatch);
  if (status == hipSuccess)
    status = check_pointers(request);
  if (status == hipSuccess)
    status = stream_enter(handle, &stream);
  if (status != hipSuccess)
    return status;
  const unsigned needs = needs_of(request->info->layout);
  rawhal_error_t error;
  rawhal_ticket_t ticket = 0;
  rawhal_status_t failed = RAWHAL_OK;
  if (needs)
    status = stream_need_services(stream);
  lane_t *lane = stream->lane;
  if (status == hipSuccess)
    failed = rawhal_queue_submit(lane->queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error);
  if (ticket)
    lane->last = ticket;
  stream_leave(stream);
  if (failed == RAWHAL_FAULT)
    return fail_rawhal(&error, NULL);
  if (failed == RAWHAL_OUT_OF_RANGE && request->cooperative)
    return fail(hipErrorCooperativeLaunchTooLarge, "kernel %s: %s", request->loaded.name,
                error.message);
  if (failed != RAWHAL_OK)
    return fail_rawhal(&error, "kernel %s", request->loaded.name);
  return status == hipSuccess && needs & NEEDS_FLUSH ? print_now(request, lane, ticket) : status;
}

/* The code has to be on the stream's device, whichever is current. */
static hipError_t device_of(hipStream_t handle, device_t **device)
{
  struct ihipStream_t *stream;
  if (!handle)
    return device_current(device);
  hipError_t status = stream_find(handle, &stream);
  *device = status ? NULL : stream->device;
  return status;
}

static hipError_t launch_host(const void *function, hipStream_t stream, request_t *request)
{
  device_t *device;
  hipError_t status = device_of(stream, &device);
  if (status == hipSuccess)
    status = registry_kernel(function, device, &request->loaded);
  if (status != hipSuccess)
    return status;
  request->info = rawhal_device_kernel_info(request->loaded.kernel);
  return launch(request, stream);
}

hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                           size_t shared, hipStream_t stream)
{
  request_t request = {.grid = grid, .block = block, .shared = shared, .arguments = arguments};
  return launch_host(function, stream, &request);
}

hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared, hipStream_t stream)
{
  request_t request = {
      .grid = grid, .block = block, .shared = shared, .arguments = arguments, .cooperative = true};
  return launch_host(function, stream, &request);
}

/* Pairs of keys and values; what is packed already has an address and a size. */
static hipError_t read_extra(void **extra, request_t *request)
{
  for (; extra && *extra != HIP_LAUNCH_PARAM_END; extra += 2)
    if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      request->blob = extra[1];
    else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE)
      request->blob_size = *(const size_t *)extra[1];
    else
      return fail(hipErrorInvalidValue, "kernel %s: an unknown key %p in `extra`",
                  request->loaded.name, *extra);
  return hipSuccess;
}

static hipError_t launch_function(hipFunction_t function, hipStream_t stream, void **extra,
                                  request_t *request)
{
  device_t *device;
  if (request->arguments && extra)
    return fail(hipErrorInvalidValue, "arguments both by pointers and packed");
  hipError_t status = device_of(stream, &device);
  if (status == hipSuccess)
    status = registry_function(function, device, &request->loaded);
  if (status == hipSuccess)
    status = read_extra(extra, request);
  if (status != hipSuccess)
    return status;
  request->info = rawhal_device_kernel_info(request->loaded.kernel);
  return launch(request, stream);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, hipStream_t stream,
                                 void **arguments, void **extra)
{
  request_t request = {.grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .arguments = arguments};
  return launch_function(function, stream, extra, &request);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z, unsigned shared,
                                            hipStream_t stream, void **arguments)
{
  request_t request = {.grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .arguments = arguments,
                       .cooperative = true};
  return launch_function(function, stream, NULL, &request);
}

hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *config, hipFunction_t function,
                                void **arguments, void **extra)
{
  if (!config || (config->numAttrs && !config->attrs))
    return fail(hipErrorInvalidValue, "%s is NULL", config ? "attrs" : "config");
  request_t request = {
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .shared = config->sharedMemBytes,
      .arguments = arguments,
  };
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != hipLaunchAttributeCooperative)
      return fail(hipErrorNotSupported, "launch attribute %d", (int)config->attrs[i].id);
    request.cooperative = config->attrs[i].val.cooperative;
  }
  return launch_function(function, config->hStream, extra, &request);
}

/* Here the grid is in work-items; events stand before and after the kernel. */
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t items_x, uint32_t items_y,
                                    uint32_t items_z, uint32_t block_x, uint32_t block_y,
                                    uint32_t block_z, size_t shared, hipStream_t stream,
                                    void **arguments, void **extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t flags)
{
  const uint32_t items[] = {items_x, items_y, items_z}, block[] = {block_x, block_y, block_z};
  uint32_t grid[3];
  (void)flags; /* hipExtAnyOrderLaunch allows what is not done here */
  for (int i = 0; i < 3; ++i) {
    if (!block[i] || items[i] % block[i])
      return fail(hipErrorInvalidValue, "%u work-items in dimension %c, in work-groups of %u",
                  items[i], 'x' + i, block[i]);
    grid[i] = items[i] / block[i];
  }
  request_t request = {.grid = {grid[0], grid[1], grid[2]},
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .arguments = arguments};
  hipError_t status = start ? hipEventRecord(start, stream) : hipSuccess;
  if (status == hipSuccess)
    status = launch_function(function, stream, extra, &request);
  return status == hipSuccess && stop ? hipEventRecord(stop, stream) : status;
}
