/* Hooks of the newer ways to make queues: a batch of descriptors, and queues that are counted. Each
 * becomes a proxy as one of hsa_queue_create() does, with the device's queue made by that.
 *
 * So its ring is in the host's memory wherever the program wants it (it is the program's face that
 * the program writes), and it has no ring of metadata. Facts: hsa_ext_amd.h of HSA 1.31. */
#include "front/devices.h"
#include "front/proxies.h"
#include "front/queues.h"
#include "front/report.h"

#include <assert.h>

enum {
  DESCRIPTION_VERSION = 1,
  ENGINE_COMPUTE = 0,
  ENGINE_SDMA = 1,
  ENGINE_AIE = 2,
  KNOWN_FLAGS = 3, /* where ring and queue are to be: a wish */
  QUEUE_TYPES = 3,
  PRIORITIES = 3,
  COUNTED_PACKETS = 4096, /* counted queues come without a size; HIP asks for this elsewhere */
  CUS_PER_WORD = 32,
};

static_assert(sizeof(front_description_t) == 96 && offsetof(front_description_t, queue) == 32 &&
                  offsetof(front_description_t, traffic_class) == 72,
              "as the header has it");

static bool all_zero(const void *bytes, size_t size)
{
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; ++i)
    if (at[i])
      return false;
  return true;
}

/* What the header calls invalid. Nothing else is made of it: what is not understood here could be a
 * queue without limits. */
static bool valid(const front_description_t *queue)
{
  return queue->flags <= KNOWN_FLAGS && all_zero(queue->reserved_header, 3) &&
         queue->size_bytes >= PROXY_PACKET_BYTES &&
         !(queue->size_bytes & (queue->size_bytes - 1)) && queue->priority < PRIORITIES &&
         queue->compute.type < QUEUE_TYPES && queue->compute.cu_mask_count % CUS_PER_WORD == 0 &&
         !queue->compute.cu_mask == !queue->compute.cu_mask_count &&
         all_zero(queue->compute.reserved, sizeof(queue->compute.reserved)) &&
         queue->traffic_class == 0 && all_zero(queue->reserved, sizeof(queue->reserved));
}

/* What hsa_queue_create() does not take, while no other code knows the queue. */
static hsa_status_t finish(hsa_queue_t *queue, uint32_t priority, uint32_t cus,
                           const uint32_t *cu_mask)
{
  hsa_queue_t *real = proxy_of(queue)->real;
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (priority != HSA_AMD_QUEUE_PRIORITY_NORMAL)
    result = front.hsa.queue_set_priority(real, (hsa_amd_queue_priority_t)priority);
  if (result == HSA_STATUS_SUCCESS && cus)
    result = front.hsa.cu_set_mask(real, cus, cu_mask);
  return (int)result == HSA_STATUS_CU_MASK_REDUCED ? HSA_STATUS_SUCCESS : result;
}

static hsa_status_t make(front_device_t *device, const proxy_wish_t *wish, uint32_t priority,
                         uint32_t cus, const uint32_t *cu_mask, hsa_queue_t **made)
{
  hsa_queue_t *queue = NULL;
  hsa_status_t result = proxy_create(device, wish, &queue);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  result = finish(queue, priority, cus, cu_mask);
  if (result == HSA_STATUS_SUCCESS)
    *made = queue;
  else
    (void)proxy_destroy(proxy_of(queue));
  return result;
}

static hsa_status_t make_one(front_device_t *device, front_description_t *queue)
{
  queue->queue = NULL;
  if (queue->version != DESCRIPTION_VERSION || queue->engine > ENGINE_AIE)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (queue->engine == ENGINE_SDMA && device->counted) {
    front_report("a queue of a copy engine is refused: what it copies is not limited");
    return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  }
  if (queue->engine != ENGINE_COMPUTE) /* another kind of device */
    return front.hsa.described_create(device->agent, queue, 1);
  if (!valid(queue))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const proxy_wish_t wish = {.agent = device->agent,
                             .size = queue->size_bytes / PROXY_PACKET_BYTES,
                             .type = queue->compute.type,
                             .callback = queue->callback,
                             .data = queue->data,
                             .private_bytes = queue->compute.private_bytes,
                             .group_bytes = UINT32_MAX};
  return make(device, &wish, queue->priority, queue->compute.cu_mask_count, queue->compute.cu_mask,
              &queue->queue);
}

/* Those that can be made are made, and the first error is the answer. */
static hsa_status_t described_create(hsa_agent_t agent, front_description_t *queues, uint32_t count)
{
  front_device_t *device = device_of_agent(agent);
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!device || !device->timed)
    return front.hsa.described_create(agent, queues, count);
  if (!queues || !count || queues->version != DESCRIPTION_VERSION)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT; /* nor is the size of one known of other versions */
  hsa_status_t first = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    hsa_status_t result = make_one(device, &queues[i]);
    if (first == HSA_STATUS_SUCCESS)
      first = result;
  }
  return first;
}

/* The runtime may share a counted queue among those who acquire it; here each has its own. */
static hsa_status_t counted_acquire(hsa_agent_t agent, hsa_queue_type32_t type, uint32_t priority,
                                    void (*callback)(hsa_status_t, hsa_queue_t *, void *),
                                    void *data, uint64_t flags, hsa_queue_t **queue)
{
  front_device_t *device = device_of_agent(agent);
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!device || !device->timed)
    return front.hsa.counted_acquire(agent, type, priority, callback, data, flags, queue);
  if (!queue || priority >= PRIORITIES)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (type != HSA_QUEUE_TYPE_MULTI)
    return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  const proxy_wish_t wish = {.agent = agent,
                             .size = COUNTED_PACKETS,
                             .type = type,
                             .callback = callback,
                             .data = data,
                             .private_bytes = UINT32_MAX,
                             .group_bytes = UINT32_MAX};
  return make(device, &wish, priority, 0, NULL, queue);
}

static hsa_status_t counted_release(hsa_queue_t *queue)
{
  proxy_t *proxy = proxy_of(queue);
  if (!proxy)
    return front.hsa.counted_release(queue);
  return front.hooks.queue_destroy(queue);
}

/* Of what is held back the runtime knows nothing: it would take its place in the wrong order. */
static hsa_status_t queue_signal_semaphore(hsa_queue_t *queue, front_semaphore_t semaphore,
                                           uint64_t value)
{
  return proxy_of(queue) ? HSA_STATUS_ERROR_INVALID_QUEUE
                         : front.hsa.queue_signal_semaphore(queue, semaphore, value);
}

static hsa_status_t queue_wait_semaphore(hsa_queue_t *queue, front_semaphore_t semaphore,
                                         uint64_t value)
{
  return proxy_of(queue) ? HSA_STATUS_ERROR_INVALID_QUEUE
                         : front.hsa.queue_wait_semaphore(queue, semaphore, value);
}

void described_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = front.hsa.name ? name : NULL;
  X(described_create)
  X(counted_acquire)
  X(counted_release)
  X(queue_signal_semaphore)
  X(queue_wait_semaphore)
#undef X
}
