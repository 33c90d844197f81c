#include <stdlib.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/memory/memory.h"

/* Memory in a stream's order. It is allocated at once, which is no later than the stream asks for,
 * and given back when the stream has done all that it was given before. Pools count; they hold
 * nothing back, so that a kernel which goes on using freed memory is told. */
struct ihipMemPoolHandle_t {
  struct ihipMemPoolHandle_t *next; /* of the device; the default one is the first, or NULL */
  device_t *device;
  bool closed;        /* hipMemPoolDestroy(): freed with its last allocation */
  size_t allocations; /* live ones */
  uint64_t used, high;
  uint64_t threshold;
  int reuse[hipMemPoolReuseAllowInternalDependencies]; /* recorded, without effect */
};

static hipMemPool_t make(device_t *device)
{
  hipMemPool_t pool = calloc(1, sizeof(*pool));
  if (!pool)
    return NULL;
  pool->device = device;
  for (int i = 0; i < hipMemPoolReuseAllowInternalDependencies; ++i)
    pool->reuse[i] = 1;
  return pool;
}

/* The device is locked. */
static hipMemPool_t default_of(device_t *device)
{
  if (!device->pools)
    device->pools = make(device);
  return device->pools;
}

/* NULL: out of memory. Not locked. */
static hipMemPool_t pool_of(device_t *device, bool current)
{
  pthread_mutex_lock(&device->lock);
  hipMemPool_t pool = current && device->pool ? device->pool : default_of(device);
  pthread_mutex_unlock(&device->lock);
  return pool;
}

/* A pool that lives; its device is locked when it is found. */
static hipError_t find(hipMemPool_t handle)
{
  device_t *devices;
  int count;
  hipError_t status = devices_open(&devices, &count);
  for (int i = 0; status == hipSuccess && handle && i < count; ++i) {
    pthread_mutex_lock(&devices[i].lock);
    for (hipMemPool_t pool = devices[i].pools; pool; pool = pool->next)
      if (pool == handle && !pool->closed)
        return hipSuccess;
    pthread_mutex_unlock(&devices[i].lock);
  }
  return status != hipSuccess
             ? status
             : fail(hipErrorInvalidValue, "%p is not a memory pool", (void *)handle);
}

static void unlock(const struct ihipMemPoolHandle_t *pool)
{
  pthread_mutex_unlock(&pool->device->lock);
}

/* Locked. */
static void free_when_done(hipMemPool_t pool)
{
  if (!pool->closed || pool->allocations)
    return;
  struct ihipMemPoolHandle_t **at = &pool->device->pools;
  while (*at != pool)
    at = &(*at)->next;
  *at = pool->next;
  free(pool);
}

void pool_leave(const allocation_t *allocation)
{
  hipMemPool_t pool = allocation->pool;
  device_t *device = pool->device;
  pthread_mutex_lock(&device->lock);
  pool->used -= allocation->size;
  --pool->allocations;
  free_when_done(pool);
  pthread_mutex_unlock(&device->lock);
}

/* ---- Allocating and freeing ---- */

static void enter(hipMemPool_t pool, size_t size)
{
  ++pool->allocations;
  pool->used += size;
  pool->high = pool->used > pool->high ? pool->used : pool->high;
}

hipError_t hipMallocFromPoolAsync(void **pointer, size_t size, hipMemPool_t pool,
                                  hipStream_t handle)
{
  struct ihipStream_t *stream;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  *pointer = NULL;
  hipError_t status = stream_find(handle, &stream);
  if (status == hipSuccess)
    status = find(pool);
  if (status != hipSuccess)
    return status;
  enter(pool, size); /* from here on it stays, whoever destroys it */
  unlock(pool);
  allocation_t allocation = {
      .size = size, .device = pool->device, .kind = ALLOCATION_DEVICE, .pool = pool};
  if (size)
    status = memory_allocate(&allocation);
  if (status == hipSuccess && size)
    *pointer = (void *)(uintptr_t)allocation.address;
  else
    pool_leave(&allocation);
  return status;
}

