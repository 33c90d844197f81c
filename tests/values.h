// What calls write to places of their callers, as values.
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H

#include <rawhal/hal.h>

inline rawhal_queue_info_t queue_info(rawhal_queue_t *queue)
{
  rawhal_queue_info_t info = {};
  rawhal_queue_info(queue, &info);
  return info;
}

typedef struct device_memory_t {
  uint64_t total, available;
} device_memory_t_t;

inline device_memory_t device_memory(const rawhal_device_t *device)
{
  device_memory_t memory;
  rawhal_device_memory(device, &memory.total, &memory.available);
  return memory;
}

typedef struct limiter_memory_t {
  uint64_t total, used;
} limiter_memory_t_t;

inline limiter_memory_t limiter_memory(const rawhal_limiter_t *limiter)
{
  limiter_memory_t memory;
  rawhal_limiter_memory(limiter, &memory.total, &memory.used);
  return memory;
}

#endif
