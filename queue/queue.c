/* Creating and destroying queues. */
#include "queue/charge.h"
#include "queue/create.h"
#include "queue/follow.h"
#include "queue/hardware.h"
#include "queue/label.h"
#include "queue/list.h"
#include "queue/shared.h"
#include "queue/timeline/timeline.h"
#include "queue/transfer.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/thread.h"

#include <hsa/amd_hsa_queue.h>
#include <stdlib.h>
#include <string.h>

enum {
  BLOCKS_PER_PACKET = 2, /* so that packets, not kernargs, are what runs out first */
  DEFAULT_PACKETS = 1024,
  DEFAULT_SUBMISSIONS = 256,
  DEFAULT_KERNARG_BYTES = 1 << 20,
  MAX_SUBMISSIONS = 1 << 16,
  MAX_KERNARG_BYTES = 1 << 30,
};

typedef struct queue_sizes {
  uint32_t packets, submissions, blocks;
} queue_sizes_t;

/* The least power of two that is at least `value`, which is at most 2^31. */
static uint32_t round_up(uint32_t value)
{
  uint32_t power = 1;
  while (power < value)
    power *= 2;
  return power;
}

static rawhal_status_t choose_sizes(const queue_device_t *device,
                                    const rawhal_queue_options_t *asked, queue_sizes_t *sizes,
                                    rawhal_error_t *error)
{
  if (asked->packets > device->max_packets)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%u packets asked for, the device allows %u",
                       asked->packets, device->max_packets);
  if (asked->submissions > MAX_SUBMISSIONS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%u submissions asked for, at most %u",
                       asked->submissions, MAX_SUBMISSIONS);
  if (asked->kernarg_bytes > MAX_KERNARG_BYTES)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%llu kernarg bytes asked for, at most %u",
                       (unsigned long long)asked->kernarg_bytes, MAX_KERNARG_BYTES);
  const hsa_queue_t *given = asked->hsa_queue;
  if (given && asked->packets && asked->packets != given->size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%u packets asked for, the queue given has %u", asked->packets, given->size);
  uint32_t packets = given ? given->size : asked->packets ? asked->packets : DEFAULT_PACKETS;
  if (packets > device->max_packets && !given)
    packets = device->max_packets;
  if (packets < device->min_packets)
    packets = device->min_packets;
  sizes->packets = round_up(packets);
  sizes->submissions = round_up(asked->submissions ? asked->submissions : DEFAULT_SUBMISSIONS);
  uint64_t bytes = asked->kernarg_bytes ? asked->kernarg_bytes : DEFAULT_KERNARG_BYTES;
  sizes->blocks = round_up((uint32_t)((bytes + KERNARG_BLOCK_BYTES - 1) / KERNARG_BLOCK_BYTES));
  if (sizes->blocks / BLOCKS_PER_PACKET < sizes->packets)
    sizes->blocks = sizes->packets * BLOCKS_PER_PACKET;
  return RAWHAL_OK;
}

/* The one that is given, or a new one. */
static rawhal_status_t create_hsa_queue(rawhal_queue_t *queue, hsa_queue_t *given, uint32_t packets,
                                        rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  queue->shared = given != NULL;
  queue->hsa_queue = given;
  hsa_status_t result = HSA_STATUS_SUCCESS;
  if (!given)
    result = hsa->hsa_queue_create(queue->device->agent, packets, HSA_QUEUE_TYPE_MULTI,
                                   queue_error_callback, queue, UINT32_MAX, UINT32_MAX,
                                   &queue->hsa_queue);
  if (result != HSA_STATUS_SUCCESS) {
    queue->hsa_queue = NULL;
    return hsa_fail(hsa, result, error, "creating an HSA queue");
  }
  if (queue->hsa_queue->size != packets)
    return rawhal_fail(error, RAWHAL_RUNTIME, "asked for a queue of %u packets, got %u", packets,
                       queue->hsa_queue->size);
  result = hsa->hsa_amd_profiling_set_profiler_enabled(queue->hsa_queue, 1);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "turning on dispatch times");
  queue->id = queue->hsa_queue->id;
  queue->packets = queue->hsa_queue->base_address;
  queue->doorbell = queue->hsa_queue->doorbell_signal;
  const amd_queue_t *amd = (const amd_queue_t *)(const void *)queue->hsa_queue;
  queue->launch.queue_ptr = (uint64_t)(uintptr_t)queue->hsa_queue;
  queue->launch.private_base_hi = amd->private_segment_aperture_base_hi;
  queue->launch.shared_base_hi = amd->group_segment_aperture_base_hi;
  return RAWHAL_OK;
}

