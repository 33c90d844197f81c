#include "hiplaunch/memory/memory.h"

#include <search.h>
#include <stdlib.h>

#include "hiplaunch/device/stream.h"

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

static bool is_free(uint64_t address, size_t size)
{
  const allocation_t key = {.address = address, .size = size};
  pthread_mutex_lock(&lock);
  const void *found = tfind(&key, &tree, compare);
  pthread_mutex_unlock(&lock);
  return !found;
}

static bool add(const allocation_t *allocation)
{
  allocation_t *copy = malloc(sizeof(*copy));
  if (!copy)
    return false;
  static uint32_t last_id;
  *copy = *allocation;
  pthread_mutex_lock(&lock);
  copy->id = ++last_id;
  void *const *node = tsearch(copy, &tree, compare);
  bool added = node && *node == copy;
  pthread_mutex_unlock(&lock);
  if (!added)
    free(copy);
  return added;
}

bool memory_forget(uint64_t address, allocation_t *allocation)
{
  const allocation_t key = {.address = address, .size = 1};
  pthread_mutex_lock(&lock);
  void *const *node = tfind(&key, &tree, compare);
  allocation_t *known = node ? *node : NULL;
  if (known)
    tdelete(known, &tree, compare);
  pthread_mutex_unlock(&lock);
  if (known)
    *allocation = *known;
  free(known);
  return known;
}

void memory_give_back(const allocation_t *allocation)
{
  rawhal_buffer_free(allocation->buffer);
  for (rawhal_buffer_t **other = allocation->shared; other && *other; ++other)
    rawhal_buffer_free(*other);
  free(allocation->shared);
  if (allocation->pool)
    pool_leave(allocation);
}

void memory_release(const allocation_t *allocation)
{
  allocation_t known;
  if (memory_forget(allocation->address, &known))
    memory_give_back(&known);
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

/* For the devices that may reach this one's memory: read after the allocation is known, so that
 * memory_open_to() finds it, or is found. */
static rawhal_status_t allow_peers(const allocation_t *allocation, rawhal_error_t *error)
{
  device_t *devices;
  int count = devices_opened(&devices);
  pthread_mutex_lock(&lock);
  uint64_t peers = allocation->device->peers;
  pthread_mutex_unlock(&lock);
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; status == RAWHAL_OK && peers && i < count; ++i, peers >>= 1)
    if (peers & 1)
      status = rawhal_buffer_allow(allocation->buffer, &devices[i].device, 1, error);
  return status;
}

