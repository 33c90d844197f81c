#include "tests/front/toy_hsa.h"

#include "front/tables.h"
#include "tests/front/toy_later.h"
#include "tests/front/toy_memory.h"
#include "tests/toy_hsa_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

bool OnLoad(table_root_t *root, uint64_t version, uint64_t failed_count, const char *const *failed);
void OnUnload(void);

enum {
  CPU = 1,
  GPU = 2,
  HOST_POOL = 1,
  DEVICE_POOL = 2,
  LOG = 1 << 16,
  LEAST_PACKETS = 64, /* of a ring, which is a page at least, as ROCr's are */
  MOST_PACKETS = 1024,
  MAJOR_BYTES = 608,
  IMAGE_BYTES = 120,
  LATER_BYTES = 744
};

static _Alignas(8) unsigned char core[1016], amd[LATER_BYTES], core_made[1016],
    amd_made[LATER_BYTES], image[IMAGE_BYTES];
static table_root_t root;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static bool held;
static amd_queue_t *queue; /* the toy has one that runs */
static void (*queue_callback)(hsa_status_t, hsa_queue_t *, void *);
static void *queue_data;
static toy_packet_t ran[LOG];
static size_t ran_count, live_queues, doorbells;
static uint32_t private_asked;
static uint64_t device_now;

static uint64_t now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- Agents and memory ---- */

hsa_agent_t toy_agent(void)
{
  return (hsa_agent_t){GPU};
}

hsa_amd_memory_pool_t toy_host_pool(void)
{
  return (hsa_amd_memory_pool_t){HOST_POOL};
}

hsa_amd_memory_pool_t toy_pool(void)
{
  return (hsa_amd_memory_pool_t){DEVICE_POOL};
}

