/* What is admitted, by its shape. Internal; header only.
 *
 * A kernel is known by its kernel object alone, as packets have it; of copies their size is. */
#ifndef RAWHAL_QUEUE_GATE_DISPATCH_H
#define RAWHAL_QUEUE_GATE_DISPATCH_H

#include "kernarg/layout.h"
#include "queue/limit/admission.h"

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

/* `kernarg_bytes`: 0 where they are not ours. */
static inline limit_shape_t gate_dispatch(uint64_t kernel_object, uint64_t workgroups,
                                          uint64_t kernarg_bytes)
{
  return (limit_shape_t){.key = limit_key(kernel_object, workgroups),
                         .workgroups = workgroups,
                         .largest_grid = workgroups,
                         .kernarg_bytes = kernarg_bytes,
                         .launches = 1};
}

/* Whatever moves bytes by itself: copies, fills, pages that the driver moves; and of images, of
 * which the size of an element is not known, elements. */
static inline limit_shape_t gate_copy(uint64_t bytes)
{
  return (limit_shape_t){.key = limit_key(LIMIT_COPY_KEY, bytes), .launches = 1};
}

/* Packets of a vendor's, which may be whatever: nothing of them is known. */
static inline limit_shape_t gate_commands(void)
{
  return (limit_shape_t){.key = limit_key(LIMIT_COMMANDS_KEY, 0), .launches = 1};
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

#endif
