/* How long kernels take: nearly the longest time lately, for each key, learned from measured device
 * times. Internal; header only. Estimates keep what is in flight within the burst while kernels
 * take what they took before; no promise rests on them (node_most_in_flight()), and what is charged
 * is measured.
 *
 * Looking up is lock-free; learning excludes itself. A table that is full forgets. */
#ifndef RAWHAL_QUEUE_LIMIT_ESTIMATE_H
#define RAWHAL_QUEUE_LIMIT_ESTIMATE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
  ESTIMATE_ENTRIES = 4096,
  ESTIMATE_PROBES = 8,
  ESTIMATE_FADING = 16, /* the estimate falls by one part in this many of what a time is shorter */
};

#define ESTIMATE_MAX_NS ((uint64_t)1 << 45)

typedef struct estimate {
  _Atomic uint64_t key; /* 0: free */
  _Atomic uint64_t ns;
} estimate_t;

/* Zero-initialise. */
typedef struct estimates {
  estimate_t entries[ESTIMATE_ENTRIES];
} estimates_t;

static inline uint32_t estimate_start(uint64_t key)
{
  return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 52);
}

/* 0: unknown. `key` is not 0. */
static inline uint64_t estimate_find(estimates_t *table, uint64_t key)
{
  uint32_t start = estimate_start(key);
  for (uint32_t i = 0; i < ESTIMATE_PROBES; ++i) {
    estimate_t *entry = &table->entries[(start + i) % ESTIMATE_ENTRIES];
    uint64_t seen = atomic_load_explicit(&entry->key, memory_order_relaxed);
    if (seen == key)
      return atomic_load_explicit(&entry->ns, memory_order_relaxed);
    if (seen == 0)
      return 0;
  }
  return 0;
}

/* A reader may see a new key with an old one's time: a wrong estimate, which is charged rightly. */
static inline void estimate_learn(estimates_t *table, uint64_t key, uint64_t ns)
{
  uint32_t start = estimate_start(key);
  estimate_t *entry = &table->entries[(start + ns % ESTIMATE_PROBES) % ESTIMATE_ENTRIES];
  for (uint32_t i = 0; i < ESTIMATE_PROBES; ++i) {
    estimate_t *candidate = &table->entries[(start + i) % ESTIMATE_ENTRIES];
    uint64_t seen = atomic_load_explicit(&candidate->key, memory_order_relaxed);
    if (seen == key || seen == 0) {
      entry = candidate;
      break;
    }
  }
  ns = ns == 0 ? 1 : ns < ESTIMATE_MAX_NS ? ns : ESTIMATE_MAX_NS;
  if (atomic_load_explicit(&entry->key, memory_order_relaxed) == key) {
    uint64_t old = atomic_load_explicit(&entry->ns, memory_order_relaxed);
    if (ns < old)
      ns = old - (old - ns) / ESTIMATE_FADING;
  }
  atomic_store_explicit(&entry->ns, ns ? ns : 1, memory_order_relaxed);
  atomic_store_explicit(&entry->key, key, memory_order_release);
}

#endif
