/* Reserved addresses, and the memory that is mapped to them. */
#include "hal/reservation.h"

#include "hal/buffer.h"
#include "hal/limits.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"

#include <pthread.h>

/* A buffer's, which is where it was mapped. */
typedef struct mapping {
  rawhal_reservation_t *reservation;
  uint64_t offset, bytes;
  hsa_vmem_handle_t handle;
  struct mapping *next, *before;
} mapping_t;

struct rawhal_reservation {
  rawhal_device_t *device;
  unsigned char *base;
  uint64_t bytes;
  pthread_mutex_t lock;
  mapping_t *first;
  size_t holders; /* who made it, and each mapping */
};

/* ---- What the runtime has ----
 *
 * HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED: the driver's part of it. */

enum { SYSTEM_INFO_VIRTUAL_MEMORY = 0x205 };

static rawhal_status_t check_runtime(const hsa_table_t *hsa, rawhal_error_t *error)
{
  bool supported = false;
  if (!hsa->vmem.complete)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the HSA runtime is too old: it has no hsa_amd_vmem_address_reserve");
  if (hsa->hsa_system_get_info((hsa_system_info_t)SYSTEM_INFO_VIRTUAL_MEMORY, &supported) !=
          HSA_STATUS_SUCCESS ||
      !supported)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the driver below the HSA runtime has no virtual memory");
  return RAWHAL_OK;
}

/* ---- The range ---- */

static const hsa_table_t *table_of(const rawhal_reservation_t *reservation)
{
  return &reservation->device->runtime->hsa;
}

static void let_go(rawhal_reservation_t *reservation)
{
  pthread_mutex_lock(&reservation->lock);
  const bool last = --reservation->holders == 0;
  pthread_mutex_unlock(&reservation->lock);
  if (!last)
    return;
  (void)table_of(reservation)->vmem.address_free(reservation->base, reservation->bytes);
  pthread_mutex_destroy(&reservation->lock);
  runtime_free(reservation);
  runtime_release();
}

static rawhal_status_t reserve(rawhal_device_t *device, uint64_t bytes,
                               rawhal_reservation_t **reservation, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &device->runtime->hsa;
  rawhal_reservation_t *made = allocate_zeroed(&device->runtime->allocator, 1, sizeof(*made));
  void *base = NULL;
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a reservation");
  hsa_status_t result = hsa->vmem.address_reserve(&base, bytes, 0, 0);
  if (result != HSA_STATUS_SUCCESS) {
    allocate_free(&device->runtime->allocator, made);
    return hsa_fail(hsa, result, error, "reserving addresses");
  }
  made->device = device;
  made->base = base;
  made->bytes = bytes;
  made->holders = 1;
  pthread_mutex_init(&made->lock, NULL);
  runtime_hold();
  *reservation = made;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_reservation_create(rawhal_device_t *device, uint64_t bytes,
                                          rawhal_reservation_t **reservation, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!reservation)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "reservation is NULL");
  *reservation = NULL;
  if (!device || bytes == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       device ? "bytes is 0" : "device is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK)
    status = check_runtime(&device->runtime->hsa, error);
  uint64_t whole = 0;
  if (status == RAWHAL_OK && !checked_align_u64(bytes, device->granule, &whole))
    status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%llu bytes are more than there are addresses",
                         (unsigned long long)bytes);
  return status == RAWHAL_OK ? reserve(device, whole, reservation, error) : status;
}

void rawhal_reservation_destroy(rawhal_reservation_t *reservation)
{
  WITHOUT_CANCELLATION();
  if (reservation && runtime_check(NULL) == RAWHAL_OK)
    let_go(reservation);
}

void rawhal_reservation_info(const rawhal_reservation_t *reservation,
                             rawhal_reservation_info_t *info)
{
  rawhal_reservation_info_t made = {0};
  if (reservation && runtime_check(NULL) == RAWHAL_OK)
    made = (rawhal_reservation_info_t){.address = (uint64_t)(uintptr_t)reservation->base,
                                       .bytes = reservation->bytes,
                                       .granule = reservation->device->granule};
  sized_give(info, sizeof(made), &made, sizeof(made));
}

/* ---- What is mapped ---- */

/* The caller holds the lock. */
static rawhal_status_t add(rawhal_reservation_t *reservation, mapping_t *mapping,
                           rawhal_error_t *error)
{
  for (const mapping_t *other = reservation->first; other; other = other->next)
    if (mapping->offset < other->offset + other->bytes &&
        other->offset < mapping->offset + mapping->bytes)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "%llu bytes at offset %llu: %llu bytes are mapped at offset %llu",
                         (unsigned long long)mapping->bytes, (unsigned long long)mapping->offset,
                         (unsigned long long)other->bytes, (unsigned long long)other->offset);
  mapping->next = reservation->first;
  if (mapping->next)
    mapping->next->before = mapping;
  reservation->first = mapping;
  ++reservation->holders;
  return RAWHAL_OK;
}

