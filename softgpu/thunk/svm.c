/* Attributes of ranges of the program's memory, as the kernel driver keeps them: later calls
 * override earlier ones page by page, and what was never mentioned has the defaults.
 *
 * Devices use the program's pages in place, so that locations are remembered and nothing moves.
 * Without XNACK, which is what these devices are listed as, a device has the ranges it was given
 * and no others. */
#include "softgpu/thunk/svm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softgpu/device/array.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/thread.h"
#include "softgpu/thunk/allocate.h"
#include "softgpu/thunk/thunk.h"

enum { GRANULARITY = 9, MOST_GRANULARITY = 63 }; /* pages, as powers of two */
static const uint32_t NOWHERE = UINT32_MAX;      /* or: of several places, none */

typedef struct range {
  uint64_t base, end;
  uint32_t preferred, prefetch; /* nodes; NOWHERE */
  uint32_t flags;               /* HSA_SVM_FLAGS */
  uint32_t granularity;
  uint32_t access, in_place; /* 1 << node; never both */
  bool writable;             /* by the program itself */
} range_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range_t *ranges; /* ascending, disjoint */
static size_t range_capacity;
static _Atomic size_t range_count; /* written under the lock */

static range_t range_default(uint64_t base, uint64_t end)
{
  return (range_t){.base = base,
                   .end = end,
                   .preferred = NOWHERE,
                   .prefetch = NOWHERE,
                   .flags = HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT,
                   .granularity = GRANULARITY,
                   .writable = true};
}

static softgpu_allocation_t range_live(const range_t *range)
{
  bool writable = range->writable && !(range->flags & HSA_SVM_FLAG_GPU_RO);
  return (softgpu_allocation_t){
      .base = range->base,
      .size = range->end - range->base,
      .flags = SOFTGPU_MEMORY_USER | (writable ? SOFTGPU_MEMORY_WRITE : 0) |
               (range->flags & HSA_SVM_FLAG_GPU_EXEC ? SOFTGPU_MEMORY_EXECUTE : 0),
      .access = range->access | range->in_place,
  };
}

static void range_apply(range_t *range, const HSA_SVM_ATTRIBUTE *attribute)
{
  const uint32_t value = attribute->value;
  switch ((HSA_SVM_ATTR_TYPE)attribute->type) {
  case HSA_SVM_ATTR_PREFERRED_LOC:
    range->preferred = value;
    break;
  case HSA_SVM_ATTR_PREFETCH_LOC:
    range->prefetch = value;
    break;
  case HSA_SVM_ATTR_ACCESS:
    range->access |= 1u << value;
    range->in_place &= ~(1u << value);
    break;
  case HSA_SVM_ATTR_ACCESS_IN_PLACE:
    range->access &= ~(1u << value);
    range->in_place |= 1u << value;
    break;
  case HSA_SVM_ATTR_NO_ACCESS:
    range->access &= ~(1u << value);
    range->in_place &= ~(1u << value);
    break;
  case HSA_SVM_ATTR_SET_FLAGS:
    range->flags |= value;
    break;
  case HSA_SVM_ATTR_CLR_FLAGS:
    range->flags &= ~value;
    break;
  case HSA_SVM_ATTR_GRANULARITY:
    range->granularity = value < MOST_GRANULARITY ? value : MOST_GRANULARITY;
    break;
  }
}

/* Access is by a GPU; the other attributes' values are checked when they are set. */
static HSAKMT_STATUS attribute_check(const HSA_SVM_ATTRIBUTE *attribute, bool set)
{
  bool node = attribute->value <= softgpu_gpu_count();
  switch (attribute->type) {
  case HSA_SVM_ATTR_PREFERRED_LOC:
    return !set || node || attribute->value == NOWHERE ? HSAKMT_STATUS_SUCCESS
                                                       : HSAKMT_STATUS_INVALID_NODE_UNIT;
  case HSA_SVM_ATTR_PREFETCH_LOC:
    return !set || node ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
  case HSA_SVM_ATTR_ACCESS:
  case HSA_SVM_ATTR_ACCESS_IN_PLACE:
  case HSA_SVM_ATTR_NO_ACCESS:
    return node && attribute->value > 0 ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
  case HSA_SVM_ATTR_SET_FLAGS:
  case HSA_SVM_ATTR_CLR_FLAGS:
  case HSA_SVM_ATTR_GRANULARITY:
    return HSAKMT_STATUS_SUCCESS;
  default:
    return HSAKMT_STATUS_INVALID_PARAMETER;
  }
}

