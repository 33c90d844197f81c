#include <stdlib.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/memory/memory.h"

/* ---- Host memory that kernels use ---- */

hipError_t hipHostAlloc(void **pointer, size_t size, unsigned flags)
{
  return hipHostMalloc(pointer, size, flags);
}

hipError_t hipMallocHost(void **pointer, size_t size)
{
  return hipHostMalloc(pointer, size, 0);
}

hipError_t hipMemAllocHost(void **pointer, size_t size)
{
  return hipHostMalloc(pointer, size, 0);
}

hipError_t hipFreeHost(void *pointer)
{
  return hipHostFree(pointer);
}

hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags)
{
  enum { KNOWN = 0xf };
  device_t *device;
  if (!pointer || !size || flags & ~(unsigned)KNOWN)
    return fail(hipErrorInvalidValue, "registering %zu bytes at %p, flags 0x%x", size, pointer,
                flags);
  hipError_t status = device_current(&device);
  return status != hipSuccess ? status : memory_register(device, pointer, size, flags);
}

hipError_t hipHostUnregister(void *pointer)
{
  allocation_t allocation;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  if (!memory_find((uintptr_t)pointer, &allocation) || allocation.kind != ALLOCATION_REGISTERED ||
      allocation.address != (uintptr_t)pointer)
    return fail(hipErrorHostMemoryNotRegistered, "%p is not registered", pointer);
  devices_settle();
  memory_release(&allocation);
  return hipSuccess;
}

static hipError_t find_host(const void *pointer, allocation_t *allocation)
{
  bool found = memory_find((uintptr_t)pointer, allocation) &&
               allocation->kind != ALLOCATION_DEVICE && allocation->kind != ALLOCATION_VARIABLE;
  return found
             ? hipSuccess
             : fail(hipErrorInvalidValue, "%p is no host memory that the device reaches", pointer);
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
  allocation_t allocation;
  if (!device)
    return fail(hipErrorInvalidValue, "device is NULL");
  if (flags)
    return fail(hipErrorInvalidValue, "unknown flags 0x%x", flags);
  *device = NULL;
  hipError_t status = find_host(host, &allocation);
  *device = status ? NULL : host;
  return status;
}

hipError_t hipHostGetFlags(unsigned *flags, void *pointer)
{
  allocation_t allocation;
  if (!flags)
    return fail(hipErrorInvalidValue, "flags is NULL");
  hipError_t status = find_host(pointer, &allocation);
  *flags = status ? 0 : allocation.flags;
  return status;
}

/* ---- The program's functions, in a stream's order ----
 *
 * The device cannot wait for the host, so what is submitted to a lane whose functions have not
 * returned waits in the submitting thread: stream_enter(). */

typedef struct call {
  lane_t *lane;
  hipHostFn_t function; /* or */
  hipStreamCallback_t callback;
  hipStream_t stream; /* of a callback */
  void *data;
} call_t;

static _Thread_local bool inside;

static void run(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
{
  call_t *call = context;
  lane_t *lane = call->lane;
  (void)ticket;
  inside = true;
  if (call->callback)
    call->callback(call->stream,
                   result->status != RAWHAL_OK ? fail_rawhal(result, NULL) : hipSuccess,
                   call->data);
  else if (result->status == RAWHAL_OK)
    call->function(call->data);
  inside = false;
  free(call);
  pthread_mutex_lock(&lane->device->lock);
  --lane->calls;
  pthread_cond_broadcast(&lane->device->called);
  pthread_mutex_unlock(&lane->device->lock);
}

static hipError_t add(hipStream_t handle, const call_t *wanted)
{
  struct ihipStream_t *stream;
  rawhal_error_t error;
  rawhal_ticket_t ticket;
  call_t *call = malloc(sizeof(*call));
  if (!call)
    return fail(hipErrorOutOfMemory, "out of host memory");
  *call = *wanted;
  call->stream = handle;
  hipError_t status = stream_enter(handle, &stream);
  if (status != hipSuccess) {
    free(call);
    return status;
  }
  lane_t *lane = call->lane = stream->lane;
  rawhal_status_t failed =
      rawhal_queue_barrier(lane->queue, NULL, 0, RAWHAL_FOREVER, &ticket, &error);
  if (failed == RAWHAL_OK) {
    lane->last = ticket;
    ++lane->calls;
    failed = rawhal_queue_on_complete(lane->queue, ticket, run, call, &error);
    lane->calls -= failed != RAWHAL_OK;
  }
  stream_leave(stream);
  if (failed == RAWHAL_OK)
    return hipSuccess;
  free(call);
  return fail_rawhal(&error, "a host function");
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
  return function ? add(stream, &(call_t){.function = function, .data = data})
                  : fail(hipErrorInvalidValue, "function is NULL");
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data,
                                unsigned flags)
{
  if (!callback)
    return fail(hipErrorInvalidValue, "callback is NULL");
  if (flags)
    return fail(hipErrorInvalidValue, "unknown flags 0x%x", flags);
  return add(stream, &(call_t){.callback = callback, .data = data});
}

hipError_t calls_wait(device_t *device)
{
  if (inside)
    return fail(hipErrorNotPermitted, "a host function waits for what waits for it to return");
  pthread_cond_wait(&device->called, &device->lock);
  return hipSuccess;
}