/* Then its place can be mapped anew. */
static void leave(mapping_t *mapping)
{
  rawhal_reservation_t *reservation = mapping->reservation;
  pthread_mutex_lock(&reservation->lock);
  *(mapping->before ? &mapping->before->next : &reservation->first) = mapping->next;
  if (mapping->next)
    mapping->next->before = mapping->before;
  pthread_mutex_unlock(&reservation->lock);
  runtime_free(mapping);
  let_go(reservation);
}

static hsa_status_t unmap(void *held)
{
  mapping_t *mapping = held;
  const rawhal_reservation_t *reservation = mapping->reservation;
  const hsa_table_t *hsa = table_of(reservation);
  hsa_status_t result = hsa->vmem.unmap(reservation->base + mapping->offset, mapping->bytes);
  (void)hsa->vmem.handle_release(mapping->handle);
  limits_release(reservation->device, LEDGER_BUFFERS, mapping->bytes);
  leave(mapping);
  return result;
}

/* Memory at its place, which the device reaches. On failure there is none. */
static rawhal_status_t back(mapping_t *mapping, rawhal_error_t *error)
{
  const rawhal_reservation_t *reservation = mapping->reservation;
  const rawhal_device_t *device = reservation->device;
  const hsa_table_t *hsa = table_of(reservation);
  void *at = reservation->base + mapping->offset;
  hsa_status_t result =
      hsa->vmem.handle_create(device->pool, mapping->bytes, 0, 0, &mapping->handle);
  if (result != HSA_STATUS_SUCCESS)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "allocating %llu bytes of device memory: %s",
                       (unsigned long long)mapping->bytes, hsa_status_text(hsa, result));
  const hsa_vmem_access_t access = {HSA_ACCESS_PERMISSION_RW, device->queue.agent};
  result = hsa->vmem.map(at, mapping->bytes, 0, mapping->handle, 0);
  const bool is_mapped = result == HSA_STATUS_SUCCESS;
  if (is_mapped)
    result = hsa->vmem.set_access(at, mapping->bytes, &access, 1);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  if (is_mapped)
    (void)hsa->vmem.unmap(at, mapping->bytes);
  (void)hsa->vmem.handle_release(mapping->handle);
  return hsa_fail(hsa, result, error, "mapping memory to reserved addresses");
}

static rawhal_status_t map(rawhal_buffer_t *buffer, mapping_t *mapping, rawhal_error_t *error)
{
  rawhal_reservation_t *reservation = mapping->reservation;
  pthread_mutex_lock(&reservation->lock);
  rawhal_status_t status = add(reservation, mapping, error);
  pthread_mutex_unlock(&reservation->lock);
  if (status != RAWHAL_OK) {
    runtime_free(mapping);
    return status;
  }
  status = limits_reserve(reservation->device, LEDGER_BUFFERS, mapping->bytes, error);
  if (status == RAWHAL_OK) {
    status = back(mapping, error);
    if (status != RAWHAL_OK)
      limits_release(reservation->device, LEDGER_BUFFERS, mapping->bytes);
  }
  if (status != RAWHAL_OK) {
    leave(mapping);
    return status;
  }
  buffer->memory = reservation->base + mapping->offset;
  buffer->part_with = unmap;
  buffer->held = mapping;
  return RAWHAL_OK;
}

static rawhal_status_t check_place(const rawhal_reservation_t *reservation, uint64_t offset,
                                   uint64_t bytes, rawhal_error_t *error)
{
  const uint64_t granule = reservation->device->granule;
  if (bytes == 0 || offset % granule || bytes % granule)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%llu bytes at offset %llu are not whole granules of %llu bytes",
                       (unsigned long long)bytes, (unsigned long long)offset,
                       (unsigned long long)granule);
  if (!range_within(offset, bytes, reservation->bytes))
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%llu bytes at offset %llu of a reservation of %llu bytes",
                       (unsigned long long)bytes, (unsigned long long)offset,
                       (unsigned long long)reservation->bytes);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_reservation_map(rawhal_reservation_t *reservation, uint64_t offset,
                                       uint64_t bytes, rawhal_buffer_t **buffer,
                                       rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!buffer)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  *buffer = NULL;
  if (!reservation)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "reservation is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK)
    status = check_place(reservation, offset, bytes, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_device_t *device = reservation->device;
  rawhal_buffer_t *created = buffer_begin(device, RAWHAL_MEMORY_DEVICE, bytes, error);
  if (!created)
    return RAWHAL_OUT_OF_MEMORY;
  created->foreign = true; /* part_with() gives it back, not the runtime's pool */
  mapping_t *mapping = allocate_zeroed(&device->runtime->allocator, 1, sizeof(*mapping));
  if (!mapping)
    return buffer_finish(created,
                         rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a mapping"),
                         buffer, error);
  *mapping = (mapping_t){.reservation = reservation, .offset = offset, .bytes = bytes};
  return buffer_finish(created, map(created, mapping, error), buffer, error);
}
