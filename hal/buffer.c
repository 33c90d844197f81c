/* Buffers, and the registry of those that are alive: a freed buffer is refused before it is looked
 * into. */
#include "hal/buffer.h"

#include "hal/executable.h"
#include "hal/kinds.h"
#include "hal/limits.h"
#include "hal/peer.h"
#include "hal/runtime.h"
#include "hal/witness.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "debug/label.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static rawhal_buffer_t *registry;

void registry_hold(void)
{
  pthread_mutex_lock(&registry_lock);
}

void registry_let(void)
{
  pthread_mutex_unlock(&registry_lock);
}

const rawhal_buffer_t *registry_first(void)
{
  return registry;
}

/* A device's own memory is the host's, too, where the device is software. */
uint64_t registry_place(uint64_t address, size_t size)
{
  for (const rawhal_buffer_t *buffer = registry; buffer; buffer = buffer->hh.next) {
    const uint64_t base = (uint64_t)(uintptr_t)buffer->memory;
    if (address < base || !range_within(address - base, size, buffer->size))
      continue;
    if (buffer->host)
      return (uint64_t)(uintptr_t)buffer->host + (address - base);
    return buffer->device->runtime->is_software ? address : 0;
  }
  return 0;
}

static bool is_live(const rawhal_buffer_t *buffer)
{
  if (runtime_check(NULL) != RAWHAL_OK)
    return false;
  rawhal_buffer_t *found = NULL;
  pthread_mutex_lock(&registry_lock);
  HASH_FIND_PTR(registry, &buffer, found);
  pthread_mutex_unlock(&registry_lock);
  return found != NULL;
}

