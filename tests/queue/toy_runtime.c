#include "toy_runtime.h"

#include "queue/create.h"
#include "queue/fault.h"
#include "queue/graph/graph_node.h"
#include "queue/timeline/timeline.h"
#include "tests/toy_hsa_parts.h"

#include <pthread.h>
#include <time.h>

enum { PACKET = 64, MOST_PACKETS = 4096, AGENTS = 3, LOG = 4096 };

static toy_counts_t counts;
static bool held;
static uint64_t kernarg_log[LOG];
static size_t kernarg_count;
static bool signal_log[LOG];
static size_t signal_count;
static amd_queue_t *rung; /* the toy has one queue that is rung at a time */

static struct {
  void (*function)(void *context);
  void *context;
} steps[TOY_PLACES];

toy_counts_t toy_counts(void)
{
  toy_counts_t now = counts;
  now.signals = (int)live_signals;
  return now;
}

void toy_step_in(toy_place_t place, void (*function)(void *context), void *context)
{
  steps[place].function = function;
  steps[place].context = context;
}

static void arrive(toy_place_t place)
{
  void (*function)(void *) = steps[place].function;
  steps[place].function = NULL;
  if (function)
    function(steps[place].context);
}

/* ---- Signals ---- */

static hsa_signal_value_t signal_exchange(hsa_signal_t signal, hsa_signal_value_t value)
{
  return __atomic_exchange_n(&signal_of(signal)->value, value, __ATOMIC_ACQ_REL);
}

static hsa_signal_value_t signal_wait(hsa_signal_t signal, hsa_signal_condition_t condition,
                                      hsa_signal_value_t value, uint64_t timeout,
                                      hsa_wait_state_t state)
{
  (void)condition, (void)value, (void)timeout, (void)state;
  return __atomic_load_n(&signal_of(signal)->value, __ATOMIC_ACQUIRE);
}

static uint32_t signal_wait_any(uint32_t count, hsa_signal_t *signals,
                                hsa_signal_condition_t *conditions, hsa_signal_value_t *values,
                                uint64_t timeout, hsa_wait_state_t state, hsa_signal_value_t *value)
{
  (void)count, (void)conditions, (void)values, (void)timeout, (void)state;
  (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  *value = __atomic_load_n(&signal_of(signals[0])->value, __ATOMIC_ACQUIRE);
  return 0;
}

/* ---- The device ---- */

static bool run_packet(amd_queue_t *queue)
{
  uint64_t at = queue->read_dispatch_id & (queue->hsa_queue.size - 1);
  unsigned char *packet = (unsigned char *)queue->hsa_queue.base_address + at * PACKET;
  uint16_t header = __atomic_load_n((uint16_t *)(void *)packet, __ATOMIC_ACQUIRE);
  unsigned type = header >> HSA_PACKET_HEADER_TYPE & 0xff;
  if (type == HSA_PACKET_TYPE_INVALID)
    return false;
  hsa_kernel_dispatch_packet_t dispatch;
  memcpy(&dispatch, packet, sizeof(dispatch));
  if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH && kernarg_count < LOG)
    kernarg_log[kernarg_count++] = (uint64_t)(uintptr_t)dispatch.kernarg_address;
  if (signal_count < LOG)
    signal_log[signal_count++] = dispatch.completion_signal.handle != 0;
  __atomic_store_n((uint16_t *)(void *)packet, (uint16_t)HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
  ++queue->read_dispatch_id;
  if (dispatch.completion_signal.handle)
    __atomic_fetch_sub(&signal_of(dispatch.completion_signal)->value, 1, __ATOMIC_ACQ_REL);
  return true;
}

static void run(void)
{
  while (!held && rung && rung->read_dispatch_id < rung->write_dispatch_id && run_packet(rung))
    continue;
}

void toy_hold(bool hold)
{
  held = hold;
  run();
}

size_t toy_kernargs(uint64_t *addresses, size_t capacity)
{
  size_t count = kernarg_count;
  memcpy(addresses, kernarg_log, (count < capacity ? count : capacity) * sizeof(*addresses));
  kernarg_count = 0;
  return count;
}

size_t toy_signalled(bool *signalled, size_t capacity)
{
  size_t count = signal_count;
  memcpy(signalled, signal_log, (count < capacity ? count : capacity) * sizeof(*signalled));
  signal_count = 0;
  return count;
}

static void signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
  amd_signal_t *stored = signal_of(signal);
  if (stored->kind == AMD_SIGNAL_KIND_DOORBELL) {
    rung = stored->queue_ptr;
    run();
  }
  __atomic_store_n(&stored->value, value, __ATOMIC_RELEASE);
}

