#include "front/blocks.h"

#include "front/devices.h"

#include "front/front.h"

#include <pthread.h>

/* Sizes are powers of two; what is got from the runtime at once is cut into blocks of one size. */
enum { SMALLEST = 256, SIZES = 9, SLAB_BYTES = 65536 };

typedef struct block {
  struct block *next;
} block_t;

/* Before the blocks of a slab lies one for this. */
typedef struct slab {
  struct slab *next;
} slab_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block_t *spare[SIZES];
static slab_t *slabs;

_Static_assert(SMALLEST << (SIZES - 1) == BLOCKS_LARGEST, "the last is the largest");

static int size_class(size_t size)
{
  int class = 0;
  while (class < SIZES && (size_t)SMALLEST << class < size)
    ++class;
  return class;
}

/* The caller holds the lock. */
static void add_slab(int class)
{
  const size_t each = (size_t)SMALLEST << class;
  slab_t *slab = devices_shared_memory(SMALLEST + SLAB_BYTES);
  if (!slab)
    return;
  slab->next = slabs;
  slabs = slab;
  for (size_t at = 0; at < SLAB_BYTES; at += each) {
    block_t *block = (block_t *)((char *)slab + SMALLEST + at);
    block->next = spare[class];
    spare[class] = block;
  }
}

void *blocks_take(size_t size)
{
  int class = size_class(size);
  if (class == SIZES)
    return NULL;
  pthread_mutex_lock(&lock);
  if (!spare[class])
    add_slab(class);
  block_t *block = spare[class];
  if (block)
    spare[class] = block->next;
  pthread_mutex_unlock(&lock);
  return block;
}

void blocks_give_back(void *block, size_t size)
{
  block_t *mine = block;
  int class = size_class(size);
  if (!mine)
    return;
  pthread_mutex_lock(&lock);
  mine->next = spare[class];
  spare[class] = mine;
  pthread_mutex_unlock(&lock);
}

void blocks_forget(void)
{
  pthread_mutex_lock(&lock);
  for (slab_t *slab; (slab = slabs);) {
    slabs = slab->next;
    (void)front.hsa.pool_free(slab);
  }
  for (int i = 0; i < SIZES; ++i)
    spare[i] = NULL;
  pthread_mutex_unlock(&lock);
}

void blocks_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  slabs = NULL;
  for (int i = 0; i < SIZES; ++i)
    spare[i] = NULL;
}
