/* The memory that a core file has, whether it is a file or still to be written. Internal. */
#ifndef RAWHAL_DEBUG_CORE_VIEW_H
#define RAWHAL_DEBUG_CORE_VIEW_H

#include "base/types.h"

typedef struct core_range {
  uint64_t address, size;
  const unsigned char *bytes;
  uint32_t flags; /* PF_* */
} core_range_t;

typedef struct core_view {
  const core_range_t *ranges; /* by address, none overlaps another, none is empty */
  size_t count;
  rawhal_bytes_t note; /* the AMDGPU note's contents; of size 0: there is none */
  int64_t process;     /* 0: it is of GPUs alone */
  uint64_t bytes;      /* of the file: a measure of what may be looked at */
} core_view_t;

/* How many ranges end at or before the address: the index of the first that does not. */
size_t core_range_behind(const core_range_t *ranges, size_t count, uint64_t address);
/* Bytes from `address` on that the view has, at most `size`. `*looked`, which may be NULL: how many
 * ranges it took to know. */
uint64_t core_view_has(const core_view_t *view, uint64_t address, uint64_t size, size_t *looked);
/* All of them, or false and zeros. */
bool core_view_read(const core_view_t *view, uint64_t address, void *bytes, size_t size);

#endif