static hsa_status_t system_get_info(hsa_system_info_t attribute, void *value)
{
  if (attribute != HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *(uint64_t *)value = 1000000000;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data)
{
  hsa_status_t result = callback((hsa_agent_t){CPU}, data);
  return result == HSA_STATUS_SUCCESS ? callback((hsa_agent_t){GPU}, data) : result;
}

static hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
  switch ((int)attribute) {
  case HSA_AGENT_INFO_DEVICE:
    *(hsa_device_type_t *)value = agent.handle == CPU ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
    break;
  case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
    *(uint32_t *)value = MOST_PACKETS;
    break;
  case HSA_AMD_AGENT_INFO_UUID:
    strcpy(value, "GPU-0123456789abcdef");
    break;
  case HSA_AGENT_INFO_NAME:
    strcpy(value, "toy");
    break;
  case 0xA015:
    *(uint64_t *)value = 1ull << 32;
    break;
  default:
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t iterate_pools(hsa_agent_t agent,
                                  hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *),
                                  void *data)
{
  return callback((hsa_amd_memory_pool_t){agent.handle == CPU ? HOST_POOL : DEVICE_POOL}, data);
}

static hsa_status_t pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                  void *value)
{
  switch (attribute) {
  case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
    *(hsa_amd_segment_t *)value = HSA_AMD_SEGMENT_GLOBAL;
    break;
  case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
    *(uint32_t *)value = pool.handle == HOST_POOL ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                                                  : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
    break;
  case HSA_AMD_MEMORY_POOL_INFO_SIZE:
    *(size_t *)value = (size_t)1 << 33;
    break;
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    *(size_t *)value = 4096;
    break;
  default:
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

/* Device memory is never touched: only its size is real. */
static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  (void)flags;
  if (pool.handle == DEVICE_POOL)
    return toy_memory_allocate(size, memory);
  *memory = aligned_alloc(64, (size + 63) / 64 * 64);
  return *memory ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t pool_free(void *memory)
{
  if (!toy_memory_free(memory))
    free(memory);
  return HSA_STATUS_SUCCESS;
}

/* ---- Copies ---- */

static atomic_size_t copies, copies_now, copies_most;

/* Takes the host's time, so that copies of several threads meet. */
static hsa_status_t copy_some(void)
{
  const size_t at_once = atomic_fetch_add(&copies_now, 1) + 1;
  size_t most = atomic_load(&copies_most);
  while (most < at_once && !atomic_compare_exchange_weak(&copies_most, &most, at_once))
    continue;
  const struct timespec lasts = {.tv_nsec = 1000000};
  (void)nanosleep(&lasts, NULL);
  atomic_fetch_add(&copies, 1);
  atomic_fetch_sub(&copies_now, 1);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t memory_copy(void *to, const void *from, size_t size)
{
  (void)to, (void)from, (void)size;
  return copy_some();
}

static hsa_status_t memory_fill(void *to, uint32_t value, size_t count)
{
  (void)to, (void)value, (void)count;
  return copy_some();
}

/* Of images, whatever their arguments. */
static hsa_status_t image_work(void)
{
  return copy_some();
}

/* By an engine, at once. */
static hsa_status_t async_copy(void *to, hsa_agent_t to_agent, const void *from,
                               hsa_agent_t from_agent, size_t size, uint32_t waits,
                               const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  (void)to_agent, (void)from_agent, (void)waits, (void)wait_for;
  memcpy(to, from, size);
  amd_signal_t *signal = (amd_signal_t *)(uintptr_t)completion.handle;
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
  return HSA_STATUS_SUCCESS;
}

static hsa_signal_t prefetch_waits_for, prefetch_signals;

static hsa_status_t svm_prefetch(void *memory, size_t size, hsa_agent_t agent, uint32_t waits,
                                 const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  (void)memory, (void)size, (void)agent;
  prefetch_waits_for = waits == 1 ? *wait_for : (hsa_signal_t){0};
  prefetch_signals = completion;
  return HSA_STATUS_SUCCESS;
}

bool toy_prefetch_may_go(void)
{
  const amd_signal_t *gate = (const amd_signal_t *)(uintptr_t)prefetch_waits_for.handle;
  return !gate || __atomic_load_n(&gate->value, __ATOMIC_ACQUIRE) == 0;
}

void toy_prefetch_ends(void)
{
  amd_signal_t *signal = (amd_signal_t *)(uintptr_t)prefetch_signals.handle;
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
}

size_t toy_copies(size_t *at_once)
{
  if (at_once)
    *at_once = atomic_load(&copies_most);
  return atomic_load(&copies);
}

/* ---- Signals ---- */

static hsa_signal_value_t signal_load(hsa_signal_t signal)
{
  return __atomic_load_n(&signal_of(signal)->value, __ATOMIC_ACQUIRE);
}

static hsa_status_t signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t **value)
{
  *value = &signal_of(signal)->value;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                      hsa_amd_profiling_dispatch_time_t *time)
{
  (void)agent;
  time->start = signal_of(signal)->start_ts;
  time->end = signal_of(signal)->end_ts;
  return HSA_STATUS_SUCCESS;
}

/* ---- The device ---- */

static bool run_packet(void)
{
  if (!queue ||
      queue->read_dispatch_id >= __atomic_load_n(&queue->write_dispatch_id, __ATOMIC_ACQUIRE))
    return false;
  toy_packet_t *slot = &ran[ran_count % LOG];
  uint64_t at = queue->read_dispatch_id & (queue->hsa_queue.size - 1);
  uint32_t *packet = (uint32_t *)queue->hsa_queue.base_address + at * 16;
  uint32_t first = __atomic_load_n(packet, __ATOMIC_ACQUIRE);
  unsigned type = first & 0xff;
  if (type == HSA_PACKET_TYPE_INVALID)
    return false;
  memcpy(slot->words, packet, sizeof(slot->words));
  slot->header = (uint16_t)first;
  memcpy(&slot->kernel_object, packet + 8, 8);
  memcpy(&slot->completion_signal, packet + 14, 8);
  uint64_t ns = 0, started = now() > device_now ? now() : device_now;
  if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
    memcpy(&ns, packet + 12, 8);
  device_now = started + ns;
  ++ran_count;
  __atomic_store_n(packet, (uint32_t)HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
  __atomic_store_n(&queue->read_dispatch_id, queue->read_dispatch_id + 1, __ATOMIC_RELEASE);
  if (slot->completion_signal && type != 0) {
    amd_signal_t *signal = (amd_signal_t *)(uintptr_t)slot->completion_signal;
    signal->start_ts = started;
    signal->end_ts = device_now;
    __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
  }
  return true;
}

static void run(void)
{
  pthread_mutex_lock(&device_lock);
  while (!held && run_packet())
    continue;
  pthread_mutex_unlock(&device_lock);
}

bool toy_step(void)
{
  pthread_mutex_lock(&device_lock);
  bool stepped = run_packet();
  pthread_mutex_unlock(&device_lock);
  return stepped;
}

void toy_hold(bool hold)
{
  pthread_mutex_lock(&device_lock);
  held = hold;
  pthread_mutex_unlock(&device_lock);
  run();
}

void toy_fail(hsa_status_t status)
{
  queue_callback(status, &queue->hsa_queue, queue_data);
}

size_t toy_ran(toy_packet_t *packets, size_t capacity)
{
  pthread_mutex_lock(&device_lock);
  size_t count = ran_count;
  memcpy(packets, ran, (count < capacity ? count : capacity) * sizeof(*packets));
  ran_count = 0;
  pthread_mutex_unlock(&device_lock);
  return count;
}

size_t toy_dispatches(void)
{
  size_t count = 0;
  pthread_mutex_lock(&device_lock);
  for (size_t i = 0; i < ran_count && i < LOG; ++i)
    count += (ran[i].header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
  pthread_mutex_unlock(&device_lock);
  return count;
}

static void signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
  amd_signal_t *stored = signal_of(signal);
  __atomic_store_n(&stored->value, value, __ATOMIC_RELEASE);
  if (stored->kind != AMD_SIGNAL_KIND_DOORBELL)
    return;
  __atomic_fetch_add(&doorbells, 1, __ATOMIC_RELAXED);
  run();
}

/* ---- Queues ---- */

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **made)
{
  (void)agent, (void)type, (void)group_bytes;
  private_asked = private_bytes;
  if (size & (size - 1) || !size || size > MOST_PACKETS)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  size = size < LEAST_PACKETS ? LEAST_PACKETS : size;
  amd_queue_t *new_queue = ring_create(size);
  if (!new_queue)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  new_queue->hsa_queue.id = 7;
  queue = new_queue;
  queue_callback = callback;
  queue_data = data;
  ++live_queues;
  *made = &new_queue->hsa_queue;
  return HSA_STATUS_SUCCESS;
}

/* Its ring is the device's; its doorbell is the program's. */
static hsa_status_t soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                      uint32_t features, hsa_signal_t doorbell, hsa_queue_t **made)
{
  (void)type, (void)doorbell;
  if (region.handle == HOST_POOL || size & (size - 1))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_queue_t *soft = calloc(1, sizeof(*soft));
  (void)toy_memory_allocate((size_t)size * 64, &soft->base_address);
  soft->features = features;
  soft->size = size;
  ++live_queues;
  *made = soft;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t queue_destroy(hsa_queue_t *gone)
{
  if (toy_memory_free(gone->base_address)) {
    free(gone);
    --live_queues;
    return HSA_STATUS_SUCCESS;
  }
  pthread_mutex_lock(&device_lock);
  if (queue == (amd_queue_t *)(void *)gone)
    queue = NULL;
  pthread_mutex_unlock(&device_lock);
  ring_destroy(gone);
  --live_queues;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t queue_inactivate(hsa_queue_t *gone)
{
  (void)gone;
  return HSA_STATUS_SUCCESS;
}

static uint64_t load_read(const hsa_queue_t *of)
{
  const amd_queue_t *whole = (const amd_queue_t *)(const void *)of;
  return __atomic_load_n(&whole->read_dispatch_id, __ATOMIC_ACQUIRE);
}

static uint64_t load_write(const hsa_queue_t *of)
{
  const amd_queue_t *whole = (const amd_queue_t *)(const void *)of;
  return __atomic_load_n(&whole->write_dispatch_id, __ATOMIC_ACQUIRE);
}

static void store_write(const hsa_queue_t *of, uint64_t value)
{
  amd_queue_t *whole = (amd_queue_t *)(uintptr_t)of;
  __atomic_store_n(&whole->write_dispatch_id, value, __ATOMIC_RELEASE);
}

/* ---- Tables ---- */

static void nothing(void) {}

static void put(unsigned char *table, size_t at, void *function)
{
  memcpy(table + at, &function, sizeof(function));
}

static void fill(unsigned char *table, size_t size, uint32_t major, uint32_t step)
{
  const table_version_t version = {major, (uint32_t)size, step, 0};
  memset(table, 0, size);
  memcpy(table, &version, sizeof(version));
  for (size_t at = sizeof(version); at < size; at += sizeof(void *))
    put(table, at, (void *)nothing);
}

static void fill_amd(uint32_t major)
{
  size_t later = major == 1 ? 0 : 16;
  const struct {
    size_t at;
    void *function;
  } entries[] = {{32, (void *)set_profiler_enabled},
                 {48, (void *)get_dispatch_time},
                 {104, (void *)pool_get_info},
                 {112, (void *)iterate_pools},
                 {120, (void *)pool_allocate},
                 {128, (void *)pool_free},
                 {152 + later, (void *)allow_access},
                 {192 + later, (void *)memory_fill},
                 {264 + later, (void *)amd_signal_create},
                 {136, (void *)async_copy},
                 {360 + later, (void *)signal_value_pointer},
                 {384 + later, (void *)svm_prefetch}};
  for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); ++i)
    put(amd, entries[i].at, entries[i].function);
}

static void fill_core(void)
{
  const struct {
    size_t at;
    void *function;
  } entries[] = {
      {32, (void *)system_get_info},  {56, (void *)iterate_agents},    {64, (void *)agent_get_info},
      {72, (void *)queue_create},     {80, (void *)soft_queue_create}, {88, (void *)queue_destroy},
      {96, (void *)queue_inactivate}, {104, (void *)load_read},        {112, (void *)load_read},
      {120, (void *)load_write},      {128, (void *)load_write},       {136, (void *)store_write},
      {144, (void *)store_write},     {296, (void *)memory_copy},      {312, (void *)signal_create},
      {320, (void *)signal_destroy},  {328, (void *)signal_load},      {336, (void *)signal_load},
      {344, (void *)signal_store},    {352, (void *)signal_store},     {832, (void *)signal_store},
      {840, (void *)signal_store}};
  for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); ++i)
    put(core, entries[i].at, entries[i].function);
}

