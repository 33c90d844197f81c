#include "tests/probe/twin_kernargs.h"

#include "queue/internal.h"

uint64_t twin_kernargs(const rawhal_queue_t *queue)
{
  return (uint64_t)(uintptr_t)queue->kernargs;
}
