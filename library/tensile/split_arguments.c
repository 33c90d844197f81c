/* The words by which hipBLASLt's host code tells a kernel how to share out its work: as
 * tensilelite's ContractionSolution::kernelArgs() makes them. docs/tensile.md has them as a table.
 */
#include "library/tensile/tensile.h"

#include "base/error.h"

enum { LATEST = 2 }; /* version of which there is public source */

/* hipBLASLt's numbers have 32 bits. */
static uint32_t low(int64_t number, uint32_t mask)
{
  return (uint32_t)number & mask;
}

static uint32_t split_word(const rawhal_tensile_solution_t *solution)
{
  enum { MOST = 255 }; /* in version 0, whose mapping and split have 8 bits each */
  const rawhal_tensile_arguments_t *takes = &solution->arguments;
  const rawhal_tensile_sizes_t *sizes = &solution->sizes;
  const bool narrow = takes->version == 0 && takes->workgroup_mapping;
  int64_t split = sizes->global_split_u, mapping = sizes->workgroup_mapping;
  uint32_t word = 0;
  if (narrow) {
    split = split > MOST ? MOST : split;
    mapping = mapping > MOST ? MOST : mapping;
    word = low(mapping, 0xff) << 8;
  }
  if (takes->version >= 2)
    word |= (uint32_t)(sizes->split_coalesced != 0) << 15 |
            (uint32_t)(sizes->split_round_robin != 0) << 14;
  word |= low(split, 0x3fff);
  if (takes->stagger_u)
    word |= low(sizes->stagger_u, 0xff) << 16 | low(sizes->stagger_stride_shift, 0x1f) << 24 |
            low(sizes->stagger_mapping, 7) << 29;
  return word;
}

static uint32_t mapping_word(const rawhal_tensile_solution_t *solution, uint32_t compute_units)
{
  const rawhal_tensile_sizes_t *sizes = &solution->sizes;
  if (!solution->arguments.workgroup_mapping)
    return 0;
  if (solution->arguments.version == 1)
    return low(sizes->workgroup_mapping, UINT32_MAX);
  const uint32_t group = compute_units ? compute_units : low(sizes->xcc_group, UINT32_MAX);
  return group << 22 | low(sizes->xcc, UINT32_MAX) << 16 | low(sizes->workgroup_mapping, 0xffff);
}

rawhal_status_t rawhal_tensile_split_arguments(const rawhal_tensile_solution_t *solution,
                                               uint32_t workgroups, uint32_t compute_units,
                                               uint32_t words[RAWHAL_TENSILE_SPLIT_ARGUMENTS],
                                               uint32_t *count, rawhal_error_t *error)
{
  if (count)
    *count = 0;
  if (!solution || !words || !count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "solution, words or count is NULL");
  const rawhal_tensile_arguments_t *takes = &solution->arguments;
  if (!takes->known)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "a solution of Tensile has no such arguments");
  if (takes->version < 0 || takes->version > LATEST)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "arguments of version %lld, supported are 0 to %d",
                       (long long)takes->version, LATEST);
  const bool by_device = takes->version == 2 && takes->workgroup_mapping &&
                         solution->sizes.xcc > 1 && solution->sizes.xcc_group == -1;
  if (by_device && !compute_units)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "compute_units is 0; its work-groups are mapped by them");
  uint32_t used = 0;
  if (takes->universal)
    words[used++] = 1; /* product; 0 in the highest two bits: its arguments follow */
  words[used++] = split_word(solution);
  if (takes->version > 0) {
    words[used++] = mapping_word(solution, by_device ? compute_units : 0);
    words[used++] = takes->universal ? workgroups : 0;
  }
  *count = used;
  return RAWHAL_OK;
}
