/* Memory of the device: host pages, counted against a GPU's memory where they stand for it. */
#include "softgpu/thunk/allocate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softgpu/cp/inject.h"
#include "softgpu/cp/pause.h"
#include "softgpu/device/array.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/option.h"
#include "softgpu/exports.h"
#include "softgpu/thunk/newer.h"
#include "softgpu/thunk/pages.h"
#include "softgpu/thunk/share.h"

/* Scratch pools are address space only; the parts a queue uses are allocations of their own, with
 * `pool` set. */
typedef struct record {
  uint64_t base, size;
  uint64_t bytes; /* of it that devices may use: what the program asked for, if somebody said so */
  uint32_t node;
  HsaMemFlags flags;
  bool counted;          /* against the node's VRAM */
  bool pool;             /* a scratch reservation */
  bool part;             /* a mapped part of one */
  bool imported;         /* another process's, or this one's once more */
  softgpu_share_t share; /* where its pages are, once other processes may have them */
  softgpu_pages_t pages; /* a part has none of its own */
  softgpu_written_t *written;
  void *user_data;
  uint32_t mapped_count;
  uint32_t mapped[SOFTGPU_MAX_NODES];
} record_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record_t **records; /* ascending by base; parts follow their pool */
static size_t record_count, record_capacity;
static uint64_t vram_used[SOFTGPU_MAX_NODES];

