/* Live allocations, sorted by address in one array that never moves.
 *
 * Writers hold a mutex and make the sequence number odd while they shift entries; readers take no
 * lock, search, and search again when the number was odd or has changed. Every field is atomic with
 * acquire loads and release stores, so a reader that saw any half of a change also sees the number
 * that makes it start over. */
#include "softgpu/device/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

enum { CAPACITY = 1 << 20 }; /* address space only: pages appear as they are used */

typedef struct entry {
  _Atomic uint64_t base, size, shift;
  _Atomic(softgpu_written_t *) written;
  _Atomic uint64_t tag; /* flags, node << 16, access << 32 */
} entry_t;

static entry_t *entries;
static _Atomic uint32_t entry_count;
static _Atomic uint32_t sequence; /* odd while entries change */
uint64_t softgpu_memory_removals;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

static void entry_store(uint32_t at, const softgpu_allocation_t *allocation)
{
  entry_t *entry = &entries[at];
  atomic_store_explicit(&entry->base, allocation->base, memory_order_release);
  atomic_store_explicit(&entry->size, allocation->size, memory_order_release);
  atomic_store_explicit(&entry->shift, allocation->shift, memory_order_release);
  atomic_store_explicit(&entry->written, allocation->written, memory_order_release);
  uint64_t tag = allocation->flags | allocation->node << 16 | (uint64_t)allocation->access << 32;
  atomic_store_explicit(&entry->tag, tag, memory_order_release);
}

static softgpu_allocation_t entry_load(uint32_t at)
{
  entry_t *entry = &entries[at];
  uint64_t tag = atomic_load_explicit(&entry->tag, memory_order_acquire);
  return (softgpu_allocation_t){
      .base = atomic_load_explicit(&entry->base, memory_order_acquire),
      .size = atomic_load_explicit(&entry->size, memory_order_acquire),
      .flags = tag & UINT16_MAX,
      .node = tag >> 16 & UINT16_MAX,
      .access = (uint32_t)(tag >> 32),
      .shift = atomic_load_explicit(&entry->shift, memory_order_acquire),
      .written = atomic_load_explicit(&entry->written, memory_order_acquire),
  };
}

