/* Times in which the device was busy. Internal.
 *
 * Several queues of a process overlap; the process pays for the union of their dispatches. A set
 * holds the latest disjoint intervals and gives the parts of a new one that are not paid for yet.
 */
#ifndef RAWHAL_QUEUE_LIMIT_INTERVALS_H
#define RAWHAL_QUEUE_LIMIT_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

enum { INTERVALS_KEPT = 64, INTERVALS_PIECES = INTERVALS_KEPT + 1 };

#define INTERVALS_NO_OLDER UINT64_MAX /* nothing is in flight */

typedef struct interval {
  uint64_t start, end;
} interval_t;

/* Zero-initialise. */
typedef struct interval_set {
  interval_t kept[INTERVALS_KEPT + 1]; /* disjoint, ascending, not touching; one too many only
                                          while it is being added */
  uint64_t unpaid[INTERVALS_KEPT + 1]; /* of each of them: the gaps that were closed */
  uint32_t count;
} interval_set_t;

/* Adds [start, end), start < end, and stores the parts that were not in the set, ascending. Returns
 * their number. What is yet to be added begins at `oldest` or later: a full set forgets what ended
 * before. When nothing did it closes its smallest gap, of which it knows only the length from then
 * on: whatever covers it is given as much, somewhere within. */
uint32_t interval_set_add(interval_set_t *set, interval_t added, uint64_t oldest,
                          interval_t pieces[INTERVALS_PIECES]);

/* The same for what began after all that is in the set, which nearly everything does: it is the
 * piece. False: it did not, or the set is full, and it must be added as above. */
static inline bool interval_set_append(interval_set_t *set, uint64_t start, uint64_t end)
{
  const uint32_t count = set->count;
  if (count == 0 || count == INTERVALS_KEPT || set->kept[count - 1].end >= start)
    return false;
  set->kept[count].start = start;
  set->kept[count].end = end;
  set->unpaid[count] = 0;
  set->count = count + 1;
  return true;
}

/* What of the time since `start` is in the set. */
uint64_t interval_set_since(const interval_set_t *set, uint64_t start);

#endif
