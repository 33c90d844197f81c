/* The thread that makes probed kernels and writes what they have recorded. Internal to this folder.
 *
 * It has begun when it is first needed. Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_PROBE_WORKER_H
#define RAWHAL_FRONT_PROBE_WORKER_H

#include "front/probe/probed.h"

/* Has it prepared; `entry` is held until then. What plan_check() refuses is refused at once: a
 * program may be gone before its turn comes, and would not have been told why. */
void probe_worker_prepare(probed_t *entry);
/* Until it is not PROBED_PENDING any more, for ten seconds at most, as below, and for an engine's
 * limit: what keeps the thread may wait for who waits here. */
void probe_worker_wait(probed_t *entry);
/* Has it written and freed. */
void probe_worker_finish(probe_run_t *run);
/* How many it has written and freed. */
uint64_t probe_worker_finished(void);
/* Until there are more than that; false: there is nothing of which there could be. */
bool probe_worker_wait_finished(uint64_t finished);
/* Has it taken apart: nobody uses it any more. */
void probe_worker_dispose(probed_t *entry);
/* It is to end, or has: what takes long had better end, too. */
bool probe_worker_is_ending(void);
/* When it has written all that it was given. From then on nothing is prepared or written. */
void probe_worker_end(void);
/* Comes first, and after that once more. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t probe_worker_begin(rawhal_error_t *error);
void probe_worker_abandon(void);

#endif
