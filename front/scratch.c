/* Where ROCr can take scratch back from a queue it lets it keep gigabytes, and up to a quarter of
 * that as alternate scratch, for dispatches of fewer waves: of each size, and nothing tells which.
 * So that it is little it is told the limit that other runtimes have, for each device
 * (hsa_amd_agent_set_async_scratch_limit()). It refuses where it cannot. */
#include "front/scratch.h"

#include "front/front.h"

#include <stdlib.h>
#include <string.h>

static uint64_t most = SCRATCH_KEPT;

/* As ROCr's Flag::Refresh(). A runtime that does not know the first may be told of it all the same,
 * and less than by default is not believed. */
static void read_most(void)
{
  const char *single = getenv("HSA_SCRATCH_SINGLE_LIMIT");
  const char *never = getenv("HSA_NO_SCRATCH_RECLAIM");
  const uint64_t limit = single ? strtoul(single, NULL, 10) : SCRATCH_KEPT;
  most = limit > SCRATCH_KEPT ? limit : SCRATCH_KEPT;
  if (never && strcmp(never, "1") == 0)
    most = UINT64_MAX;
}

static void tell_most(const front_device_t *device)
{
  uint64_t total, used;
  if (!device->timed)
    return;
  rawhal_limiter_memory(device->limiter, &total, &used);
  if (total != RAWHAL_UNLIMITED)
    (void)front.hsa.scratch_limit(device->agent, (size_t)most);
}

void scratch_open(void)
{
  read_most();
  for (uint32_t i = 0; front.hsa.scratch_limit && most != UINT64_MAX && i < front.device_count; ++i)
    tell_most(&front.devices[i]);
}

uint64_t scratch_most(void)
{
  return most;
}
