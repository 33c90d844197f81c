/* The locks of a region: bytes of its file. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_REGION_LOCK_H
#define RAWHAL_QUEUE_LIMIT_REGION_LOCK_H

#include "queue/limit/region.h"

/* How often to try, 0.2 ms apart: more than a second, more than 10 ms, or not to wait at all. */
typedef enum region_tries {
  REGION_TRIES_MANY = 5000,
  REGION_TRIES_FEW = 50,
  REGION_TRY_ONCE = 1
} region_tries_t;

/* The structure lock, which the caller's own threads must exclude each other from. TIMED_OUT: its
 * holder is stopped. */
RAWHAL_CHECKED rawhal_status_t region_lock(const region_t *region, region_tries_t tries,
                                           rawhal_error_t *error);
void region_unlock(const region_t *region);

/* False when another process (or another opening of the file) holds the slot. */
bool region_slot_take(const region_t *region, uint32_t slot);
void region_slot_drop(const region_t *region, uint32_t slot);
/* Is the slot locked by another opening of the file? */
bool region_slot_held(const region_t *region, uint32_t slot);
/* Is the slot's holder dead? Not to be asked of one's own slot, nor of a free one. */
bool region_slot_dead(const region_t *region, const identity_t *self, uint32_t slot);
/* The right to reclaim the slot of a dead holder. False: another process is at it. */
bool region_reclaim_take(const region_t *region, uint32_t slot);
void region_reclaim_drop(const region_t *region, uint32_t slot);

#endif
