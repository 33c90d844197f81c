/* Host memory the runtime registered: what the program allocated itself and lets kernels use.
 *
 * Registrations may repeat and overlap; kernels see the union of each cluster of overlapping ones,
 * with the exact bounds the program gave. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/memory.h"
#include "softgpu/thunk/allocate.h"

typedef struct range {
  uint64_t base, end;
  bool inside; /* lies in an allocation of the thunk, which is live anyway */
} range_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range_t *ranges; /* ascending by base; equals in the order they came */
static size_t range_count, range_capacity;

static bool range_insert(const range_t *range)
{
  if (range_count == range_capacity) {
    size_t capacity = range_capacity == 0 ? 16 : range_capacity * 2;
    range_t *grown = realloc(ranges, capacity * sizeof(*ranges));
    if (!grown)
      return false;
    ranges = grown;
    range_capacity = capacity;
  }
  size_t at = range_count;
  while (at > 0 && ranges[at - 1].base > range->base)
    at--;
  memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(*ranges));
  ranges[at] = *range;
  range_count++;
  return true;
}

static void range_remove(size_t at)
{
  memmove(&ranges[at], &ranges[at + 1], (range_count - at - 1) * sizeof(*ranges));
  range_count--;
}

/* The latest registration that starts at `base`; range_count when there is none. */
static size_t range_find(uint64_t base)
{
  for (size_t at = range_count; at > 0; at--) {
    if (ranges[at - 1].base == base)
      return at - 1;
  }
  return range_count;
}

/* Grows a window until no registration crosses its edges. */
static range_t cluster_around(range_t window)
{
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < range_count; i++) {
      const range_t *range = &ranges[i];
      if (range->inside || range->base >= window.end || range->end <= window.base)
        continue;
      if (range->base < window.base || range->end > window.end) {
        window.base = range->base < window.base ? range->base : window.base;
        window.end = range->end > window.end ? range->end : window.end;
        grown = true;
      }
    }
  }
  return window;
}

/* Makes kernels see what is registered around `changed` now. */
static bool cluster_publish(range_t changed)
{
  range_t window = cluster_around(changed);
  softgpu_allocation_t *live = calloc(range_count + 1, sizeof(*live));
  if (!live)
    return false;
  uint32_t count = 0;
  for (size_t i = 0; i < range_count; i++) {
    const range_t *range = &ranges[i];
    if (range->inside || range->base < window.base || range->base >= window.end)
      continue;
    softgpu_allocation_t *last = count > 0 ? &live[count - 1] : NULL;
    if (!last || range->base >= last->base + last->size)
      live[count++] = (softgpu_allocation_t){
          .base = range->base, .size = range->end - range->base, .flags = SOFTGPU_MEMORY_WRITE};
    else if (range->end > last->base + last->size)
      last->size = range->end - last->base;
  }
  bool done = softgpu_memory_exchange(window.base, window.end, live, count);
  free(live);
  return done;
}

void softgpu_registrations_close(void)
{
  pthread_mutex_lock(&lock);
  while (range_count > 0) {
    range_t range = ranges[0];
    range_remove(0);
    if (!range.inside)
      cluster_publish(range);
  }
  free(ranges);
  ranges = NULL;
  range_capacity = 0;
  pthread_mutex_unlock(&lock);
}

static HSAKMT_STATUS memory_register(const void *memory, uint64_t size)
{
  range_t range = {.base = (uintptr_t)memory};
  if (!memory || size == 0 || __builtin_add_overflow(range.base, size, &range.end))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  range.inside = softgpu_allocation_covers(range.base, size);
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  if (!range_insert(&range)) {
    status = HSAKMT_STATUS_NO_MEMORY;
  } else if (!range.inside && !cluster_publish(range)) {
    range_remove(range_find(range.base));
    status = HSAKMT_STATUS_INVALID_PARAMETER;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *memory, HSAuint64 size)
{
  SOFTGPU_NEED_OPEN();
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *memory, HSAuint64 size, HSAuint64 count,
                                          HSAuint32 *nodes)
{
  SOFTGPU_NEED_OPEN();
  if (count > 0 && !nodes)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *memory, HSAuint64 size, HsaMemFlags flags)
{
  SOFTGPU_NEED_OPEN();
  (void)flags;
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtDeregisterMemory(void *memory)
{
  SOFTGPU_NEED_OPEN();
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  size_t at = range_find((uintptr_t)memory);
  if (at == range_count) {
    status = HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
  } else {
    range_t range = ranges[at];
    range_remove(at);
    /* Taking away needs no memory but the list of what stays; without it nothing changes. */
    if (!range.inside && !cluster_publish(range)) {
      range_insert(&range);
      status = HSAKMT_STATUS_NO_MEMORY;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

static bool registration_describe(uint64_t address, HsaPointerInfo *info)
{
  pthread_mutex_lock(&lock);
  const range_t *found = NULL;
  for (size_t i = 0; i < range_count && ranges[i].base <= address; i++) {
    if (address < ranges[i].end)
      found = &ranges[i];
  }
  if (found)
    *info = (HsaPointerInfo){.Type = HSA_POINTER_REGISTERED_USER,
                             .CPUAddress = (void *)found->base,
                             .GPUAddress = found->base,
                             .SizeInBytes = found->end - found->base};
  pthread_mutex_unlock(&lock);
  return found != NULL;
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *pointer, HsaPointerInfo *info)
{
  SOFTGPU_NEED_OPEN();
  if (!pointer || !info)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (softgpu_allocation_describe((uintptr_t)pointer, info) ||
      registration_describe((uintptr_t)pointer, info))
    return HSAKMT_STATUS_SUCCESS;
  *info = (HsaPointerInfo){.Type = HSA_POINTER_UNKNOWN};
  return HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *pointer, void *user_data)
{
  SOFTGPU_NEED_OPEN();
  return softgpu_allocation_user_data((uintptr_t)pointer, user_data)
             ? HSAKMT_STATUS_SUCCESS
             : HSAKMT_STATUS_INVALID_PARAMETER;
}