hipError_t hipMallocAsync(void **pointer, size_t size, hipStream_t handle)
{
  struct ihipStream_t *stream;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  *pointer = NULL;
  hipError_t status = stream_find(handle, &stream);
  if (status != hipSuccess)
    return status;
  hipMemPool_t pool = pool_of(stream->device, true);
  return pool ? hipMallocFromPoolAsync(pointer, size, pool, handle)
              : fail(hipErrorOutOfMemory, "out of host memory");
}

static void give_back(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
{
  (void)ticket, (void)result; /* done or failed: nothing uses it any more */
  memory_give_back(context);
  free(context);
}

/* When the lane has come so far: told by the queue, or waited for when that cannot be arranged. */
static void give_back_after(lane_t *lane, rawhal_ticket_t last, allocation_t *allocation)
{
  if (last && rawhal_queue_on_complete(lane->queue, last, give_back, allocation, NULL) == RAWHAL_OK)
    return;
  rawhal_status_t status =
      last ? rawhal_queue_wait(lane->queue, last, RAWHAL_FOREVER, NULL) : RAWHAL_OK;
  (void)status; /* a failure is told to the thread that waits for what it submitted */
  give_back(allocation, last, NULL);
}

hipError_t hipFreeAsync(void *pointer, hipStream_t handle)
{
  struct ihipStream_t *stream;
  if (!pointer)
    return fail(hipErrorInvalidValue, "pointer is NULL");
  allocation_t known, *allocation = calloc(1, sizeof(*allocation));
  if (!allocation)
    return fail(hipErrorOutOfMemory, "out of host memory");
  hipError_t status = stream_enter(handle, &stream);
  if (status != hipSuccess) {
    free(allocation);
    return status;
  }
  lane_t *lane = stream->lane;
  const rawhal_ticket_t last = lane->last;
  stream_leave(stream);
  if (!memory_find((uintptr_t)pointer, &known) || known.address != (uintptr_t)pointer ||
      known.kind != ALLOCATION_DEVICE || !memory_forget(known.address, allocation)) {
    free(allocation);
    return fail(hipErrorInvalidValue, "%p is not what hipMallocAsync() or hipMalloc() gave",
                pointer);
  }
  give_back_after(lane, last, allocation);
  return hipSuccess;
}

/* ---- Pools ---- */

static hipError_t pool_for(hipMemPool_t *pool, int ordinal, bool current)
{
  device_t *device;
  if (!pool)
    return fail(hipErrorInvalidValue, "pool is NULL");
  *pool = NULL;
  hipError_t status = device_at(ordinal, &device);
  if (status != hipSuccess)
    return status;
  *pool = pool_of(device, current);
  return *pool ? hipSuccess : fail(hipErrorOutOfMemory, "out of host memory");
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device)
{
  return pool_for(pool, device, false);
}

hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
  return pool_for(pool, device, true);
}

hipError_t hipDeviceSetMemPool(int ordinal, hipMemPool_t pool)
{
  device_t *device;
  hipError_t status = device_at(ordinal, &device);
  if (status == hipSuccess)
    status = find(pool);
  if (status != hipSuccess)
    return status;
  bool own = pool->device == device;
  if (own)
    device->pool = pool;
  unlock(pool);
  return own ? hipSuccess : fail(hipErrorInvalidValue, "the pool is of another device");
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties)
{
  device_t *device;
  if (!pool || !properties)
    return fail(hipErrorInvalidValue, "%s is NULL", pool ? "properties" : "pool");
  *pool = NULL;
  if (properties->allocType != hipMemAllocationTypePinned ||
      properties->location.type != hipMemLocationTypeDevice)
    return fail(hipErrorInvalidValue, "a pool of other than pinned memory of a device");
  if (properties->handleTypes != hipMemHandleTypeNone)
    return fail(hipErrorNotSupported, "a pool whose memory is shared between processes");
  hipError_t status = device_at(properties->location.id, &device);
  if (status != hipSuccess)
    return status;
  hipMemPool_t made = make(device);
  pthread_mutex_lock(&device->lock);
  hipMemPool_t first = made ? default_of(device) : NULL;
  if (first) {
    made->next = first->next;
    first->next = made;
  }
  pthread_mutex_unlock(&device->lock);
  if (!first) {
    free(made);
    return fail(hipErrorOutOfMemory, "out of host memory");
  }
  *pool = made;
  return hipSuccess;
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
  hipError_t status = find(pool);
  if (status != hipSuccess)
    return status;
  device_t *device = pool->device;
  bool is_default = pool == device->pools;
  if (!is_default) {
    device->pool = device->pool == pool ? NULL : device->pool;
    pool->closed = true;
    free_when_done(pool);
  }
  pthread_mutex_unlock(&device->lock);
  return is_default ? fail(hipErrorInvalidValue, "a device's default pool stays") : hipSuccess;
}

