/* Queues as the runtime asks for them. */
#include "softgpu/cp/doorbell.h"
#include "softgpu/cp/processor.h"
#include "softgpu/debug/live.h"
#include "softgpu/thunk/layout.h"
#include "softgpu/thunk/newer.h"
#include "softgpu/thunk/thunk.h"

/* Runtimes that link libhsakmt.so.1 write a packet's header last, though perhaps after a body that
 * went past the caches; those that load libdtif.so may write it first. */
enum { SETTLE_NS = 2000000, SETTLE_DTIF_NS = 50000000 };

static bool queue_ring_valid(const void *ring, uint64_t bytes)
{
  return ring && bytes >= 64 && (bytes & (bytes - 1)) == 0;
}

/* To a debugger. */
static bool queue_show(const softgpu_queue_t *queue)
{
  const live_setup_t setup = {.id = queue->id,
                              .ring = (uintptr_t)queue->setup.ring,
                              .write_pointer = (uintptr_t)queue->setup.write_index,
                              .read_pointer = (uintptr_t)queue->setup.read_index,
                              .node = queue->setup.node,
                              .ring_bytes = (uint32_t)queue->setup.ring_bytes};
  return live_queue_add(&setup);
}

static HSAKMT_STATUS queue_create(uint32_t node, uint32_t type, uint32_t percentage, void *ring,
                                  uint64_t bytes, HsaQueueResource *resource)
{
  if (!resource || !queue_ring_valid(ring, bytes))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  SOFTGPU_NEED(node > 0 && node <= softgpu_gpu_count(), INVALID_NODE_UNIT);
  softgpu_queue_setup_t setup = {.chip = softgpu_chip(node),
                                 .listed = softgpu_listed_chip(node),
                                 .sram_ecc = softgpu_sram_ecc(node),
                                 .node = node,
                                 .compute_units = softgpu_compute_units(node),
                                 .shared_aperture_hi = SOFTGPU_LDS_APERTURE_HI,
                                 .private_aperture_hi = SOFTGPU_SCRATCH_APERTURE_HI,
                                 .ring = ring,
                                 .ring_bytes = bytes};
  switch (type) {
  case HSA_QUEUE_COMPUTE_AQL:
    if (!resource->Queue_read_ptr_aql || !resource->Queue_write_ptr_aql)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    setup.step = softgpu_aql_step;
    setup.thread_name = "softgpu-aql";
    setup.read_index = (_Atomic uint64_t *)resource->Queue_read_ptr_aql;
    setup.write_index = (_Atomic uint64_t *)resource->Queue_write_ptr_aql;
    setup.settle_ns = softgpu_is_dtif ? SETTLE_DTIF_NS : SETTLE_NS;
    break;
  case HSA_QUEUE_SDMA:
  case HSA_QUEUE_SDMA_XGMI:
  case SOFTGPU_QUEUE_SDMA_BY_ENGINE:
    setup.step = softgpu_sdma_step;
    setup.thread_name = "softgpu-sdma";
    break;
  default:
    return HSAKMT_STATUS_NOT_SUPPORTED;
  }
  softgpu_queue_t *queue = softgpu_queue_start(&setup);
  if (!queue)
    return HSAKMT_STATUS_NO_MEMORY;
  if (type == HSA_QUEUE_COMPUTE_AQL && !queue_show(queue)) {
    softgpu_queue_destroy(queue->id);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  if (percentage == 0)
    softgpu_queue_suspend(queue->id, true);
  resource->QueueId = queue->id;
  resource->QueueDoorBell = (uintptr_t)softgpu_doorbell(queue->doorbell);
  resource->QueueRptrValue = (uintptr_t)queue->setup.read_index;
  resource->QueueWptrValue = (uintptr_t)queue->setup.write_index;
  return HSAKMT_STATUS_SUCCESS;
}

/* Priorities are hints: every queue has a thread, the system shares the processors out. Nothing is
 * an event of a queue's own, and all copy engines are alike. */
HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                HSA_QUEUE_PRIORITY priority, void *ring, HSAuint64 bytes,
                                HsaEvent *event, HsaQueueResource *resource)
{
  SOFTGPU_NEED_OPEN();
  (void)priority;
  (void)event;
  return queue_create(node, type, percentage, ring, bytes, resource);
}

HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                   HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *ring,
                                   HSAuint64 bytes, HsaEvent *event, HsaQueueResource *resource)
{
  (void)engine;
  return hsaKmtCreateQueue(node, type, percentage, priority, ring, bytes, event, resource);
}

/* Rings of metadata belong to chips that are not here. */
HSAKMT_STATUS hsaKmtCreateQueueV2(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                  HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *ring,
                                  HSAuint64 bytes, HSAuint64 metadata_bytes, HsaEvent *event,
                                  HsaQueueResource *resource)
{
  SOFTGPU_NEED_OPEN();
  (void)engine;
  if (metadata_bytes != 0)
    return HSAKMT_STATUS_NOT_SUPPORTED;
  return hsaKmtCreateQueue(node, type, percentage, priority, ring, bytes, event, resource);
}

/* The runtimes of 2025 pass no value, which cannot be seen from here: all that the write index
 * covers counts as announced. */
HSAKMT_STATUS hsaKmtQueueRingDoorbell(HSA_QUEUEID id, HSAuint64 value)
{
  SOFTGPU_NEED_OPEN();
  (void)value;
  return softgpu_queue_ring(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
                                void *ring, HSAuint64 bytes, HsaEvent *event)
{
  SOFTGPU_NEED_OPEN();
  (void)priority;
  (void)ring;
  (void)bytes;
  (void)event;
  if (percentage > 100)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return softgpu_queue_suspend(id, percentage == 0) ? HSAKMT_STATUS_SUCCESS
                                                    : HSAKMT_STATUS_INVALID_HANDLE;
}

/* One bit per compute unit; those beyond the chip's do not count. */
HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 bits, HSAuint32 *mask)
{
  SOFTGPU_NEED_OPEN();
  if (!mask || bits == 0 || bits % 32 != 0)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  const uint32_t node = softgpu_queue_node(id);
  SOFTGPU_NEED(node > 0, INVALID_HANDLE);
  uint32_t units = 0;
  for (uint32_t i = 0; i < bits && i < softgpu_compute_units(node); ++i)
    units += (mask[i / 32] >> (i % 32)) & 1;
  if (units == 0)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return softgpu_queue_limit(id, units) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

/* As the driver does: a queue that asks for any gets all of the device's, 0 gives them back. */
HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *first)
{
  SOFTGPU_NEED_OPEN();
  const uint32_t node = softgpu_queue_node(id);
  SOFTGPU_NEED(node > 0, INVALID_PARAMETER);
  if (softgpu_gws_count(node) == 0)
    return HSAKMT_STATUS_NOT_SUPPORTED;
  if (count > softgpu_gws_count(node))
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  switch (softgpu_queue_gws(id, count > 0)) {
  case SOFTGPU_GWS_DONE:
    break;
  case SOFTGPU_GWS_TAKEN:
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  default:
    return HSAKMT_STATUS_INVALID_PARAMETER;
  }
  if (first)
    *first = 0;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id)
{
  SOFTGPU_NEED_OPEN();
  return softgpu_queue_destroy(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}
