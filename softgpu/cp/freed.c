/* What the program's allocator says of memory that is freed in the order of a queue. */
#include <stdio.h>

#include "softgpu/cp/aql.h"
#include "softgpu/device/freed.h"
#include "softgpu/device/opened.h"
#include "softgpu/exports.h"

/* A queue that a tool handed out has packets of its own, which are numbered otherwise. The queue
 * cannot go meanwhile: what is noted is forgotten with it. */
static bool note(softgpu_freed_t *freed, const void *hsa_queue)
{
  softgpu_queue_t *queue = softgpu_queue_lock(hsa_queue);
  if (!queue)
    return false;
  const bool is_own = softgpu_aql_queue(queue) == hsa_queue;
  freed->queue = (uintptr_t)hsa_queue;
  freed->read_index = queue->setup.read_index;
  freed->write_index = queue->setup.write_index;
  freed->from = atomic_load_explicit(freed->write_index, memory_order_acquire);
  const bool noted = is_own && softgpu_freed_add(freed);
  softgpu_queue_unlock(queue);
  return noted;
}

SOFTGPU_EXPORT bool softgpu_memory_order(uint64_t address, uint64_t bytes, const void *hsa_queue,
                                         const char *freed)
{
  uint64_t end;
  if (softgpu_forked() || !bytes || __builtin_add_overflow(address, bytes, &end))
    return false;
  if (!freed) {
    softgpu_freed_end(address, bytes);
    return true;
  }
  softgpu_freed_t part = {.base = address, .size = bytes, .to = UINT64_MAX};
  snprintf(part.text, sizeof(part.text), "%s", freed);
  return hsa_queue && note(&part, hsa_queue);
}