static HSAKMT_STATUS call_check(const void *start, uint64_t size, unsigned count,
                                const HSA_SVM_ATTRIBUTE *attributes, bool set)
{
  uint64_t base = (uintptr_t)start, end;
  if (!start || size == 0 || base % SOFTGPU_PAGE != 0 || size % SOFTGPU_PAGE != 0 ||
      __builtin_add_overflow(base, size, &end) || (count > 0 && !attributes))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  for (unsigned i = 0; i < count; ++i) {
    HSAKMT_STATUS status = attribute_check(&attributes[i], set);
    if (status != HSAKMT_STATUS_SUCCESS)
      return status;
  }
  return HSAKMT_STATUS_SUCCESS;
}

/* The first range that ends above an address. Caller holds the lock. */
static size_t range_above(uint64_t address)
{
  size_t low = 0, high = range_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Which ranges [base, end) touches: from `from` on, before `to`. Caller holds the lock. */
typedef struct span {
  size_t from, to;
} span_t;

static span_t ranges_touched(uint64_t base, uint64_t end)
{
  span_t span = {.from = range_above(base)};
  for (span.to = span.from; span.to < range_count && ranges[span.to].base < end;)
    ++span.to;
  return span;
}

/* Whether nothing that is live in [base, end) is anything else than such ranges. */
static bool only_ranges(uint64_t base, uint64_t end)
{
  softgpu_allocation_t found;
  for (uint64_t at = base; at < end && softgpu_memory_next(at, &found) && found.base < end;
       at = found.base + found.size) {
    if (!(found.flags & SOFTGPU_MEMORY_USER) || (found.flags & SOFTGPU_MEMORY_LOCKED))
      return false;
  }
  return true;
}

/* Puts `count` ranges in the place of the old ones, for the devices, too, in one step.
 * False, and nothing changed, when memory is out. */
static bool ranges_exchange(span_t old, const range_t *added, size_t count)
{
  size_t total = range_count - (old.to - old.from) + count;
  range_t *grown = softgpu_array_grown(ranges, &range_capacity, total, sizeof(*ranges));
  if (!grown && total > 0)
    return false;
  ranges = grown;
  softgpu_allocation_t few[2], *live = few;
  if (count > 2 && !(live = malloc(count * sizeof(*live))))
    return false;
  for (size_t i = 0; i < count; ++i)
    live[i] = range_live(&added[i]);
  const bool some = old.from < old.to;
  uint64_t first = some ? ranges[old.from].base : 0, last = some ? ranges[old.to - 1].end : 0;
  bool done = softgpu_memory_exchange(first, last, live, (uint32_t)count);
  if (live != few)
    free(live);
  if (!done)
    return false;
  memmove(&ranges[old.from + count], &ranges[old.to], (range_count - old.to) * sizeof(*ranges));
  if (count > 0)
    memcpy(&ranges[old.from], added, count * sizeof(*added));
  range_count = total;
  return true;
}

/* Writes what [base, end) and the ranges that it touches become; room for twice as many and 3. */
static size_t pieces_write(range_t *pieces, span_t touched, uint64_t base, uint64_t end)
{
  size_t count = 0;
  uint64_t at = base;
  for (size_t i = touched.from; i < touched.to; ++i) {
    range_t old = ranges[i];
    if (old.base > at)
      pieces[count++] = range_default(at, old.base);
    if (old.base < base) {
      pieces[count] = old;
      pieces[count++].end = base;
    }
    pieces[count] = old;
    pieces[count].base = old.base < base ? base : old.base;
    pieces[count].end = at = old.end < end ? old.end : end;
    ++count;
    if (old.end > end) {
      pieces[count] = old;
      pieces[count++].base = end;
    }
  }
  if (at < end)
    pieces[count++] = range_default(at, end);
  return count;
}

/* --- what the system says of the program's memory --- */

typedef struct walk {
  uint64_t at, end; /* what is not seen yet */
  bool writable;
} walk_t;

/* Takes one line of the list, which is sorted by address. False when it leaves a hole. */
static bool walk_line(walk_t *walk, const char *line)
{
  uint64_t base, end;
  char rights[8];
  if (walk->at >= walk->end)
    return true;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &base, &end, rights) != 3 || end <= walk->at)
    return true;
  if (base > walk->at || rights[0] != 'r')
    return false;
  walk->writable = walk->writable && rights[1] == 'w';
  walk->at = end;
  return true;
}

