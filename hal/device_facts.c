/* What a device is called, where it sits in the machine, and what it is made of: facts that nothing
 * else here depends on, so that a runtime which does not tell one leaves it 0. */
#include "hal/device_facts.h"

#include "queue/limit/opening.h"

#include <stdio.h>
#include <string.h>

/* HSA_AMD_AGENT_INFO_NEAREST_CPU (hsa_agent_t) of later headers; older runtimes refuse it. */
enum { AGENT_INFO_NEAREST_CPU = 0xA113 };

enum { MOST_HOPS = 8 };

static bool ask(const hsa_table_t *hsa, hsa_agent_t agent, uint32_t attribute, void *value)
{
  return hsa->hsa_agent_get_info(agent, (hsa_agent_info_t)attribute, value) == HSA_STATUS_SUCCESS;
}

/* ---- The nearest host agent ---- */

typedef struct nearest {
  const hsa_table_t *hsa;
  hsa_agent_t gpu, host; /* `host` is 0 before the first */
  uint64_t distance;
  hsa_amd_memory_pool_t pool; /* of the one that is looked at */
} nearest_t;

static hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_segment_t segment;
  nearest_t *nearest = data;
  hsa_status_t result =
      nearest->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (result != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL)
    return result;
  nearest->pool = pool;
  return HSA_STATUS_INFO_BREAK;
}

/* UINT64_MAX: the runtime knows no way there. */
static uint64_t distance_to(nearest_t *nearest, hsa_agent_t host)
{
  const hsa_table_t *hsa = nearest->hsa;
  hsa_amd_memory_pool_link_info_t links[MOST_HOPS] = {0};
  uint32_t hops = 0;
  nearest->pool.handle = 0;
  (void)hsa->hsa_amd_agent_iterate_memory_pools(host, visit_pool, nearest);
  if (!nearest->pool.handle ||
      hsa->hsa_amd_agent_memory_pool_get_info(nearest->gpu, nearest->pool,
                                              HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
                                              &hops) != HSA_STATUS_SUCCESS ||
      hops == 0 || hops > MOST_HOPS ||
      hsa->hsa_amd_agent_memory_pool_get_info(nearest->gpu, nearest->pool,
                                              HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO,
                                              links) != HSA_STATUS_SUCCESS)
    return UINT64_MAX;
  uint64_t distance = 0;
  for (uint32_t i = 0; i < hops; ++i)
    distance += links[i].numa_distance;
  return distance;
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  nearest_t *nearest = data;
  hsa_device_type_t type;
  if (!ask(nearest->hsa, agent, HSA_AGENT_INFO_DEVICE, &type) || type != HSA_DEVICE_TYPE_CPU)
    return HSA_STATUS_SUCCESS;
  uint64_t distance = distance_to(nearest, agent);
  if (!nearest->host.handle || distance < nearest->distance) {
    nearest->host = agent;
    nearest->distance = distance;
  }
  return HSA_STATUS_SUCCESS;
}

static int32_t numa_node(const hsa_table_t *hsa, hsa_agent_t gpu)
{
  nearest_t nearest = {.hsa = hsa, .gpu = gpu};
  uint32_t node;
  if (!ask(hsa, gpu, AGENT_INFO_NEAREST_CPU, &nearest.host))
    nearest.host.handle = 0;
  if (!nearest.host.handle)
    (void)hsa->hsa_iterate_agents(visit_agent, &nearest);
  if (!nearest.host.handle || !ask(hsa, nearest.host, HSA_AGENT_INFO_NODE, &node) ||
      node > INT32_MAX)
    return -1;
  return (int32_t)node;
}

/* ---- */

void device_facts(const hsa_table_t *hsa, hsa_agent_t agent, rawhal_device_info_t *info)
{
  uint32_t bdf = 0;
  const struct {
    uint32_t attribute;
    void *value;
  } facts[] = {
      {HSA_AMD_AGENT_INFO_UUID, info->uuid}, /* 20 characters at most, by the runtime's header */
      {HSA_AMD_AGENT_INFO_DOMAIN, &info->pci_domain},
      {HSA_AMD_AGENT_INFO_BDFID, &bdf},
      {HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, &info->clock_mhz},
      {HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, &info->memory_clock_mhz},
      {HSA_AMD_AGENT_INFO_MEMORY_WIDTH, &info->memory_bus_bits},
      {HSA_AGENT_INFO_CACHE_SIZE, info->cache_bytes},
      {HSA_AMD_AGENT_INFO_CACHELINE_SIZE, &info->cacheline_bytes},
      {HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, &info->waves_per_cu},
      {HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, &info->simds_per_cu},
  };
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); ++i)
    (void)ask(hsa, agent, facts[i].attribute, facts[i].value);
  if (strcmp(info->uuid, "GPU-XX") == 0) /* stands for a device without one */
    info->uuid[0] = '\0';
  info->agent = agent.handle;
  info->pci_bus = bdf >> 8 & 0xff;
  info->pci_device = bdf >> 3 & 0x1f;
  info->pci_function = bdf & 7;
  info->numa_node = numa_node(hsa, agent);
}

void device_identity(const rawhal_device_info_t *info, char identity[64])
{
  limit_device_name(info->uuid, info->name, info->pci_domain,
                    info->pci_bus << 8 | info->pci_device << 3 | info->pci_function, identity);
}
