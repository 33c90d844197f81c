/* What toy runtimes of HSA have alike: signals and queues in the host's memory. */
#ifndef RAWHAL_TESTS_TOY_HSA_PARTS_H
#define RAWHAL_TESTS_TOY_HSA_PARTS_H

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <stdlib.h>
#include <string.h>

static size_t live_signals;

static inline amd_signal_t *signal_of(hsa_signal_t signal)
{
  return (amd_signal_t *)(uintptr_t)signal.handle;
}

static inline hsa_status_t signal_create(hsa_signal_value_t value, uint32_t consumers,
                                         const hsa_agent_t *who, hsa_signal_t *signal)
{
  (void)consumers, (void)who;
  amd_signal_t *made = aligned_alloc(64, sizeof(*made));
  if (!made)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  memset(made, 0, sizeof(*made));
  made->kind = AMD_SIGNAL_KIND_USER;
  made->value = value;
  signal->handle = (uint64_t)(uintptr_t)made;
  __atomic_fetch_add(&live_signals, 1, __ATOMIC_RELAXED);
  return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t amd_signal_create(hsa_signal_value_t value, uint32_t consumers,
                                             const hsa_agent_t *who, uint64_t attributes,
                                             hsa_signal_t *signal)
{
  (void)attributes;
  return signal_create(value, consumers, who, signal);
}

static inline hsa_status_t signal_destroy(hsa_signal_t signal)
{
  free(signal_of(signal));
  __atomic_fetch_sub(&live_signals, 1, __ATOMIC_RELAXED);
  return HSA_STATUS_SUCCESS;
}

/* With a ring of invalid packets and a doorbell; NULL: no memory. */
static inline amd_queue_t *ring_create(uint32_t size)
{
  amd_queue_t *made = aligned_alloc(64, sizeof(*made));
  uint32_t *packets = aligned_alloc(64, (size_t)size * 64);
  hsa_signal_t doorbell;
  if (!made || !packets || signal_create(0, 0, NULL, &doorbell) != HSA_STATUS_SUCCESS) {
    free(made);
    free(packets);
    return NULL;
  }
  memset(made, 0, sizeof(*made));
  memset(packets, 0, (size_t)size * 64);
  for (uint32_t i = 0; i < size; ++i)
    packets[i * 16] = HSA_PACKET_TYPE_INVALID;
  signal_of(doorbell)->kind = AMD_SIGNAL_KIND_DOORBELL;
  signal_of(doorbell)->queue_ptr = made;
  made->hsa_queue.size = size;
  made->hsa_queue.base_address = packets;
  made->hsa_queue.doorbell_signal = doorbell;
  return made;
}

static inline void ring_destroy(hsa_queue_t *gone)
{
  signal_destroy(gone->doorbell_signal);
  free(gone->base_address);
  free(gone);
}

static inline hsa_status_t set_profiler_enabled(hsa_queue_t *queue, int enable)
{
  (void)queue, (void)enable;
  return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t allow_access(uint32_t count, const hsa_agent_t *agents,
                                        const uint32_t *flags, const void *memory)
{
  (void)count, (void)agents, (void)flags, (void)memory;
  return HSA_STATUS_SUCCESS;
}

#endif
