/* Who else used the device in a time that is to be charged. Internal.
 *
 * Each member publishes when the device was busy for it: the latest times one by one, those before
 * them merged into times of MERGED_SPAN_NS at most, of which only the sum is known. A kernel may
 * run concurrently with thousands of shorter ones, and their sum while it ran is all that its
 * division needs. */
#ifndef RAWHAL_QUEUE_LIMIT_OVERLAP_H
#define RAWHAL_QUEUE_LIMIT_OVERLAP_H

#include "queue/limit/intervals.h"
#include "queue/limit/region.h"

enum { OVERLAPS = 512 };

/* A time in which another member's work ran concurrently with ours, for `density` of it. */
typedef struct overlap {
  uint32_t slot;
  interval_t time;
  double density;
  uint64_t refund; /* what its member has paid too much: see overlaps_part() */
} overlap_t;

typedef struct overlaps {
  overlap_t items[OVERLAPS];
  uint32_t count;
  interval_t piece;
} overlaps_t;

/* Publishes a time of the member `me`, in the device's ns, and finds those of other members on the
 * device that were published before. An instant that n processes covered costs each 1/n. Returns
 * our part of the piece; those who had paid more for it get the difference back. */
uint64_t overlaps_part(region_data_t *data, uint32_t device, uint32_t me, interval_t piece,
                       overlaps_t *found);

#endif
