#include "softgpu/device/freed.h"

#include <pthread.h>
#include <stdlib.h>

#include "softgpu/device/memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static softgpu_freed_t *parts;
static size_t room;
static _Atomic size_t count; /* changes under the lock */

static bool overlaps(const softgpu_freed_t *part, uint64_t base, uint64_t size)
{
  return part->base < base + size && base < part->base + part->size;
}

/* The caller holds the lock, here and below. */
static bool append(const softgpu_freed_t *part)
{
  if (count == room) {
    const size_t more = room ? 2 * room : 64;
    softgpu_freed_t *moved = realloc(parts, more * sizeof(*parts));
    if (!moved)
      return false;
    parts = moved;
    room = more;
  }
  parts[count] = *part;
  ++count;
  return true;
}

static void drop(size_t index)
{
  const size_t last = count - 1;
  parts[index] = parts[last];
  count = last;
}

/* Those that their queues have passed. */
static void sweep(void)
{
  for (size_t i = count; i-- > 0;)
    if (parts[i].to <= atomic_load_explicit(parts[i].read_index, memory_order_acquire))
      drop(i);
}

bool softgpu_freed_add(const softgpu_freed_t *freed)
{
  pthread_mutex_lock(&lock);
  sweep();
  const bool added = append(freed);
  pthread_mutex_unlock(&lock);
  softgpu_memory_poked(); /* ranges that waves have found hold no such parts */
  return added;
}

/* Of a part that is free now the piece [first, last) may be used again; what is left of it on both
 * sides stays. False: no memory, and all of it may. */
static bool part_end(size_t index, uint64_t first, uint64_t last)
{
  const softgpu_freed_t whole = parts[index];
  softgpu_freed_t before = whole, after = whole;
  parts[index].base = first;
  parts[index].size = last - first;
  parts[index].to = atomic_load_explicit(whole.write_index, memory_order_acquire);
  before.size = first - whole.base;
  after.base = last;
  after.size = whole.base + whole.size - last;
  const bool has_before = !before.size || append(&before);
  const bool has_after = !after.size || append(&after);
  return has_before && has_after;
}

void softgpu_freed_end(uint64_t base, uint64_t size)
{
  if (count == 0)
    return;
  pthread_mutex_lock(&lock);
  for (size_t i = count; i-- > 0;) {
    const softgpu_freed_t *part = &parts[i];
    if (part->to != UINT64_MAX || !overlaps(part, base, size))
      continue;
    const uint64_t end = part->base + part->size;
    (void)part_end(i, part->base > base ? part->base : base, end < base + size ? end : base + size);
  }
  pthread_mutex_unlock(&lock);
}

void softgpu_freed_forget(uint64_t queue)
{
  if (count == 0)
    return;
  pthread_mutex_lock(&lock);
  for (size_t i = count; i-- > 0;)
    if (parts[i].queue == queue)
      drop(i);
  pthread_mutex_unlock(&lock);
}

bool softgpu_freed_near(uint64_t base, uint64_t size)
{
  if (count == 0)
    return false;
  pthread_mutex_lock(&lock);
  bool found = false;
  for (size_t i = 0; i < count && !found; ++i)
    found = overlaps(&parts[i], base, size);
  pthread_mutex_unlock(&lock);
  return found;
}

bool softgpu_freed_find(uint64_t address, uint64_t bytes, uint64_t queue, uint64_t packet,
                        softgpu_freed_t *freed)
{
  pthread_mutex_lock(&lock);
  bool found = false;
  for (size_t i = 0; i < count && !found; ++i) {
    const softgpu_freed_t *part = &parts[i];
    found = part->queue == queue && part->from <= packet && packet < part->to &&
            overlaps(part, address, bytes);
    if (found && freed)
      *freed = *part;
  }
  pthread_mutex_unlock(&lock);
  return found;
}
