/* What holds.hip does, by HSA itself: it is there in no time, to be killed by the thousand. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>

enum { HELD = 16 };

static hsa_amd_memory_pool_t pool;

static hsa_status_t visit_pool(hsa_amd_memory_pool_t visited, void *data)
{
  hsa_amd_segment_t segment;
  (void)data;
  if (hsa_amd_memory_pool_get_info(visited, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) ==
          HSA_STATUS_SUCCESS &&
      segment == HSA_AMD_SEGMENT_GLOBAL && !pool.handle)
    pool = visited;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type;
  if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
      type == HSA_DEVICE_TYPE_GPU)
    return hsa_amd_agent_iterate_memory_pools(agent, visit_pool, data);
  return HSA_STATUS_SUCCESS;
}

int main(void)
{
  void *held[HELD] = {0};
  if (hsa_init() != HSA_STATUS_SUCCESS ||
      hsa_iterate_agents(visit_agent, NULL) != HSA_STATUS_SUCCESS || !pool.handle)
    return 1;
  for (unsigned i = 0;; ++i) {
    void **one = &held[i * 7 % HELD];
    if (*one)
      (void)hsa_amd_memory_pool_free(*one);
    *one = NULL;
    if (hsa_amd_memory_pool_allocate(pool, (size_t)(i % 13 + 1) << 18, 0, one) !=
        HSA_STATUS_SUCCESS)
      *one = NULL;
    if (i == HELD) {
      puts("begun");
      fflush(stdout);
    }
  }
}
