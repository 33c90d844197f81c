/* Memory that others allocated, as buffers. */
#include "hal/import.h"

#include "hal/buffer.h"
#include "hal/limits.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"

/* What the runtime knows of a pointer. */
typedef struct foreign {
  hsa_amd_pointer_info_t info;
  bool reachable; /* by the device */
  bool is_local;  /* a GPU's own */
} foreign_t;

static rawhal_status_t look_up(const rawhal_device_t *device, const void *pointer, foreign_t *found,
                               rawhal_error_t *error)
{
  const hsa_table_t *hsa = &device->runtime->hsa;
  uint32_t count = 0;
  hsa_agent_t *agents = NULL;
  *found = (foreign_t){.info.size = sizeof(found->info)};
  hsa_status_t result =
      hsa->hsa_amd_pointer_info(pointer, &found->info, runtime_allocate, &count, &agents);
  for (uint32_t i = 0; result == HSA_STATUS_SUCCESS && i < count; ++i)
    found->reachable |= agents[i].handle == device->queue.agent.handle;
  runtime_free(agents);
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  if (result == HSA_STATUS_SUCCESS && found->info.type != HSA_EXT_POINTER_TYPE_UNKNOWN &&
      found->info.type != HSA_EXT_POINTER_TYPE_LOCKED)
    result = hsa->hsa_agent_get_info(found->info.agentOwner, HSA_AGENT_INFO_DEVICE, &type);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "asking the runtime about a pointer");
  found->is_local = type == HSA_DEVICE_TYPE_GPU;
  return RAWHAL_OK;
}

/* Host memory the runtime does not know, or only because it was pinned by others: pinned, for as
 * long as we need it, and fine-grained like all our host memory. */
static rawhal_status_t import_lock(rawhal_buffer_t *buffer, void *pointer, rawhal_error_t *error)
{
  hal_runtime_t *runtime = buffer->device->runtime;
  void *memory = NULL;
  hsa_status_t result = runtime->hsa.hsa_amd_memory_lock_to_pool(
      pointer, buffer->size, &buffer->device->queue.agent, 1, runtime->host_pool, 0, &memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(&runtime->hsa, result, error, "giving the device access to host memory");
  buffer->kind = RAWHAL_MEMORY_HOST;
  buffer->part_with = runtime->hsa.hsa_amd_memory_unlock;
  buffer->held = buffer->host = pointer;
  buffer->memory = memory;
  return RAWHAL_OK;
}

static bool on_host(const hsa_amd_pointer_info_t *info, const void *pointer)
{
  uint64_t at = (uintptr_t)pointer, host = (uintptr_t)info->hostBaseAddress;
  return host && at >= host && at - host < info->sizeInBytes;
}

/* Memory the runtime allocated. */
static rawhal_status_t import_known(rawhal_buffer_t *buffer, const foreign_t *found, void *pointer,
                                    rawhal_error_t *error)
{
  const hsa_amd_pointer_info_t *info = &found->info;
  const void *base = on_host(info, pointer) ? info->hostBaseAddress : info->agentBaseAddress;
  uint64_t offset = (uintptr_t)pointer - (uintptr_t)base;
  if (!range_within(offset, buffer->size, info->sizeInBytes))
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%zu bytes at offset %llu of an allocation of %zu bytes", buffer->size,
                       (unsigned long long)offset, info->sizeInBytes);
  if (!found->reachable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the device cannot access the memory at %p",
                       pointer);
  buffer->kind = found->is_local ? RAWHAL_MEMORY_DEVICE : RAWHAL_MEMORY_HOST;
  buffer->memory = (unsigned char *)info->agentBaseAddress + offset;
  buffer->host = found->is_local ? NULL : (unsigned char *)info->hostBaseAddress + offset;
  if (!found->is_local && !info->hostBaseAddress)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "host memory at %p without a host address",
                       pointer);
  return RAWHAL_OK;
}

