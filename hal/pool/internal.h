/* The inside of a pool. Internal.
 *
 * Each slab is a chain of blocks. One that is free is
 *  - in the pool's index, when nothing uses it any more;
 *  - in the index of a lane, and in its line: it was freed in the order of the lane's queue, which
 *    may still use it up to the block's ticket;
 *  - on a shelf of a lane: the same, but as it was allocated, for the next of its class, and not
 *    yet joined with its neighbours.
 * Neighbours in one index are joined. Allocating looks on the lane's shelf, in its index, in the
 * pool's. Where nothing fits it asks the queues how far they are: what they have finished goes to
 * the pool's index, what is on shelves to their lane's. Then come a new slab and waiting.
 *
 * Locks, in this order: queue_followers_hold() (which keeps queues), then the pool's. The runtime
 * is called with neither, queues with the first only. */
#ifndef RAWHAL_HAL_POOL_INTERNAL_H
#define RAWHAL_HAL_POOL_INTERNAL_H

#include "hal/pool/index.h"
#include "hal/pool/pool.h"
#include "hal/pool/shelf.h"

#include "base/error.h"
#include "debug/cause_text.h"
#include "debug/label.h"

enum { POOL_SHELVES = 176 }; /* classes up to 1 GiB */

/* What a pool has for a queue. */
struct pool_lane {
  rawhal_pool_t *pool;
  pool_shelf_t shelves[POOL_SHELVES];
  _Atomic bool is_shelved; /* something was put on one since they were cleared */
  _Atomic uint64_t reused, freed;
  /* Under the pool's lock: */
  pool_index_t index;
  pool_block_t *oldest, *youngest; /* the line */
  pool_lane_t *next;
  rawhal_queue_t *queue; /* NULL: it is gone, and what it used is not known to have ended */
  uint64_t finished;     /* every ticket up to this one had, when the queue was asked */
  bool is_awaited;       /* a callback will come */
  bool is_stuck;         /* the one that came last was of no use */
  _Atomic uint32_t references;
};

struct rawhal_pool {
  rawhal_device_t *device;
  rawhal_memory_kind_t kind;
  uint64_t budget, slab_bytes, granule;
  char label[RAWHAL_LABEL_BYTES];
  /* With softgpu's check_freed; else NULL. Then no lane is found by the pool itself but by the
   * name that `lanes_of` is, so that all calls go the long way, where this is looked at. */
  softgpu_memory_order_fn *order;
  const void *lanes_of;
  _Atomic uint32_t references; /* its own, and one for each lane */
  _Atomic uint64_t used, peak_used;
  _Atomic uint32_t waiters;

  pthread_mutex_t lock; /* of all that follows */
  pthread_cond_t moved; /* `moves` has grown: something was freed, or has finished */
  uint64_t moves;
  pool_index_t index;
  pool_blocks_t blocks;
  pool_slab_t *slabs;
  uint64_t slab_count, reserved, peak_reserved;
  struct {
    uint64_t reused, freed;
  } left;            /* of lanes that are gone, and what went by none */
  uint64_t searched; /* allocations that no shelf had */
  pool_lane_t *lanes;
};

/* As messages have it. */
static inline cause_phrase_t pool_name(const rawhal_pool_t *pool)
{
  return cause_quoted(label_text(pool->label));
}

/* What is asked for. */
typedef struct pool_request {
  uint64_t size, alignment; /* size: a class's */
  pool_lane_t *lane;        /* NULL: only what nothing uses any more */
} pool_request_t;

/* ---- lane.c ---- */

/* That of a queue, NULL where the queue is. DEVICE_LOST, INVALID_ARGUMENT, OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t pool_lane_make(rawhal_pool_t *pool, rawhal_queue_t *queue,
                                              pool_lane_t **lane, rawhal_error_t *error);
void pool_lane_release(pool_lane_t *lane);
void pool_release(rawhal_pool_t *pool);
/* Asks the queues how far they are. Without locks. */
void pool_lanes_look(rawhal_pool_t *pool);
/* Clears the shelves, and gives the pool what has finished. The caller holds the pool's lock. */
void pool_lanes_settle(rawhal_pool_t *pool);
/* All lanes leave their queues; with the pool's lock and the followers held. */
void pool_lanes_leave(rawhal_pool_t *pool);

/* ---- heap.c: the caller holds the pool's lock ---- */

/* What is free in an index, the pool's or a lane's, joined with its neighbours there. */
void pool_heap_free(rawhal_pool_t *pool, pool_block_t *block, pool_index_t *index,
                    pool_lane_t *lane);
/* It leaves the index and line that it is in. */
void pool_heap_remove(pool_block_t *block);
/* NULL: nothing fits. `*lacks`: for want of descriptors. */
pool_block_t *pool_heap_find(rawhal_pool_t *pool, const pool_request_t *request, bool *lacks);
/* Of a block that is in no index. After a reservation of two descriptors. */
pool_block_t *pool_heap_carve(rawhal_pool_t *pool, pool_block_t *block, pool_index_t *index,
                              pool_lane_t *lane, const pool_request_t *request);

/* ---- slab.c: without locks ---- */

/* Takes a slab, and what is asked for from it. */
RAWHAL_CHECKED rawhal_status_t pool_slab_take(rawhal_pool_t *pool, const pool_request_t *request,
                                              pool_block_t **block, rawhal_error_t *error);
/* Gives back slabs that are free altogether until no more is reserved; returns bytes. */
uint64_t pool_slabs_trim(rawhal_pool_t *pool, uint64_t keep);
void pool_slabs_free(rawhal_pool_t *pool);

/* ---- search.c ---- */

/* What the shelf does not have. */
RAWHAL_CHECKED rawhal_status_t pool_search(rawhal_pool_t *pool, const pool_request_t *request,
                                           uint64_t deadline, pool_block_t **block,
                                           rawhal_error_t *error);
/* Something was freed: for those who wait. */
void pool_wake(rawhal_pool_t *pool);

#endif