/* ---- Queues and memory ---- */

static hsa_status_t queue_make(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                               void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                               uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **made)
{
  (void)agent, (void)type, (void)callback, (void)data, (void)private_bytes, (void)group_bytes;
  amd_queue_t *queue = ring_create(size);
  if (!queue)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  ++counts.queues;
  *made = &queue->hsa_queue;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t queue_unmake(hsa_queue_t *queue)
{
  arrive(TOY_QUEUE_DESTROY);
  amd_queue_t *whole = (amd_queue_t *)(void *)queue;
  if (rung == whole)
    rung = NULL;
  ring_destroy(queue);
  --counts.queues;
  return HSA_STATUS_SUCCESS;
}

static uint64_t add_write_index(const hsa_queue_t *queue, uint64_t value)
{
  arrive(TOY_WRITE_INDEX);
  amd_queue_t *whole = (amd_queue_t *)(uintptr_t)queue;
  return __atomic_fetch_add(&whole->write_dispatch_id, value, __ATOMIC_RELEASE);
}

static uint64_t load_read_index(const hsa_queue_t *queue)
{
  const amd_queue_t *whole = (const amd_queue_t *)(const void *)queue;
  return whole->read_dispatch_id;
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  (void)pool, (void)flags;
  *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (!*memory)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  ++counts.pools;
  counts.pool_bytes = size;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool_free(void *memory)
{
  free(memory);
  --counts.pools;
  return HSA_STATUS_SUCCESS;
}

/* All of it is host memory. */
static hsa_status_t pointer_info(const void *memory, hsa_amd_pointer_info_t *info,
                                 void *(*allocate)(size_t), uint32_t *count, hsa_agent_t **agents)
{
  (void)memory, (void)allocate, (void)count, (void)agents;
  *info = (hsa_amd_pointer_info_t){.size = sizeof(*info), .type = HSA_EXT_POINTER_TYPE_UNKNOWN};
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                  hsa_amd_profiling_dispatch_time_t *time)
{
  (void)agent, (void)signal;
  *time = (hsa_amd_profiling_dispatch_time_t){1, 2};
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t status_string(hsa_status_t status, const char **text)
{
  (void)status;
  *text = "toy";
  return HSA_STATUS_SUCCESS;
}

static void hold(void)
{
  ++counts.holds;
}

static void release(void)
{
  --counts.holds;
}

static void unpinned(void) {}

static int last_priority = -1;

int toy_priority(void)
{
  int last = last_priority;
  last_priority = -1;
  return last;
}

static hsa_status_t set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
  (void)queue;
  last_priority = (int)priority;
  return HSA_STATUS_SUCCESS;
}

/* ---- Put together ---- */

static const hsa_table_t table = {
    .hsa_status_string = status_string,
    .hsa_queue_create = queue_make,
    .hsa_queue_destroy = queue_unmake,
    .hsa_queue_add_write_index_screlease = add_write_index,
    .hsa_queue_load_read_index_scacquire = load_read_index,
    .hsa_signal_create = signal_create,
    .hsa_signal_destroy = signal_destroy,
    .hsa_amd_signal_create = amd_signal_create,
    .hsa_signal_store_screlease = signal_store,
    .hsa_signal_exchange_scacq_screl = signal_exchange,
    .hsa_signal_wait_scacquire = signal_wait,
    .hsa_amd_signal_wait_any = signal_wait_any,
    .hsa_amd_profiling_set_profiler_enabled = set_profiler_enabled,
    .hsa_amd_memory_pool_allocate = pool_allocate,
    .hsa_amd_memory_pool_free = pool_free,
    .hsa_amd_agents_allow_access = allow_access,
    .hsa_amd_pointer_info = pointer_info,
    .hsa_amd_queue_set_priority = set_priority,
    .hsa_amd_profiling_get_dispatch_time = dispatch_time,
};

static rawhal_limiter_t *limits;

void toy_limit(rawhal_limiter_t *limiter)
{
  scratch_forget();
  limits = limiter;
}

static scratch_chip_t chip;

uint64_t toy_code_bytes(const void *elf, size_t size)
{
  return memory_of_code(elf, size);
}

void toy_chip(uint32_t engines, const char *processor)
{
  chip = (scratch_chip_t){engines, processor};
}

static void (*when_told)(const char *line);

static void died(const char *line)
{
  if (when_told)
    when_told(line);
}

static const queue_device_t *device_of(uint64_t agent)
{
  static queue_device_t devices[AGENTS];
  queue_device_t *device = &devices[agent % AGENTS];
  *device = (queue_device_t){
      .hsa = &table,
      .agent = {agent},
      .timestamp_hz = 1000000000,
      .limiter = limits,
      .scratch = chip,
      .lds_bytes = 65536,
      .max_workgroup_size = 1024,
      .max_workgroup_dim = {1024, 1024, 1024},
      .max_grid_dim = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      .min_packets = 1,
      .max_packets = MOST_PACKETS,
      .hold = hold,
      .release = release,
      .unpinned = unpinned,
      .died = died,
  };
  return device;
}

rawhal_status_t toy_queue(uint64_t agent, const rawhal_queue_options_t *options,
                          rawhal_queue_t **queue, rawhal_error_t *error)
{
  return queue_create(device_of(agent), options, queue, error);
}

rawhal_status_t toy_semaphore(uint64_t agent, uint64_t value, rawhal_semaphore_t **semaphore,
                              rawhal_error_t *error)
{
  return semaphore_create(device_of(agent), value, semaphore, error);
}

rawhal_status_t toy_graph_create(uint64_t agent, rawhal_graph_t **graph, rawhal_error_t *error)
{
  return graph_create(device_of(agent), graph, error);
}

rawhal_status_t toy_graph_sized(rawhal_queue_t *home, const rawhal_dispatch_t *dispatches,
                                size_t size, size_t count, rawhal_graph_exec_t **exec,
                                rawhal_error_t *error)
{
  rawhal_graph_t *graph = NULL;
  const rawhal_graph_options_t options = {.size = sizeof(options), .queue = home};
  *exec = NULL;
  rawhal_status_t status = graph_create(home->device, &graph, error);
  if (status != RAWHAL_OK)
    return status;
  status = rawhal_graph_add_batch_sized(graph, dispatches, size, count, NULL, error);
  if (status == RAWHAL_OK)
    status = rawhal_graph_instantiate(graph, &options, exec, error);
  rawhal_graph_destroy(graph);
  return status;
}

uint64_t toy_kernarg_base(const rawhal_queue_t *queue)
{
  return (uint64_t)(uintptr_t)queue->kernargs;
}

void toy_when_told(void (*told)(const char *line))
{
  when_told = told;
}

void toy_fail(uint64_t agent)
{
  queue_fail_agent((hsa_agent_t){agent}, RAWHAL_FAULT, &(rawhal_fault_t){0}, "toy: it failed");
}

typedef struct toy_kernel {
  rawhal_device_kernel_t kernel; /* first: it is what the tests hold */
  kernel_owner_t owner;
} toy_kernel_t;

rawhal_device_kernel_t *toy_kernel(uint64_t agent, const rawhal_device_kernel_info_t *info,
                                   rawhal_error_t *error)
{
  toy_kernel_t *made = calloc(1, sizeof(*made));
  if (!made)
    return NULL;
  made->kernel.info = *info;
  made->kernel.owner = &made->owner;
  made->kernel.agent = agent;
  if (device_kernel_init(&made->kernel, device_of(agent), error) == RAWHAL_OK)
    return &made->kernel;
  free(made);
  return NULL;
}

void toy_kernel_free(rawhal_device_kernel_t *kernel)
{
  free(kernel);
}
