/* Memory that more than one allocation leads to: of other processes and drivers, and what this
 * process gives to them.
 *
 * The runtime keeps such memory until the last mapping of it goes, wherever that is, and nobody
 * tells the process that allocated it. So it counts in each process that has it, for as long as
 * that has it: where it was allocated until it is freed there, and again wherever it is mapped as
 * another's, in the same process, too. A file descriptor keeps it likewise, where it was exported:
 * see held.h. */
#include "front/descriptors.h"
#include "front/devices.h"
#include "front/held.h"
#include "front/memory.h"

#include <unistd.h>

/* Allocations that are smaller are parts of blocks of this size, which are shared whole (ROCr,
 * amd::MemoryRegion::BlockAllocator). */
#define BLOCK_BYTES UINT64_C(2097152)

typedef hsa_status_t part_t(void *memory);

static bool is_host(hsa_agent_t agent)
{
  hsa_device_type_t type;
  return front.hsa.agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
         type == HSA_DEVICE_TYPE_CPU;
}

/* The device that imported memory is charged to; NULL: none is. Where the runtime does not tell, it
 * is taken to be of the first that is limited, of those that map it. */
static front_device_t *owner_of(const hsa_amd_pointer_info_t *info, uint32_t count,
                                const hsa_agent_t *agents)
{
  const bool known = info->type != HSA_EXT_POINTER_TYPE_UNKNOWN && info->agentOwner.handle;
  if (known && (device_known(info->agentOwner) || is_host(info->agentOwner)))
    return device_of_agent(info->agentOwner);
  for (uint32_t i = 0; i < count; ++i)
    if (device_of_agent(agents[i]))
      return device_of_agent(agents[i]);
  for (uint32_t i = 0; i < front.device_count && !count; ++i)
    if (front.devices[i].limiter)
      return &front.devices[i];
  return NULL;
}

/* Charges what has been mapped, or parts with it. */
static hsa_status_t imported(void **memory, uint64_t least, uint32_t count,
                             const hsa_agent_t *agents, part_t *part)
{
  hsa_amd_pointer_info_t info;
  if (!devices_pointer(*memory, &info))
    info.type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  front_device_t *device = owner_of(&info, count, agents);
  if (!device)
    return HSA_STATUS_SUCCESS;
  uint64_t bytes = info.type != HSA_EXT_POINTER_TYPE_UNKNOWN && info.sizeInBytes > least
                       ? info.sizeInBytes
                       : least;
  held_t *held = held_reserve(device, LEDGER_IMPORTED, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
  if (held && held_remember(held, HELD_IMPORT, held_number(*memory), bytes))
    return HSA_STATUS_SUCCESS;
  held_give_back(held);
  (void)part(*memory);
  *memory = NULL;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* ---- Mapping ---- */

/* How much there is behind a handle, or 0: runtimes since 5.7 map all of it, and say of it whatever
 * size they were told. Without one they say the real one. */
static uint64_t shared_size(const hsa_amd_ipc_memory_t *handle, uint32_t count,
                            const hsa_agent_t *agents)
{
  void *memory = NULL;
  if (front.hsa.ipc_attach(handle, 0, count, agents, &memory) != HSA_STATUS_SUCCESS)
    return 0;
  hsa_amd_pointer_info_t info;
  const bool known = devices_pointer(memory, &info) && info.type != HSA_EXT_POINTER_TYPE_UNKNOWN;
  (void)front.hsa.ipc_detach(memory);
  return known ? info.sizeInBytes : 0;
}

static hsa_status_t ipc_attach(const hsa_amd_ipc_memory_t *handle, size_t size, uint32_t count,
                               const hsa_agent_t *agents, void **memory)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  const uint64_t whole = handle ? shared_size(handle, count, agents) : 0;
  hsa_status_t result = front.hsa.ipc_attach(handle, size, count, agents, memory);
  return result == HSA_STATUS_SUCCESS
             ? imported(memory, whole > size ? whole : size, count, agents, front.hsa.ipc_detach)
             : result;
}

static hsa_status_t interop_map(uint32_t count, hsa_agent_t *agents, int handle, uint32_t flags,
                                size_t *size, void **memory, size_t *metadata_size,
                                const void **metadata)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  hsa_status_t result =
      front.hsa.interop_map(count, agents, handle, flags, size, memory, metadata_size, metadata);
  return result == HSA_STATUS_SUCCESS
             ? imported(memory, *size, count, agents, front.hsa.interop_unmap)
             : result;
}

/* To the runtime both are the same. */
static hsa_status_t parted(void *memory, part_t *part)
{
  held_t *held = held_take(HELD_IMPORT, held_number(memory));
  return held_settle(held, part(memory));
}

static hsa_status_t ipc_detach(void *memory)
{
  return parted(memory, front.hsa.ipc_detach);
}

static hsa_status_t interop_unmap(void *memory)
{
  return parted(memory, front.hsa.interop_unmap);
}

/* ---- Exporting ---- */

/* A small one keeps the block that it is a part of. */
static held_t *hold_exported(const void *memory)
{
  hsa_amd_pointer_info_t info;
  if (!devices_pointer(memory, &info) || info.type == HSA_EXT_POINTER_TYPE_UNKNOWN)
    return NULL;
  front_device_t *device = device_of_agent(info.agentOwner);
  if (!device)
    return NULL;
  return info.sizeInBytes >= BLOCK_BYTES
             ? held_again(HELD_POINTER, held_number(info.agentBaseAddress))
             : held_reserve(device, LEDGER_BUFFERS, BLOCK_BYTES);
}

static bool is_held(const void *memory)
{
  hsa_amd_pointer_info_t info;
  return devices_pointer(memory, &info) && info.type != HSA_EXT_POINTER_TYPE_UNKNOWN &&
         held_knows(HELD_POINTER, held_number(info.agentBaseAddress));
}

/* Before it is exported: NULL in `held` is for what is not charged. */
static bool begin_export(const void *memory, held_t **held)
{
  *held = is_held(memory) ? hold_exported(memory) : NULL;
  return *held || !is_held(memory);
}

static hsa_status_t exported(held_t *held, hsa_status_t result, int *fd)
{
  if (result == HSA_STATUS_SUCCESS && (!held || held_remember_descriptor(held, *fd)))
    return result;
  held_give_back(held);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  (void)front.hsa.dmabuf_close(*fd);
  *fd = -1;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t dmabuf_export(const void *memory, size_t size, int *fd, uint64_t *offset)
{
  held_t *held;
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!begin_export(memory, &held))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return exported(held, front.hsa.dmabuf_export(memory, size, fd, offset), fd);
}

static hsa_status_t dmabuf_export_v2(const void *memory, size_t size, int *fd, uint64_t *offset,
                                     uint64_t flags)
{
  held_t *held;
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!begin_export(memory, &held))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return exported(held, front.hsa.dmabuf_export_v2(memory, size, fd, offset, flags), fd);
}

void imports_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = front.hsa.name ? name : NULL;
  X(ipc_attach)
  X(ipc_detach)
  X(interop_map)
  X(interop_unmap)
  X(dmabuf_export)
  X(dmabuf_export_v2)
#undef X
}
