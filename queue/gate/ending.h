/* What was admitted has ended: when it ran, by whatever tells of that, and what that costs.
 * Internal; header only.
 *
 * What a device has not told is 0, and is charged by the host's clock: see limit_complete(). */
#ifndef RAWHAL_QUEUE_GATE_ENDING_H
#define RAWHAL_QUEUE_GATE_ENDING_H

#include "queue/gate/gate.h"

static inline uint64_t gate_ns(uint64_t ticks, uint64_t hz)
{
  static const uint64_t ns_hz = 1000000000u; /* which it mostly is */
  return hz == ns_hz ? ticks : (uint64_t)((unsigned __int128)ticks * ns_hz / hz);
}

typedef struct gate_span {
  uint64_t start, end;
} gate_span_t;

/* Both or neither: signals keep what was in them before. */
static inline gate_span_t gate_span(uint64_t start, uint64_t end)
{
  return start && start <= end ? (gate_span_t){start, end} : (gate_span_t){0};
}

static inline gate_span_t gate_span_ns(gate_span_t ticks, uint64_t hz)
{
  return (gate_span_t){gate_ns(ticks.start, hz), gate_ns(ticks.end, hz)};
}

/* From the first of several that began to the last that ended, from GATE_SPAN_OF_NONE on; of all of
 * them, or it is not known. */
#define GATE_SPAN_OF_NONE ((gate_span_t){UINT64_MAX, 0})
static inline void gate_span_add(gate_span_t *all, uint64_t start, uint64_t end)
{
  if (!start || start > end || !all->start) {
    *all = (gate_span_t){0};
    return;
  }
  all->start = start < all->start ? start : all->start;
  all->end = end > all->end ? end : all->end;
}

/* The device let go of it at `at`. What had not begun, because a barrier before it had not opened,
 * costs nothing: no packet is launched before that (HSA Platform System Architecture 1.2, 2.9.8).
 * Of the rest nobody tells when it began. */
static inline void gate_end(gate_t *gate, const limit_grant_t *grant, bool had_begun, uint64_t at)
{
  if (had_begun)
    limit_end(gate->lease, grant, at);
  else
    limit_cancel(gate->lease, grant);
}

#endif
