/* Memory without an address: it is there while it has a handle, is mapped, or a file descriptor
 * leads to it. */
#include "front/descriptors.h"
#include "front/devices.h"
#include "front/held.h"
#include "front/memory.h"

#include <unistd.h>

/* Gives a handle's memory its name, or releases it. */
static hsa_status_t named(held_t *held, front_vmem_handle_t handle)
{
  if (held && held_remember(held, HELD_HANDLE, handle.handle, 1))
    return HSA_STATUS_SUCCESS;
  held_give_back(held);
  (void)front.hsa.vmem_handle_release(handle);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type,
                                       uint64_t flags, front_vmem_handle_t *handle)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_pool(pool);
  if (!device || !size || !handle)
    return front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  held_t *held = held_reserve(device, LEDGER_BUFFERS, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  if (result == HSA_STATUS_SUCCESS)
    return named(held, *handle);
  held_give_back(held);
  return result;
}

static hsa_status_t vmem_handle_release(front_vmem_handle_t handle)
{
  held_t *held = held_take(HELD_HANDLE, handle.handle);
  return held_settle(held, front.hsa.vmem_handle_release(handle));
}

static hsa_status_t vmem_map(void *address, size_t size, size_t offset, front_vmem_handle_t handle,
                             uint64_t flags)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  held_t *held = held_again(HELD_HANDLE, handle.handle);
  if (!held && held_knows(HELD_HANDLE, handle.handle))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.vmem_map(address, size, offset, handle, flags);
  if (!held || (result == HSA_STATUS_SUCCESS &&
                held_remember(held, HELD_MAPPING, held_number(address), size)))
    return result;
  held_give_back(held);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  (void)front.hsa.vmem_unmap(address, size);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* A mapping goes as a whole. */
static hsa_status_t vmem_unmap(void *address, size_t size)
{
  held_t *held = held_take(HELD_MAPPING, held_number(address));
  return held_settle(held, front.hsa.vmem_unmap(address, size));
}

/* A handle of what is mapped, whose others may be gone. */
static hsa_status_t vmem_retain(front_vmem_handle_t *handle, void *address)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  held_t *held = held_again_mapped(held_number(address));
  hsa_status_t result = front.hsa.vmem_retain(handle, address);
  if (held && result == HSA_STATUS_SUCCESS)
    return named(held, *handle);
  held_give_back(held);
  return result;
}

static hsa_status_t vmem_export(int *fd, front_vmem_handle_t handle, uint64_t flags)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  held_t *held = held_again(HELD_HANDLE, handle.handle);
  if (!held && held_knows(HELD_HANDLE, handle.handle))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.vmem_export(fd, handle, flags);
  if (!held || (result == HSA_STATUS_SUCCESS && held_remember_descriptor(held, *fd)))
    return result;
  held_give_back(held);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  (void)close(*fd);
  *fd = -1;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* Whose it is; false: no device's that is limited. */
static bool imported_to(front_vmem_handle_t handle, front_device_t **device)
{
  hsa_amd_memory_pool_t pool;
  int type;
  *device = NULL;
  if (front.hsa.vmem_get_properties &&
      front.hsa.vmem_get_properties(handle, &pool, &type) == HSA_STATUS_SUCCESS) {
    *device = device_of_pool(pool);
    return *device != NULL;
  }
  for (uint32_t i = 0; i < front.device_count && !*device; ++i)
    *device = front.devices[i].limiter ? &front.devices[i] : NULL;
  return *device != NULL;
}

/* It counts here, too: see imports.c. What does not tell its size is refused. */
static hsa_status_t vmem_import(int fd, front_vmem_handle_t *handle)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device;
  hsa_status_t result = front.hsa.vmem_import(fd, handle);
  if (result != HSA_STATUS_SUCCESS || !imported_to(*handle, &device))
    return result;
  const uint64_t size = descriptor_size(fd);
  return named(size ? held_reserve(device, LEDGER_IMPORTED, size) : NULL, *handle);
}

void vmem_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = front.hsa.name ? name : NULL;
  X(vmem_handle_create)
  X(vmem_handle_release)
  X(vmem_map)
  X(vmem_unmap)
  X(vmem_retain)
  X(vmem_export)
  X(vmem_import)
#undef X
}
