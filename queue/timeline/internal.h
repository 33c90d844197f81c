/* The inside of timelines. Internal.
 *
 * A packet can only count its completion signal down by one, so a semaphore has no word that a
 * device could write. Instead each value that somebody waits for or is to signal has an HSA signal:
 * a timepoint, made by whoever comes first, waiter or signaller. The signal is 1. A submission that
 * is to signal the value has it as a packet's completion signal; the host stores 0. Packets that
 * wait do so until it is at most 0. Which value the semaphore has follows from which timepoints are
 * over, and is found by whoever looks: timelines_settle().
 *
 * Nothing but the lock below protects any of it. While it is held no queue is waited for, not even
 * its death: that calls the program, and comes here. */
#ifndef RAWHAL_QUEUE_TIMELINE_INTERNAL_H
#define RAWHAL_QUEUE_TIMELINE_INTERNAL_H

#include "queue/timeline/timeline.h"

typedef struct timepoint {
  struct timepoint *next_left;       /* of those whose signals are left to the device for ever */
  struct timepoint *next, *previous; /* of its semaphore, by ascending value; or `next`: spare */
  rawhal_semaphore_t *semaphore;     /* NULL: it is over, reached or failed */
  uint64_t value;
  hsa_signal_t signal;
  struct timeline_step *signaller; /* whose packet is going to count it down; NULL: none will */
  struct timeline_step *waits;     /* not when it is over */
  uint32_t uses;                   /* steps that name it */
  bool exported, failed, left;
} timepoint_t;

/* A submission waits for a timepoint or signals it. */
typedef struct timeline_step {
  struct timeline_step *next; /* of its queue; or spare */
  struct timeline_step *next_wait;
  rawhal_queue_t *queue;
  timepoint_t *point;
  uint64_t ticket;
  bool signals; /* else it waits */
} timeline_step_t;

struct rawhal_semaphore {
  rawhal_semaphore_t *next, *previous; /* of all */
  const queue_device_t *device;
  uint64_t number, forks; /* see timelines_t */
  uint64_t value;
  uint64_t fails_at; /* it never reaches this; 0: it has not failed */
  rawhal_error_t cause;
  timepoint_t *first, *last; /* not over */
  timepoint_t *exported;     /* over */
  uint32_t uses; /* threads that wait for it, and nodes of graphs: the last frees it when it is
                    destroyed */
  bool destroyed;
  char label[RAWHAL_LABEL_BYTES];
};

/* A descriptor that is to be written to. */
typedef struct timeline_notice {
  struct timeline_notice *next;
  const allocator_t *allocator;
  rawhal_wait_t wait;
  int descriptor;
} timeline_notice_t;

/* On the stack of a thread that waits. */
typedef struct host_wait {
  struct host_wait *next, *previous;
  const rawhal_wait_t *waits;
  size_t count;
} host_wait_t;

typedef struct timelines {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* something has been reached or failed, or there is more to wait for */
  const hsa_table_t *hsa;
  const allocator_t *allocator;
  rawhal_semaphore_t *semaphores;
  uint64_t numbers, forks, visits;
  rawhal_queue_t *queues; /* that have steps */
  rawhal_queue_t *spoilt; /* that are to spread it */
  timepoint_t *spare_points, *left_points;
  timeline_step_t *spare_steps;
  timeline_notice_t *notices;
  host_wait_t *waiting;
  /* One thread sleeps in the runtime, for all of `waiting` and for `notices`. */
  bool sleeping;
  atomic_bool follows; /* another thread sleeps on one of its signals, and rings when it wakes */
  uint64_t sleeps, hz;
  hsa_signal_t bell;
  int64_t rings;
  /* The process's thread: it is this one's as long as the number stays. */
  pthread_t thread;
  bool started;
  uint64_t threads;
} timelines_t;
extern timelines_t timelines;

/* For whoever comes first. */
void timelines_open(void);
static inline void timelines_lock(void)
{
  pthread_mutex_lock(&timelines.lock);
}
static inline void timelines_unlock(void)
{
  pthread_mutex_unlock(&timelines.lock);
}
/* Gives back what is spare when nothing of timelines is left, and ends the thread; unlocks. */
void timelines_trim(void);

/* ---- points.c ---- */

static inline int64_t point_signal(const timepoint_t *point)
{
  const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)point->signal.handle;
  return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE); /* as queue_slot_value() */
}

/* The timepoint of a value that the semaphore has not reached; NULL: there is none. */
timepoint_t *point_find(const rawhal_semaphore_t *semaphore, uint64_t value);
/* The same, made if need be. OUT_OF_MEMORY, RUNTIME. */
RAWHAL_CHECKED rawhal_status_t point_make(rawhal_semaphore_t *semaphore, uint64_t value,
                                          timepoint_t **point, rawhal_error_t *error);
