#include "tests/front/pool.h"

#include "front/probe/memory.h"

#include <stdlib.h>

void *pool_make(uint64_t each)
{
  probe_pool_t *pool = malloc(sizeof(*pool));
  if (pool)
    probe_pool_open(pool, each);
  return pool;
}

void pool_end(void *pool)
{
  probe_pool_close(pool);
  free(pool);
}

void *pool_take(void *pool, uint64_t bytes, uint64_t *size)
{
  probe_memory_t *memory = probe_memory_take(pool, bytes);
  *size = memory ? memory->size : 0;
  return memory;
}

void pool_give_back(void *pool, void *memory)
{
  probe_memory_give_back(pool, memory);
}
