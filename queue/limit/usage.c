/* Device time by half seconds. A bucket is one word, so that any process may add to it. */
#include "queue/limit/usage.h"

enum { STAMP_SHIFT = 40 };

#define NS_MASK    (((uint64_t)1 << STAMP_SHIFT) - 1)
#define STAMP_MASK 0xffffffu

/* Of the half second `number`, since the clock began. */
static void change(region_usage_t *usage, uint64_t number, uint64_t add, uint64_t take)
{
  uint64_t stamp = number & STAMP_MASK, next;
  _Atomic uint64_t *bucket = &usage->buckets[number % REGION_BUCKETS];
  uint64_t seen = atomic_load_explicit(bucket, memory_order_relaxed);
  do {
    uint64_t ns = seen >> STAMP_SHIFT == stamp ? seen & NS_MASK : 0;
    ns += add < NS_MASK - ns ? add : NS_MASK - ns;
    ns -= take < ns ? take : ns;
    next = stamp << STAMP_SHIFT | ns;
  } while (!atomic_compare_exchange_weak_explicit(bucket, &seen, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

/* Divides `ns` evenly over the half seconds of a time, of which the table holds the last ones. */
static void spread(region_usage_t *usage, uint64_t start, uint64_t end, uint64_t ns, bool add)
{
  uint64_t number = start / REGION_BUCKET_NS;
  const uint64_t last = end > start ? (end - 1) / REGION_BUCKET_NS : number;
  if (last - number >= REGION_BUCKETS) {
    number = last - REGION_BUCKETS + 1;
    const uint64_t kept = number * REGION_BUCKET_NS;
    ns -= (uint64_t)((unsigned __int128)ns * (kept - start) / (end - start));
    start = kept;
  }
  for (; number < last; ++number) {
    const uint64_t next = (number + 1) * REGION_BUCKET_NS;
    const uint64_t part = (uint64_t)((unsigned __int128)ns * (next - start) / (end - start));
    change(usage, number, add ? part : 0, add ? 0 : part);
    ns -= part;
    start = next;
  }
  change(usage, number, add ? ns : 0, add ? 0 : ns);
}

void usage_add(region_usage_t *usage, uint64_t start, uint64_t end, uint64_t ns)
{
  spread(usage, start, end, ns, true);
}

void usage_take(region_usage_t *usage, uint64_t start, uint64_t end, uint64_t ns)
{
  spread(usage, start, end, ns, false);
}

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
