/* Hooks of memory, for code that needs to know what there is: around those of limits. */
#include "front/devices.h"
#include "front/watch.h"

#include "front/lately.h"
#include "front/ranges.h"

static _Atomic uint64_t bytes[FRONT_DEVICES]; /* of each device's memory */

/* ---- Counting ---- */

static uint32_t number_of(const front_device_t *device)
{
  return (uint32_t)(device - front.devices);
}

static void count(uint64_t owner, int64_t change)
{
  const front_device_t *device = owner ? device_known((hsa_agent_t){owner}) : NULL;
  if (!device)
    return;
  _Atomic uint64_t *of = &bytes[number_of(device)];
  trace_memory(number_of(device), atomic_fetch_add(of, (uint64_t)change) + (uint64_t)change);
}

static void added(const void *memory, size_t size, uint64_t owner)
{
  if (!front_orphaned() && ranges_add((uint64_t)(uintptr_t)memory, size, owner))
    count(owner, (int64_t)size);
}

/* The program's own, which is there for as long as the program has it mapped. */
static void mapped(const void *memory, size_t size, const void *host, uint64_t given)
{
  if (!front_orphaned())
    (void)ranges_add_mapped((uint64_t)(uintptr_t)memory, size, (uint64_t)(uintptr_t)host, given);
}

static const uint64_t all_devices = UINT64_MAX;
_Static_assert(FRONT_DEVICES <= 64, "a bit for each device");

static uint64_t devices_of(const hsa_agent_t *agents, size_t count_of)
{
  uint64_t devices = 0;
  for (size_t i = 0; i < count_of; ++i) {
    const front_device_t *device = device_known(agents[i]);
    devices |= device ? UINT64_C(1) << number_of(device) : 0;
  }
  return devices;
}

/* Of what was locked; without a list all have it. */
static uint64_t locked_for(const hsa_agent_t *agents, int count_of)
{
  return agents && count_of > 0 ? devices_of(agents, (size_t)count_of) : all_devices;
}

/* Before it is freed: afterwards another may get the same address. */
static void removing(const void *memory)
{
  range_t range;
  uint64_t base = (uint64_t)(uintptr_t)memory;
  if (front_orphaned() || ranges_find(base, &range) != RANGE_LIVE || range.base != base)
    return;
  ranges_remove(base);
  if (range.kept)
    lately_forget();
  count(range.owner, -(int64_t)range.size);
}

/* It was not freed after all. */
static void restored(const void *memory, hsa_status_t result)
{
  range_t range;
  uint64_t base = (uint64_t)(uintptr_t)memory;
  if (result == HSA_STATUS_SUCCESS || front_orphaned() ||
      ranges_find(base, &range) != RANGE_FREED || range.base != base)
    return;
  if (range.owner || range.kept)
    added(memory, range.size, range.owner);
  else
    mapped(memory, range.size, (const void *)(uintptr_t)range.host, range.given);
}

/* ---- Hooks ---- */

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  hsa_status_t result = front.inner.pool_allocate(pool, size, flags, memory);
  const front_device_t *device = device_with_pool(pool);
  if (result == HSA_STATUS_SUCCESS && memory)
    added(*memory, size, device ? device->agent.handle : 0);
  return result;
}

static hsa_status_t freed(void *memory, hsa_status_t (*free_it)(void *memory))
{
  removing(memory);
  hsa_status_t result = free_it(memory);
  restored(memory, result);
  return result;
}

static hsa_status_t pool_free(void *memory)
{
  return freed(memory, front.inner.pool_free);
}

static hsa_status_t memory_allocate(hsa_region_t region, size_t size, void **memory)
{
  hsa_status_t result = front.inner.memory_allocate(region, size, memory);
  hsa_amd_pointer_info_t info;
  if (result != HSA_STATUS_SUCCESS || !memory || !devices_pointer(*memory, &info))
    return result;
  added(*memory, size, device_known(info.agentOwner) ? info.agentOwner.handle : 0);
  return result;
}

static hsa_status_t memory_free(void *memory)
{
  return freed(memory, front.inner.memory_free);
}

