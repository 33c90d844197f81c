/* Faults that a test ordered: softgpu_inject(). */
#ifndef SOFTGPU_CP_INJECT_H
#define SOFTGPU_CP_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/cp/processor.h"

typedef enum softgpu_injection {
  SOFTGPU_INJECT_QUEUE_ERROR,
  SOFTGPU_INJECT_STALL,
  SOFTGPU_INJECT_LOST_DOORBELL,
  SOFTGPU_INJECT_ALLOCATION_FAILURE,
  SOFTGPU_INJECT_EVENT_FAILURE,
  SOFTGPU_INJECT_COUNT,
} softgpu_injection_t;

/* Counts a call that can be made to fail; whether it has to. */
bool softgpu_inject_failure(softgpu_injection_t injection);

/* Looks at the published packet at hand of an AQL queue. False when the processor must not go on
 * with it now; `step` says what it does instead. */
bool softgpu_inject_packet(softgpu_queue_t *queue, softgpu_step_t *step);

/* Whether the queue, or the whole device, is made to stand still. */
bool softgpu_inject_stalled(const softgpu_queue_t *queue);

#endif