/* The first of `count` entries that starts above `address`. */
static uint32_t entry_above(uint64_t address, uint32_t count)
{
  uint32_t low = 0;
  while (low < count) {
    uint32_t middle = low + (count - low) / 2;
    if (atomic_load_explicit(&entries[middle].base, memory_order_acquire) <= address)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

static uint32_t read_begin(void)
{
  for (uint32_t spins = 0;; ++spins) {
    uint32_t now = atomic_load_explicit(&sequence, memory_order_acquire);
    if ((now & 1) == 0)
      return now;
    if (spins > 100)
      sched_yield();
  }
}

static bool read_valid(uint32_t begun)
{
  return atomic_load_explicit(&sequence, memory_order_acquire) == begun;
}

/* Caller holds `writers`. */
static bool entries_reserve(void)
{
  if (entries)
    return true;
  void *memory = mmap(NULL, CAPACITY * sizeof(entry_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  entries = memory;
  return true;
}

/* Moves the entries from `from` on to `to` and sets the count to match. */
static void entries_shift(uint32_t from, uint32_t to, uint32_t count)
{
  if (to > from) {
    for (uint32_t i = count; i > from; --i) {
      softgpu_allocation_t moved = entry_load(i - 1);
      entry_store(i - 1 + (to - from), &moved);
    }
  } else if (to < from) {
    for (uint32_t i = from; i < count; ++i) {
      softgpu_allocation_t moved = entry_load(i);
      entry_store(i - (from - to), &moved);
    }
  }
  atomic_store_explicit(&entry_count, count + to - from, memory_order_release);
}

/* Whether `added` is ascending and disjoint and fits between the entries before `from` and from
 * `to` on. */
static bool exchange_fits(uint32_t from, uint32_t to, uint32_t total,
                          const softgpu_allocation_t *added, uint32_t count)
{
  uint64_t end = 0;
  if (from > 0) {
    softgpu_allocation_t before = entry_load(from - 1);
    end = before.base + before.size;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (added[i].size == 0 || added[i].base < end ||
        __builtin_add_overflow(added[i].base, added[i].size, &end))
      return false;
  }
  return to == total || count == 0 || end <= entry_load(to).base;
}

bool softgpu_memory_exchange(uint64_t first, uint64_t last, const softgpu_allocation_t *added,
                             uint32_t count)
{
  pthread_mutex_lock(&writers);
  bool done = entries_reserve();
  if (done) {
    uint32_t total = atomic_load_explicit(&entry_count, memory_order_relaxed);
    uint32_t from = first == 0 ? 0 : entry_above(first - 1, total);
    uint32_t to = last <= first ? from : entry_above(last - 1, total);
    /* Room between two neighbours is only where the first addition goes. */
    if (from == to && count > 0)
      from = to = entry_above(added[0].base, total);
    done =
        count <= CAPACITY - (total - (to - from)) && exchange_fits(from, to, total, added, count);
    if (done) {
      uint32_t now = atomic_load_explicit(&sequence, memory_order_relaxed);
      atomic_store_explicit(&sequence, now + 1, memory_order_relaxed);
      entries_shift(to, from + count, total);
      for (uint32_t i = 0; i < count; ++i)
        entry_store(from + i, &added[i]);
      if (to > from)
        __atomic_fetch_add(&softgpu_memory_removals, 1, __ATOMIC_SEQ_CST);
      /* Sequentially consistent: a thread that retires the memory next must see a dispatch that
       * began before this, or that dispatch must see this (device/retire.c). */
      atomic_store(&sequence, now + 2);
    }
  }
  pthread_mutex_unlock(&writers);
  return done;
}

bool softgpu_memory_add(const softgpu_allocation_t *allocation)
{
  return softgpu_memory_exchange(0, 0, allocation, 1);
}

bool softgpu_memory_remove(uint64_t base)
{
  softgpu_allocation_t found;
  if (base == UINT64_MAX || !softgpu_memory_find(base, &found) || found.base != base)
    return false;
  return softgpu_memory_exchange(base, base + 1, NULL, 0);
}

bool softgpu_memory_find(uint64_t address, softgpu_allocation_t *allocation)
{
  for (;;) {
    uint32_t begun = read_begin();
    uint32_t above = entry_above(address, atomic_load_explicit(&entry_count, memory_order_acquire));
    softgpu_allocation_t found = {0};
    if (above > 0)
      found = entry_load(above - 1);
    if (!read_valid(begun))
      continue;
    if (address - found.base >= found.size)
      return false;
    *allocation = found;
    return true;
  }
}

bool softgpu_memory_next(uint64_t address, softgpu_allocation_t *allocation)
{
  for (;;) {
    uint32_t begun = read_begin();
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_acquire);
    uint32_t at = entry_above(address, count);
    softgpu_allocation_t found = {0};
    if (at > 0)
      found = entry_load(at - 1);
    bool inside = address - found.base < found.size;
    if (!inside && at < count)
      found = entry_load(at);
    if (!read_valid(begun))
      continue;
    if (inside || at < count)
      *allocation = found;
    return inside || at < count;
  }
}

bool softgpu_memory_nearest(uint64_t address, softgpu_allocation_t *allocation)
{
  for (;;) {
    uint32_t begun = read_begin();
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_acquire);
    uint32_t above = entry_above(address, count);
    softgpu_allocation_t before = {0}, after = {0};
    if (above > 0)
      before = entry_load(above - 1);
    if (above < count)
      after = entry_load(above);
    if (!read_valid(begun))
      continue;
    if (count == 0)
      return false;
    /* How far beyond the last byte of the one, and below the first byte of the other. */
    uint64_t past = before.size == 0 ? UINT64_MAX
                    : address - before.base < before.size
                        ? 0
                        : address - (before.base + before.size) + 1;
    uint64_t below = after.size == 0 ? UINT64_MAX : after.base - address;
    *allocation = past <= below ? before : after;
    return true;
  }
}

bool softgpu_memory_present(const softgpu_allocation_t *allocation, uint64_t address, uint64_t size)
{
  const uint64_t page = 4096;
  if (!(allocation->flags & SOFTGPU_MEMORY_USER))
    return true;
  uint64_t host = address + allocation->shift, first = host & ~(page - 1);
  /* Does nothing but look for mappings, whose number is what it costs. */
  return msync((void *)first, ((host + size + page - 1) & ~(page - 1)) - first, MS_ASYNC) == 0;
}

uint32_t softgpu_memory_code(uint32_t node, uint64_t base, uint64_t pc, uint32_t most)
{
  softgpu_allocation_t code;
  if (!softgpu_memory_find(pc, &code) || !(code.flags & SOFTGPU_MEMORY_EXECUTE) || code.shift ||
      !softgpu_memory_allows(&code, node) || base < code.base)
    return 0;
  const uint64_t dwords = (code.base + code.size - base) / 4;
  const uint32_t count = dwords < most ? (uint32_t)dwords : most;
  return softgpu_memory_present(&code, base, count * 4ull) ? count : 0;
}

static void *reach(uint32_t node, uint64_t address, uint64_t size, bool write, uint32_t unwanted)
{
  uint64_t end, at = address, shift = 0;
  if (__builtin_add_overflow(address, size, &end))
    return NULL;
  while (at < end) {
    softgpu_allocation_t found;
    if (!softgpu_memory_find(at, &found) || !softgpu_memory_allows(&found, node) ||
        (write && !(found.flags & SOFTGPU_MEMORY_WRITE)) || (found.flags & unwanted) ||
        (at > address && found.shift != shift))
      return NULL;
    const uint64_t next = found.base + found.size, bytes = (next < end ? next : end) - at;
    if (!softgpu_memory_present(&found, at, bytes))
      return NULL;
    if (write && found.written)
      softgpu_written_add(found.written, at - found.base, bytes);
    shift = found.shift;
    at = next;
  }
  return (void *)(uintptr_t)(address + shift);
}

void *softgpu_memory_reach(uint32_t node, uint64_t address, uint64_t size, bool write)
{
  return reach(node, address, size, write, 0);
}

void softgpu_memory_copied(uint64_t to, uint64_t from, uint64_t size)
{
  softgpu_allocation_t source, target;
  bool lost = false;
  for (uint64_t at = 0, bytes; at < size; at += bytes) {
    if (!softgpu_memory_find(from + at, &source) || !softgpu_memory_find(to + at, &target))
      return; /* was freed meanwhile */
    const uint64_t offset = from + at - source.base, there = to + at - target.base;
    bytes = size - at;
    bytes = bytes < source.size - offset ? bytes : source.size - offset;
    bytes = bytes < target.size - there ? bytes : target.size - there;
    if (source.written && target.written && !softgpu_written_is_all(source.written))
      lost |= softgpu_written_copy(target.written, there, source.written, offset, bytes);
  }
  if (lost) /* ranges of what had been written are looked at anew */
    __atomic_fetch_add(&softgpu_memory_removals, 1, __ATOMIC_SEQ_CST);
}

bool softgpu_memory_keeps(uint32_t node, uint64_t address, uint64_t size)
{
  return reach(node, address, size, true, SOFTGPU_MEMORY_USER);
}

void softgpu_memory_poked(void)
{
  __atomic_fetch_add(&softgpu_memory_removals, 1, __ATOMIC_SEQ_CST);
}
