/* Device time by half seconds. A bucket is one word, so that any process may add to it. */
#include "queue/limit/limiter.h"

enum { STAMP_SHIFT = 40 };

#define NS_MASK    (((uint64_t)1 << STAMP_SHIFT) - 1)
#define STAMP_MASK 0xffffffu

static uint64_t stamp_of(uint64_t at)
{
  return at / REGION_BUCKET_NS & STAMP_MASK;
}

static void change(region_usage_t *usage, uint64_t at, uint64_t add, uint64_t take)
{
  uint64_t stamp = stamp_of(at), next;
  _Atomic uint64_t *bucket = &usage->buckets[at / REGION_BUCKET_NS % REGION_BUCKETS];
  uint64_t seen = atomic_load_explicit(bucket, memory_order_relaxed);
  do {
    uint64_t ns = seen >> STAMP_SHIFT == stamp ? seen & NS_MASK : 0;
    ns += add < NS_MASK - ns ? add : NS_MASK - ns;
    ns -= take < ns ? take : ns;
    next = stamp << STAMP_SHIFT | ns;
  } while (!atomic_compare_exchange_weak_explicit(bucket, &seen, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

void usage_add(region_usage_t *usage, uint64_t at, uint64_t ns)
{
  change(usage, at, ns, 0);
}

void usage_take(region_usage_t *usage, uint64_t at, uint64_t ns)
{
  change(usage, at, 0, ns);
}

/* Of the whole half seconds that make up the latest `window`, at most a minute. */
uint64_t usage_sum(const region_usage_t *usage, uint64_t now, uint64_t window)
{
  uint64_t count = window / REGION_BUCKET_NS, sum = 0, last = now / REGION_BUCKET_NS;
  if (count > REGION_BUCKETS - 1)
    count = REGION_BUCKETS - 1;
  for (uint64_t back = 1; back <= count && back <= last; ++back) {
    uint64_t word =
        atomic_load_explicit(&usage->buckets[(last - back) % REGION_BUCKETS], memory_order_relaxed);
    if (word >> STAMP_SHIFT == ((last - back) & STAMP_MASK))
      sum += word & NS_MASK;
  }
  return sum;
}