/* Lines of any length: of those longer than the buffer, the end is dropped. */
static bool walk_file(walk_t *walk, int file)
{
  char buffer[4096];
  size_t used = 0;
  bool overlong = false;
  while (walk->at < walk->end) {
    ssize_t got = read(file, buffer + used, sizeof(buffer) - 1 - used);
    if (got <= 0)
      return false;
    used += (size_t)got;
    buffer[used] = '\0';
    char *line = buffer, *end;
    while ((end = strchr(line, '\n')) != NULL) {
      *end = '\0';
      if (!overlong && !walk_line(walk, line))
        return false;
      overlong = false;
      line = end + 1;
    }
    used -= (size_t)(line - buffer);
    memmove(buffer, line, used);
    if (used == sizeof(buffer) - 1) {
      if (!overlong && !walk_line(walk, buffer))
        return false;
      overlong = true;
      used = 0;
    }
  }
  return true;
}

/* Whether the program can read all of [base, end); `*writable` is whether it can write to all of
 * it. Both are page-aligned. Reads the list of all mappings, whose number is what it costs. */
static bool mappings_readable(uint64_t base, uint64_t end, bool *writable)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  walk_t walk = {.at = base, .end = end, .writable = true};
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool readable = walk_file(&walk, file);
  close(file);
  *writable = walk.writable;
  return readable;
}

/* --- attributes of ranges, set and read --- */

