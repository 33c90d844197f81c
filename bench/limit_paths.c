#include "bench/limit_paths.h"

#include "queue/gate/gate.h"
#include "queue/limit/admission.h"
#include "queue/limit/memory.h"
#include "queue/limit/node.h"

enum { MAX_COUNT = 4096, KERNEL_NS = 10, LEVELS = 4 };

static _Thread_local limit_grant_t grants[MAX_COUNT];
static _Thread_local uint64_t device_ns = 1;

limit_lease_t *paths_lease(rawhal_limiter_t *limiter)
{
  limit_lease_t *lease = NULL;
  if (limit_lease_create(limiter, NULL, RAWHAL_UNLIMITED, &lease, NULL) != RAWHAL_OK)
    return NULL;
  return lease;
}

void paths_lease_destroy(limit_lease_t *lease)
{
  limit_lease_destroy(lease);
}

bool paths_admit(limit_lease_t *lease, unsigned count)
{
  bool all = true;
  for (unsigned i = 0; i < count; ++i) {
    limit_shape_t shape = {gate_key(1, 64), 64, 64, 256, 1};
    all &= limit_admit_one(lease, &shape, 0, &grants[i], NULL) == RAWHAL_OK;
  }
  return all;
}

bool paths_unlimited(limit_lease_t *const *lease, unsigned count)
{
  bool all = true;
  for (unsigned i = 0; i < count; ++i) {
    __asm__ volatile("" ::: "memory"); /* each submission looks anew */
    all &= *lease == NULL;
  }
  return all;
}

void paths_complete(limit_lease_t *lease, unsigned count)
{
  for (unsigned i = 0; i < count; ++i, device_ns += KERNEL_NS)
    limit_complete(lease, &grants[i], device_ns, device_ns + KERNEL_NS);
}

void paths_shared_clocks(unsigned count)
{
  static region_node_t nodes[LEVELS] = {{.share = REGION_SHARE_ONE - 1, .burst = UINT64_MAX / 4},
                                        {.share = REGION_SHARE_ONE - 1, .burst = UINT64_MAX / 4},
                                        {.share = REGION_SHARE_ONE - 1, .burst = UINT64_MAX / 4},
                                        {.share = REGION_SHARE_ONE - 1, .burst = UINT64_MAX / 4}};
  static const node_flight_t nothing;
  uint64_t retry;
  for (unsigned i = 0; i < count; ++i)
    for (int level = 0; level < LEVELS; ++level)
      if (node_admits(&nodes[level], device_ns, &nothing, &retry))
        node_charge(&nodes[level], device_ns, device_ns, KERNEL_NS);
}

bool paths_memory(rawhal_limiter_t *limiter, unsigned count)
{
  bool all = true;
  for (unsigned i = 0; i < count; ++i) {
    all &= limit_memory_reserve(limiter, LEDGER_BUFFERS, 1 << 20, NULL) == RAWHAL_OK;
    limit_memory_release(limiter, LEDGER_BUFFERS, 1 << 20);
  }
  return all;
}
