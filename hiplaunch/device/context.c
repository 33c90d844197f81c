#include "hiplaunch/device/runtime.h"

/* Contexts are an older way to say which device is meant. Each device has one, which is always
 * there: a handle is the device itself, and making one counts nothing. */

enum { MOST_PUSHED = 64 };

static _Thread_local struct {
  int devices[MOST_PUSHED]; /* that were current below the one that is */
  unsigned count;
} pushed;

static hipCtx_t context_of(device_t *device)
{
  return (hipCtx_t)(void *)device;
}

static hipError_t device_of(hipCtx_t context, device_t **device)
{
  device_t *devices;
  int count;
  *device = NULL;
  hipError_t status = devices_open(&devices, &count);
  for (int i = 0; status == hipSuccess && i < count; ++i)
    if (context == context_of(&devices[i]))
      *device = &devices[i];
  if (status == hipSuccess && !*device)
    return fail(hipErrorInvalidContext, "%p is not a context", (void *)context);
  return status;
}

/* ---- Primary contexts ---- */

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
  device_t *found;
  if (!context)
    return fail(hipErrorInvalidValue, "context is NULL");
  hipError_t status = device_at(device, &found);
  *context = status ? NULL : context_of(found);
  return status;
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
  device_t *found;
  return device_at(device, &found);
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
  device_t *found, *current;
  if (!flags || !active)
    return fail(hipErrorInvalidValue, "%s is NULL", flags ? "active" : "flags");
  hipError_t status = device_at(device, &found);
  if (status == hipSuccess)
    status = device_current(&current);
  *flags = 0;
  *active = status == hipSuccess && found == current;
  return status;
}

/* How the host waits is the library's to decide. */
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags)
{
  device_t *found;
  (void)flags;
  return device_at(device, &found);
}

/* ---- The thread's ---- */

hipError_t hipCtxGetCurrent(hipCtx_t *context)
{
  device_t *device;
  if (!context)
    return fail(hipErrorInvalidValue, "context is NULL");
  hipError_t status = device_current(&device);
  *context = status ? NULL : context_of(device);
  return status;
}

/* A thread always has a device: NULL leaves it the one that it has. */
hipError_t hipCtxSetCurrent(hipCtx_t context)
{
  device_t *device;
  if (!context)
    return hipSuccess;
  hipError_t status = device_of(context, &device);
  return status != hipSuccess ? status : hipSetDevice(device->ordinal);
}

hipError_t hipCtxPushCurrent(hipCtx_t context)
{
  device_t *device, *current;
  hipError_t status = device_of(context, &device);
  if (status == hipSuccess)
    status = device_current(&current);
  if (status != hipSuccess)
    return status;
  if (pushed.count == MOST_PUSHED)
    return fail(hipErrorInvalidContext, "more than %d contexts are pushed", MOST_PUSHED);
  pushed.devices[pushed.count++] = current->ordinal;
  return hipSetDevice(device->ordinal);
}

hipError_t hipCtxPopCurrent(hipCtx_t *context)
{
  device_t *current;
  hipError_t status = device_current(&current);
  if (status != hipSuccess)
    return status;
  if (!pushed.count)
    return fail(hipErrorInvalidContext, "no context is pushed");
  if (context)
    *context = context_of(current);
  return hipSetDevice(pushed.devices[--pushed.count]);
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t device)
{
  (void)flags;
  hipError_t status = hipDevicePrimaryCtxRetain(context, device);
  return status != hipSuccess ? status : hipCtxPushCurrent(*context);
}

hipError_t hipCtxDestroy(hipCtx_t context)
{
  device_t *device, *current;
  hipError_t status = device_of(context, &device);
  if (status == hipSuccess)
    status = device_current(&current);
  return status == hipSuccess && device == current && pushed.count ? hipCtxPopCurrent(NULL)
                                                                   : status;
}

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
  return hipGetDevice(device);
}

hipError_t hipCtxSynchronize(void)
{
  return hipDeviceSynchronize();
}

hipError_t hipCtxGetFlags(unsigned *flags)
{
  return hipGetDeviceFlags(flags);
}

hipError_t hipGetDeviceFlags(unsigned *flags)
{
  if (!flags)
    return fail(hipErrorInvalidValue, "flags is NULL");
  *flags = 0;
  return hipSuccess;
}

hipError_t hipSetDeviceFlags(unsigned flags)
{
  enum { SCHEDULING = 0x7, MAP_HOST = 0x8, RESIZE_LOCAL = 0x10 };
  return flags & ~(unsigned)(SCHEDULING | MAP_HOST | RESIZE_LOCAL)
             ? fail(hipErrorInvalidValue, "unknown flags 0x%x", flags)
             : hipSuccess;
}
