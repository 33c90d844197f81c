#include "front/probe/memory.h"

#include "front/devices.h"

#include <stdlib.h>
#include <string.h>

enum {
  SMALLEST = 4096,
  AT_ONCE = 4,        /* dispatches of a rule that may have all that each may have; or more, in */
  IN_ALL = 256 << 20, /* so many bytes */
};

void probe_pool_open(probe_pool_t *pool, uint64_t each)
{
  (void)pthread_mutex_init(&pool->lock, NULL);
  pool->idle = NULL;
  pool->each = (each + SMALLEST - 1) & ~(uint64_t)(SMALLEST - 1);
  pool->allocated = 0;
  pool->most = pool->each * AT_ONCE > IN_ALL ? pool->each * AT_ONCE : IN_ALL;
}

static void destroy(probe_memory_t *memory)
{
  (void)front.hsa.pool_free(memory->bytes);
  free(memory);
}

void probe_pool_close(probe_pool_t *pool)
{
  for (probe_memory_t *memory; (memory = pool->idle);) {
    pool->idle = memory->next;
    destroy(memory);
  }
}

/* Powers of two, so that one that was given back mostly fits another. */
static uint64_t rounded(const probe_pool_t *pool, uint64_t bytes)
{
  uint64_t size = SMALLEST;
  while (size < bytes)
    size *= 2;
  return size < pool->each ? size : pool->each;
}

/* The caller holds the lock, as below. */
static probe_memory_t *take_idle(probe_pool_t *pool, uint64_t size)
{
  for (probe_memory_t **at = &pool->idle, *memory; (memory = *at); at = &memory->next)
    if (memory->size == size) {
      *at = memory->next;
      return memory;
    }
  return NULL;
}

/* What is idle makes room for another size. */
static bool reserve(probe_pool_t *pool, uint64_t size)
{
  while (pool->allocated + size > pool->most && pool->idle) {
    probe_memory_t *memory = pool->idle;
    pool->idle = memory->next;
    pool->allocated -= memory->size;
    destroy(memory);
  }
  if (pool->allocated + size > pool->most)
    return false;
  pool->allocated += size;
  return true;
}

/* As new memory mostly is, and reading it costs less than writing it. */
static void make_zeros(char *bytes, size_t size)
{
  static const char zeros[SMALLEST];
  for (size_t at = 0; at < size; at += SMALLEST)
    if (memcmp(bytes + at, zeros, SMALLEST) != 0)
      memset(bytes + at, 0, SMALLEST);
}

static probe_memory_t *make(uint64_t size)
{
  probe_memory_t *memory = malloc(sizeof(*memory));
  if (!memory)
    return NULL;
  *memory = (probe_memory_t){.bytes = devices_shared_memory(size), .size = size};
  if (memory->bytes) {
    make_zeros(memory->bytes, size);
    return memory;
  }
  free(memory);
  return NULL;
}

probe_memory_t *probe_memory_take(probe_pool_t *pool, uint64_t bytes)
{
  if (bytes > pool->each)
    return NULL;
  const uint64_t size = rounded(pool, bytes);
  pthread_mutex_lock(&pool->lock);
  probe_memory_t *memory = take_idle(pool, size);
  const bool reserved = !memory && reserve(pool, size);
  pthread_mutex_unlock(&pool->lock);
  if (memory || !reserved)
    return memory;
  memory = make(size);
  if (memory)
    return memory;
  pthread_mutex_lock(&pool->lock);
  pool->allocated -= size;
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

void probe_memory_give_back(probe_pool_t *pool, probe_memory_t *memory)
{
  if (!memory)
    return;
  pthread_mutex_lock(&pool->lock);
  memory->next = pool->idle;
  pool->idle = memory;
  pthread_mutex_unlock(&pool->lock);
}