void toy_make(uint32_t amd_major, uint32_t amd_step, uint32_t amd_bytes)
{
  fill(core, sizeof(core), amd_major > 2 ? 2 : amd_major, 0);
  memset(amd, 0, sizeof(amd));
  bool later = amd_major == 2 && amd_step >= 0x10 && amd_bytes != MAJOR_BYTES;
  fill(amd, amd_major == 1 ? 400 : later ? LATER_BYTES : MAJOR_BYTES, amd_major, amd_step);
  fill_core();
  fill_amd(amd_major);
  fill(image, sizeof(image), 1, 0);
  for (size_t at = 40; at <= 64; at += 8)
    put(image, at, (void *)image_work);
  if (amd_major <= 2)
    toy_memory_fill(core, amd, amd_major);
  if (later)
    toy_later_fill(amd);
  if (amd_bytes)
    memcpy(amd + 4, &amd_bytes, sizeof(amd_bytes));
  memcpy(core_made, core, sizeof(core));
  memcpy(amd_made, amd, sizeof(amd));
  root = (table_root_t){
      .version = {amd_major, sizeof(root), 0, 0}, .core = core, .amd = amd, .image = image};
  held = false;
  ran_count = doorbells = 0;
  copies = copies_most = 0;
  device_now = 0;
}

