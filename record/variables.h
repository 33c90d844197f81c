/* Which memory of a loaded code object its program may write, and its kernels. Internal.
 *
 * Those are the segments that may be written. What the loader alone writes there does not change,
 * and is left out, unless it has addresses of other objects' variables. Of segments that are only
 * read it is the exported variables, which the host may set: __constant__ of HIP, where a compiler
 * puts it there. */
#ifndef RAWHAL_RECORD_VARIABLES_H
#define RAWHAL_RECORD_VARIABLES_H

#include "hsaco/hsaco.h"

enum { VARIABLES_RANGES = 8 };

typedef struct variables_range {
  uint64_t address, size; /* the object's own addresses; bytes */
} variables_range_t;

typedef struct variables {
  variables_range_t ranges[VARIABLES_RANGES]; /* which do not overlap */
  size_t count;
  bool more; /* than there is room for */
} variables_t;

void variables_of(const rawhal_hsaco_t *hsaco, variables_t *variables);

#endif
