/* Host memory the runtime registered: what the program allocated itself and lets devices use.
 *
 * As with the real thunk, each registration has an address for devices. Before ROCm 5.5 that is
 * one of its own, which tells it from every other and from the host's: address space that holds
 * nothing, a device adds the allocation's shift. From then on it is the host's where the driver
 * has SVM; here if the option same_address is set, or whoever registers it has asked, unless
 * another registration or a range of svm.c has a part of the place. The same bounds again are the
 * same registration, counted. Devices may use it while it is mapped, all of them and within the
 * exact bounds the program gave. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softgpu/device/array.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/option.h"
#include "softgpu/device/thread.h"
#include "softgpu/exports.h"
#include "softgpu/thunk/allocate.h"
#include "softgpu/thunk/pages.h"

typedef struct range {
  uint64_t base, end;
  bool inside; /* lies in an allocation of the thunk, which has an address already */
  uint32_t registered, mapped; /* how often */
  uint64_t device;             /* the address of `base` there */
  softgpu_pages_t pages;       /* reserved for it, unless that is the host's */
  void *user_data;
} range_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range_t *ranges; /* ascending by base; of equals, the one used last comes last */
static size_t range_count, range_capacity;

/* What a list of mapped nodes points to: registered memory is mapped to all GPUs or none. */
static uint32_t all_nodes[SOFTGPU_MAX_GPUS] = {1, 2,  3,  4,  5,  6,  7,  8,
                                               9, 10, 11, 12, 13, 14, 15, 16};

/* Addresses for devices that have been freed. They are not reused for a while, so that accesses to
 * them are reported; it costs no memory. */
enum { PARTED = 256 };
static softgpu_pages_t parted[PARTED];
static size_t parted_count, parted_next;

/* Caller holds the lock. */
static void pages_part(const softgpu_pages_t *pages)
{
  if (parted_count == PARTED)
    softgpu_pages_retire(&parted[parted_next]);
  else
    ++parted_count;
  parted[parted_next] = *pages;
  parted_next = (parted_next + 1) % PARTED;
}

static bool range_insert(const range_t *range)
{
  range_t *grown = softgpu_array_grown(ranges, &range_capacity, range_count + 1, sizeof(*ranges));
  if (!grown)
    return false;
  ranges = grown;
  size_t at = range_count;
  while (at > 0 && ranges[at - 1].base > range->base)
    --at;
  memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(*ranges));
  ranges[at] = *range;
  ++range_count;
  return true;
}

static void range_remove(size_t at)
{
  memmove(&ranges[at], &ranges[at + 1], (range_count - at - 1) * sizeof(*ranges));
  --range_count;
}

/* The last of those that start at `base` and, unless `end` is 0, end there; NULL when there is
 * none. */
static range_t *range_find(uint64_t base, uint64_t end)
{
  for (size_t at = range_count; at > 0; --at) {
    if (ranges[at - 1].base == base && (end == 0 || ranges[at - 1].end == end))
      return &ranges[at - 1];
  }
  return NULL;
}

/* Makes it the last of those that start there, which is the one that is given up first. */
static void range_use(range_t *range)
{
  range_t used = *range;
  range_remove((size_t)(range - ranges));
  range_insert(&used); /* into the room it had */
}

/* The kernel driver takes hold of the pages, to write to them; what is not there, or read-only, it
 * refuses. */
static bool pages_usable(uint64_t base, uint64_t end)
{
  enum { POPULATE_WRITE = 23 }; /* of Linux 5.14 and glibc 2.35 on */
  uint64_t first = base & ~(uint64_t)(SOFTGPU_PAGE - 1);
  uint64_t size = ((end + SOFTGPU_PAGE - 1) & ~(uint64_t)(SOFTGPU_PAGE - 1)) - first;
  int result;
  SOFTGPU_WITHOUT_CANCELLATION();
  do
    result = madvise((void *)first, size, POPULATE_WRITE);
  while (result != 0 && errno == EINTR);
  if (result == 0 || errno != EINVAL)
    return result == 0;
  /* So says an older kernel, too, of which can be learned only that there are pages. */
  static char known[SOFTGPU_PAGE] __attribute__((aligned(4096)));
  return madvise(known, sizeof(known), POPULATE_WRITE) != 0 &&
         msync((void *)first, size, MS_ASYNC) == 0;
}

