/* rawhal probe verify: records that softgpu makes by itself. */
#include "tools/probe/verify.h"

#include "softgpu/waves.h"
#include "tools/shared/softgpu.h"

/* Of each library that softgpu is, as it is not known which of them the runtime uses; the other has
 * no dispatches. */
static bool ask(uint64_t kernel_object, const rawhal_probe_argument_t *argument, uint32_t kinds,
                const rawhal_probe_plan_info_t *info, size_t points)
{
  bool asked = false;
  for (size_t i = 0; i < SOFTGPU_LIBRARIES; ++i) {
    softgpu_probe_fn *probe;
    *(void **)&probe = softgpu_function(i, "softgpu_probe");
    asked |= probe && probe(kernel_object, argument, kinds, info ? info->event_bytes : 0,
                            info ? info->counters : 0, points ? info->points : NULL, points);
  }
  return asked;
}

bool verify_watch(const verify_records_t *records, const verify_dispatch_t *dispatch,
                  const rawhal_device_kernel_t *kernel, bool points)
{
  const rawhal_probe_plan_info_t *info = records->info;
  return dispatch->kernel->is_software &&
         ask(rawhal_device_kernel_info(kernel)->kernel_object, &records->argument,
             RAWHAL_PROBE_WAVES | (points ? info->kinds : 0), info, points ? info->point_count : 0);
}

void verify_watch_no_more(const rawhal_device_kernel_t *kernel)
{
  (void)ask(rawhal_device_kernel_info(kernel)->kernel_object, NULL, 0, NULL, 0);
}