HSAKMT_STATUS hsaKmtSVMSetAttr(void *start, HSAuint64 size, unsigned count,
                               HSA_SVM_ATTRIBUTE *attributes)
{
  SOFTGPU_NEED_OPEN();
  HSAKMT_STATUS status = call_check(start, size, count, attributes, true);
  if (status != HSAKMT_STATUS_SUCCESS)
    return status;
  uint64_t base = (uintptr_t)start, end = base + size;
  bool writable;
  if (!mappings_readable(base, end, &writable))
    return HSAKMT_STATUS_ERROR;
  softgpu_registrations_forget(base, size); /* often by the memory that was there before this */
  pthread_mutex_lock(&lock);
  const span_t old = ranges_touched(base, end);
  range_t *pieces = malloc((2 * (old.to - old.from) + 3) * sizeof(*pieces));
  bool done = pieces && only_ranges(base, end);
  if (done) {
    size_t made = pieces_write(pieces, old, base, end);
    for (size_t i = 0; i < made; ++i) {
      if (pieces[i].base < base || pieces[i].end > end)
        continue;
      pieces[i].writable = writable;
      for (unsigned at = 0; at < count; ++at)
        range_apply(&pieces[i], &attributes[at]);
    }
    done = ranges_exchange(old, pieces, made);
  }
  free(pieces);
  pthread_mutex_unlock(&lock);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

/* What all of a piece of memory has in common; flags that all and that any of it has. */
typedef struct common {
  range_t of;
  uint32_t any_flags;
  bool some;
} common_t;

static void common_add(common_t *common, const range_t *range)
{
  if (!common->some) {
    *common = (common_t){.of = *range, .any_flags = range->flags, .some = true};
    return;
  }
  range_t *of = &common->of;
  if (of->preferred != range->preferred)
    of->preferred = NOWHERE;
  if (of->prefetch != range->prefetch)
    of->prefetch = NOWHERE;
  of->flags &= range->flags;
  common->any_flags |= range->flags;
  /* In place is the lesser right of the two. */
  uint32_t both = (of->access | of->in_place) & (range->access | range->in_place);
  of->access &= range->access;
  of->in_place = both & ~of->access;
  if (of->granularity > range->granularity)
    of->granularity = range->granularity;
}

static common_t common_of(uint64_t base, uint64_t end)
{
  common_t common = {0};
  uint64_t at = base;
  pthread_mutex_lock(&lock);
  const span_t touched = ranges_touched(base, end);
  for (size_t i = touched.from; i < touched.to; ++i) {
    range_t hole = range_default(at, ranges[i].base);
    if (ranges[i].base > at)
      common_add(&common, &hole);
    common_add(&common, &ranges[i]);
    at = ranges[i].end;
  }
  pthread_mutex_unlock(&lock);
  range_t rest = range_default(at, end);
  if (at < end)
    common_add(&common, &rest);
  return common;
}

static void attribute_read(const common_t *common, HSA_SVM_ATTRIBUTE *attribute)
{
  const range_t *of = &common->of;
  switch ((HSA_SVM_ATTR_TYPE)attribute->type) {
  case HSA_SVM_ATTR_PREFERRED_LOC:
    attribute->value = of->preferred;
    break;
  case HSA_SVM_ATTR_PREFETCH_LOC:
    attribute->value = of->prefetch;
    break;
  case HSA_SVM_ATTR_ACCESS: /* asks about a node by its value; the answer is the type */
  case HSA_SVM_ATTR_ACCESS_IN_PLACE:
  case HSA_SVM_ATTR_NO_ACCESS:
    attribute->type = of->access >> attribute->value & 1     ? HSA_SVM_ATTR_ACCESS
                      : of->in_place >> attribute->value & 1 ? HSA_SVM_ATTR_ACCESS_IN_PLACE
                                                             : HSA_SVM_ATTR_NO_ACCESS;
    break;
  case HSA_SVM_ATTR_SET_FLAGS:
    attribute->value = of->flags;
    break;
  case HSA_SVM_ATTR_CLR_FLAGS:
    attribute->value = ~common->any_flags;
    break;
  case HSA_SVM_ATTR_GRANULARITY:
    attribute->value = of->granularity;
    break;
  }
}

HSAKMT_STATUS hsaKmtSVMGetAttr(void *start, HSAuint64 size, unsigned count,
                               HSA_SVM_ATTRIBUTE *attributes)
{
  SOFTGPU_NEED_OPEN();
  HSAKMT_STATUS status = call_check(start, size, count, attributes, false);
  if (status != HSAKMT_STATUS_SUCCESS)
    return status;
  uint64_t base = (uintptr_t)start;
  bool writable;
  if (!mappings_readable(base, base + size, &writable))
    return HSAKMT_STATUS_ERROR;
  common_t common = common_of(base, base + size);
  for (unsigned i = 0; i < count; ++i)
    attribute_read(&common, &attributes[i]);
  return HSAKMT_STATUS_SUCCESS;
}

void softgpu_svm_forget(uint64_t base, uint64_t size)
{
  if (atomic_load_explicit(&range_count, memory_order_relaxed) == 0 || softgpu_forked())
    return;
  uint64_t end = base + size;
  pthread_mutex_lock(&lock);
  const span_t old = ranges_touched(base, end);
  const bool some = old.from < old.to;
  size_t kept = 0;
  range_t rest[2];
  if (some && ranges[old.from].base < base) {
    rest[kept] = ranges[old.from];
    rest[kept++].end = base;
  }
  if (some && ranges[old.to - 1].end > end) {
    rest[kept] = ranges[old.to - 1];
    rest[kept++].base = end;
  }
  /* Without memory for one range more, what comes after is forgotten as well. */
  if (some && !ranges_exchange(old, rest, kept))
    ranges_exchange(old, rest, kept > 0 ? 1 : 0);
  pthread_mutex_unlock(&lock);
}

void softgpu_svm_close(void)
{
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < range_count; ++i)
    softgpu_memory_remove(ranges[i].base);
  free(ranges);
  ranges = NULL;
  range_capacity = range_count = 0;
  pthread_mutex_unlock(&lock);
}
