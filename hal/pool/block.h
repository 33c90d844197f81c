/* Blocks: what slabs consist of. Internal.
 *
 * Descriptors are in host memory, in chunks that double and stay until the pool goes, so that the
 * number in an allocation's id finds one without a lock, whatever was freed meanwhile. */
#ifndef RAWHAL_HAL_POOL_BLOCK_H
#define RAWHAL_HAL_POOL_BLOCK_H

#include "hal/internal.h"

typedef struct pool_block pool_block_t;
typedef struct pool_index pool_index_t;
typedef struct pool_lane pool_lane_t;

/* Memory that the pool has taken: a buffer. */
typedef struct pool_slab {
  rawhal_buffer_t *buffer;
  uint64_t address, size;
  unsigned char *host;
  pool_block_t *first; /* by address; all others follow by `after` */
  struct pool_slab *next;
} pool_slab_t;

struct pool_block {
  _Atomic uint64_t live; /* the id of the allocation that it is; 0: none */
  uint64_t last;         /* the last such id: of who has taken the block */
  uint64_t number;       /* of it; does not change */
  pool_slab_t *slab;     /* these: of who has taken it, or under the pool's lock */
  uint64_t offset, size;
  /* Of an allocation, and as long as it is on shelves: */
  uint32_t class;
  uint64_t address;
  unsigned char *host;
  rawhal_buffer_t *buffer;
  uint64_t ticket; /* what still uses it: up to this one of its lane's queue */
  uint64_t bytes;  /* as asked for */
  char label[RAWHAL_LABEL_BYTES];
  _Atomic uint64_t below; /* on a shelf: the number of the next; 0: none */
  /* Where it is when it is free and on no shelf: in an index, and one that is a lane's is in its
   * line as well. */
  pool_index_t *index;
  pool_lane_t *lane;
  pool_block_t *next, *previous;
  pool_block_t *older, *younger;
  pool_block_t *before, *after; /* in its slab; the pool's lock */
};

/* An id's lowest bits are a block's number: its chunk's and, below, its place in that. The others
 * count. */
enum {
  BLOCK_NUMBER_BITS = 24,
  BLOCK_PLACE_BITS = 19,
  BLOCK_CHUNKS = 1 << (BLOCK_NUMBER_BITS - BLOCK_PLACE_BITS),
  BLOCK_FIRST_CHUNK = 64, /* blocks; each chunk has twice as many as the one before */
};

typedef struct pool_blocks {
  _Atomic(pool_block_t *) chunks[BLOCK_CHUNKS];
  _Atomic uint32_t sizes[BLOCK_CHUNKS]; /* in blocks; 0: it is not there */
  pool_block_t *free;                   /* by `next` */
  uint32_t free_count;
} pool_blocks_t;

/* There are `count` descriptors more to take, or it is false: out of memory. The caller holds the
 * pool's lock, here and below. */
RAWHAL_CHECKED bool pool_blocks_reserve(pool_blocks_t *blocks, uint32_t count,
                                        const allocator_t *allocator);
/* After a reservation. Its `last` stays what it was. */
pool_block_t *pool_blocks_take(pool_blocks_t *blocks);
void pool_blocks_give(pool_blocks_t *blocks, pool_block_t *block);
void pool_blocks_free(pool_blocks_t *blocks, const allocator_t *allocator);

static inline uint32_t pool_blocks_chunk(uint64_t id)
{
  return (uint32_t)(id >> BLOCK_PLACE_BITS) % BLOCK_CHUNKS;
}

/* By the number in an id that a block has. Without a lock, as below. */
static inline pool_block_t *pool_blocks_of(pool_blocks_t *blocks, uint64_t id)
{
  return atomic_load_explicit(&blocks->chunks[pool_blocks_chunk(id)], memory_order_acquire) +
         (id & ((1u << BLOCK_PLACE_BITS) - 1));
}

/* By the number in any id; NULL: there is none. */
static inline pool_block_t *pool_blocks_at(pool_blocks_t *blocks, uint64_t id)
{
  const uint32_t size =
      atomic_load_explicit(&blocks->sizes[pool_blocks_chunk(id)], memory_order_acquire);
  return (id & ((1u << BLOCK_PLACE_BITS) - 1)) < size ? pool_blocks_of(blocks, id) : NULL;
}

#endif
