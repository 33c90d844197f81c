#include "tests/limit/tables_shim.h"

#include "queue/limit/limiter.h"
#include "queue/limit/usage.h"

#include <stdlib.h>
#include <string.h>

const uint64_t shim_estimate_most_ns = ESTIMATE_MAX_NS;
const uint64_t shim_bucket_ns = REGION_BUCKET_NS;
const unsigned shim_estimate_entries = ESTIMATE_ENTRIES, shim_buckets = REGION_BUCKETS;

/* Two: nothing may ever be written to the second. */
shim_estimates_t *shim_estimates_create(void)
{
  return calloc(2, sizeof(estimates_t));
}

bool shim_estimates_spilt(const shim_estimates_t *table)
{
  static const estimates_t empty;
  return memcmp((const estimates_t *)table + 1, &empty, sizeof(empty)) != 0;
}

void shim_estimates_destroy(shim_estimates_t *table)
{
  free(table);
}

uint64_t shim_estimate_find(shim_estimates_t *table, uint64_t key)
{
  return estimate_find((estimates_t *)table, key);
}

void shim_estimate_learn(shim_estimates_t *table, uint64_t key, uint64_t ns)
{
  estimate_learn((estimates_t *)table, key, ns);
}

uint32_t shim_estimate_start(uint64_t key)
{
  return estimate_start(key);
}

shim_usage_t *shim_usage_create(void)
{
  region_usage_t *usage = aligned_alloc(_Alignof(region_usage_t), sizeof(*usage));
  if (usage)
    memset(usage, 0, sizeof(*usage));
  return (shim_usage_t *)usage;
}

void shim_usage_destroy(shim_usage_t *usage)
{
  free(usage);
}

void shim_usage_add(shim_usage_t *usage, uint64_t at, uint64_t ns)
{
  usage_add((region_usage_t *)usage, at, at, ns);
}

void shim_usage_take(shim_usage_t *usage, uint64_t at, uint64_t ns)
{
  usage_take((region_usage_t *)usage, at, at, ns);
}

uint64_t shim_usage_sum(const shim_usage_t *usage, uint64_t now, uint64_t window)
{
  return usage_sum((const region_usage_t *)usage, now, window);
}