static hsa_status_t allow_access(uint32_t count_of, const hsa_agent_t *agents,
                                 const uint32_t *flags, const void *memory)
{
  hsa_status_t result = front.inner.allow_access(count_of, agents, flags, memory);
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    ranges_give((uint64_t)(uintptr_t)memory, devices_of(agents, count_of), true);
  return result;
}

static hsa_status_t memory_lock(void *host, size_t size, hsa_agent_t *agents, int count_of,
                                void **memory)
{
  hsa_status_t result = front.inner.memory_lock(host, size, agents, count_of, memory);
  if (result == HSA_STATUS_SUCCESS && memory)
    mapped(*memory, size, host, locked_for(agents, count_of));
  return result;
}

static hsa_status_t memory_lock_to_pool(void *host, size_t size, hsa_agent_t *agents, int count_of,
                                        hsa_amd_memory_pool_t pool, uint32_t flags, void **memory)
{
  hsa_status_t result =
      front.inner.memory_lock_to_pool(host, size, agents, count_of, pool, flags, memory);
  if (result == HSA_STATUS_SUCCESS && memory)
    mapped(*memory, size, host, locked_for(agents, count_of));
  return result;
}

/* By the host's address, which the device need not have. */
static hsa_status_t memory_unlock(void *host)
{
  hsa_amd_pointer_info_t info;
  void *memory = host;
  if (devices_pointer(host, &info) && info.agentBaseAddress)
    memory = info.agentBaseAddress;
  range_t range;
  bool known = !front_orphaned() && ranges_find((uint64_t)(uintptr_t)memory, &range) == RANGE_LIVE;
  removing(memory);
  hsa_status_t result = front.inner.memory_unlock(host);
  restored(memory, result);
  /* What was locked twice is locked still. */
  if (result == HSA_STATUS_SUCCESS && known && devices_pointer(memory, &info) &&
      info.type == HSA_EXT_POINTER_TYPE_LOCKED)
    mapped(memory, range.size, (const void *)(uintptr_t)range.host, range.given);
  return result;
}

/* Managed memory of HIP: the host's, with attributes by which devices reach it, which may be set of
 * parts of it anew. There is no hook for when it is unmapped. */
static hsa_status_t svm_attributes_set(void *memory, size_t size,
                                       hsa_amd_svm_attribute_pair_t *attributes, size_t count_of)
{
  hsa_status_t result = front.inner.svm_attributes_set(memory, size, attributes, count_of);
  range_t range;
  uint64_t base = (uint64_t)(uintptr_t)memory;
  bool known = front_orphaned() || (ranges_find(base, &range) == RANGE_LIVE &&
                                    size <= range.size - (base - range.base));
  if (result == HSA_STATUS_SUCCESS && !known)
    mapped(memory, size, memory, all_devices);
  return result;
}

/* ---- What the program waits for; other copies say themselves when they ran: copy.c ---- */

static hsa_status_t called(const char *what, uint64_t size, uint64_t began, hsa_status_t result)
{
  const trace_copy_t copy = {what, TRACE_CALLED, size, began, began, front_now()};
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    trace_copy(&copy);
  return result;
}

static hsa_status_t memory_copy(void *to, const void *from, size_t size)
{
  const uint64_t began = front_now();
  return called("copy", size, began, front.inner.memory_copy(to, from, size));
}

static hsa_status_t memory_fill(void *memory, uint32_t value, size_t words)
{
  const uint64_t began = front_now();
  return called("fill", (uint64_t)words * sizeof(value), began,
                front.inner.memory_fill(memory, value, words));
}

void watch_memory_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = name;
  X(pool_allocate)
  X(pool_free)
  X(memory_allocate)
  X(memory_free)
  X(allow_access)
  X(memory_lock)
  X(memory_lock_to_pool)
  X(memory_unlock)
  X(svm_attributes_set)
#undef X
  if (!front.watched)
    return;
  hooks->memory_copy = memory_copy;
  hooks->memory_fill = memory_fill;
}

void watch_memory_forget(void)
{
  ranges_forget();
  for (size_t i = 0; i < FRONT_DEVICES; ++i)
    atomic_store(&bytes[i], 0);
}
