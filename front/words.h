/* The words by which the runtime and the device speak to each other, of signals and queues that
 * are ours: amd_hsa_signal.h and amd_hsa_queue.h lay them down for both. The runtime's functions
 * for them check handles, call through a table and fence, at each launch several times. Where
 * another tool may have something to say to that, they are called nevertheless: front.direct.
 * Internal; header only. */
#ifndef RAWHAL_FRONT_WORDS_H
#define RAWHAL_FRONT_WORDS_H

#include "front/front.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

static inline amd_signal_t *words_of(hsa_signal_t signal)
{
  return (amd_signal_t *)(uintptr_t)signal.handle;
}

/* Acquire. */
static inline hsa_signal_value_t words_value(hsa_signal_t signal)
{
  if (__builtin_expect(!front.direct, 0))
    return front.hsa.signal_load_scacquire(signal);
  return __atomic_load_n(&words_of(signal)->value, __ATOMIC_ACQUIRE);
}

/* Relaxed, and wakes nobody. */
static inline void words_set_value(hsa_signal_t signal, hsa_signal_value_t value)
{
  if (__builtin_expect(!front.direct, 0))
    front.hsa.silent_store_relaxed(signal, value);
  else
    __atomic_store_n(&words_of(signal)->value, value, __ATOMIC_RELAXED);
}

/* Acquire. */
static inline uint64_t words_read_index(hsa_queue_t *queue)
{
  if (__builtin_expect(!front.direct, 0))
    return front.hsa.load_read_scacquire(queue);
  return __atomic_load_n(&((amd_queue_t *)(void *)queue)->read_dispatch_id, __ATOMIC_ACQUIRE);
}

/* Release. */
static inline void words_set_write_index(hsa_queue_t *queue, uint64_t index)
{
  if (__builtin_expect(!front.direct, 0))
    front.hsa.store_write_screlease(queue, index);
  else
    __atomic_store_n(&((amd_queue_t *)(void *)queue)->write_dispatch_id, index, __ATOMIC_RELEASE);
}

#endif