/* Index of the first record that starts above `address`. */
static size_t record_above(uint64_t address)
{
  size_t low = 0, high = record_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (records[middle]->base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The innermost record that contains an address: a scratch part rather than its pool. */
static record_t *record_find(uint64_t address)
{
  size_t at = record_above(address);
  while (at > 0) {
    record_t *record = records[--at];
    if (address - record->base < record->size)
      return record;
    if (!record->part)
      return NULL;
  }
  return NULL;
}

/* The allocation or pool that contains an address. */
static record_t *record_owner(uint64_t address)
{
  size_t at = record_above(address);
  while (at > 0 && records[at - 1]->part)
    --at;
  return at > 0 && address - records[at - 1]->base < records[at - 1]->size ? records[at - 1] : NULL;
}

static bool record_insert(record_t *record)
{
  record_t **grown =
      softgpu_array_grown(records, &record_capacity, record_count + 1, sizeof(*records));
  if (!grown)
    return false;
  records = grown;
  size_t at = record_above(record->base);
  memmove(&records[at + 1], &records[at], (record_count - at) * sizeof(*records));
  records[at] = record;
  ++record_count;
  return true;
}

static void record_remove(const record_t *record)
{
  size_t at = record_above(record->base) - 1;
  while (records[at] != record) /* a part may begin where its pool does */
    --at;
  memmove(&records[at], &records[at + 1], (record_count - at - 1) * sizeof(*records));
  --record_count;
}

static bool vram_take(uint32_t node, uint64_t size)
{
  if (size > softgpu_vram_bytes() - vram_used[node])
    return false;
  vram_used[node] += size;
  return true;
}

/* What the devices see of it. */
static softgpu_allocation_t record_live(const record_t *record)
{
  softgpu_allocation_t live = {
      .base = record->base,
      .size = record->bytes ? record->bytes : record->size,
      .flags = (record->flags.ui32.ReadOnly ? 0 : SOFTGPU_MEMORY_WRITE) |
               (record->flags.ui32.ExecuteAccess ? SOFTGPU_MEMORY_EXECUTE : 0) |
               (record->counted ? SOFTGPU_MEMORY_VRAM : 0) |
               (record->part ? SOFTGPU_MEMORY_SCRATCH : 0),
      .node = record->node,
      .written = record->written,
  };
  for (uint32_t i = 0; i < record->mapped_count; ++i)
    live.access |= 1u << record->mapped[i];
  return live;
}

/* Makes `record` known: counted, listed, and live for kernels unless it is a mere reservation. */
static bool record_publish(record_t *record)
{
  if (record->counted && !vram_take(record->node, record->size))
    return false;
  if (record_insert(record)) {
    softgpu_allocation_t live = record_live(record);
    if (record->pool || softgpu_memory_add(&live))
      return true;
    record_remove(record);
  }
  if (record->counted)
    vram_used[record->node] -= record->size;
  return false;
}

/* Kernels lose the memory first, then the pages go. */
static void record_release(record_t *record)
{
  if (!record->pool)
    softgpu_memory_remove(record->base);
  record_remove(record);
  if (record->counted)
    vram_used[record->node] -= record->size;
  if (record->part)
    madvise((void *)record->base, record->size, MADV_DONTNEED);
  else
    softgpu_pages_retire(&record->pages);
  softgpu_share_close(&record->share);
  softgpu_written_retire(record->written);
  free(record);
}

void softgpu_allocations_close(void)
{
  pthread_mutex_lock(&lock);
  while (record_count > 0)
    record_release(records[record_count - 1]);
  free(records);
  records = NULL;
  record_capacity = 0;
  pthread_mutex_unlock(&lock);
}

bool softgpu_allocation_covers(uint64_t address, uint64_t size)
{
  pthread_mutex_lock(&lock);
  record_t *record = record_find(address);
  bool covered = record && size <= record->size - (address - record->base);
  pthread_mutex_unlock(&lock);
  return covered;
}

/* Whether it is noted what of it is written. Not of code: what the loader leaves out there is 0. */
static bool is_noted(const record_t *record)
{
  return softgpu_option(SOFTGPU_OPTION_CHECK_MEMORY) && record->counted &&
         !record->flags.ui32.ExecuteAccess;
}

/* `alignment` is 0 or a power of two. */
HSAKMT_STATUS hsaKmtAllocMemoryAlign(HSAuint32 node, HSAuint64 size, HSAuint64 alignment,
                                     HsaMemFlags flags, void **address)
{
  SOFTGPU_NEED_OPEN();
  if (!address || size == 0 || size % SOFTGPU_PAGE != 0 || (alignment & (alignment - 1)) != 0)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (flags.Value & (SOFTGPU_MEMORY_NO_ADDRESS | SOFTGPU_MEMORY_ONLY_ADDRESS))
    return HSAKMT_STATUS_NOT_SUPPORTED;
  SOFTGPU_NEED(node <= softgpu_gpu_count(), INVALID_NODE_UNIT);
  if (softgpu_inject_failure(SOFTGPU_INJECT_ALLOCATION_FAILURE))
    return HSAKMT_STATUS_NO_MEMORY;
  bool fixed = flags.ui32.FixedAddress;
  if (fixed && (uintptr_t)*address % (alignment > SOFTGPU_PAGE ? alignment : SOFTGPU_PAGE) != 0)
    return HSAKMT_STATUS_MEMORY_ALIGNMENT;
  record_t *record = calloc(1, sizeof(*record));
  if (!record)
    return HSAKMT_STATUS_NO_MEMORY;
  *record = (record_t){.size = size,
                       .node = node,
                       .flags = flags,
                       .pool = flags.ui32.Scratch,
                       .counted = node != 0 && !flags.ui32.Scratch};
  if (fixed ? !softgpu_pages_map_at(&record->pages, (uintptr_t)*address, size)
            : !softgpu_pages_map_aligned(&record->pages, size, alignment)) {
    free(record);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  record->base = record->pages.base;
  if (is_noted(record))
    record->written = softgpu_written_begin((void *)record->base, size);
  pthread_mutex_lock(&lock);
  bool done = record_publish(record);
  pthread_mutex_unlock(&lock);
  if (!done) {
    softgpu_written_retire(record->written);
    softgpu_pages_unmap(&record->pages);
    free(record);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  *address = (void *)record->base;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **address)
{
  return hsaKmtAllocMemoryAlign(node, size, 0, flags, address);
}

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *bytes)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(bytes, INVALID_PARAMETER);
  SOFTGPU_NEED(node > 0 && node <= softgpu_gpu_count(), INVALID_NODE_UNIT);
  pthread_mutex_lock(&lock);
  *bytes = softgpu_vram_bytes() - vram_used[node];
  pthread_mutex_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtFreeMemory(void *address, HSAuint64 size)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(address, INVALID_PARAMETER);
  uint64_t base = (uintptr_t)address;
  pthread_mutex_lock(&lock);
  record_t *owner = record_owner(base);
  bool done =
      owner && owner->base == base && (size == 0 || size == owner->size) && !owner->imported;
  if (done) {
    record_t *last;
    while ((last = records[record_above(base + owner->size - 1) - 1]) != owner)
      record_release(last);
    record_release(owner);
  }
  pthread_mutex_unlock(&lock);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

/* Turns [address, address + size) of a scratch pool into memory. Caller holds the lock. */
static HSAKMT_STATUS pool_map(const record_t *pool, uint64_t address, uint64_t size)
{
  if (size == 0 || size > pool->size - (address - pool->base))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  record_t *part = calloc(1, sizeof(*part));
  if (!part)
    return HSAKMT_STATUS_NO_MEMORY;
  *part = (record_t){.base = address,
                     .size = size,
                     .node = pool->node,
                     .flags = pool->flags,
                     .counted = pool->node != 0,
                     .part = true,
                     .mapped_count = 1,
                     .mapped = {pool->node}};
  if (record_publish(part))
    return HSAKMT_STATUS_SUCCESS;
  free(part);
  return HSAKMT_STATUS_NO_MEMORY;
}

static bool record_has(const record_t *record, uint32_t node)
{
  for (uint32_t i = 0; i < record->mapped_count; ++i)
    if (record->mapped[i] == node)
      return true;
  return false;
}

/* Gives the memory to these nodes and takes it away from all others; to these as well, when only a
 * part was named, which is pinned. Caller holds the lock. */
static void record_map(record_t *record, bool whole, uint32_t count, const uint32_t *nodes)
{
  softgpu_allocation_t before = record_live(record);
  if (whole)
    record->mapped_count = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (!record_has(record, nodes[i]))
      record->mapped[record->mapped_count++] = nodes[i];
  softgpu_allocation_t after = record_live(record);
  if (after.access != before.access) /* in the place of itself, it always fits */
    softgpu_memory_exchange(after.base, after.base + 1, &after, 1);
}

static HSAKMT_STATUS memory_map(void *memory, uint64_t size, uint64_t *alternate, uint32_t count,
                                const uint32_t *nodes)
{
  uint64_t address = (uintptr_t)memory;
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  record_t *record = record_find(address);
  if (record && record->pool)
    status = pool_map(record, address, size);
  else if (record && !record->part)
    record_map(record, address == record->base, count, nodes);
  pthread_mutex_unlock(&lock);
  if (!record && !softgpu_registration_map(address, size, &address))
    status = HSAKMT_STATUS_INVALID_PARAMETER;
  if (alternate && status == HSAKMT_STATUS_SUCCESS)
    *alternate = address;
  return status;
}

HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *address, HSAuint64 size, HSAuint64 *alternate,
                                        HsaMemMapFlags flags, HSAuint64 count, HSAuint32 *nodes)
{
  SOFTGPU_NEED_OPEN();
  (void)flags;
  if (!address || !nodes || count == 0 || count > softgpu_gpu_count())
    return HSAKMT_STATUS_INVALID_PARAMETER;
  for (uint32_t i = 0; i < count; ++i) {
    if (nodes[i] == 0 || nodes[i] > softgpu_gpu_count())
      return HSAKMT_STATUS_INVALID_NODE_UNIT;
  }
  return memory_map(address, size, alternate, (uint32_t)count, nodes);
}

HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *address, HSAuint64 size, HSAuint64 *alternate)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(address, INVALID_PARAMETER);
  uint32_t nodes[SOFTGPU_MAX_GPUS];
  for (uint32_t i = 0; i < softgpu_gpu_count(); ++i)
    nodes[i] = i + 1;
  return memory_map(address, size, alternate, softgpu_gpu_count(), nodes);
}

HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *address)
{
  SOFTGPU_NEED_OPEN();
  pthread_mutex_lock(&lock);
  record_t *record = record_find((uintptr_t)address);
  bool whole = record && record->base == (uintptr_t)address;
  if (whole && record->part)
    record_release(record);
  else if (whole && !record->pool)
    record_map(record, true, 0, NULL);
  pthread_mutex_unlock(&lock);
  return !address || record || softgpu_registration_unmap((uintptr_t)address)
             ? HSAKMT_STATUS_SUCCESS
             : HSAKMT_STATUS_INVALID_PARAMETER;
}

SOFTGPU_EXPORT bool softgpu_memory_bound(uint64_t address, uint64_t bytes)
{
  if (softgpu_forked())
    return false;
  pthread_mutex_lock(&lock);
  record_t *record = record_find(address);
  const bool is_fit = record && record->base == address && !record->pool && !record->part &&
                      bytes > 0 && bytes <= record->size;
  if (is_fit) {
    if (record->written)
      softgpu_written_bound(record->written, record->bytes ? record->bytes : record->size, bytes);
    record->bytes = bytes;
    const softgpu_allocation_t after = record_live(record);
    softgpu_memory_exchange(after.base, after.base + 1, &after, 1);
  }
  pthread_mutex_unlock(&lock);
  return is_fit;
}

