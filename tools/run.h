/* rawhal run: the request a command line makes. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include <rawhal/hal.h>

#include "tools/run_argument.h"

typedef struct run_request {
  const char *path, *kernel;
  uint64_t grid[3], block[3]; /* as given: may be 0 or too large */
  bool has_grid, has_block, grid_in_items;
  uint32_t dynamic_lds, kernarg_size, timeout_seconds;
  rawhal_backend_t backend;
  run_argument_t *arguments;
  size_t argument_count;
} run_request_t;

/* Does it; prints what it did, or one line on standard error and returns false. */
bool run_kernel(const run_request_t *request);

#endif
