/* The HSA runtime with dma-bufs, as later ones have them: a file in memory stands for one, and what
 * is mapped of it is a piece of device memory of that size, so that every map has its own. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum { BEFORE = 4096 }; /* of a dma-buf, in front of the buffer it was made of */

SHOWN int dmabuf_maps, dmabuf_last_made = -1;

SHOWN hsa_status_t hsa_amd_portable_export_dmabuf(const void *memory, size_t size, int *dmabuf,
                                                  uint64_t *offset);
SHOWN hsa_status_t hsa_amd_portable_close_dmabuf(int dmabuf);

hsa_status_t hsa_amd_portable_export_dmabuf(const void *memory, size_t size, int *dmabuf,
                                            uint64_t *offset)
{
  (void)memory;
  int file = memfd_create("dma-buf", 0);
  if (file < 0 || ftruncate(file, (off_t)(BEFORE + size)))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  dmabuf_last_made = *dmabuf = file;
  *offset = BEFORE;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_portable_close_dmabuf(int dmabuf)
{
  return close(dmabuf) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

static hsa_status_t first_global(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_segment_t segment;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL)
    return HSA_STATUS_SUCCESS;
  *(hsa_amd_memory_pool_t *)data = pool;
  return HSA_STATUS_INFO_BREAK;
}

SHOWN hsa_status_t hsa_amd_interop_map_buffer(uint32_t count, hsa_agent_t *agents, int handle,
                                              uint32_t flags, size_t *size, void **memory,
                                              size_t *metadata_size, const void **metadata)
{
  (void)metadata_size, (void)metadata;
  struct stat facts;
  hsa_amd_memory_pool_t pool = {0};
  if (count != 1 || flags || fstat(handle, &facts) || !S_ISREG(facts.st_mode))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_amd_agent_iterate_memory_pools(agents[0], first_global, &pool);
  *size = (size_t)facts.st_size;
  hsa_status_t result = hsa_amd_memory_pool_allocate(pool, *size, 0, memory);
  dmabuf_maps += result == HSA_STATUS_SUCCESS;
  return result;
}

SHOWN hsa_status_t hsa_amd_interop_unmap_buffer(void *memory)
{
  hsa_status_t result = hsa_amd_memory_pool_free(memory);
  dmabuf_maps -= result == HSA_STATUS_SUCCESS;
  return result;
}
