/* softgpu is told how many bytes of memory the program asked for: the runtime rounds sizes up to
 * pages before a device sees them, and an access behind the end would not be noticed. */
#include "front/bounds.h"

#include "debug/softgpu.h"

static softgpu_memory_bound_fn *bound;
static front_calls_t within; /* what allocates, with all other hooks */

/* Of arguments programs often allocate no more than those that they supply: a kernel that reads the
 * others, which are hidden ones, gets zeros there on hardware. A region is a pool to ROCr. */
static bool is_for_kernargs(uint64_t pool)
{
  uint32_t flags = 0;
  return front.hsa.pool_get_info((hsa_amd_memory_pool_t){pool},
                                 HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
                                 &flags) == HSA_STATUS_SUCCESS &&
         flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
}

static hsa_status_t bounded(hsa_status_t result, uint64_t pool, size_t size, void *const *memory)
{
  if (result == HSA_STATUS_SUCCESS && memory && !front_orphaned() && !is_for_kernargs(pool))
    (void)bound((uint64_t)(uintptr_t)*memory, size);
  return result;
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  return bounded(within.pool_allocate(pool, size, flags, memory), pool.handle, size, memory);
}

static hsa_status_t memory_allocate(hsa_region_t region, size_t size, void **memory)
{
  return bounded(within.memory_allocate(region, size, memory), region.handle, size, memory);
}

void bounds_hooks(front_calls_t *hooks)
{
  debug_softgpu_t softgpu;
  debug_softgpu_find_loaded(&softgpu);
  bound = softgpu.memory_bound;
  if (!bound)
    return;
  within = front.hsa;
  calls_overlay(&within, hooks);
  hooks->pool_allocate = pool_allocate;
  hooks->memory_allocate = memory_allocate;
}