static bool overlap(const unsigned char *a, size_t a_size, const unsigned char *b, size_t b_size)
{
  return a && b && (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

/* The same memory may be imported on several devices, each of which has it by itself. */
static bool elsewhere(const rawhal_buffer_t *a, const rawhal_buffer_t *b)
{
  return a->foreign && b->foreign && a->device != b->device && a->size == b->size &&
         a->host == b->host && (a->host || a->memory == b->memory);
}

/* The caller holds the registry's lock. */
static const rawhal_buffer_t *registry_overlap(const rawhal_buffer_t *buffer)
{
  for (const rawhal_buffer_t *other = registry; other; other = other->hh.next)
    if ((overlap(buffer->memory, buffer->size, other->memory, other->size) ||
         overlap(buffer->host, buffer->size, other->host, other->size)) &&
        !elsewhere(buffer, other))
      return other;
  return NULL;
}

static rawhal_event_t event_of(rawhal_event_type_t type, const rawhal_buffer_t *buffer)
{
  return (rawhal_event_t){
      .type = type,
      .id = buffer->number,
      .address = (uint64_t)(uintptr_t)buffer->memory,
      .bytes = buffer->size,
      .agent = buffer->kind == RAWHAL_MEMORY_DEVICE ? buffer->device->queue.agent.handle : 0,
  };
}

static rawhal_status_t registry_add(rawhal_buffer_t *buffer, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  rawhal_buffer_t *found = NULL;
  static uint64_t numbers;
  buffer->self = buffer;
  buffer->made_at = clock_now();
  pthread_mutex_lock(&registry_lock);
  const rawhal_buffer_t *other = buffer->foreign ? registry_overlap(buffer) : NULL;
  if (other) {
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "%zu bytes at %p overlap a buffer of %zu bytes at %p", buffer->size,
                         (void *)buffer->memory, other->size, (void *)other->memory);
  } else {
    buffer->number = ++numbers;
    HASH_ADD_PTR(registry, self, buffer);
    HASH_FIND_PTR(registry, &buffer->self, found);
    if (!found)
      status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the registry of buffers");
  }
  pthread_mutex_unlock(&registry_lock);
  if (status == RAWHAL_OK)
    buffer->told = tell_came(event_of(RAWHAL_EVENT_ALLOCATE, buffer));
  return status;
}

/* What a pool has only that removes. False: it was not there, or graphs keep it. */
static bool registry_remove(rawhal_buffer_t *buffer, bool parted)
{
  rawhal_buffer_t *found = NULL;
  pthread_mutex_lock(&registry_lock);
  HASH_FIND_PTR(registry, &buffer, found);
  if (found && found->parted != parted)
    found = NULL;
  bool kept = false;
  if (found) {
    HASH_DEL(registry, found);
    witness_freed(found);
    kept = found->freed = found->kept > 0;
  }
  pthread_mutex_unlock(&registry_lock);
  if (found)
    tell_went(found->told, event_of(RAWHAL_EVENT_FREE, found));
  return found && !kept;
}

/* ---- Allocation ---- */

/* Lets the device use host memory, or the host that of the device. */
static rawhal_status_t give_access(rawhal_buffer_t *buffer, rawhal_error_t *error)
{
  const hal_runtime_t *runtime = buffer->device->runtime;
  const hsa_table_t *hsa = &runtime->hsa;
  const hsa_agent_t agents[] = {buffer->device->queue.agent, runtime->host_agent};
  const bool local = buffer->kind == RAWHAL_MEMORY_DEVICE;
  buffer->host = buffer->memory;
  hsa_status_t result =
      hsa->hsa_amd_agents_allow_access(local ? 2 : 1, agents, NULL, buffer->memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error,
                    local ? "giving the host access to device memory"
                          : "giving the device access to host memory");
  return RAWHAL_OK;
}

static rawhal_status_t allocate_memory(rawhal_buffer_t *buffer, const memory_kind_t *kind,
                                       rawhal_error_t *error)
{
  rawhal_device_t *device = buffer->device;
  const hsa_table_t *hsa = &device->runtime->hsa;
  void *memory = NULL;
  if (kind->is_local) {
    rawhal_status_t status = limits_reserve(device, LEDGER_BUFFERS, buffer->size, error);
    if (status != RAWHAL_OK)
      return status;
  }
  hsa_status_t result = hsa->hsa_amd_memory_pool_allocate(kind->pool, buffer->size, 0, &memory);
  if (result != HSA_STATUS_SUCCESS && kind->is_local)
    limits_release(device, LEDGER_BUFFERS, buffer->size);
  if (result != HSA_STATUS_SUCCESS)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "allocating %zu bytes of %s memory: %s",
                       buffer->size, kind->is_local ? "device" : "host",
                       hsa_status_text(hsa, result));
  buffer->memory = memory;
  buffer->pool = kind->pool;
  const debug_softgpu_t *softgpu = runtime_softgpu();
  if (softgpu->memory_bound) /* the runtime has rounded it up to pages */
    (void)softgpu->memory_bound((uint64_t)(uintptr_t)memory, buffer->size);
  return kind->is_local && !kind->is_mapped ? RAWHAL_OK : give_access(buffer, error);
}

static void buffer_release(rawhal_buffer_t *buffer)
{
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  bool owned = buffer->memory && !buffer->foreign;
  if (!peer_settle(buffer)) /* it stays where it is, and counted */
    owned = false, buffer->payer = NULL;
  else if (buffer->part_with)
    (void)buffer->part_with(buffer->held);
  if (owned)
    (void)hsa->hsa_amd_memory_pool_free(buffer->memory);
  if (owned && buffer->kind == RAWHAL_MEMORY_DEVICE)
    limits_release(buffer->device, LEDGER_BUFFERS, buffer->size);
  if (buffer->payer)
    limits_release(buffer->payer, LEDGER_IMPORTED, buffer->counted);
  runtime_free(buffer->allowed);
  runtime_free(buffer);
  runtime_release();
}

rawhal_buffer_t *buffer_begin(rawhal_device_t *device, rawhal_memory_kind_t kind, size_t size,
                              rawhal_error_t *error)
{
  rawhal_buffer_t *created = allocate_zeroed(&device->runtime->allocator, 1, sizeof(*created));
  if (!created) {
    (void)!rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a buffer");
    return NULL;
  }
  created->device = device;
  created->kind = kind;
  created->size = size;
  runtime_hold();
  return created;
}

