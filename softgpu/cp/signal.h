/* The runtime's signals, as the device sees them. A handle, and everything in a signal, is what
 * programs and kernels have put there: each function checks that the node's device may use it. */
#ifndef SOFTGPU_CP_SIGNAL_H
#define SOFTGPU_CP_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a handle is a signal the node's device can reach. */
bool softgpu_signal_valid(uint32_t node, uint64_t handle);

/* False, and nothing read, when the handle is no such signal. */
bool softgpu_signal_load(uint32_t node, uint64_t handle, int64_t *value);
const void *softgpu_signal_word(uint64_t handle); /* where its value is; not to be read */

/* What a packet leaves in its signal. */
typedef struct softgpu_completion {
  uint64_t start, end;                   /* ticks */
  uint64_t executed_start, executed_end; /* wave-instructions of its queue before it, and after */
} softgpu_completion_t;

/* Stores what is said, subtracts 1 and wakes waiting threads. The host may free the signal at any
 * moment after the subtraction, so nothing of it is read afterwards. False, and nothing changed,
 * when the handle is no such signal. */
bool softgpu_signal_complete(uint32_t node, uint64_t handle, const softgpu_completion_t *what);

/* An interrupt of a kernel's: wakes the threads that wait for the signal with this event. On any
 * thread. */
void softgpu_signal_interrupt(uint32_t event_id);

/* Stores a value and wakes waiting threads. False, and nothing changed, when the handle is no such
 * signal. */
bool softgpu_signal_store(uint32_t node, uint64_t handle, int64_t value);

#endif
