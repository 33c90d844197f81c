#include "softgpu/thunk/prober.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cp/prober.h"
#include "softgpu/cp/report.h"
#include "softgpu/device/memory.h"
#include "softgpu/softgpu.h"

static char refusal[400]; /* why there is none, though it was asked for */

static bool find_allocation(uint64_t address, uint64_t *base, uint64_t *size)
{
  softgpu_allocation_t found;
  if (!softgpu_memory_next(address, &found))
    return false;
  *base = found.base;
  *size = found.size;
  return true;
}

/* Beside this one, and by no other name. */
static void *open_library(char *why, size_t size)
{
  Dl_info own;
  char path[PATH_MAX];
  const char *name = dladdr((const void *)&softgpu_prober_loaded, &own) ? own.dli_fname : "";
  const char *end = strrchr(name, '/');
  const int length = snprintf(path, sizeof(path), "%.*slibsoftgpu-probe.so",
                              end ? (int)(end + 1 - name) : 0, name);
  void *library = end && (size_t)length < sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    (void)snprintf(why, size, "there is no libsoftgpu-probe.so beside softgpu's library: %.200s",
                   end ? dlerror() : "whose folder is not known");
  return library;
}

const char *softgpu_prober_load(const char *rules)
{
  void *library = open_library(refusal, sizeof(refusal));
  softgpu_prober_fn *load = NULL;
  if (library)
    *(void **)&load = dlsym(library, "softgpu_prober");
  softgpu_prober_loaded = load
                              ? load(rules, secure_getenv("SOFTGPU_PROBE_FILE"),
                                     secure_getenv("SOFTGPU_PROBE_BYTES"), refusal, sizeof(refusal))
                              : NULL;
  return softgpu_prober_loaded ? NULL : refusal;
}

void softgpu_prober_open(void)
{
  static const softgpu_prober_device_t device = {softgpu_memory_reach, find_allocation,
                                                 softgpu_device_chip, softgpu_memory_generation,
                                                 softgpu_report_line};
  char line[sizeof(refusal) + 64];
  if (softgpu_prober_loaded && softgpu_prober_loaded->open(&device, refusal, sizeof(refusal)))
    return;
  softgpu_prober_loaded = NULL;
  if (refusal[0] == '\0')
    return;
  (void)snprintf(line, sizeof(line), "SOFTGPU_PROBE: nothing is recorded: %s", refusal);
  softgpu_report_line(line);
}
