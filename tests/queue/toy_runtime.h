// A runtime of the few functions a queue calls, so that tests can step in between any two of them
// and count what is taken and given back. The device runs on the thread that rings the doorbell:
// each packet in turn, until it meets one that is invalid. Kernels do nothing.
#ifndef RAWHAL_TESTS_QUEUE_TOY_RUNTIME_H
#define RAWHAL_TESTS_QUEUE_TOY_RUNTIME_H

#include <rawhal/graph.h>
#include <rawhal/limit.h>
#include <rawhal/semaphore.h>

#ifdef __cplusplus
extern "C" {
#endif

// What was taken and not given back.
typedef struct toy_counts {
  int queues, signals, pools, holds;
  uint64_t pool_bytes; // of the last that was allocated
} toy_counts_t;
toy_counts_t toy_counts(void);

// Called, once, by the next call of a runtime function of that kind on its way in.
typedef enum toy_place { TOY_WRITE_INDEX, TOY_QUEUE_DESTROY, TOY_PLACES } toy_place_t;
void toy_step_in(toy_place_t place, void (*function)(void *context), void *context);

// Packets stay where they are until it goes on again.
void toy_hold(bool held);

// The kernarg addresses of what has run, oldest first: at most `capacity`; returns how many there
// were. Forgets them.
size_t toy_kernargs(uint64_t *addresses, size_t capacity);

// Which of the packets that ran had a completion signal, oldest first; otherwise like the above.
size_t toy_signalled(bool *signalled, size_t capacity);

// The hsa_amd_queue_priority_t that a queue was given last; -1: none. Forgets it.
int toy_priority(void);

// The limits of all devices; NULL: none. Stays the caller's. The runtime keeps nothing of before.
void toy_limit(rawhal_limiter_t *limiter);
// What all devices are, as far as scratch goes.
void toy_chip(uint32_t engines, const char *processor);

// What code that is loaded is charged as.
uint64_t toy_code_bytes(const void *elf, size_t size);

// A queue on device `agent`.
rawhal_status_t toy_queue(uint64_t agent, const rawhal_queue_options_t *options,
                          rawhal_queue_t **queue, rawhal_error_t *error);
rawhal_status_t toy_semaphore(uint64_t agent, uint64_t value, rawhal_semaphore_t **semaphore,
                              rawhal_error_t *error);
// A graph of one batch that can be launched, at the least cost on this queue.
rawhal_status_t toy_graph_sized(rawhal_queue_t *home, const rawhal_dispatch_t *dispatches,
                                size_t size, size_t count, rawhal_graph_exec_t **exec,
                                rawhal_error_t *error);
static inline rawhal_status_t toy_graph(rawhal_queue_t *home, const rawhal_dispatch_t *dispatches,
                                        size_t count, rawhal_graph_exec_t **exec,
                                        rawhal_error_t *error)
{
  return toy_graph_sized(home, dispatches, sizeof(*dispatches), count, exec, error);
}
// An empty graph of device `agent`.
rawhal_status_t toy_graph_create(uint64_t agent, rawhal_graph_t **graph, rawhal_error_t *error);
// Its kernarg memory, which is twice the ring.
uint64_t toy_kernarg_base(const rawhal_queue_t *queue);
// Device `agent` fails, as the runtime's event thread would say it.
void toy_fail(uint64_t agent);
// What is called with the line that tells that a queue has died; NULL: nothing.
void toy_when_told(void (*told)(const char *line));

// A kernel that is loaded on device `agent`; NULL when it cannot be.
rawhal_device_kernel_t *toy_kernel(uint64_t agent, const rawhal_device_kernel_info_t *info,
                                   rawhal_error_t *error);
void toy_kernel_free(rawhal_device_kernel_t *kernel);

#ifdef __cplusplus
}
#endif

#endif
