/* The least a runtime on HSA has: an agent, a queue, memory, signals. Nothing here knows rawhal. */
#ifndef EXAMPLE_RUNTIME_H
#define EXAMPLE_RUNTIME_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdint.h>
#include <stdio.h>

typedef void runtime_stopped_fn(int32_t hsa_status, void *context);

typedef struct runtime {
  hsa_agent_t agent, host;
  hsa_amd_memory_pool_t device_pool, host_pool;
  hsa_queue_t *queue;
  runtime_stopped_fn *stopped; /* the queue has */
  void *context;
} runtime_t;

/* Each ends the program where it fails: this is an example. */
_Noreturn void runtime_die(const char *what, const char *why);
void runtime_open(runtime_t *runtime, runtime_stopped_fn *stopped, void *context);
void runtime_close(runtime_t *runtime); /* with all of its memory and signals */

void *runtime_device(runtime_t *runtime, size_t size);
void *runtime_host(runtime_t *runtime, size_t size); /* the device reaches it as well */
hsa_signal_t runtime_signal(hsa_signal_value_t value);

/* Begins when `after` is 0, unless that is NULL; subtracts 1 from `done`. */
void runtime_copy(runtime_t *runtime, void *to, const void *from, size_t size,
                  const hsa_signal_t *after, hsa_signal_t done);
/* A packet of the runtime's own. */
void runtime_barrier(runtime_t *runtime, hsa_signal_t done);
void runtime_wait(hsa_signal_t done);

#endif
