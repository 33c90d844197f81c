/* The gate between a queue and its device: what goes through has its scratch and its device time.
 * Internal; of queue/, for librawhal's queues, and of front/, for those of programs.
 *
 *     scratch_begin, limit_lease_create   a queue has been made
 *       gate_dispatch, gate_packet        what a dispatch tells of itself
 *       limit_cost_add                    several that go as one
 *       gate_admit(_one, _at_once)        scratch, then time: a grant
 *       limit_complete_all, gate_end      it has ended (ending.h)
 *     limit_lease_destroy, scratch_keep   the device has let go of it
 *
 * Thread-safety: what is between may be called from any thread. */
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

/* `kernel` is unique in the process and not 0; grids of one power of two count as alike. */
enum { GATE_COPY_KEY = 1, GATE_COMMANDS_KEY = 2 }; /* no kernel's: kernel objects are aligned */

static inline uint64_t gate_key(uint64_t kernel, uint64_t workgroups)
{
  unsigned grid_class = workgroups ? 64u - (unsigned)__builtin_clzll(workgroups) : 0;
  return kernel << 7 | grid_class << 1 | 1u;
}

/* `kernarg_bytes`: 0 where they are not ours. */
static inline limit_shape_t gate_dispatch(uint64_t kernel_object, const uint32_t grid[3],
                                          const uint16_t group[3], uint64_t kernarg_bytes)
{
  uint64_t groups = (uint64_t)gate_along(grid[0], group[0]) * gate_along(grid[1], group[1]);
  if (__builtin_mul_overflow(groups, gate_along(grid[2], group[2]), &groups))
    groups = UINT64_MAX;
  return (limit_shape_t){.key = gate_key(kernel_object, groups),
                         .workgroups = groups,
                         .largest_grid = groups,
                         .kernarg_bytes = kernarg_bytes,
                         .launches = 1};
}

/* By a packet of a program's, which has kernargs of its own. */
static inline limit_shape_t gate_packet(const hsa_kernel_dispatch_packet_t *packet)
{
  const uint32_t grid[] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint16_t group[] = {packet->workgroup_size_x, packet->workgroup_size_y,
                            packet->workgroup_size_z};
  return gate_dispatch(packet->kernel_object, grid, group, 0);
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

/* How long it will take; 0: not known. */
static inline uint64_t gate_expects(const gate_t *gate, const limit_shape_t *shape)
{
  return estimate_find(gate->lease->estimates, shape->key);
}

/* Before the device may see a dispatch that asks for so much a lane. On failure nothing has
 * changed. Any thread, several at once. */
RAWHAL_CHECKED static inline rawhal_status_t gate_scratch(gate_t *gate, uint32_t lane_bytes,
                                                          rawhal_error_t *error)
{
  return __builtin_expect(scratch_is_reserved(&gate->scratch, lane_bytes), 1)
             ? RAWHAL_OK
             : scratch_grow(&gate->scratch, lane_bytes, error);
}

/* Several that go as one, of which none asks for more than `lane_bytes`: that, then limit_admit().
 */
RAWHAL_CHECKED static inline rawhal_status_t gate_admit(gate_t *gate, const limit_cost_t *cost,
                                                        uint32_t lane_bytes, uint64_t deadline,
                                                        limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_status_t status = gate_scratch(gate, lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit(gate->lease, cost, deadline, grant, error) : status;
}

/* Of one dispatch, copy or whole, without adding up. */
RAWHAL_CHECKED static inline rawhal_status_t
gate_admit_one(gate_t *gate, const limit_shape_t *shape, uint32_t lane_bytes, uint64_t deadline,
               limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_status_t status = gate_scratch(gate, lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit_one(gate->lease, shape, deadline, grant, error) : status;
}

/* By what is there of both. False: whether it may go must be looked at. */
static inline bool gate_admit_at_once(gate_t *gate, const hsa_kernel_dispatch_packet_t *packet,
                                      limit_grant_t *grant)
{
  const limit_shape_t shape = gate_packet(packet);
  const uint64_t ns = gate_expects(gate, &shape);
  return scratch_is_reserved(&gate->scratch, packet->private_segment_size) && ns &&
         limit_admit_fast(gate->lease, &shape, ns, 1, grant);
}

/* Where it does not matter how long dispatches take, but how large they are. */
RAWHAL_CHECKED static inline rawhal_status_t
gate_admit_size(gate_t *gate, const hsa_kernel_dispatch_packet_t *packet, rawhal_error_t *error)
{
  rawhal_status_t status = gate_scratch(gate, packet->private_segment_size, error);
  return status == RAWHAL_OK ? limit_check_grid(gate->lease, gate_packet(packet).workgroups, error)
                             : status;
}

#endif
