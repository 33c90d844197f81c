/* Device memory that several processes have, by a handle, or that drivers pass on as a dma-buf. It
 * counts towards the quota of each that has it mapped: it is there until the last of them lets go,
 * and nobody tells the process that allocated it. */
#include "hal/buffer.h"
#include "hal/import.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

static rawhal_status_t check_shareable(const rawhal_buffer_t *buffer, rawhal_error_t *error)
{
  rawhal_status_t status = buffer_check(buffer, error);
  if (status != RAWHAL_OK)
    return status;
  if (buffer->foreign)
    return rawhal_fail(
        error, RAWHAL_INVALID_ARGUMENT,
        "the buffer is imported: only the process that allocated its memory can share it");
  if (buffer->kind != RAWHAL_MEMORY_DEVICE)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "only device memory can be shared; to share host memory, map a file in both "
                       "processes and import it");
  return RAWHAL_OK;
}

/* `result` is where the new buffer goes; the rest as in rawhal_buffer_import(). */
static rawhal_status_t check_import(const rawhal_device_t *device, size_t size,
                                    rawhal_buffer_t **result, rawhal_error_t *error)
{
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "buffer is NULL");
  *result = NULL;
  if (!device || size == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       device ? "size is 0" : "device is NULL");
  return runtime_check(error);
}

static rawhal_status_t check_within(uint64_t offset, size_t size, size_t total,
                                    rawhal_error_t *error)
{
  return range_within(offset, size, total)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "%zu bytes at offset %llu of shared memory of %zu bytes", size,
                           (unsigned long long)offset, total);
}

/* How much the runtime has at the beginning of an allocation. */
static rawhal_status_t extent(const hsa_table_t *hsa, const void *memory, size_t *size,
                              rawhal_error_t *error)
{
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  *size = 0;
  hsa_status_t result = hsa->hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "asking the runtime about a buffer");
  if (info.type != HSA_EXT_POINTER_TYPE_UNKNOWN)
    *size = info.sizeInBytes;
  return RAWHAL_OK;
}

/* Whose memory it is, whichever device it was imported for. */
static rawhal_device_t *owner_of(const rawhal_buffer_t *buffer)
{
  const hal_runtime_t *runtime = buffer->device->runtime;
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  if (runtime->hsa.hsa_amd_pointer_info(buffer->held, &info, NULL, NULL, NULL) ==
      HSA_STATUS_SUCCESS)
    for (size_t i = 0; i < runtime->device_count; ++i)
      if (runtime->devices[i].queue.agent.handle == info.agentOwner.handle)
        return &runtime->devices[i];
  return buffer->device;
}

/* Of all that is mapped, however small the buffer. Allocations that are smaller are parts of blocks
 * of this size, which are shared whole (ROCr, amd::MemoryRegion::BlockAllocator). */
static rawhal_status_t count_mapped(rawhal_buffer_t *buffer, uint64_t bytes, rawhal_error_t *error)
{
  static const uint64_t block = 2097152;
  return import_count(buffer, owner_of(buffer), bytes > block ? bytes : block, error);
}

/* ---- Between processes ---- */

_Static_assert(sizeof(rawhal_ipc_handle_t) == sizeof(hsa_amd_ipc_memory_t),
               "a handle is what the runtime makes");

rawhal_status_t rawhal_buffer_export_ipc(const rawhal_buffer_t *buffer, rawhal_ipc_handle_t *handle,
                                         rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!handle)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "handle is NULL");
  memset(handle, 0, sizeof(*handle));
  rawhal_status_t status = check_shareable(buffer, error);
  if (status != RAWHAL_OK)
    return status;
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  size_t size; /* of the whole allocation, which is all that the runtime shares, in pages */
  status = extent(hsa, buffer->memory, &size, error);
  if (status != RAWHAL_OK)
    return status;
  hsa_amd_ipc_memory_t made = {0};
  hsa_status_t result =
      hsa->hsa_amd_ipc_memory_create(buffer->memory, (size + PAGE - 1) / PAGE * PAGE, &made);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "sharing a buffer with other processes");
  memcpy(handle, &made, sizeof(*handle));
  return RAWHAL_OK;
}

/* How much there is behind a handle, or 0: runtimes since 5.7 map what is there, and say of it
 * whatever size they were told. Without one they say the real one. */
static size_t shared_size(const hsa_table_t *hsa, const hsa_amd_ipc_memory_t *given,
                          const hsa_agent_t *agent)
{
  void *memory = NULL;
  if (hsa->hsa_amd_ipc_memory_attach(given, 0, 1, agent, &memory) != HSA_STATUS_SUCCESS)
    return 0;
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  hsa_status_t result = hsa->hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
  (void)hsa->hsa_amd_ipc_memory_detach(memory);
  const uintptr_t base = (uintptr_t)info.agentBaseAddress, at = (uintptr_t)memory;
  return result == HSA_STATUS_SUCCESS && base <= at && at - base < info.sizeInBytes
             ? info.sizeInBytes - (at - base)
             : 0;
}

