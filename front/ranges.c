#include "front/ranges.h"

#include "base/clock.h"
#include "debug/door/tell.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t holding = PTHREAD_RWLOCK_INITIALIZER; /* comes first */
static void *live; /* a tree of ranges that do not overlap */
static range_t freed[RANGES_REMEMBERED];
static uint64_t freed_count, numbers;

/* Equal are those that overlap. */
static int compare(const void *a, const void *b)
{
  const range_t *one = a, *other = b;
  if (one->base > other->base + (other->size - 1))
    return 1;
  if (other->base > one->base + (one->size - 1))
    return -1;
  return 0;
}

static range_t *find_live(uint64_t base, uint64_t size)
{
  const range_t wanted = {.base = base, .size = size};
  range_t **node = tfind(&wanted, &live, compare);
  return node ? *node : NULL;
}

static rawhal_event_t event_of(rawhal_event_type_t type, const range_t *range)
{
  return (rawhal_event_t){.type = type,
                          .id = range->number,
                          .address = range->base,
                          .bytes = range->size,
                          .agent = range->owner};
}

static void tell_freed(const range_t *range)
{
  tell_went(range->told, event_of(RAWHAL_EVENT_FREE, range));
}

/* What lies there was given back without our seeing it, or was allocated anew. */
static void clear(uint64_t base, uint64_t size)
{
  for (range_t *old; (old = find_live(base, size));) {
    (void)tdelete(old, &live, compare);
    tell_freed(old);
    free(old);
  }
}

static bool add(const range_t *added_range)
{
  const uint64_t base = added_range->base, size = added_range->size;
  if (!size || base + (size - 1) < base)
    return false;
  range_t *range = malloc(sizeof(*range));
  if (!range)
    return false;
  pthread_mutex_lock(&lock);
  clear(base, size);
  *range = *added_range;
  range->number = ++numbers;
  range->made_at = clock_now();
  bool added = tsearch(range, &live, compare) != NULL;
  if (added)
    range->told = tell_came(event_of(RAWHAL_EVENT_ALLOCATE, range));
  pthread_mutex_unlock(&lock);
  if (!added)
    free(range);
  return added;
}

bool ranges_add(uint64_t base, uint64_t size, uint64_t owner)
{
  return add(&(range_t){
      .base = base, .size = size, .owner = owner, .host = owner ? 0 : base, .kept = !owner});
}

bool ranges_add_mapped(uint64_t base, uint64_t size, uint64_t host, uint64_t given)
{
  return add(&(range_t){.base = base, .size = size, .host = host, .given = given});
}

void ranges_give(uint64_t address, uint64_t devices, bool only)
{
  pthread_mutex_lock(&lock);
  range_t *range = find_live(address, 1);
  if (range)
    range->given = devices | (only ? 0 : range->given);
  pthread_mutex_unlock(&lock);
}

bool ranges_read(uint64_t address, void *to, uint64_t size)
{
  pthread_mutex_lock(&lock);
  const range_t *range = find_live(address, 1);
  const bool there = range && range->kept && size <= range->size - (address - range->base);
  if (there)
    memcpy(to, (const void *)(uintptr_t)(range->host + (address - range->base)), size);
  pthread_mutex_unlock(&lock);
  return there;
}

void ranges_remove(uint64_t base)
{
  pthread_rwlock_wrlock(&holding);
  pthread_mutex_lock(&lock);
  range_t *range = find_live(base, 1);
  if (range && range->base == base) {
    (void)tdelete(range, &live, compare);
    range->freed_at = clock_now();
    freed[freed_count++ % RANGES_REMEMBERED] = *range;
    tell_freed(range);
    free(range);
  }
  pthread_mutex_unlock(&lock);
  pthread_rwlock_unlock(&holding);
}

uint64_t ranges_number(void)
{
  pthread_mutex_lock(&lock);
  const uint64_t number = ++numbers;
  pthread_mutex_unlock(&lock);
  return number;
}

void ranges_hold(void)
{
  pthread_rwlock_rdlock(&holding);
}

void ranges_let(void)
{
  pthread_rwlock_unlock(&holding);
}

void ranges_settle(void)
{
  pthread_rwlock_wrlock(&holding);
  pthread_rwlock_unlock(&holding);
}

static const range_t *find_freed(uint64_t address)
{
  const range_t *latest = NULL;
  for (size_t i = 0; i < RANGES_REMEMBERED; ++i)
    if (address - freed[i].base < freed[i].size && (!latest || freed[i].number > latest->number))
      latest = &freed[i];
  return latest;
}

range_state_t ranges_find(uint64_t address, range_t *found)
{
  pthread_mutex_lock(&lock);
  const range_t *range = find_live(address, 1);
  range_state_t state = range ? RANGE_LIVE : RANGE_NONE;
  if (!range && (range = find_freed(address)))
    state = RANGE_FREED;
  if (range && found)
    *found = *range;
  pthread_mutex_unlock(&lock);
  return state;
}

bool ranges_live(uint64_t address, range_t *found)
{
  pthread_mutex_lock(&lock);
  const range_t *range = find_live(address, 1);
  if (range)
    *found = *range;
  pthread_mutex_unlock(&lock);
  return range != NULL;
}

/* What walks over the tree works on, under the lock: twalk_r, to which it could be given, is of
 * glibc 2.30. */
static range_t all;
static struct list {
  range_t *to;
  size_t room, count;
} list;

/* The first or the last of the tree. */
static void widen(const void *node, VISIT visit, int depth)
{
  const range_t *range = *(const range_t *const *)node;
  (void)depth;
  if (visit != postorder && visit != leaf)
    return;
  const uint64_t end = all.base + all.size, own_end = range->base + range->size;
  const uint64_t least = all.size && all.base < range->base ? all.base : range->base;
  all.size = (end > own_end ? end : own_end) - least;
  all.base = least;
}

void ranges_bounds(uint64_t *least, uint64_t *end)
{
  pthread_mutex_lock(&lock);
  all = (range_t){0};
  twalk(live, widen);
  *least = all.base;
  *end = all.base + all.size;
  pthread_mutex_unlock(&lock);
}

bool ranges_ending(uint64_t address, range_t *found)
{
  pthread_mutex_lock(&lock);
  const range_t *range = address ? find_live(address - 1, 1) : NULL;
  bool ends = range && range->base + range->size == address;
  if (ends && found)
    *found = *range;
  pthread_mutex_unlock(&lock);
  return ends;
}

static void list_add(const range_t *range)
{
  if (list.count < list.room)
    list.to[list.count] = *range;
  ++list.count;
}

static void list_node(const void *node, VISIT visit, int depth)
{
  (void)depth;
  if (visit == postorder || visit == leaf)
    list_add(*(const range_t *const *)node);
}

size_t ranges_list(range_t *to, size_t room)
{
  pthread_mutex_lock(&lock);
  list = (struct list){to, room, 0};
  twalk(live, list_node);
  for (size_t i = 0; i < RANGES_REMEMBERED; ++i)
    if (freed[i].size)
      list_add(&freed[i]);
  const size_t count = list.count;
  pthread_mutex_unlock(&lock);
  return count;
}

static void forget(void *range)
{
  tell_freed(range);
  free(range);
}

void ranges_forget(void)
{
  pthread_mutex_lock(&lock);
  tdestroy(live, forget);
  live = NULL;
  freed_count = 0;
  for (size_t i = 0; i < RANGES_REMEMBERED; ++i)
    freed[i].size = 0;
  pthread_mutex_unlock(&lock);
}

void ranges_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  (void)pthread_rwlock_init(&holding, NULL);
  live = NULL;
  freed_count = numbers = 0;
}
