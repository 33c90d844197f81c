/* Times in which the device was busy. Internal.
 *
 * Several queues of a process overlap; the process pays for the union of their dispatches. A set
 * holds the latest disjoint intervals and gives the parts of a new one that nobody has paid for. */
#ifndef RAWHAL_QUEUE_LIMIT_INTERVALS_H
#define RAWHAL_QUEUE_LIMIT_INTERVALS_H

#include <stdint.h>

enum { INTERVALS_KEPT = 64, INTERVALS_PIECES = INTERVALS_KEPT + 1 };

typedef struct interval {
  uint64_t start, end;
} interval_t;

/* Zero-initialise. */
typedef struct interval_set {
  interval_t kept[INTERVALS_KEPT]; /* disjoint, ascending, not touching */
  uint32_t count;
} interval_set_t;

/* Adds [start, end), start < end, and stores the parts that were not in the set, ascending. Returns
 * their number. A full set closes its smallest gap: what would later have been charged there is
 * not. */
uint32_t interval_set_add(interval_set_t *set, interval_t added,
                          interval_t pieces[INTERVALS_PIECES]);

#endif
