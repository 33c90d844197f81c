#include "hal/kinds.h"

#include "base/error.h"

/* Of later headers: memory that no cache keeps beyond a device's or the system's scope, whatever
 * that of the kernel's accesses. */
enum { POOL_EXTENDED_SCOPE = 1u << 3 };

enum { PAGE = 4096 };

static const struct {
  const char *name;
  uint32_t flags; /* HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_* */
  bool is_local, is_mapped;
} kinds[] = {
    [RAWHAL_MEMORY_DEVICE] = {"coarse-grained device",
                              HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, true, false},
    [RAWHAL_MEMORY_HOST] = {"fine-grained host", HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
                            false, false},
    [RAWHAL_MEMORY_HOST_COARSE] = {"coarse-grained host",
                                   HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, false, false},
    [RAWHAL_MEMORY_DEVICE_MAPPED] = {"host-visible device",
                                     HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, true, true},
    [RAWHAL_MEMORY_DEVICE_FINE] = {"fine-grained device",
                                   HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, true, false},
    [RAWHAL_MEMORY_DEVICE_UNCACHED] = {"uncached device", POOL_EXTENDED_SCOPE, true, false},
};

typedef struct search {
  const hsa_table_t *hsa;
  uint32_t flags;
  memory_kind_t *found;
} search_t;

static hsa_status_t visit(hsa_amd_memory_pool_t pool, void *data)
{
  const search_t *search = data;
  const hsa_table_t *hsa = search->hsa;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  bool allows = false;
  size_t granule = 0;
  const struct {
    hsa_amd_memory_pool_info_t attribute;
    void *value;
  } facts[] = {{HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment},
               {HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags},
               {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allows},
               {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &granule}};
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); ++i) {
    hsa_status_t result =
        hsa->hsa_amd_memory_pool_get_info(pool, facts[i].attribute, facts[i].value);
    if (result != HSA_STATUS_SUCCESS)
      return result;
    if (i == 0 && segment != HSA_AMD_SEGMENT_GLOBAL)
      return HSA_STATUS_SUCCESS;
  }
  if (!allows || !(flags & search->flags))
    return HSA_STATUS_SUCCESS;
  search->found->pool = pool;
  search->found->granule = granule;
  return HSA_STATUS_INFO_BREAK;
}

/* Whether the host reaches what is in a device's pool. */
static bool is_visible(const rawhal_device_t *device, hsa_amd_memory_pool_t pool)
{
  hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  const hsa_status_t result = device->runtime->hsa.hsa_amd_agent_memory_pool_get_info(
      device->runtime->host_agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
  return result == HSA_STATUS_SUCCESS && access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

rawhal_status_t kind_find(const rawhal_device_t *device, rawhal_memory_kind_t kind,
                          memory_kind_t *found, rawhal_error_t *error)
{
  const hal_runtime_t *runtime = device->runtime;
  const hsa_table_t *hsa = &runtime->hsa;
  *found = (memory_kind_t){0};
  if ((unsigned)kind >= sizeof(kinds) / sizeof(*kinds))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown kind of memory %d", (int)kind);
  search_t search = {.hsa = hsa, .flags = kinds[kind].flags, .found = found};
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (kind == RAWHAL_MEMORY_DEVICE || kind == RAWHAL_MEMORY_DEVICE_MAPPED)
    *found = (memory_kind_t){.pool = device->pool, .granule = device->granule};
  else if (kind == RAWHAL_MEMORY_HOST)
    *found = (memory_kind_t){.pool = runtime->host_pool, .granule = PAGE};
  else
    result = hsa->hsa_amd_agent_iterate_memory_pools(
        kinds[kind].is_local ? device->queue.agent : runtime->host_agent, visit, &search);
  found->is_local = kinds[kind].is_local;
  found->is_mapped = kinds[kind].is_mapped;
  if (result != HSA_STATUS_SUCCESS && result != HSA_STATUS_INFO_BREAK)
    return hsa_fail(hsa, result, error, "listing memory");
  if (!found->pool.handle)
    return rawhal_fail(
        error, RAWHAL_UNSUPPORTED,
        "the runtime has no %s memory for device %s: none of its pools has flag 0x%x",
        kinds[kind].name, device->info.name, kinds[kind].flags);
  if (found->is_mapped && !is_visible(device, found->pool))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the host does not reach the memory of device %s: its BAR does not show all "
                       "of it",
                       device->info.name);
  return RAWHAL_OK;
}
