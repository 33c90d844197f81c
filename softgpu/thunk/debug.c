/* The runtime's part in debugging. */
#include "softgpu/thunk/thunk.h"

/* The runtime is told, as ever, that there is no support: else it would want to hear of queue
 * errors in another way than by queue_inactive_signal, under a debugger or not. */
HSAKMT_STATUS hsaKmtRuntimeEnable(void *r_debug, bool setup_ttmp)
{
  SOFTGPU_NEED_OPEN();
  (void)setup_ttmp;
  if (r_debug)
    service_runtime((uintptr_t)r_debug, true);
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

/* Runtimes of ROCm 7 do not close the device when this fails. */
HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
  return HSAKMT_STATUS_SUCCESS;
}