void toy_enter_by(void *other)
{
  (void)OnLoad(other, 1, 0, NULL);
}

void toy_enter(void)
{
  toy_enter_by(&root);
}

void toy_load(uint32_t amd_major, uint32_t amd_step, uint32_t amd_bytes)
{
  toy_make(amd_major, amd_step, amd_bytes);
  toy_enter();
}

void toy_reset(void)
{
  memcpy(core, core_made, sizeof(core));
  memcpy(amd, amd_made, sizeof(amd));
}

void *toy_root(void)
{
  return &root;
}

void toy_unload(void)
{
  OnUnload();
}

bool toy_entry(size_t index, toy_entry_t *entry)
{
  static const toy_entry_t all[] = {
#define X(name, type, offset) {#name, false, offset, offset},
      FRONT_CORE(X)
#undef X
#define X(name, type, first, second) {#name, true, first, second},
          FRONT_AMD(X)
#undef X
  };
  if (index >= sizeof(all) / sizeof(*all))
    return false;
  *entry = all[index];
  return true;
}

void toy_replace_core(size_t offset, void *function)
{
  put(core, offset, function);
}

void toy_replace_amd(size_t offset, void *function)
{
  put(amd, offset, function);
}

hsa_queue_t *toy_queue(void)
{
  return queue ? &queue->hsa_queue : NULL;
}

size_t toy_replaced(void)
{
  size_t count = 0;
  for (size_t at = 0; at < sizeof(core); at += 8)
    count += memcmp(core + at, core_made + at, 8) != 0;
  for (size_t at = 0; at < sizeof(amd); at += 8)
    count += memcmp(amd + at, amd_made + at, 8) != 0;
  return count;
}

void *toy_core(size_t offset)
{
  void *function;
  memcpy(&function, core + offset, sizeof(function));
  return function;
}

void *toy_image(size_t offset)
{
  void *function;
  memcpy(&function, image + offset, sizeof(function));
  return function;
}

void *toy_amd(size_t offset)
{
  void *function;
  memcpy(&function, amd + offset, sizeof(function));
  return function;
}

size_t toy_live_signals(void)
{
  return live_signals;
}

size_t toy_live_queues(void)
{
  return live_queues;
}

uint32_t toy_private_asked(void)
{
  return private_asked;
}

size_t toy_doorbells(void)
{
  return doorbells;
}
