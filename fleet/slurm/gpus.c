/* The driver's description, as the HSA runtime reads it: a node with SIMDs is a GPU, its unique_id
 * is what the runtime makes the UUID of, and its banks of memory are what programs see. */
#include "fleet/slurm/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 256, BANKS = 16, HEAP_PUBLIC = 1, HEAP_PRIVATE = 2 };

/* False: there is no such file. `value` stays as it is where there is no such line. */
static bool read_property(const char *path, const char *name, uint64_t *value)
{
  FILE *file = fopen(path, "re");
  char word[64];
  uint64_t number;
  if (!file)
    return false;
  while (fscanf(file, "%63s %" SCNu64, word, &number) == 2)
    if (strcmp(word, name) == 0)
      *value = number;
  (void)fclose(file);
  return true;
}

static uint64_t memory_of(const char *kfd, int node)
{
  uint64_t bytes = 0;
  for (int bank = 0; bank < BANKS; ++bank) {
    char path[PATH_MAX];
    uint64_t heap = 0, size = 0;
    snprintf(path, sizeof(path), "%s/%d/mem_banks/%d/properties", kfd, node, bank);
    if (!read_property(path, "heap_type", &heap))
      break;
    (void)read_property(path, "size_in_bytes", &size);
    if (heap == HEAP_PUBLIC || heap == HEAP_PRIVATE)
      bytes += size;
  }
  return bytes;
}

static rawhal_status_t add(settings_t *settings, int node, const char *path, rawhal_error_t *error)
{
  uint64_t unique = 0;
  if (settings->gpu_count == SLURM_GPUS)
    return refuse(error, RAWHAL_UNSUPPORTED, "more than %d GPUs in %.200s", SLURM_GPUS,
                  settings->kfd);
  (void)read_property(path, "unique_id", &unique);
  gpu_t *gpu = &settings->gpus[settings->gpu_count];
  snprintf(gpu->name, sizeof(gpu->name), "GPU-%016" PRIx64, unique);
  gpu->memory_bytes = memory_of(settings->kfd, node);
  if (!unique || !gpu->memory_bytes)
    return refuse(error, RAWHAL_UNSUPPORTED,
                  "%.200s has no %s: name all GPUs by gpu=NAME,BYTES, as 'rawhal devices' has them",
                  path, unique ? "memory" : "unique_id");
  ++settings->gpu_count;
  return RAWHAL_OK;
}

rawhal_status_t gpus_find(settings_t *settings, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (settings->gpu_count)
    return RAWHAL_OK;
  for (int node = 0; status == RAWHAL_OK && node < NODES; ++node) {
    char path[PATH_MAX];
    uint64_t simds = 0;
    snprintf(path, sizeof(path), "%s/%d/properties", settings->kfd, node);
    if (!read_property(path, "simd_count", &simds))
      break;
    if (simds)
      status = add(settings, node, path, error);
  }
  if (status != RAWHAL_OK)
    settings->gpu_count = 0;
  else if (!settings->gpu_count)
    status = refuse(error, RAWHAL_NOT_FOUND, "there is no GPU in %.200s, and no gpu= names one",
                    settings->kfd);
  return status;
}