bool softgpu_allocation_describe(uint64_t address, HsaPointerInfo *info)
{
  pthread_mutex_lock(&lock);
  record_t *record = record_find(address);
  bool found = record && !record->pool && !record->part;
  if (found) {
    *info = (HsaPointerInfo){
        .Type = record->imported ? HSA_POINTER_REGISTERED_SHARED : HSA_POINTER_ALLOCATED,
        .Node = record->node,
        .MemFlags = record->flags,
        .CPUAddress = (void *)record->base,
        .GPUAddress = record->base,
        .SizeInBytes = record->size,
        .NMappedNodes = record->mapped_count,
        .MappedNodes = record->mapped,
        .UserData = record->user_data,
    };
  }
  pthread_mutex_unlock(&lock);
  return found;
}

bool softgpu_allocation_user_data(uint64_t address, void *user_data)
{
  pthread_mutex_lock(&lock);
  record_t *record = record_find(address);
  if (record)
    record->user_data = user_data;
  pthread_mutex_unlock(&lock);
  return record != NULL;
}

/* The allocation that starts at an address, if other processes can have it. Caller holds the lock.
 */
static record_t *record_shareable(const void *address)
{
  record_t *record = record_owner((uintptr_t)address);
  return record && record->base == (uintptr_t)address && !record->pool ? record : NULL;
}

/* Pages that were never used stay that way. */
static void pages_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
  static const uint8_t zero[SOFTGPU_PAGE];
  for (uint64_t at = 0; at < size; at += SOFTGPU_PAGE) {
    if (memcmp(from + at, zero, SOFTGPU_PAGE) != 0)
      memcpy(to + at, from + at, SOFTGPU_PAGE);
  }
}

/* Puts pages that can be shared in the place of those that cannot, with the same contents. Nothing
 * writes to them meanwhile but, against every rule, the program itself. Caller holds the lock. */
static bool record_share(record_t *record)
{
  softgpu_share_t share;
  if (!softgpu_share_create(&share, record->size))
    return false;
  void *copy =
      mmap(NULL, record->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, share.file, 0);
  bool done = copy != MAP_FAILED;
  if (done) {
    pages_copy(copy, (const uint8_t *)record->base, record->size);
    munmap(copy, record->size);
    done = softgpu_share_map(&share, record->base, record->size);
  }
  if (done)
    record->share = share;
  else
    softgpu_share_close(&share);
  return done;
}

