#include "waits_shim.h"

#include "queue/timeline/internal.h"

uint32_t shim_host_waits(const rawhal_semaphore_t *semaphore)
{
  timelines_lock();
  const uint32_t waits = semaphore->uses;
  timelines_unlock();
  return waits;
}