static rawhal_status_t create_signals(rawhal_queue_t *queue, uint32_t count, rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  for (uint32_t i = 0; i < count; ++i) {
    queue_slot_t *slot = &queue->slots[i];
    hsa_status_t result = hsa->hsa_signal_create(0, 0, NULL, &slot->signal);
    if (result != HSA_STATUS_SUCCESS) {
      slot->signal.handle = 0;
      return hsa_fail(hsa, result, error, "creating a completion signal");
    }
    /* No thread sleeps on it: it needs none of the few interrupts that a device has. */
    result = hsa->hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &queue->begins[i]);
    if (result != HSA_STATUS_SUCCESS) {
      queue->begins[i].handle = 0;
      return hsa_fail(hsa, result, error, "creating a signal for times");
    }
  }
  return RAWHAL_OK;
}

/* No thread sleeps on them, either. */
static rawhal_status_t create_times(rawhal_queue_t *queue, rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  queue->times =
      allocate_zeroed(queue->device->allocator, queue->ring.packets, sizeof(*queue->times));
  if (!queue->times)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a queue");
  for (uint32_t i = 0; i < queue->ring.packets; ++i) {
    hsa_status_t result =
        hsa->hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &queue->times[i]);
    if (result != HSA_STATUS_SUCCESS) {
      queue->times[i].handle = 0;
      return hsa_fail(hsa, result, error, "creating a signal for times");
    }
  }
  return RAWHAL_OK;
}

static void destroy_signals(rawhal_queue_t *queue)
{
  const hsa_table_t *hsa = queue->device->hsa;
  for (uint32_t i = 0; queue->slots && queue->begins && i < queue->ring.tickets; ++i) {
    if (queue->slots[i].signal.handle)
      (void)hsa->hsa_signal_destroy(queue->slots[i].signal);
    if (queue->begins[i].handle)
      (void)hsa->hsa_signal_destroy(queue->begins[i]);
  }
  for (uint32_t i = 0; queue->times && i < queue->ring.packets; ++i)
    if (queue->times[i].handle)
      (void)hsa->hsa_signal_destroy(queue->times[i]);
}

