/* The functions of libdrm that runtimes call with a handle of a device: the thunk's, or of
 * drm_render.c.
 *
 * libdtif.so has to have all that its loader knows. libhsakmt.so.1 exports those that runtimes
 * from 5.3 on need to begin, which they would take from libdrm, did this one not come before it:
 * what is not about a device of ours goes on to there. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "softgpu/thunk/newer.h"

/* The beginning of the structure in amdgpu.h, which has grown at its end only. */
typedef struct gpu_info {
  uint32_t asic_id, chip_rev, chip_external_rev, family_id;
  uint64_t ids_flags, max_engine_clk, max_memory_clk; /* kHz */
  uint32_t shader_engines, arrays_per_engine, pipes_available, pipes, cache_entries, contexts;
  uint32_t rb_pipes, rb_mask;
  uint32_t gpu_counter_freq; /* kHz */
} gpu_info_t;

static char devices[SOFTGPU_MAX_NODES]; /* whose addresses are the handles */

void *softgpu_drm_handle(uint32_t node)
{
  return &devices[node];
}

uint32_t softgpu_drm_node(const void *handle)
{
  uintptr_t at = (uintptr_t)handle - (uintptr_t)devices;
  return at < SOFTGPU_MAX_NODES ? (uint32_t)at : 0;
}

/* Of libraries after this one; and of a libdrm that came with a plugin, whose calls come here. */
void *softgpu_drm_next(const char *name)
{
  void *found = dlsym(RTLD_NEXT, name);
  void *library = found ? NULL : dlopen("libdrm_amdgpu.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!found && !library)
    library = dlopen("libdrm.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return found;
  found = dlsym(library, name);
  (void)dlclose(library);
  return found;
}

#pragma GCC visibility push(default)
int amdgpu_query_gpu_info(void *device, gpu_info_t *info);
int amdgpu_bo_import(void *device, int type, uint32_t shared, void *result);
int amdgpu_bo_export(void *buffer, int type, uint32_t *shared);
int amdgpu_bo_free(void *buffer);
int amdgpu_bo_cpu_map(void *buffer, void **address);
int amdgpu_bo_va_op(void *buffer, uint64_t offset, uint64_t size, uint64_t address, uint64_t flags,
                    uint32_t operation);
int amdgpu_bo_query_info(void *buffer, void *info);
int amdgpu_bo_set_metadata(void *buffer, void *info);
int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long size);
#pragma GCC visibility pop

int amdgpu_query_gpu_info(void *device, gpu_info_t *info)
{
  const uint32_t node = softgpu_drm_node(device);
  if (node == 0) {
    int (*next)(void *, gpu_info_t *);
    *(void **)&next = softgpu_drm_next("amdgpu_query_gpu_info");
    return next ? next(device, info) : -EINVAL;
  }
  if (!info || node > softgpu_gpu_count())
    return -EINVAL;
  *info = (gpu_info_t){.family_id = softgpu_family(node),
                       .max_engine_clk = SOFTGPU_ENGINE_MHZ * 1000u,
                       .max_memory_clk = SOFTGPU_MEMORY_MHZ * 1000u,
                       .gpu_counter_freq = SOFTGPU_TIMESTAMP_MHZ * 1000u};
  return 0;
}

/* No buffer is a DMA-BUF here, so there is none to import, and what comes after has no buffer. */
int amdgpu_bo_import(void *device, int type, uint32_t shared, void *result)
{
  (void)device, (void)type, (void)shared, (void)result;
  return -EOPNOTSUPP;
}

int amdgpu_bo_export(void *buffer, int type, uint32_t *shared)
{
  (void)buffer, (void)type, (void)shared;
  return -EOPNOTSUPP;
}

int amdgpu_bo_free(void *buffer)
{
  (void)buffer;
  return -EINVAL;
}

int amdgpu_bo_cpu_map(void *buffer, void **address)
{
  (void)buffer, (void)address;
  return -EOPNOTSUPP;
}

int amdgpu_bo_va_op(void *buffer, uint64_t offset, uint64_t size, uint64_t address, uint64_t flags,
                    uint32_t operation)
{
  (void)buffer, (void)offset, (void)size, (void)address, (void)flags, (void)operation;
  return -EOPNOTSUPP;
}

int amdgpu_bo_query_info(void *buffer, void *info)
{
  (void)buffer, (void)info;
  return -EOPNOTSUPP;
}

int amdgpu_bo_set_metadata(void *buffer, void *info)
{
  (void)buffer, (void)info;
  return -EOPNOTSUPP;
}

int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long size)
{
  (void)fd, (void)command, (void)data, (void)size;
  return -EOPNOTSUPP;
}
