#include "tests/front/toy_later.h"

#include <string.h>

toy_later_t toy_later;
static hsa_queue_t copies, acquired;

static hsa_status_t described(hsa_agent_t agent, toy_description_t *queues, uint32_t count)
{
  (void)agent;
  hsa_status_t first = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    ++toy_later.engines[queues[i].engine_type % 3];
    queues[i].queue = queues[i].engine_type == 1 ? &copies : NULL;
    if (!queues[i].queue && first == HSA_STATUS_SUCCESS)
      first = HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  }
  return first;
}

static hsa_status_t acquire(hsa_agent_t agent, hsa_queue_type32_t type, uint32_t priority,
                            void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                            uint64_t flags, hsa_queue_t **queue)
{
  (void)agent, (void)type, (void)priority, (void)callback, (void)data, (void)flags;
  ++toy_later.acquired;
  *queue = &acquired;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t release(hsa_queue_t *queue)
{
  --toy_later.acquired;
  return queue == &acquired ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

static hsa_status_t semaphore(hsa_queue_t *queue, uint64_t handle, uint64_t value)
{
  (void)queue, (void)handle, (void)value;
  ++toy_later.semaphores;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
  (void)queue;
  toy_later.priority = (int)priority;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t set_mask(hsa_queue_t *queue, uint32_t count, const uint32_t *mask)
{
  toy_later.cus = count;
  toy_later.mask = mask[0];
  toy_later.masked = queue;
  return toy_later.mask_result;
}

/* It knows of a read pointer, and of metadata. */
static hsa_status_t get_info(hsa_queue_t *queue, int attribute, void *value)
{
  *(uint64_t *)value = attribute == 13 ? 0 : (uint64_t)(uintptr_t)queue;
  return HSA_STATUS_SUCCESS;
}

void toy_later_fill(unsigned char *amd)
{
  const struct {
    size_t at;
    void *function;
  } entries[] = {{96, (void *)set_mask},         {328, (void *)set_priority},
                 {560, (void *)get_info},        {TOY_COUNTED, (void *)acquire},
                 {TOY_RELEASE, (void *)release}, {TOY_DESCRIBED, (void *)described},
                 {TOY_SIGNAL, (void *)semaphore}};
  for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); ++i)
    memcpy(amd + entries[i].at, &entries[i].function, sizeof(void *));
  memset(&toy_later, 0, sizeof(toy_later));
  toy_later.priority = -1;
}