static rawhal_status_t allocate_kernargs(rawhal_queue_t *queue, uint32_t blocks,
                                         rawhal_error_t *error)
{
  const queue_device_t *device = queue->device;
  size_t bytes = 2 * (size_t)blocks * KERNARG_BLOCK_BYTES;
  void *memory = NULL;
  hsa_status_t result =
      device->hsa->hsa_amd_memory_pool_allocate(device->kernarg_pool, bytes, 0, &memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(device->hsa, result, error, "allocating the kernarg ring");
  queue->kernargs = memory;
  result = device->hsa->hsa_amd_agents_allow_access(1, &device->agent, NULL, memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(device->hsa, result, error, "giving the device access to the kernarg ring");
  memset(memory, 0, bytes);
  return RAWHAL_OK;
}

static rawhal_status_t allocate_tables(rawhal_queue_t *queue, const queue_sizes_t *sizes,
                                       rawhal_error_t *error)
{
  const allocator_t *allocator = queue->device->allocator;
  size_t bytes = sizes->submissions * sizeof(*queue->slots);
  queue->slots = allocate_aligned(allocator, bytes, _Alignof(queue_slot_t));
  queue->begins = allocate_zeroed(allocator, sizes->submissions, sizeof(*queue->begins));
  queue->kernels = allocate_zeroed(allocator, sizes->packets, sizeof(*queue->kernels));
  queue->labels = allocate_zeroed(allocator, sizes->packets, sizeof(*queue->labels));
  queue->transfers.of_slot =
      allocate_zeroed(allocator, sizes->submissions, sizeof(*queue->transfers.of_slot));
  if (queue->slots)
    memset(queue->slots, 0, bytes);
  if (!queue->slots || !queue->begins || !queue->kernels || !queue->labels ||
      !queue->transfers.of_slot)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a queue");
  ring_init(&queue->ring, sizes->submissions, sizes->packets, sizes->blocks);
  return RAWHAL_OK;
}

static rawhal_status_t launch_init(rawhal_queue_t *queue, const rawhal_queue_services_t *given,
                                   rawhal_error_t *error)
{
  rawhal_queue_services_t services;
  rawhal_status_t status = SIZED_TAKE(&services, given, multigrid_sync, error);
  queue->launch.printf_buffer = services.printf_buffer;
  queue->launch.hostcall_buffer = services.hostcall_buffer;
  queue->launch.heap = services.heap;
  queue->launch.default_queue = services.default_queue;
  queue->launch.completion_action = services.completion_action;
  queue->launch.multigrid_sync = services.multigrid_sync;
  static _Atomic uint64_t numbers;
  queue->launch_number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
  return status;
}

static void locks_init(rawhal_queue_t *queue)
{
  (void)condition_init(&queue->woken);
  (void)condition_init(&queue->room.moved);
  pthread_mutex_init(&queue->room.lock, NULL);
  pthread_mutex_init(&queue->drain_lock, NULL);
  pthread_mutex_init(&queue->sleep_lock, NULL);
  pthread_mutex_init(&queue->callbacks.lock, NULL);
  pthread_mutex_init(&queue->transfers.spare_lock, NULL);
}

rawhal_status_t queue_create(const queue_device_t *device, const rawhal_queue_options_t *options,
                             rawhal_queue_t **result, rawhal_error_t *error)
{
  *result = NULL;
  queue_sizes_t sizes = {0};
  rawhal_queue_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, dispatch_times, error);
  if (status == RAWHAL_OK)
    status = choose_sizes(device, &taken, &sizes, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_queue_t *queue =
      allocate_aligned(device->allocator, sizeof(*queue), _Alignof(rawhal_queue_t));
  if (!queue)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a queue");
  memset(queue, 0, sizeof(*queue));
  queue->device = device;
  device->hold();
  locks_init(queue);
  status = launch_init(queue, taken.services, error);
  /* Everything the error callback touches comes before the HSA queue. */
  if (status == RAWHAL_OK)
    status = allocate_tables(queue, &sizes, error);
  if (status == RAWHAL_OK)
    status = create_signals(queue, sizes.submissions, error);
  if (status == RAWHAL_OK && taken.dispatch_times)
    status = create_times(queue, error);
  if (status == RAWHAL_OK)
    status = allocate_kernargs(queue, sizes.blocks, error);
  if (status == RAWHAL_OK)
    status = create_hsa_queue(queue, taken.hsa_queue, sizes.packets, error);
  if (status == RAWHAL_OK)
    status = hardware_configure(queue, &taken, error);
  if (status == RAWHAL_OK)
    status = charge_open(queue, taken.share_ppm, error);
  if (status != RAWHAL_OK) {
    rawhal_queue_destroy(queue);
    return status;
  }
  queue_list_add(queue);
  queue->told = tell_came(queue_came(queue));
  *result = queue;
  return RAWHAL_OK;
}

/* The HSA queue first: once it is gone the device touches nothing of the rest. */
void rawhal_queue_destroy(rawhal_queue_t *queue)
{
  WITHOUT_CANCELLATION();
  if (!queue)
    return;
  const queue_device_t *device = queue->device;
  const hsa_table_t *hsa = device->hsa;
  if (atomic_load(&queue->health) == QUEUE_FORKED)
    return; /* the parent uses all of it */
  callbacks_stop(queue);
  tell_went(queue->told,
            (rawhal_event_t){.type = RAWHAL_EVENT_QUEUE_DESTROY, .queue_id = queue->id});
  queue_list_close(queue);
  queue_await_death(queue);
  bool ended = !queue->shared || shared_end(queue);
  if (queue->hsa_queue && !queue->shared)
    (void)hsa->hsa_queue_destroy(queue->hsa_queue);
  queue->hsa_queue = NULL;
  queue_list_remove(queue);
  timeline_leave(queue, ended);
  transfers_end(queue);
  const uint64_t died = atomic_load(&queue->died_at);
  queue_settle(queue, died ? died : clock_now());
  charge_close(queue);
  callbacks_finish(queue);
  queue_followers_tell(queue, ended);
  transfers_free(queue);
  if (ended)
    destroy_signals(queue);
  if (queue->kernargs && ended)
    (void)hsa->hsa_amd_memory_pool_free(queue->kernargs);
  charge_give_back(queue);
  pthread_mutex_destroy(&queue->room.lock);
  pthread_cond_destroy(&queue->room.moved);
  pthread_mutex_destroy(&queue->sleep_lock);
  pthread_cond_destroy(&queue->woken);
  pthread_mutex_destroy(&queue->drain_lock);
  allocate_free(device->allocator, queue->slots);
  allocate_free(device->allocator, queue->begins);
  allocate_free(device->allocator, queue->times);
  allocate_free(device->allocator, (void *)queue->kernels);
  allocate_free(device->allocator, queue->labels);
  allocate_free(device->allocator, queue);
  device->unpinned();
  device->release();
}

void rawhal_queue_info(rawhal_queue_t *queue, rawhal_queue_info_t *info)
{
  queue_drain(queue);
  const rawhal_queue_info_t now = {
      .packets = queue->ring.packets,
      .submissions = queue->ring.tickets,
      .kernarg_bytes = (uint64_t)queue->ring.blocks * KERNARG_BLOCK_BYTES,
      .last_ticket = ring_last_ticket(&queue->ring),
      .finished = ring_finished(&queue->ring),
      .status = queue_check(queue, NULL),
      .hsa_queue = queue->hsa_queue,
  };
  sized_give(info, offsetof(rawhal_queue_info_t, hsa_queue) + sizeof(now.hsa_queue), &now,
             sizeof(now));
}
