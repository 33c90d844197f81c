/* Direct access to the memory of signals and queues, by which the runtime and the device
 * communicate: amd_hsa_signal.h and amd_hsa_queue.h define them for both. The runtime's functions
 * for them check handles, call through a table and fence, at each launch several times. Where
 * another tool may have hooked them, they are called nevertheless: front.direct. Internal; header
 * only. */
#ifndef RAWHAL_FRONT_DIRECT_H
#define RAWHAL_FRONT_DIRECT_H

#include "front/front.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

static inline amd_signal_t *direct_signal(hsa_signal_t signal)
{
  return (amd_signal_t *)(uintptr_t)signal.handle;
}

/* Acquire. */
static inline hsa_signal_value_t direct_value(hsa_signal_t signal)
{
  if (__builtin_expect(!front.direct, 0))
    return front.hsa.signal_load_scacquire(signal);
  return __atomic_load_n(&direct_signal(signal)->value, __ATOMIC_ACQUIRE);
}

/* Relaxed, and wakes no thread. */
static inline void direct_set_value(hsa_signal_t signal, hsa_signal_value_t value)
{
  if (__builtin_expect(!front.direct, 0))
    front.hsa.silent_store_relaxed(signal, value);
  else
    __atomic_store_n(&direct_signal(signal)->value, value, __ATOMIC_RELAXED);
}

/* Acquire. */
static inline uint64_t direct_read_index(hsa_queue_t *queue)
{
  if (__builtin_expect(!front.direct, 0))
    return front.hsa.load_read_scacquire(queue);
  return __atomic_load_n(&((amd_queue_t *)(void *)queue)->read_dispatch_id, __ATOMIC_ACQUIRE);
}

/* Release. */
static inline void direct_set_write_index(hsa_queue_t *queue, uint64_t index)
{
  if (__builtin_expect(!front.direct, 0))
    front.hsa.store_write_screlease(queue, index);
  else
    __atomic_store_n(&((amd_queue_t *)(void *)queue)->write_dispatch_id, index, __ATOMIC_RELEASE);
}

/* Where the device's doorbell is written; NULL: by the runtime alone. What the runtime of the first
 * tables does for a doorbell of this kind is no more than this (AqlQueue::StoreRelaxed() of ROCr
 * 5.2.3 to 6.2); later ones have devices that are told by a call. */
static inline volatile uint64_t *direct_doorbell(const hsa_queue_t *queue)
{
  const amd_signal_t *doorbell = direct_signal(queue->doorbell_signal);
  if (!front.direct || front.tables.amd_major != 1 || doorbell->kind != AMD_SIGNAL_KIND_DOORBELL)
    return NULL;
  return doorbell->hardware_doorbell_ptr;
}

/* A release of what the device reads, all of which is in memory that processors cache. What the
 * program wrote elsewhere, and they may combine, the lock that the caller took has flushed. */
static inline void direct_ring(volatile uint64_t *doorbell, uint64_t index)
{
  __atomic_store_n(doorbell, index, __ATOMIC_RELEASE);
}

#endif
