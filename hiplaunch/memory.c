#include "hiplaunch/memory.h"

#include <search.h>
#include <stdlib.h>

#include "hiplaunch/stream.h"

/* Allocations do not overlap: those that share a byte are equal here, and a search for one byte
 * finds whose it is. */
static int compare(const void *left, const void *right)
{
  const allocation_t *a = left, *b = right;
  if (a->address + a->size <= b->address)
    return -1;
  return b->address + b->size <= a->address ? 1 : 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

void memory_lock_all(void)
{
  pthread_mutex_lock(&lock);
}

void memory_unlock_all(void)
{
  pthread_mutex_unlock(&lock);
}

bool memory_find(uint64_t address, allocation_t *allocation)
{
  const allocation_t key = {.address = address, .size = 1};
  pthread_mutex_lock(&lock);
  void *const *found = tfind(&key, &tree, compare);
  if (found)
    *allocation = *(const allocation_t *)*found;
  pthread_mutex_unlock(&lock);
  return found;
}

static bool add(const allocation_t *allocation)
{
  allocation_t *copy = malloc(sizeof(*copy));
  if (!copy)
    return false;
  *copy = *allocation;
  pthread_mutex_lock(&lock);
  void *const *node = tsearch(copy, &tree, compare);
  bool added = node && *node == copy;
  pthread_mutex_unlock(&lock);
  if (!added)
    free(copy);
  return added;
}

void memory_release(const allocation_t *allocation)
{
  pthread_mutex_lock(&lock);
  void *const *node = tfind(allocation, &tree, compare);
  allocation_t *known = node ? *node : NULL;
  tdelete(allocation, &tree, compare);
  pthread_mutex_unlock(&lock);
  free(known);
  rawhal_buffer_free(allocation->buffer);
}

/* ---- Allocating ---- */

static rawhal_status_t allow_all(rawhal_buffer_t *buffer, rawhal_error_t *error)
{
  device_t *devices;
  int count = devices_opened(&devices);
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; status == RAWHAL_OK && count > 1 && i < count; ++i)
    status = rawhal_buffer_allow(buffer, &devices[i].device, 1, error);
  return status;
}

hipError_t memory_allocate(device_t *device, allocation_kind_t kind, size_t size,
                           allocation_t *allocation)
{
  const bool host = kind != ALLOCATION_DEVICE;
  rawhal_error_t error;
  *allocation = (allocation_t){.size = size, .device = device, .kind = kind};
  rawhal_status_t status =
      rawhal_buffer_allocate(device->device, host ? RAWHAL_MEMORY_HOST : RAWHAL_MEMORY_DEVICE, size,
                             &allocation->buffer, &error);
  if (status == RAWHAL_OK && host)
    status = allow_all(allocation->buffer, &error);
  if (status != RAWHAL_OK) {
    rawhal_buffer_free(allocation->buffer);
    return fail_rawhal(&error, "%zu bytes", size);
  }
  allocation->address = rawhal_buffer_address(allocation->buffer);
  hipError_t refused = hipSuccess;
  if (host && (uintptr_t)rawhal_buffer_host(allocation->buffer) != allocation->address)
    refused = fail(hipErrorNotSupported, "host memory that the device has at another address");
  else if (!add(allocation))
    refused = fail(hipErrorOutOfMemory, "out of host memory");
  if (refused != hipSuccess)
    rawhal_buffer_free(allocation->buffer);
  return refused;
}

hipError_t memory_add_variable(allocation_t *variable)
{
  rawhal_error_t error;
  variable->kind = ALLOCATION_VARIABLE;
  if (rawhal_buffer_import(variable->device->device, (void *)(uintptr_t)variable->address,
                           variable->size, &variable->buffer, &error))
    return fail_rawhal(&error, NULL);
  if (add(variable))
    return hipSuccess;
  rawhal_buffer_free(variable->buffer);
  return fail(hipErrorOutOfMemory, "out of host memory");
}

hipError_t memory_check(const char *what, const void *address, size_t size,
                        allocation_t *allocation)
{
  const uint64_t at = (uintptr_t)address;
  if (!memory_find(at, allocation))
    return fail(hipErrorInvalidValue, "%s %p is in no live allocation of the program's", what,
                address);
  const uint64_t offset = at - allocation->address;
  if (size > allocation->size - offset)
    return fail(hipErrorInvalidValue,
                "%s %p has %llu of %zu bytes: it is at %llu of an allocation of %zu", what, address,
                (unsigned long long)(allocation->size - offset), size, (unsigned long long)offset,
                allocation->size);
  return hipSuccess;
}

static hipError_t allocate_for(void **pointer, allocation_kind_t kind, size_t size)
{
  device_t *device;
  allocation_t allocation;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  *pointer = NULL;
  hipError_t status = device_current(&device);
  if (status == hipSuccess && size) {
    status = memory_allocate(device, kind, size, &allocation);
    *pointer = status ? NULL : (void *)(uintptr_t)allocation.address;
  }
  return status;
}

hipError_t hipMalloc(void **pointer, size_t size)
{
  return allocate_for(pointer, ALLOCATION_DEVICE, size);
}

/* All of it is coherent and mapped, whatever the flags ask for. */
hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags)
{
  (void)flags;
  return allocate_for(pointer, ALLOCATION_HOST, size);
}

hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags)
{
  if (flags != 1 && flags != 2) /* hipMemAttachGlobal, hipMemAttachHost */
    return fail(hipErrorInvalidValue, "flags 0x%x: expected hipMemAttachGlobal or hipMemAttachHost",
                flags);
  return allocate_for(pointer, ALLOCATION_MANAGED, size);
}

/* ---- Freeing ---- */

/* What is submitted may use it: it is waited for. Whether it failed does not matter here. */
static hipError_t free_of(void *pointer, bool host)
{
  device_t *device;
  allocation_t allocation;
  hipError_t status = device_current(&device);
  if (status != hipSuccess || !pointer)
    return status;
  if (!memory_find((uintptr_t)pointer, &allocation) || allocation.address != (uintptr_t)pointer ||
      allocation.kind == ALLOCATION_VARIABLE || (allocation.kind == ALLOCATION_HOST) != host)
    return fail(host ? hipErrorInvalidValue : hipErrorInvalidDevicePointer,
                "%p is not what %s gave", pointer,
                host ? "hipHostMalloc()" : "hipMalloc() or hipMallocManaged()");
  if (allocation.kind == ALLOCATION_DEVICE)
    device_settle(allocation.device);
  else
    devices_settle();
  memory_release(&allocation);
  return hipSuccess;
}

hipError_t hipFree(void *pointer)
{
  return free_of(pointer, false);
}

hipError_t hipHostFree(void *pointer)
{
  return free_of(pointer, true);
}
