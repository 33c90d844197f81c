/* Whose turn it is to copy, of copies that a device's engines carry out beside its queues.
 * Internal; of hal/, whose callers wait for their copies or give them up, and of front/, where
 * programs need not wait: they tell which have ended, and when they ran.
 *
 *     copies_open                      of a device
 *       copies_admit, copies_await     now or not, and as soon as it is its turn
 *         copies_charge                it has ended
 *         copies_cancel                it was not begun after all
 *     copies_close
 *
 * Kernels that are in flight may wait for a copy: so it is admitted while they run, one at a time,
 * as soon as what was used before is paid for; not while the tenant is suspended. What can never be
 * admitted is refused in the limiter's words, but `holds`: a program that knows of no limits is
 * stopped by a share of 0 as by being suspended.
 *
 * Thread-safety: calls of copies_charge() must not overlap; others may, from any thread. */
#ifndef RAWHAL_QUEUE_GATE_COPIES_H
#define RAWHAL_QUEUE_GATE_COPIES_H

#include "queue/gate/ending.h"

#include <pthread.h>

/* Of a device. */
typedef struct copies {
  limit_lease_t *lease; /* NULL: not open, and nothing is limited */
  pthread_mutex_t lock; /* of admission, before those of the limiter */
  atomic_uint running;  /* those admitted that wait for nothing */
  bool holds;           /* what a limit of 0 admits never waits until it is raised */
} copies_t;

/* One of them. */
typedef struct copies_turn {
  uint64_t bytes;
  bool awaits; /* it is admitted before what the program has it wait for has happened */
  limit_grant_t grant;
} copies_turn_t;

typedef enum copies_beside {
  COPIES_BESIDE_NOTHING,
  COPIES_BESIDE_OURS,   /* kernels of this process, which may wait for it */
  COPIES_BESIDE_OTHERS, /* those of others, too */
} copies_beside_t;

RAWHAL_CHECKED rawhal_status_t copies_open(copies_t *copies, rawhal_limiter_t *limiter,
                                           const limit_queue_t *reached, rawhal_error_t *error);
/* One that was not opened, too. */
void copies_close(copies_t *copies);

/* WOULD_BLOCK: not now. */
RAWHAL_CHECKED rawhal_status_t copies_admit(copies_t *copies, copies_turn_t *turn,
                                            copies_beside_t beside, rawhal_error_t *error);
/* On the thread of who asks. What it waits for may be in another process, which waits for this
 * copy: after copies_patience it goes beside that, too. WOULD_BLOCK: it is not its turn, and
 * `*ending` (may be NULL) says that the process ends, and must not wait for a share that does not
 * come. */
RAWHAL_CHECKED rawhal_status_t copies_await(copies_t *copies, copies_turn_t *turn,
                                            const atomic_bool *ending, rawhal_error_t *error);
extern uint64_t copies_patience; /* ns */
/* Between two looks, in ns: what is held back waits for a kernel, mostly. */
enum { COPIES_NAP_LEAST = 50000, COPIES_NAP_MOST = 4000000 };
/* In the device's ns; both 0: the host's time since it was admitted. */
void copies_charge(copies_t *copies, const copies_turn_t *turn, gate_span_t ran);
void copies_cancel(copies_t *copies, const copies_turn_t *turn);

#endif
