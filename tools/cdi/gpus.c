/* GPUs as the kernel's driver (amdgpu, KFD) shows them in /sys: no runtime is loaded for it. */
#include "tools/cdi/cdi.h"

#include <stdio.h>
#include <string.h>

static const char nodes[] = "/sys/class/kfd/kfd/topology/nodes";

enum { MOST_NODES = 256, MOST_BANKS = 16 };

/* The number of a line "NAME NUMBER"; 0: there is none. */
static uint64_t property(const char *path, const char *name)
{
  char line[256], word[128];
  unsigned long long value = 0, found;
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof(line), file))
    if (sscanf(line, "%127s %llu", word, &found) == 2 && !strcmp(word, name))
      value = found;
  if (file)
    (void)fclose(file);
  return value;
}

/* Device memory, whether the host can reach it (1) or not (2); not LDS, scratch or the host's. */
static uint64_t memory_of(unsigned node)
{
  char path[PATH_MAX];
  uint64_t sum = 0;
  for (unsigned bank = 0; bank < MOST_BANKS; ++bank) {
    snprintf(path, sizeof(path), "%s/%u/mem_banks/%u/properties", nodes, node, bank);
    const uint64_t heap = property(path, "heap_type");
    if (heap == 1 || heap == 2)
      sum += property(path, "size_in_bytes");
  }
  return sum;
}

/* A node with SIMD units is a GPU; its number among those is the order of the nodes, which have no
 * gaps. */
size_t cdi_find_gpus(cdi_gpu_t gpus[CDI_MOST_GPUS])
{
  char path[PATH_MAX];
  size_t count = 0;
  for (unsigned node = 0; node < MOST_NODES && count < CDI_MOST_GPUS; ++node) {
    snprintf(path, sizeof(path), "%s/%u/properties", nodes, node);
    if (property(path, "simd_count") == 0)
      continue;
    gpus[count] = (cdi_gpu_t){.index = (uint32_t)count,
                              .render_minor = (uint32_t)property(path, "drm_render_minor"),
                              .memory_bytes = memory_of(node)};
    ++count;
  }
  return count;
}
