/* One dispatch that is recorded. Internal. */
#ifndef SOFTGPU_PROBES_RUN_H
#define SOFTGPU_PROBES_RUN_H

#include "softgpu/probes/file.h"

/* Memory for its records, a copy of its kernargs, and what allocations there are. NULL:
 * there is no memory for it, or nobody can read its kernargs. */
run_t *run_make(const softgpu_prober_device_t *device, const softgpu_prober_dispatch_t *dispatch,
                kernel_t *kernel);
void run_free(run_t *run);
softgpu_prober_wish_t run_wish(const run_t *run);

#endif
