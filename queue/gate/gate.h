/* The gate between a queue and its device: what goes through has its scratch and its device time.
 * Internal; of queue/, for librawhal's queues, and of front/, for those of programs.
 *
 *     gate_open                      a queue has been made
 *       gate_dispatch                what a packet tells of itself
 *       gate_batch_begin, _add       several that go as one
 *       gate_admit(_one, _at_once)   scratch, then time: a grant
 *     gate_close                     the device has let go of it: afterwards scratch_keep()
 *
 * Thread-safety: everything but opening and closing may be called from any thread. */
#ifndef RAWHAL_QUEUE_GATE_GATE_H
#define RAWHAL_QUEUE_GATE_GATE_H

#include "kernarg/layout.h"
#include "queue/gate/memory.h"
#include "queue/gate/scratch.h"

/* ---- What is admitted, by its shape ----
 *
 * A kernel is known by its kernel object alone, as packets have it; of copies their size is. */

_Static_assert((int)CREDIT_BLOCK_BYTES == (int)KERNARG_BLOCK_BYTES, "what leases count in");

/* Work-groups along one side; none where either is 0, which only packets of programs may have. */
static inline uint32_t gate_along(uint32_t grid, uint32_t group)
{
  if (grid <= group) /* mostly: and a division costs */
    return grid != 0;
  return group ? (grid - 1) / group + 1 : 0;
}

static inline uint64_t gate_workgroups(const uint32_t grid[3], const uint16_t group[3])
{
  uint64_t groups = (uint64_t)gate_along(grid[0], group[0]) * gate_along(grid[1], group[1]);
  if (__builtin_mul_overflow(groups, gate_along(grid[2], group[2]), &groups))
    groups = UINT64_MAX;
  return groups;
}

/* `kernel` is unique in the process and not 0; grids of one power of two count as alike. */
enum { GATE_COPY_KEY = 1, GATE_COMMANDS_KEY = 2 }; /* no kernel's: kernel objects are aligned */

static inline uint64_t gate_key(uint64_t kernel, uint64_t workgroups)
{
  unsigned grid_class = workgroups ? 64u - (unsigned)__builtin_clzll(workgroups) : 0;
  return kernel << 7 | grid_class << 1 | 1u;
}

/* `kernarg_bytes`: 0 where they are not ours. */
static inline limit_shape_t gate_dispatch(uint64_t kernel_object, uint64_t workgroups,
                                          uint64_t kernarg_bytes)
{
  return (limit_shape_t){.key = gate_key(kernel_object, workgroups),
                         .workgroups = workgroups,
                         .largest_grid = workgroups,
                         .kernarg_bytes = kernarg_bytes,
                         .launches = 1};
}

/* Whatever moves bytes by itself: copies, fills, pages that the driver moves; and of images, of
 * which the size of an element is not known, elements. */
static inline limit_shape_t gate_copy(uint64_t bytes)
{
  return (limit_shape_t){.key = gate_key(GATE_COPY_KEY, bytes), .launches = 1};
}

/* Packets of a vendor's, which may be whatever: nothing of them is known. */
static inline limit_shape_t gate_commands(void)
{
  return (limit_shape_t){.key = gate_key(GATE_COMMANDS_KEY, 0), .launches = 1};
}

/* Of what always goes as a whole, from zeros, and is estimated as that. */
static inline void gate_whole_add(limit_shape_t *whole, const limit_shape_t *one)
{
  whole->key = (whole->key * 31 + one->key) | 1; /* never 0 */
  if (__builtin_add_overflow(whole->workgroups, one->workgroups, &whole->workgroups))
    whole->workgroups = UINT64_MAX;
  if (one->largest_grid > whole->largest_grid)
    whole->largest_grid = one->largest_grid;
  whole->kernarg_bytes += one->kernarg_bytes;
  whole->launches += one->launches;
}

/* ---- Going through ---- */

/* What a queue has of its device's limits. */
typedef struct gate {
  limit_lease_t *lease; /* NULL: nothing is limited */
  scratch_queue_t scratch;
} gate_t;

/* What goes as one. */
typedef struct gate_batch {
  limit_cost_t cost;
  uint32_t lane_bytes; /* of scratch, at most */
} gate_batch_t;

static inline void gate_batch_begin(gate_batch_t *batch)
{
  limit_cost_begin(&batch->cost);
  batch->lane_bytes = 0;
}

/* How long it will take; 0: not known. */
static inline uint64_t gate_expects(const gate_t *gate, const limit_shape_t *shape)
{
  return estimate_find(gate->lease->estimates, shape->key);
}

static inline void gate_batch_add(gate_batch_t *batch, const limit_shape_t *shape, uint64_t ns,
                                  uint32_t lane_bytes)
{
  limit_cost_add_known(&batch->cost, shape, ns);
  batch->lane_bytes = lane_bytes > batch->lane_bytes ? lane_bytes : batch->lane_bytes;
}

/* Before the device may see a dispatch that asks for so much a lane. On failure nothing has
 * changed. Any thread, several at once. */
RAWHAL_CHECKED static inline rawhal_status_t
scratch_reserve(scratch_queue_t *queue, uint32_t lane_bytes, rawhal_error_t *error)
{
  return __builtin_expect(scratch_is_reserved(queue, lane_bytes), 1)
             ? RAWHAL_OK
             : scratch_grow(queue, lane_bytes, error);
}

/* As limit_admit(), and scratch_grow() before it. */
RAWHAL_CHECKED static inline rawhal_status_t gate_admit(gate_t *gate, const gate_batch_t *batch,
                                                        uint64_t deadline, limit_grant_t *grant,
                                                        rawhal_error_t *error)
{
  rawhal_status_t status = scratch_reserve(&gate->scratch, batch->lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit(gate->lease, &batch->cost, deadline, grant, error)
                             : status;
}

/* Of one dispatch, copy or whole, without adding up. */
RAWHAL_CHECKED static inline rawhal_status_t
gate_admit_one(gate_t *gate, const limit_shape_t *shape, uint32_t lane_bytes, uint64_t deadline,
               limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_status_t status = scratch_reserve(&gate->scratch, lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit_one(gate->lease, shape, deadline, grant, error) : status;
}

/* By what is there of both. False: whether it may go must be looked at. */
static inline bool gate_admit_at_once(gate_t *gate, const limit_shape_t *shape, uint32_t lane_bytes,
                                      limit_grant_t *grant)
{
  const uint64_t ns = gate_expects(gate, shape);
  return scratch_is_reserved(&gate->scratch, lane_bytes) && ns &&
         limit_admit_fast(gate->lease, shape, ns, 1, grant);
}

#endif