hipError_t memory_allocate(allocation_t *allocation)
{
  const bool host = allocation->kind != ALLOCATION_DEVICE;
  const size_t size = allocation->size;
  device_t *device = allocation->device;
  rawhal_error_t error;
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
  else if (!host && allow_peers(allocation, &error)) {
    memory_release(allocation);
    return fail_rawhal(&error, "%zu bytes for other devices", size);
  }
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

/* ---- The program's own memory ---- */

/* The same bytes for every other device. Kernels get the host's address, so all have them there. */
static rawhal_status_t import_for_others(allocation_t *allocation, rawhal_error_t *error)
{
  device_t *devices;
  int count = devices_opened(&devices);
  rawhal_status_t status = RAWHAL_OK;
  allocation->shared = calloc((size_t)count, sizeof(*allocation->shared));
  if (!allocation->shared) {
    *error = (rawhal_error_t){.status = RAWHAL_OUT_OF_MEMORY, .message = "out of host memory"};
    return RAWHAL_OUT_OF_MEMORY;
  }
  for (int i = 0, others = 0; status == RAWHAL_OK && i < count; ++i)
    if (&devices[i] != allocation->device)
      status =
          rawhal_buffer_import_in_place(devices[i].device, (void *)(uintptr_t)allocation->address,
                                        allocation->size, &allocation->shared[others++], error);
  return status;
}

hipError_t memory_register(device_t *device, void *pointer, size_t size, unsigned flags)
{
  allocation_t allocation = {.address = (uintptr_t)pointer,
                             .size = size,
                             .device = device,
                             .kind = ALLOCATION_REGISTERED,
                             .flags = flags};
  rawhal_error_t error;
  if (size > UINT64_MAX - allocation.address)
    return fail(hipErrorInvalidValue, "%zu bytes at %p wrap around", size, pointer);
  if (!is_free(allocation.address, size))
    return fail(hipErrorHostMemoryAlreadyRegistered, "%p is allocated or registered already",
                pointer);
  rawhal_status_t status =
      rawhal_buffer_import_in_place(device->device, pointer, size, &allocation.buffer, &error);
  if (status == RAWHAL_OK)
    status = import_for_others(&allocation, &error);
  hipError_t refused = hipSuccess;
  if (status != RAWHAL_OK)
    refused = fail_rawhal(&error, "registering %zu bytes at %p", size, pointer);
  else if (!add(&allocation))
    refused = fail(hipErrorOutOfMemory, "out of host memory");
  if (refused != hipSuccess)
    memory_give_back(&allocation);
  return refused;
}

/* ---- Peers ---- */

/* What twalk() goes on with; locked. */
static struct {
  const device_t *owner;
  rawhal_device_t *device;
  rawhal_status_t status;
  rawhal_error_t error;
} opening;

static void open_one(const void *node, VISIT visit, int depth)
{
  const allocation_t *allocation = *(const allocation_t *const *)node;
  (void)depth;
  if ((visit == postorder || visit == leaf) && opening.status == RAWHAL_OK &&
      allocation->device == opening.owner && allocation->kind == ALLOCATION_DEVICE)
    opening.status = rawhal_buffer_allow(allocation->buffer, &opening.device, 1, &opening.error);
}

static uint64_t bit_of(const device_t *device)
{
  return device->ordinal < 64 ? UINT64_C(1) << device->ordinal : 0;
}

hipError_t memory_open_to(device_t *owner, device_t *device)
{
  const uint64_t bit = bit_of(device);
  if (!bit)
    return fail(hipErrorNotSupported, "peers beyond device 63");
  pthread_mutex_lock(&lock);
  bool already = owner->peers & bit;
  owner->peers |= bit;
  opening.owner = owner;
  opening.device = device->device;
  opening.status = RAWHAL_OK;
  if (!already)
    twalk(tree, open_one);
  if (opening.status != RAWHAL_OK)
    owner->peers &= ~bit;
  const rawhal_status_t status = opening.status;
  const rawhal_error_t error = opening.error;
  pthread_mutex_unlock(&lock);
  if (already)
    return fail(hipErrorPeerAccessAlreadyEnabled, "device %d reaches device %d already",
                device->ordinal, owner->ordinal);
  return status != RAWHAL_OK ? fail_rawhal(&error, "access for a peer") : hipSuccess;
}

hipError_t memory_close_to(device_t *owner, device_t *device)
{
  const uint64_t bit = bit_of(device);
  pthread_mutex_lock(&lock);
  bool had = owner->peers & bit;
  owner->peers &= ~bit;
  pthread_mutex_unlock(&lock);
  return had ? hipSuccess
             : fail(hipErrorPeerAccessNotEnabled, "device %d does not reach device %d",
                    device->ordinal, owner->ordinal);
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

static hipError_t allocate_for(void **pointer, allocation_kind_t kind, size_t size, unsigned flags)
{
  device_t *device;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  *pointer = NULL;
  hipError_t status = device_current(&device);
  if (status == hipSuccess && size) {
    allocation_t allocation = {.size = size, .device = device, .kind = kind, .flags = flags};
    status = memory_allocate(&allocation);
    *pointer = status ? NULL : (void *)(uintptr_t)allocation.address;
  }
  return status;
}

hipError_t hipMalloc(void **pointer, size_t size)
{
  return allocate_for(pointer, ALLOCATION_DEVICE, size, 0);
}

/* All of it is coherent and mapped, whatever the flags ask for. */
hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags)
{
  return allocate_for(pointer, ALLOCATION_HOST, size, flags);
}

hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags)
{
  if (flags != 1 && flags != 2) /* hipMemAttachGlobal, hipMemAttachHost */
    return fail(hipErrorInvalidValue, "flags 0x%x: expected hipMemAttachGlobal or hipMemAttachHost",
                flags);
  return allocate_for(pointer, ALLOCATION_MANAGED, size, flags);
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
      allocation.kind == ALLOCATION_VARIABLE || allocation.kind == ALLOCATION_REGISTERED ||
      (allocation.kind == ALLOCATION_HOST) != host)
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
