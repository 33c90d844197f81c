/* Functions of thunks after 5.2, whose header does not declare them, and what stands for their
 * types. */
#ifndef SOFTGPU_THUNK_NEWER_H
#define SOFTGPU_THUNK_NEWER_H

#include "softgpu/thunk/thunk.h"

/* The queue types and memory flags that 5.2's header lacks. */
enum {
  SOFTGPU_QUEUE_SDMA_BY_ENGINE = 6,
  SOFTGPU_MEMORY_NO_ADDRESS = 1 << 18,   /* memory without an address */
  SOFTGPU_MEMORY_ONLY_ADDRESS = 1 << 19, /* an address without memory */
};

/* GPUs as libdrm's functions know them, and back: 0 when it is not one of ours. Handles are not
 * addresses of anything that may be used. */
void *softgpu_drm_handle(uint32_t node);
uint32_t softgpu_drm_node(const void *handle);
/* libdrm's own function of that name; NULL where the process has no libdrm. */
void *softgpu_drm_next(const char *name);

#pragma GCC visibility push(default)
HSAKMT_STATUS hsaKmtAllocMemoryAlign(HSAuint32 node, HSAuint64 size, HSAuint64 alignment,
                                     HsaMemFlags flags, void **address);
HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *bytes);
HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                   HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *ring,
                                   HSAuint64 bytes, HsaEvent *event, HsaQueueResource *resource);
HSAKMT_STATUS hsaKmtCreateQueueV2(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                  HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *ring,
                                  HSAuint64 bytes, HSAuint64 metadata_bytes, HsaEvent *event,
                                  HsaQueueResource *resource);
HSAKMT_STATUS hsaKmtQueueRingDoorbell(HSA_QUEUEID id, HSAuint64 value);
HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *event, HSAuint32 milliseconds, uint64_t *age);
HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *events[], HSAuint32 count, bool all,
                                             HSAuint32 milliseconds, uint64_t *ages);
HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *mask);
HSAKMT_STATUS hsaKmtModelEnabled(bool *enabled);
HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **handle);
HSAKMT_STATUS hsaKmtGetDefaultHostGpu(HSAuint32 *node, HSAuint32 *gpu_id);
HSAKMT_STATUS hsaKmtGetNodeWallclockFrequency(HSAuint32 node, uint64_t *hertz);
#pragma GCC visibility pop

#endif
