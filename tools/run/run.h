/* rawhal run: the request a command line makes. */
#ifndef TOOLS_RUN_RUN_H
#define TOOLS_RUN_RUN_H

#include <rawhal/services.h>
#include <rawhal/triton.h>

#include "tools/run/argument.h"

typedef struct run_request {
  const char *path, *kernel;
  uint64_t grid[3], block[3]; /* as given: may be 0 or too large */
  bool has_grid, has_block, has_dynamic_lds, grid_in_items;
  uint32_t dynamic_lds, kernarg_size, timeout_seconds;
  uint32_t repeat; /* launches, 1 or more */
  bool json;
  rawhal_backend_t backend;
  run_argument_t *arguments; /* with room for RUN_MOST_SCRATCH more */
  size_t argument_count;
  const rawhal_triton_kernel_t *triton; /* decides the work-group and group memory; or NULL */
} run_request_t;

/* Does it; prints what it did, or one line on standard error. The exit status. */
int run_kernel(const run_request_t *request);

/* ---- What kernels ask of the host (services.c) ---- */

/* Makes what the kernel's hidden arguments ask for: buffers of printf(), hostcalls and malloc().
 * NULL where it asks for nothing. What is printed goes to standard output; with --json to standard
 * error. */
bool run_services_make(const run_request_t *request, rawhal_device_t *device,
                       const rawhal_device_kernel_t *kernel, rawhal_services_t **services,
                       rawhal_error_t *error);
/* Points each __managed__ variable of the executable to its storage, as HIP's runtime does. */
bool run_services_manage(rawhal_device_t *device, const rawhal_executable_t *executable,
                         rawhal_error_t *error);

/* ---- What is written (output.c) ---- */

/* Before anything runs: can each file be written, and has its file system room? No two arguments
 * may go to one file, and none to the file of the code object. */
bool run_output_check(const run_request_t *request, rawhal_error_t *error);

/* ---- What is reported (report.c) ---- */

typedef struct run_outcome {
  const run_request_t *request;
  const rawhal_device_info_t *device;
  const rawhal_executable_info_t *loaded;
  const rawhal_hsaco_info_t *object;
  const rawhal_dispatch_t *dispatch;
  const char *warning; /* "" where there is none */
  /* Of each launch, in nanoseconds; sorted by the reports. */
  uint64_t *wall_ns, *device_ns;
  size_t count;
  bool device_known;     /* the runtime told the device's time of each */
  uint64_t instructions; /* of the last launch; 0: the device does not count them */
} run_outcome_t;

void run_report_text(const run_outcome_t *outcome);
/* Once all is written: schema "rawhal-run-1", described in docs/run.schema.json. */
void run_report_json(const run_outcome_t *outcome);

/* ---- Triton's cache (triton.c) ---- */

enum { RUN_MOST_SCRATCH = 2 };

/* Is an entry's JSON to be read? */
bool run_triton_is(const run_request_t *request);
/* The kernel and the object of the request, which are the entry's. */
bool run_triton_open(run_request_t *request, rawhal_triton_t **triton, rawhal_error_t *error);
/* The arguments that Triton's launcher adds. */
bool run_triton_scratch(run_request_t *request, rawhal_error_t *error);

#endif