rawhal_status_t buffer_finish(rawhal_buffer_t *created, rawhal_status_t status,
                              rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  if (status == RAWHAL_OK)
    status = registry_add(created, error);
  if (status != RAWHAL_OK)
    buffer_release(created);
  else
    *buffer = created;
  return status;
}

static rawhal_status_t buffer_allocate(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                       size_t size, const char *label, bool parted,
                                       rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  memory_kind_t found;
  rawhal_status_t status = kind_find(device, kind, &found, error);
  if (status != RAWHAL_OK)
    return status;
  if (found.is_local && size > device->info.memory_bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                       "%zu bytes requested; the device has %llu in total", size,
                       (unsigned long long)device->info.memory_bytes);
  executables_reap(); /* what they hold may be what is missing */
  rawhal_buffer_t *created =
      buffer_begin(device, found.is_local ? RAWHAL_MEMORY_DEVICE : RAWHAL_MEMORY_HOST, size, error);
  if (!created)
    return RAWHAL_OUT_OF_MEMORY;
  created->parted = parted;
  label_copy(created->label, rawhal_string(label));
  return buffer_finish(created, allocate_memory(created, &found, error), buffer, error);
}

rawhal_status_t rawhal_buffer_allocate(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                       size_t size, rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!buffer)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  *buffer = NULL;
  if (!device || size == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       device ? "size is 0" : "device is NULL");
  rawhal_status_t status = runtime_check(error);
  return status == RAWHAL_OK ? buffer_allocate(device, kind, size, "", false, buffer, error)
                             : status;
}

rawhal_status_t buffer_allocate_parted(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                       size_t size, const char *label, rawhal_buffer_t **buffer,
                                       rawhal_error_t *error)
{
  return buffer_allocate(device, kind, size, label, true, buffer, error);
}

void rawhal_buffer_free(rawhal_buffer_t *buffer)
{
  WITHOUT_CANCELLATION();
  if (buffer && runtime_check(NULL) == RAWHAL_OK && registry_remove(buffer, false))
    buffer_release(buffer);
}

void buffer_keep(void *buffer)
{
  rawhal_buffer_t *kept = buffer;
  if (runtime_check(NULL) != RAWHAL_OK)
    return; /* the parent has it, and the lock may be another thread's, which is not here */
  pthread_mutex_lock(&registry_lock);
  ++kept->kept;
  pthread_mutex_unlock(&registry_lock);
}

void buffer_let(void *buffer)
{
  rawhal_buffer_t *kept = buffer;
  if (runtime_check(NULL) != RAWHAL_OK)
    return;
  pthread_mutex_lock(&registry_lock);
  const bool last = --kept->kept == 0 && kept->freed;
  pthread_mutex_unlock(&registry_lock);
  if (last)
    buffer_release(kept);
}

void buffer_free_parted(rawhal_buffer_t *buffer)
{
  if (registry_remove(buffer, true))
    buffer_release(buffer);
}

void rawhal_buffer_label(rawhal_buffer_t *buffer, const char *label)
{
  if (runtime_check(NULL) != RAWHAL_OK)
    return;
  rawhal_buffer_t *found = NULL;
  pthread_mutex_lock(&registry_lock);
  HASH_FIND_PTR(registry, &buffer, found);
  if (found) {
    label_copy(found->label, rawhal_string(label));
    tell_named(found->told, event_of(RAWHAL_EVENT_ALLOCATE, found), label_text(found->label));
  }
  pthread_mutex_unlock(&registry_lock);
}

uint64_t rawhal_buffer_address(const rawhal_buffer_t *buffer)
{
  return is_live(buffer) ? (uint64_t)(uintptr_t)buffer->memory : 0;
}

size_t rawhal_buffer_size(const rawhal_buffer_t *buffer)
{
  return is_live(buffer) ? buffer->size : 0;
}

void *rawhal_buffer_host(const rawhal_buffer_t *buffer)
{
  return is_live(buffer) ? buffer->host : NULL;
}

rawhal_status_t buffer_check(const rawhal_buffer_t *buffer, rawhal_error_t *error)
{
  if (!buffer)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK && !is_live(buffer))
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the buffer has been freed");
  return status;
}