/* Lets go what waits for it. */
void point_release(timepoint_t *point);
/* It is over. */
void point_end(timepoint_t *point, bool failed);
/* Gives it back if nobody needs it. */
void point_put(timepoint_t *point);
/* The device may use its signal for ever: it is never given back. */
void point_leave(timepoint_t *point);
/* So many spare steps. */
RAWHAL_CHECKED rawhal_status_t steps_reserve(size_t count, rawhal_error_t *error);
/* The queue's next step, from those that were reserved. */
void step_add(rawhal_queue_t *queue, uint64_t ticket, timepoint_t *point, bool signals);
/* Takes the queue's first. */
void step_drop(rawhal_queue_t *queue);
/* It waits no more. */
void step_forget(timeline_step_t *step);

/* ---- settle.c ---- */

/* Finds out what has been reached and what has failed. */
void timelines_settle(void);
void semaphore_raise(rawhal_semaphore_t *semaphore, uint64_t value);
/* It never reaches `value`, and more only as far as other signals go that come before. */
void semaphore_fail_at(rawhal_semaphore_t *semaphore, uint64_t value, const rawhal_error_t *cause);
/* It never reaches more than it has. */
void semaphore_fail_now(rawhal_semaphore_t *semaphore, const rawhal_error_t *cause);
static inline bool semaphore_fails(const rawhal_semaphore_t *semaphore, uint64_t value)
{
  return semaphore->fails_at && value >= semaphore->fails_at;
}
/* The failure, in words. */
RAWHAL_CHECKED rawhal_status_t semaphore_cause(const rawhal_semaphore_t *semaphore,
                                               rawhal_error_t *error);

/* ---- semaphore.c ---- */

enum { SEMAPHORE_NAME_BYTES = 96 }; /* a number, and a label as cause_quoted() has it */
/* "semaphore 3" or "semaphore 3 'ready'", fit to be shown. */
const char *semaphore_name(const rawhal_semaphore_t *semaphore, char name[SEMAPHORE_NAME_BYTES]);
/* OK, or DEVICE_LOST in a child of fork(). */
RAWHAL_CHECKED rawhal_status_t semaphore_check(const rawhal_semaphore_t *semaphore,
                                               rawhal_error_t *error);
/* Nobody uses it any more; without the lock. */
void semaphore_free(rawhal_semaphore_t *semaphore);

/* ---- submit.c ---- */

/* Whether it may be signalled: it has not been reached, has not failed, and nobody else is to. */
RAWHAL_CHECKED rawhal_status_t signal_check(const rawhal_semaphore_t *semaphore, uint64_t value,
                                            rawhal_error_t *error);

/* ---- circle.c ---- */

/* Would a submission of the queue that waits for the one and signals the other wait for itself?
 * INVALID_ARGUMENT names who waits. */
RAWHAL_CHECKED rawhal_status_t circle_check(rawhal_queue_t *queue, const rawhal_timepoint_t *waits,
                                            size_t wait_count, const rawhal_timepoint_t *signals,
                                            size_t signal_count, rawhal_error_t *error);

/* ---- host.c, notify.c ---- */

typedef enum wait_state { WAIT_PENDING, WAIT_OVER, WAIT_FAILED } wait_state_t;
wait_state_t wait_state(const rawhal_wait_t *wait);
/* Sleeps until something may have changed, or the deadline; lets go of the lock meanwhile. */
void timelines_sleep(uint64_t deadline);
/* What timelines_sleep() needs. */
RAWHAL_CHECKED rawhal_status_t timelines_bell(const queue_device_t *device, rawhal_error_t *error);
/* Whoever sleeps is to look again. */
void timelines_wake(void);
/* For those who wait by descriptors. */
void notices_serve(void);
/* Something has been reached or has failed: for all who may wait for that. */
static inline void timelines_changed(void)
{
  if (__builtin_expect(timelines.notices != NULL, 0))
    notices_serve();
  if (__builtin_expect(timelines.waiting || timelines.notices, 0))
    timelines_wake();
}
/* Whether the wait for a timepoint is certainly over when the queue comes to so much. */
bool point_precedes(const timepoint_t *point, const rawhal_queue_t *queue, uint64_t ticket);
/* The first that is to be signalled while a smaller value is waited for that nobody signals: the
 * process's thread lets those go who wait. NULL: there is none. */
const timepoint_t *point_passing(const rawhal_semaphore_t *semaphore);
RAWHAL_CHECKED rawhal_status_t timelines_thread(const queue_device_t *device,
                                                rawhal_error_t *error);

#endif