static rawhal_status_t attach(rawhal_buffer_t *buffer, const rawhal_ipc_handle_t *handle,
                              rawhal_error_t *error)
{
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  hsa_amd_ipc_memory_t given;
  void *memory = NULL;
  uint64_t pages;
  if (!checked_align_u64(buffer->size, PAGE, &pages))
    return check_within(0, buffer->size, 0, error);
  memcpy(&given, handle, sizeof(given));
  const size_t whole = shared_size(hsa, &given, &buffer->device->queue.agent);
  if (whole && whole < buffer->size)
    return check_within(0, buffer->size, whole, error);
  hsa_status_t result =
      hsa->hsa_amd_ipc_memory_attach(&given, pages, 1, &buffer->device->queue.agent, &memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error,
                    "memory of another process (which must still have it, and be of the same "
                    "user)");
  buffer->part_with = hsa->hsa_amd_ipc_memory_detach;
  buffer->held = buffer->memory = memory;
  size_t shared;
  rawhal_status_t status = extent(hsa, memory, &shared, error);
  if (status == RAWHAL_OK)
    status = check_within(0, buffer->size, shared, error);
  return status == RAWHAL_OK ? count_mapped(buffer, whole > shared ? whole : shared, error)
                             : status;
}

rawhal_status_t rawhal_buffer_import_ipc(rawhal_device_t *device, const rawhal_ipc_handle_t *handle,
                                         size_t size, rawhal_buffer_t **buffer,
                                         rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = check_import(device, size, buffer, error);
  if (status != RAWHAL_OK)
    return status;
  if (!handle)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "handle is NULL");
  rawhal_buffer_t *created = buffer_begin(device, RAWHAL_MEMORY_DEVICE, size, error);
  if (!created)
    return RAWHAL_OUT_OF_MEMORY;
  created->foreign = true;
  return buffer_finish(created, attach(created, handle, error), buffer, error);
}

/* ---- Between drivers ---- */

rawhal_status_t rawhal_buffer_export_dmabuf(const rawhal_buffer_t *buffer, int *fd,
                                            uint64_t *offset, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!fd || !offset)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", fd ? "offset" : "fd");
  *fd = -1;
  *offset = 0;
  rawhal_status_t status = check_shareable(buffer, error);
  if (status != RAWHAL_OK)
    return status;
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  if (!hsa->portable_export_dmabuf || !hsa->portable_close_dmabuf)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the HSA runtime is too old: it has no hsa_amd_portable_export_dmabuf");
  int made = -1;
  uint64_t at = 0;
  hsa_status_t result = hsa->portable_export_dmabuf(buffer->memory, buffer->size, &made, &at);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "making a dma-buf of a buffer");
  *fd = fcntl(made, F_DUPFD_CLOEXEC,
              0); /* one that close() may close, whatever kind the runtime's is */
  (void)hsa->portable_close_dmabuf(made);
  if (*fd < 0)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no file descriptor for a dma-buf");
  *offset = at;
  return RAWHAL_OK;
}

static rawhal_status_t map_dmabuf(rawhal_buffer_t *buffer, int fd, uint64_t offset,
                                  rawhal_error_t *error)
{
  const hsa_table_t *hsa = &buffer->device->runtime->hsa;
  size_t mapped = 0;
  void *memory = NULL;
  hsa_status_t result = hsa->hsa_amd_interop_map_buffer(1, &buffer->device->queue.agent, fd, 0,
                                                        &mapped, &memory, NULL, NULL);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "importing a dma-buf");
  buffer->part_with = hsa->hsa_amd_interop_unmap_buffer;
  buffer->held = memory;
  rawhal_status_t status = check_within(offset, buffer->size, mapped, error);
  if (status != RAWHAL_OK)
    return status;
  buffer->memory = (unsigned char *)memory + offset;
  return count_mapped(buffer, mapped, error);
}

rawhal_status_t rawhal_buffer_import_dmabuf(rawhal_device_t *device, int fd, uint64_t offset,
                                            size_t size, rawhal_buffer_t **buffer,
                                            rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = check_import(device, size, buffer, error);
  if (status != RAWHAL_OK)
    return status;
  if (fd < 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%d is not a file descriptor", fd);
  rawhal_buffer_t *created = buffer_begin(device, RAWHAL_MEMORY_DEVICE, size, error);
  if (!created)
    return RAWHAL_OUT_OF_MEMORY;
  created->foreign = true;
  return buffer_finish(created, map_dmabuf(created, fd, offset, error), buffer, error);
}