bool import_reachable(const rawhal_device_t *device, const void *data, size_t size, void **memory)
{
  foreign_t found;
  /* What is only pinned may be unpinned by the code that pinned it. */
  if (look_up(device, data, &found, NULL) != RAWHAL_OK || !found.reachable || found.is_local ||
      found.info.type != HSA_EXT_POINTER_TYPE_HSA || !on_host(&found.info, data))
    return false;
  uint64_t offset = (uintptr_t)data - (uintptr_t)found.info.hostBaseAddress;
  *memory = (char *)found.info.agentBaseAddress + offset;
  return range_within(offset, size, found.info.sizeInBytes);
}

/* What this process has of the device past us is counted while it is a buffer of ours. */
static bool takes_device(const rawhal_buffer_t *buffer, const foreign_t *found)
{
  return found->is_local && found->info.agentOwner.handle == buffer->device->queue.agent.handle;
}

rawhal_status_t import_count(rawhal_buffer_t *buffer, rawhal_device_t *payer, uint64_t bytes,
                             rawhal_error_t *error)
{
  rawhal_status_t status = limits_reserve(payer, LEDGER_IMPORTED, bytes, error);
  buffer->payer = status == RAWHAL_OK ? payer : NULL;
  buffer->counted = bytes;
  return status;
}

static rawhal_status_t import(rawhal_buffer_t *buffer, void *pointer, rawhal_error_t *error)
{
  foreign_t found;
  rawhal_status_t status = look_up(buffer->device, pointer, &found, error);
  if (status != RAWHAL_OK)
    return status;
  bool pin = found.info.type == HSA_EXT_POINTER_TYPE_UNKNOWN ||
             (found.info.type == HSA_EXT_POINTER_TYPE_LOCKED && on_host(&found.info, pointer));
  if (pin)
    return import_lock(buffer, pointer, error);
  status = import_known(buffer, &found, pointer, error);
  return status == RAWHAL_OK && takes_device(buffer, &found)
             ? import_count(buffer, buffer->device, buffer->size, error)
             : status;
}

/* Thunks before ROCm 5.5 reserve an address of its own for what is pinned; softgpu does what it is
 * asked. */
static rawhal_status_t import_at_host(rawhal_buffer_t *buffer, void *pointer, rawhal_error_t *error)
{
  const debug_softgpu_t *softgpu = runtime_softgpu();
  if (softgpu->memory_in_place)
    softgpu->memory_in_place((uint64_t)(uintptr_t)pointer, buffer->size);
  rawhal_status_t status = import(buffer, pointer, error);
  if (softgpu->memory_in_place)
    softgpu->memory_in_place(0, 0); /* nothing may have been pinned */
  if (status != RAWHAL_OK || buffer->memory == pointer)
    return status;
  return rawhal_fail(
      error, RAWHAL_UNSUPPORTED,
      "the device has the memory at %p at %p: the runtime keeps the host's address "
      "only if its thunk is of ROCm 5.5 or later, the driver has SVM (HSA_USE_SVM is "
      "not 0), and nothing else that is pinned or managed overlaps it",
      pointer, (void *)buffer->memory);
}

typedef rawhal_status_t import_fn(rawhal_buffer_t *buffer, void *pointer, rawhal_error_t *error);

static rawhal_status_t import_by(import_fn *importing, rawhal_device_t *device, void *pointer,
                                 size_t size, rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!buffer)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  *buffer = NULL;
  if (!device || !pointer || size == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       !device    ? "device is NULL"
                       : !pointer ? "pointer is NULL"
                                  : "size is 0");
  if (size > UINTPTR_MAX - (uintptr_t)pointer)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%zu bytes at %p exceed the address space", size,
                       pointer);
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_buffer_t *created = buffer_begin(device, RAWHAL_MEMORY_HOST, size, error);
  if (!created)
    return RAWHAL_OUT_OF_MEMORY;
  created->foreign = true;
  return buffer_finish(created, importing(created, pointer, error), buffer, error);
}

rawhal_status_t rawhal_buffer_import(rawhal_device_t *device, void *pointer, size_t size,
                                     rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  return import_by(import, device, pointer, size, buffer, error);
}

rawhal_status_t rawhal_buffer_import_in_place(rawhal_device_t *device, void *pointer, size_t size,
                                              rawhal_buffer_t **buffer, rawhal_error_t *error)
{
  return import_by(import_at_host, device, pointer, size, buffer, error);
}