static bool range_publish(const range_t *range)
{
  softgpu_allocation_t live = {.base = range->device,
                               .size = range->end - range->base,
                               .flags = SOFTGPU_MEMORY_WRITE | SOFTGPU_MEMORY_USER |
                                        SOFTGPU_MEMORY_LOCKED,
                               .shift = range->base - range->device};
  return softgpu_memory_add(&live);
}

/* What this thread is about to register, and wants to have at the host's address. */
static _Thread_local struct wish {
  uint64_t base, size;
} wish;

SOFTGPU_EXPORT void softgpu_memory_in_place(uint64_t address, uint64_t bytes)
{
  wish = (struct wish){address, bytes};
}

static bool wants_in_place(const range_t *range)
{
  const struct wish asked = wish;
  wish = (struct wish){0};
  return softgpu_option(SOFTGPU_OPTION_SAME_ADDRESS) ||
         (asked.base == range->base && asked.size == range->end - range->base);
}

/* Finds an address for devices, at which they are not let yet. Without the lock: a reservation may
 * take the place of what was registered. */
static HSAKMT_STATUS range_create(range_t *range)
{
  uint64_t offset = range->base % SOFTGPU_PAGE, size = range->end - range->base;
  uint64_t whole = (offset + size + SOFTGPU_PAGE - 1) & ~(uint64_t)(SOFTGPU_PAGE - 1);
  if (!pages_usable(range->base, range->end))
    return HSAKMT_STATUS_ERROR;
  range->device = range->base;
  if (wants_in_place(range) && range_publish(range))
    return HSAKMT_STATUS_SUCCESS;
  if (whole < size || !softgpu_pages_reserve(&range->pages, whole))
    return HSAKMT_STATUS_NO_MEMORY;
  range->device = range->pages.base + offset;
  if (range_publish(range))
    return HSAKMT_STATUS_SUCCESS;
  softgpu_pages_unmap(&range->pages);
  return HSAKMT_STATUS_NO_MEMORY;
}

/* What range_create() made, of a range that is not inside. Caller holds the lock. */
static void range_drop(const range_t *range)
{
  softgpu_memory_remove(range->device);
  if (range->pages.size > 0)
    pages_part(&range->pages);
}

static void range_destroy(const range_t *range)
{
  if (!range->inside)
    range_drop(range);
  range_remove((size_t)(range - ranges));
}

static void range_allow(const range_t *range, uint32_t access)
{
  softgpu_allocation_t live;
  if (softgpu_memory_find(range->device, &live) && live.access != access) {
    live.access = access;
    softgpu_memory_exchange(live.base, live.base + 1, &live, 1);
  }
}

void softgpu_registrations_close(void)
{
  pthread_mutex_lock(&lock);
  while (range_count > 0)
    range_destroy(&ranges[range_count - 1]);
  while (parted_count > 0)
    softgpu_pages_retire(&parted[--parted_count]);
  parted_next = 0;
  free(ranges);
  ranges = NULL;
  range_capacity = 0;
  pthread_mutex_unlock(&lock);
}

/* Counts it once more if it is known. Caller holds the lock. */
static bool range_again(const range_t *range)
{
  range_t *known = range_find(range->base, range->end);
  if (!known || known->inside != range->inside)
    return false;
  ++known->registered;
  range_use(known);
  return true;
}

