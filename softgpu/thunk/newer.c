/* What thunks after 5.2 can be asked about themselves and their GPUs. */
#include "softgpu/thunk/newer.h"

#include <stddef.h>

/* None: there is no core dump of waves. */
HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *mask)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(mask, INVALID_PARAMETER);
  *mask = 0;
  return HSAKMT_STATUS_SUCCESS;
}

/* A runtime that hears of a model leaves its driver half set up and its clock unknown; everything
 * that it would ask hardware about, it may ask here. Asked before the device is opened, too. */
HSAKMT_STATUS hsaKmtModelEnabled(bool *enabled)
{
  if (!enabled)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  *enabled = false;
  return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS gpu_check(uint32_t node, const void *answer)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(answer, INVALID_PARAMETER);
  return node > 0 && node <= softgpu_gpu_count() ? HSAKMT_STATUS_SUCCESS
                                                 : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **handle)
{
  HSAKMT_STATUS status = gpu_check(node, handle);
  if (status == HSAKMT_STATUS_SUCCESS)
    *handle = softgpu_drm_handle(node);
  return status;
}

HSAKMT_STATUS hsaKmtGetNodeWallclockFrequency(HSAuint32 node, uint64_t *hertz)
{
  HSAKMT_STATUS status = gpu_check(node, hertz);
  if (status == HSAKMT_STATUS_SUCCESS)
    *hertz = SOFTGPU_TIMESTAMP_MHZ * 1000000ull;
  return status;
}

HSAKMT_STATUS hsaKmtGetDefaultHostGpu(HSAuint32 *node, HSAuint32 *gpu_id)
{
  HSAKMT_STATUS status = gpu_check(1, node && gpu_id ? node : NULL);
  if (status == HSAKMT_STATUS_SUCCESS) {
    *node = 1;
    *gpu_id = softgpu_gpu_id(1);
  }
  return status;
}