static HSAKMT_STATUS memory_share(const void *address, HsaSharedMemoryHandle *handle, bool paused)
{
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  record_t *record = record_shareable(address);
  if (!record)
    status = HSAKMT_STATUS_INVALID_PARAMETER;
  else if (record->share.file == 0 && !paused)
    status = HSAKMT_STATUS_WAIT_TIMEOUT;
  else if (record->share.file == 0 && !record_share(record))
    status = HSAKMT_STATUS_NO_MEMORY;
  if (status == HSAKMT_STATUS_SUCCESS) {
    const softgpu_share_facts_t facts = {record->size, record->node, record->flags};
    softgpu_share_handle(&record->share, &facts, handle);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* Once other processes may have it, memory has pages of another kind. They are exchanged while no
 * kernel or copy runs, for which those that do are waited for. */
HSAKMT_STATUS hsaKmtShareMemory(void *address, HSAuint64 size, HsaSharedMemoryHandle *handle)
{
  enum { PAUSE_TIMEOUT_MS = 30000 };
  SOFTGPU_NEED_OPEN();
  if (!address || !handle || size / SOFTGPU_PAGE > UINT32_MAX)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  HSAKMT_STATUS status = memory_share(address, handle, false);
  if (status != HSAKMT_STATUS_WAIT_TIMEOUT || !softgpu_pause_within(PAUSE_TIMEOUT_MS))
    return status;
  status = memory_share(address, handle, true);
  softgpu_resume();
  return status;
}

static HSAKMT_STATUS memory_import(const HsaSharedMemoryHandle *handle, record_t *record)
{
  softgpu_share_facts_t facts;
  if (!softgpu_share_open(&record->share, handle, &facts))
    return HSAKMT_STATUS_INVALID_HANDLE;
  record->size = facts.size;
  record->node = facts.node <= softgpu_gpu_count() ? facts.node : 0;
  record->flags = facts.flags;
  record->flags.ui32.Scratch = record->flags.ui32.FixedAddress = 0;
  record->imported = true;
  if (!softgpu_pages_map(&record->pages, record->size))
    return HSAKMT_STATUS_NO_MEMORY;
  record->base = record->pages.base;
  bool done = softgpu_share_map(&record->share, record->base, record->size);
  if (done) {
    pthread_mutex_lock(&lock);
    done = record_publish(record);
    pthread_mutex_unlock(&lock);
  }
  if (!done)
    softgpu_pages_unmap(&record->pages);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *handle, void **address,
                                         HSAuint64 *size)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(handle && address && size, INVALID_PARAMETER);
  record_t *record = calloc(1, sizeof(*record));
  if (!record)
    return HSAKMT_STATUS_NO_MEMORY;
  HSAKMT_STATUS status = memory_import(handle, record);
  if (status != HSAKMT_STATUS_SUCCESS) {
    softgpu_share_close(&record->share);
    free(record);
    return status;
  }
  *address = (void *)record->base;
  *size = record->size;
  return HSAKMT_STATUS_SUCCESS;
}

/* Which devices get it, hsaKmtMapMemoryToGPUNodes() says. */
HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *handle, void **address,
                                                HSAuint64 *size, HSAuint64 count, HSAuint32 *nodes)
{
  SOFTGPU_NEED_OPEN();
  if (count > 0 && !nodes)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return hsaKmtRegisterSharedHandle(handle, address, size);
}

bool softgpu_allocation_part_with(const void *address)
{
  pthread_mutex_lock(&lock);
  record_t *record = record_shareable(address);
  bool imported = record && record->imported;
  if (imported)
    record_release(record);
  pthread_mutex_unlock(&lock);
  return imported;
}
