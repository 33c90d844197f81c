/* RAWHAL_WATCHDOG: a thread that looks now and then whether queues get on. Internal.
 *
 *     RAWHAL_WATCHDOG  off, as without; 10s: what does not get on for so long is told once. Behind
 *                      a comma, what is done then: report, as without; dump: a core file is
 *                      written, too, where RAWHAL_CORE wants one; fail: the queue fails, which
 *                      writes one; device: all queues of its device fail; abort: the process ends
 *                      by abort(), when the queue has failed. With kernel: or wait: before it, it
 *                      is for kernels that do not end, or for waits: 10s,kernel:fail,wait:dump */
#ifndef RAWHAL_QUEUE_WATCHDOG_H
#define RAWHAL_QUEUE_WATCHDOG_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* As LIMIT_AGENT_INFO_FRONT of hsa_table.h: 1 where a front looks, which sees all queues. */
enum { WATCHDOG_AGENT_INFO_FRONT = 0x52415757 };

/* Each does what those before it do. */
typedef enum watchdog_action {
  WATCHDOG_REPORT,
  WATCHDOG_DUMP,
  WATCHDOG_FAIL,
  WATCHDOG_DEVICE,
  WATCHDOG_ABORT,
  WATCHDOG_ACTIONS,
} watchdog_action_t;

typedef struct watchdog_settings {
  uint64_t limit; /* ns; 0: nobody looks */
  watchdog_action_t kernels, waits;
} watchdog_settings_t;

/* INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t watchdog_read(watchdog_settings_t *settings, rawhal_error_t *error);

/* `now`, in ns, is of a clock that goes on only while the watchdog itself runs: a process that is
 * stopped, or gets no processor, does not hang. */
typedef void watchdog_look_fn(const watchdog_settings_t *settings, uint64_t now);

typedef struct watchdog {
  pthread_mutex_t lock;
  pthread_cond_t wake; /* of CLOCK_MONOTONIC */
  pthread_t thread;
  bool runs, stops;
  watchdog_settings_t settings;
  watchdog_look_fn *look;
} watchdog_t;

#define WATCHDOG_NONE                                                                              \
  {                                                                                                \
    .lock = PTHREAD_MUTEX_INITIALIZER                                                              \
  }

/* Starts the thread, if anybody is to look. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t watchdog_start(watchdog_t *watchdog,
                                              const watchdog_settings_t *settings,
                                              watchdog_look_fn *look, rawhal_error_t *error);
/* Ends it, if there is one, when it has looked; by itself it cannot wait for its end. */
void watchdog_stop(watchdog_t *watchdog);

/* Time between looks, and how much of what has passed between two of them counts. */
uint64_t watchdog_pause(uint64_t limit);
uint64_t watchdog_passed(uint64_t before, uint64_t now, uint64_t pause);

#endif
