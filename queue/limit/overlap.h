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
  uint64_t refund; /* what its member has paid too much: see overlaps_divide() */
} overlap_t;

typedef struct overlaps {
  overlap_t items[OVERLAPS];
  uint32_t count;
  interval_t piece;
} overlaps_t;

/* Publishes a time of `me`, in the device's ns. Returns its number, of all that are published. */
uint64_t overlaps_publish(region_device_t *device, region_member_t *me, interval_t piece);

/* Those of other members on the device that are numbered below `sequence`. */
void overlaps_collect(const region_data_t *data, uint32_t device, uint32_t me, uint64_t sequence,
                      interval_t piece, overlaps_t *found);

/* An instant that n processes covered costs each 1/n. Returns our part of the piece; those who had
 * paid more for it get the difference back. */
uint64_t overlaps_divide(overlaps_t *found);

#endif
