/* One copy, and those of a device. Internal to copying.c and copy.c. */
#ifndef RAWHAL_FRONT_COPY_H
#define RAWHAL_FRONT_COPY_H

#include "front/copying.h"
#include "front/trace.h"

#include <pthread.h>

/* In memory of the host that devices reach. */
typedef struct cell {
  uint32_t one, arrived, landed;
} cell_t;

typedef struct copy {
  struct copy *next;
  hsa_signal_t arrived, gate, done;
  volatile cell_t *cell;
  hsa_signal_t program; /* 0: nobody is told */
  bool gated;           /* it has had to wait: `arrived` counts */
  bool by_us;           /* the program's signal, if any, is counted down by us */
  bool asked;           /* a word of it was submitted that says `arrived` */
  bool refused;         /* and the copy after that was not */
  hsa_signal_value_t
      failure;       /* what the program's signal is to be in the end; 0: the copy's doing */
  uint64_t asked_at; /* of the trace: ns of the runtime's clock */
  trace_way_t way;
  copies_turn_t turn;
} copy_t;

/* Of a device. */
typedef struct engine {
  front_device_t *device;
  copies_t turns;
  pthread_mutex_t order, lock, harvest;
  pthread_cond_t wake;
  pthread_t thread;
  bool has_thread, stop, idle;
  uint64_t nap;
  copy_t *waiting;                  /* under `lock` */
  copy_t *flying, *landing, *spare; /* under `harvest` */
} engine_t;

/* copy.c */
/* One with its signals as they are before a copy. NULL: there is no memory. */
copy_t *copy_take(engine_t *engine, const copying_t *copying);
/* It was not submitted, or no more than a word of it. */
void copy_give_back(engine_t *engine, copy_t *copy);
void copy_unmake(copy_t *copy);
void copy_append(copy_t **list, copy_t *copy); /* the one that came first is looked at first */
/* Has it submitted, with its words. */
hsa_status_t copy_submit(copy_t *copy, const copying_t *copying);
/* It is admitted, and submitted. */
void copy_fly(engine_t *engine, copy_t *copy);
/* Charges what has finished. True: something has. */
bool copies_harvest(engine_t *engine);

/* copy_times.c */
void copy_times_keep(hsa_signal_t signal, const hsa_amd_profiling_async_copy_time_t *times);
bool copy_times_find(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *times);
void copy_times_forget(void);
void copy_times_abandon(void);

#endif
