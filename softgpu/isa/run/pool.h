/* Helper threads: they sleep until a job has work for more than one. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_POOL_H
#define SOFTGPU_ISA_RUN_POOL_H

#include <stdbool.h>

typedef struct isa_job {
  void (*work)(struct isa_job *job); /* returns when there is nothing left to begin */
  bool (*has_work)(const struct isa_job *job);
  /* The pool's own. */
  unsigned helpers, workers;
  struct isa_job *next;
} isa_job_t;

/* Threads that may work on one job, its caller included. */
unsigned isa_pool_threads(void);

unsigned isa_pool_cpus(void);    /* that the calling thread may use */
unsigned isa_pool_helping(void); /* helper threads at work, as of a moment ago */

/* Runs job->work on the calling thread and on at most `helpers` idle helper threads; returns when
 * all of them have returned from it. Jobs of several callers share the helpers. */
void isa_pool_run(isa_job_t *job, unsigned helpers);

#endif
