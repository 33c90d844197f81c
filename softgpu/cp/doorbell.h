/* Doorbells: one page per queue that the program stores to and no thread polls.
 *
 * A doorbell is a plain memory store of the program, so a sleeping queue write-protects the page
 * with userfaultfd; the first store then stops in a page fault, the watcher thread lifts the
 * protection and wakes the queue. Where userfaultfd is not available, queues poll instead. */
#ifndef SOFTGPU_CP_DOORBELL_H
#define SOFTGPU_CP_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

enum { SOFTGPU_MAX_QUEUES = 1024 };

/* Called by the watcher when a protected doorbell is stored to. It must disarm the doorbell. */
typedef void softgpu_doorbell_rung_fn(uint32_t index);

/* Makes the pages and starts the watcher. False when out of memory. Not thread-safe, like close. */
bool softgpu_doorbells_start(softgpu_doorbell_rung_fn *rung);
void softgpu_doorbells_stop(void);
bool softgpu_doorbells_open(void);

/* The doorbell of one queue, a word in a page of its own. */
_Atomic uint64_t *softgpu_doorbell(uint32_t index);

/* Makes the next store to the doorbell call `rung`. False when the queue has to poll. */
bool softgpu_doorbell_arm(uint32_t index);
/* Lets a stopped store go on. Harmless when it is not armed. */
void softgpu_doorbell_disarm(uint32_t index);

#endif