static HSAKMT_STATUS memory_register(const void *memory, uint64_t size)
{
  range_t range = {.base = (uintptr_t)memory, .registered = 1};
  if (!memory || size == 0 || __builtin_add_overflow(range.base, size, &range.end) ||
      range.end > UINT64_MAX - SOFTGPU_PAGE)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  range.inside = softgpu_allocation_covers(range.base, size);
  pthread_mutex_lock(&lock);
  bool done = range_again(&range);
  pthread_mutex_unlock(&lock);
  HSAKMT_STATUS status = done || range.inside ? HSAKMT_STATUS_SUCCESS : range_create(&range);
  if (done || status != HSAKMT_STATUS_SUCCESS)
    return status;
  pthread_mutex_lock(&lock);
  const bool again = range_again(&range); /* another thread was faster */
  done = again || range_insert(&range);
  if ((again || !done) && !range.inside)
    range_drop(&range);
  pthread_mutex_unlock(&lock);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

void softgpu_registrations_forget(uint64_t base, uint64_t size)
{
  if (softgpu_forked())
    return;
  pthread_mutex_lock(&lock);
  for (size_t at = range_count; at > 0; --at) {
    const range_t *range = &ranges[at - 1];
    if (!range->inside && range->device == range->base && range->base < base + size &&
        range->end > base)
      range_destroy(range);
  }
  pthread_mutex_unlock(&lock);
}

bool softgpu_registration_map(uint64_t address, uint64_t size, uint64_t *device)
{
  pthread_mutex_lock(&lock);
  range_t *range = range_find(address, address + size);
  bool found = range && !range->inside;
  if (found) {
    if (range->mapped++ == 0)
      range_allow(range, softgpu_nodes_of_all());
    *device = range->device;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

bool softgpu_registration_unmap(uint64_t address)
{
  pthread_mutex_lock(&lock);
  range_t *range = range_find(address, 0);
  bool found = range && !range->inside;
  if (found && range->mapped > 0 && --range->mapped == 0)
    range_allow(range, 0);
  pthread_mutex_unlock(&lock);
  return found;
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *memory, HSAuint64 size)
{
  SOFTGPU_NEED_OPEN();
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *memory, HSAuint64 size, HSAuint64 count,
                                          HSAuint32 *nodes)
{
  SOFTGPU_NEED_OPEN();
  if (count > 0 && !nodes)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *memory, HSAuint64 size, HsaMemFlags flags)
{
  SOFTGPU_NEED_OPEN();
  (void)flags;
  return memory_register(memory, size);
}

HSAKMT_STATUS hsaKmtDeregisterMemory(void *memory)
{
  SOFTGPU_NEED_OPEN();
  pthread_mutex_lock(&lock);
  range_t *range = range_find((uintptr_t)memory, 0);
  if (range && --range->registered == 0)
    range_destroy(range);
  pthread_mutex_unlock(&lock);
  return range || softgpu_allocation_part_with(memory) ? HSAKMT_STATUS_SUCCESS
                                                       : HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
}

/* The registration an address of the host or of a device is in. Caller holds the lock. */
static range_t *range_around(uint64_t address)
{
  for (size_t at = range_count; at > 0; --at) {
    range_t *range = &ranges[at - 1];
    uint64_t size = range->end - range->base;
    if (!range->inside && (address - range->base < size || address - range->device < size))
      return range;
  }
  return NULL;
}

static bool registration_describe(uint64_t address, HsaPointerInfo *info)
{
  pthread_mutex_lock(&lock);
  const range_t *found = range_around(address);
  if (found) {
    *info = (HsaPointerInfo){.Type = HSA_POINTER_REGISTERED_USER,
                             .CPUAddress = (void *)found->base,
                             .GPUAddress = found->device,
                             .SizeInBytes = found->end - found->base,
                             .NMappedNodes = found->mapped > 0 ? softgpu_gpu_count() : 0,
                             .MappedNodes = all_nodes,
                             .UserData = found->user_data};
  }
  pthread_mutex_unlock(&lock);
  return found != NULL;
}

static bool registration_user_data(uint64_t address, void *user_data)
{
  pthread_mutex_lock(&lock);
  range_t *found = range_around(address);
  if (found)
    found->user_data = user_data;
  pthread_mutex_unlock(&lock);
  return found != NULL;
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *pointer, HsaPointerInfo *info)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(pointer && info, INVALID_PARAMETER);
  if (softgpu_allocation_describe((uintptr_t)pointer, info) ||
      registration_describe((uintptr_t)pointer, info))
    return HSAKMT_STATUS_SUCCESS;
  *info = (HsaPointerInfo){.Type = HSA_POINTER_UNKNOWN};
  return HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *pointer, void *user_data)
{
  SOFTGPU_NEED_OPEN();
  return softgpu_allocation_user_data((uintptr_t)pointer, user_data) ||
                 registration_user_data((uintptr_t)pointer, user_data)
             ? HSAKMT_STATUS_SUCCESS
             : HSAKMT_STATUS_INVALID_PARAMETER;
}