/* There is nothing that it holds back. */
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep)
{
  (void)keep;
  hipError_t status = find(pool);
  if (status == hipSuccess)
    unlock(pool);
  return status;
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
  if (!value)
    return fail(hipErrorInvalidValue, "value is NULL");
  hipError_t status = find(pool);
  if (status != hipSuccess)
    return status;
  bool known = true;
  switch (attribute) {
  case hipMemPoolReuseFollowEventDependencies:
  case hipMemPoolReuseAllowOpportunistic:
  case hipMemPoolReuseAllowInternalDependencies:
    pool->reuse[attribute - 1] = *(const int *)value != 0;
    break;
  case hipMemPoolAttrReleaseThreshold:
    pool->threshold = *(const uint64_t *)value;
    break;
  case hipMemPoolAttrReservedMemHigh:
  case hipMemPoolAttrUsedMemHigh:
    known = !*(const uint64_t *)value;
    pool->high = known ? pool->used : pool->high;
    break;
  default:
    known = false;
  }
  unlock(pool);
  return known ? hipSuccess
               : fail(hipErrorInvalidValue, "attribute %d of a pool is not set to that",
                      (int)attribute);
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
  if (!value)
    return fail(hipErrorInvalidValue, "value is NULL");
  hipError_t status = find(pool);
  if (status != hipSuccess)
    return status;
  bool known = true;
  switch (attribute) {
  case hipMemPoolReuseFollowEventDependencies:
  case hipMemPoolReuseAllowOpportunistic:
  case hipMemPoolReuseAllowInternalDependencies:
    *(int *)value = pool->reuse[attribute - 1];
    break;
  case hipMemPoolAttrReleaseThreshold:
    *(uint64_t *)value = pool->threshold;
    break;
  case hipMemPoolAttrReservedMemCurrent:
  case hipMemPoolAttrUsedMemCurrent:
    *(uint64_t *)value = pool->used;
    break;
  case hipMemPoolAttrReservedMemHigh:
  case hipMemPoolAttrUsedMemHigh:
    *(uint64_t *)value = pool->high;
    break;
  default:
    known = false;
  }
  unlock(pool);
  return known ? hipSuccess
               : fail(hipErrorInvalidValue, "a pool has no attribute %d", (int)attribute);
}

/* ---- Who reaches a pool's memory ---- */

static hipError_t peer_of(const hipMemLocation *location, device_t **device)
{
  return location->type == hipMemLocationTypeDevice
             ? device_at(location->id, device)
             : fail(hipErrorInvalidValue, "a location of type %d", (int)location->type);
}

/* Its own device always does. For others hipDeviceEnablePeerAccess() is what there is. */
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc *descriptors, size_t count)
{
  if (!descriptors || !count)
    return fail(hipErrorInvalidValue, "no descriptors");
  hipError_t status = find(pool);
  if (status != hipSuccess)
    return status;
  device_t *own = pool->device, *device;
  unlock(pool);
  for (size_t i = 0; status == hipSuccess && i < count; ++i) {
    status = peer_of(&descriptors[i].location, &device);
    if (status == hipSuccess &&
        (device != own || descriptors[i].flags != hipMemAccessFlagsProtReadWrite))
      status = fail(hipErrorNotSupported, "access of device %d to a pool of device %d alone",
                    device->ordinal, own->ordinal);
  }
  return status;
}

hipError_t hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t pool,
                               hipMemLocation *location)
{
  device_t *device;
  if (!flags || !location)
    return fail(hipErrorInvalidValue, "%s is NULL", flags ? "location" : "flags");
  hipError_t status = peer_of(location, &device);
  if (status == hipSuccess)
    status = find(pool);
  if (status != hipSuccess)
    return status;
  *flags = pool->device == device ? hipMemAccessFlagsProtReadWrite : hipMemAccessFlagsProtNone;
  unlock(pool);
  return hipSuccess;
}
