/* The gate between a queue and its device: what goes through has its scratch and its device time.
 * Internal; of queue/, for librawhal's queues, and of front/, for those of programs.
 *
 *     gate_open                      a queue has been made
 *       gate_dispatch                what a packet tells of itself (dispatch.h)
 *       gate_batch_begin, _add       several that go as one
 *       gate_admit(_one, _at_once)   scratch, then time: a grant
 *     gate_close                     the device has let go of it: afterwards scratch_keep()
 *
 * Thread-safety: everything but opening and closing may be called from any thread. */
#ifndef RAWHAL_QUEUE_GATE_GATE_H
#define RAWHAL_QUEUE_GATE_GATE_H

#include "queue/gate/dispatch.h"
#include "queue/gate/memory.h"
#include "queue/gate/scratch.h"

/* What a queue has of its device's limits. */
typedef struct gate {
  limit_lease_t *lease; /* NULL: nothing is limited */
  scratch_queue_t scratch;
} gate_t;

/* What goes as one. */
typedef struct gate_batch {
  limit_cost_t cost;
  uint32_t lane_bytes; /* of scratch, at most */
} gate_batch_t;

static inline void gate_batch_begin(gate_batch_t *batch)
{
  limit_cost_begin(&batch->cost);
  batch->lane_bytes = 0;
}

/* How long it will take; 0: not known. */
static inline uint64_t gate_expects(const gate_t *gate, const limit_shape_t *shape)
{
  return estimate_find(gate->lease->estimates, shape->key);
}

static inline void gate_batch_add(gate_batch_t *batch, const limit_shape_t *shape, uint64_t ns,
                                  uint32_t lane_bytes)
{
  limit_cost_add_known(&batch->cost, shape, ns);
  batch->lane_bytes = lane_bytes > batch->lane_bytes ? lane_bytes : batch->lane_bytes;
}

/* As limit_admit(), and scratch_grow() before it. */
RAWHAL_CHECKED static inline rawhal_status_t gate_admit(gate_t *gate, const gate_batch_t *batch,
                                                        uint64_t deadline, limit_grant_t *grant,
                                                        rawhal_error_t *error)
{
  rawhal_status_t status = scratch_reserve(&gate->scratch, batch->lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit(gate->lease, &batch->cost, deadline, grant, error)
                             : status;
}

/* Of one dispatch, copy or whole, without adding up. */
RAWHAL_CHECKED static inline rawhal_status_t
gate_admit_one(gate_t *gate, const limit_shape_t *shape, uint32_t lane_bytes, uint64_t deadline,
               limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_status_t status = scratch_reserve(&gate->scratch, lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit_one(gate->lease, shape, deadline, grant, error) : status;
}

/* By what is there of both. False: whether it may go must be looked at. */
static inline bool gate_admit_at_once(gate_t *gate, const limit_shape_t *shape, uint32_t lane_bytes,
                                      limit_grant_t *grant)
{
  const uint64_t ns = gate_expects(gate, shape);
  return scratch_is_reserved(&gate->scratch, lane_bytes) && ns &&
         limit_admit_fast(gate->lease, shape, ns, 1, grant);
}

#endif
