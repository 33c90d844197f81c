#include "front/host_view.h"

#include "front/devices.h"

#include "front/objects.h"

#include "base/own_memory.h"

enum { SHORT = 4096 };

/* ---- Finding ---- */

/* Of addresses that it knows nothing of, and of such that are only reserved (type 5), the device
 * has no memory. What was locked it knows by the host's address as well, which is not the device's.
 */
static bool runtime_knows(uint64_t address, hsa_amd_pointer_info_t *info, range_t *range)
{
  enum { RESERVED = 5 };
  if (!devices_pointer((const void *)(uintptr_t)address, info) ||
      info->type == HSA_EXT_POINTER_TYPE_UNKNOWN || (int)info->type == RESERVED)
    return false;
  const uint64_t base = (uint64_t)(uintptr_t)info->agentBaseAddress;
  *range = (range_t){.base = base,
                     .size = info->sizeInBytes,
                     .owner = device_known(info->agentOwner) ? info->agentOwner.handle : 0,
                     .host = (uint64_t)(uintptr_t)info->hostBaseAddress};
  return address - base < info->sizeInBytes;
}

bool host_view_find(uint64_t address, range_t *range)
{
  hsa_amd_pointer_info_t info;
  const range_state_t state = ranges_find(address, range);
  if (state == RANGE_LIVE)
    return true;
  /* Blocks that the runtime keeps of what was freed it knows, too. */
  if (state == RANGE_FREED)
    return runtime_knows(address, &info, range) && info.type != HSA_EXT_POINTER_TYPE_HSA;
  hsa_agent_t agent;
  *range = (range_t){0};
  if (!objects_range(address, &range->base, &range->size, &agent))
    return runtime_knows(address, &info, range);
  range->owner = agent.handle;
  return true;
}

static bool within(const range_t *range, uint64_t address, uint64_t size)
{
  return address - range->base < range->size && size <= range->size - (address - range->base);
}

host_view_t host_view(uint64_t address, uint64_t size, uint64_t *host)
{
  range_t range, told;
  hsa_amd_pointer_info_t info;
  *host = 0;
  if (!host_view_find(address, &range)) {
    *host = front.reaches_host ? address : 0; /* any memory of the host is the device's, too */
    return front.reaches_host ? HOST_VIEW_HOST : HOST_VIEW_NONE;
  }
  if (!range.host && runtime_knows(address, &info, &told))
    range = told;
  if (!within(&range, address, size))
    return HOST_VIEW_NONE;
  if (range.host)
    *host = range.host + (address - range.base);
  return range.owner ? HOST_VIEW_DEVICE : range.host ? HOST_VIEW_HOST : HOST_VIEW_NONE;
}

/* ---- Reading ---- */

bool host_read(uint64_t address, void *to, size_t size)
{
  uint64_t host;
  if (size <= SHORT && ranges_read(address, to, size))
    return true;
  return host_view(address, size, &host) != HOST_VIEW_NONE && host &&
         own_memory_copy(to, host, size);
}
