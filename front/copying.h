/* Copies on a device that is limited. Internal.
 *
 * A copy that is admitted when the program asks for it begins at once; any other waits in the
 * device's engine for a signal of ours, its gate, which the service thread opens when all that the
 * program has it wait for has happened and the limiter admits it. It signals us, so that its times
 * are known whatever becomes of the program's signal, which a copy of a word after it counts down:
 *
 *     [program's signals] -> a word -> arrived
 *     gate or program's signals -> the copy -> done -> a word -> the program's signal
 *
 * The words tell the host that the engine needs our signals no more. They go by the copy's own
 * engine, and wait there for nothing that the copy would not: in another's they would hold up
 * copies of the other direction, for which this one may wait.
 *
 * Whose turn it is queue/gate/copies.h says. No thread that asks for a copy waits for the limiter;
 * those that wait for the whole of it anyway wait for that, too.
 *
 * Locks, in the order in which they may be taken: `order`, `lock`, those of the limiter,
 * `harvest`. */
#ifndef RAWHAL_FRONT_COPYING_H
#define RAWHAL_FRONT_COPYING_H

#include "front/front.h"
#include "queue/gate/copies.h"

/* By which engine. */
typedef struct copy_route {
  hsa_agent_t to, from;
  int engine;
  bool on_engine, force; /* that engine, by hsa_amd_memory_async_copy_on_engine() */
} copy_route_t;
hsa_status_t copy_by(const copy_route_t *route, void *to, const void *from, size_t bytes,
                     uint32_t waits, const hsa_signal_t *wait_for, hsa_signal_t completion);

/* Not SUCCESS: it is no signal, and what the runtime would say of it. Most functions for signals
 * end the program there. */
hsa_status_t copying_look_at(hsa_signal_t signal);

/* What a program asked for. Its signals are such. */
typedef struct copying {
  copy_route_t route;
  uint64_t bytes;
  uint32_t waits;
  const hsa_signal_t *wait_for;
  hsa_signal_t completion;
  bool may_be_silent; /* without a completion */
  /* Has the runtime do it. */
  hsa_status_t (*submit)(const struct copying *copying, uint32_t waits,
                         const hsa_signal_t *wait_for, hsa_signal_t completion);
  const void *arguments;
} copying_t;

/* Has it done when it is admitted. */
hsa_status_t copying_start(front_device_t *device, const copying_t *copying);

/* Of one that has ended when the call does: waits until it is admitted. Not SUCCESS: it must not
 * run. */
hsa_status_t copying_begin(front_device_t *device, copies_turn_t *turn);
void copying_end(front_device_t *device, const copies_turn_t *turn);

/* The times of the last copy that counted the program's signal down. False: none of ours did. */
bool copying_times(hsa_signal_t completion, hsa_amd_profiling_async_copy_time_t *times);
/* Another, not one of ours, counts it down next. */
void copying_disown(hsa_signal_t completion);

/* copies.c: their hooks. */
void copies_hooks(front_calls_t *hooks);

bool copying_holds(void); /* any back */

/* The process ends: from here on only threads that wait have it that copies go on. */
void copying_stop(void);
void copying_forward(void);
void copying_forget(void); /* when the runtime ends */
void copying_abandon(void);

#endif
