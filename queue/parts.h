/* What a submission is, beside its packets: one word of its slot's. Internal; header only.
 *
 * Launches of several tickets: what a queue does one after the other, kernels, transfers and steps
 * of timelines, are parts. Each is a submission with a ticket of its own, and times, faults and an
 * end of its own. All are reserved at once, so their tickets follow one another; the last is the
 * launch's. Limits admit them as one, with a grant of the last ticket, and charge it for the time
 * of all but those that are idle: steps of timelines, which wait. */
#ifndef RAWHAL_QUEUE_PARTS_H
#define RAWHAL_QUEUE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

enum { PARTS_MOST = 1 << 13, PARTS_AFTER_SHIFT = 13 };

/* Below these, how many parts of its launch come before it, and how many after. */
#define TRAIT_IDLE   (1u << 26)
#define TRAIT_BEGINS (1u << 27) /* its first packet signals the slot's signal in `begins` */
#define TRAIT_TIMED                                                                                \
  (1u << 28) /* each of its dispatches has a signal in `times`, and the last packet none */
#define TRAIT_TRANSFERS (1u << 29) /* transfer.h */

/* Of `count`, which is at most PARTS_MOST, the one with this number. */
static inline uint32_t traits_of_part(uint32_t number, uint32_t count, bool idle)
{
  return number | (count - 1 - number) << PARTS_AFTER_SHIFT | (idle ? TRAIT_IDLE : 0);
}

static inline uint32_t parts_before(uint32_t traits)
{
  return traits & (PARTS_MOST - 1);
}

static inline uint32_t parts_after(uint32_t traits)
{
  return traits >> PARTS_AFTER_SHIFT & (PARTS_MOST - 1);
}

#endif
