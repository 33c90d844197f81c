/* Global wave sync: what waves of different work-groups wait for each other with. Internal to
 * softgpu.
 *
 * 64 resources belong to a queue that was given them; each is a barrier or a semaphore, as the
 * instructions use it. MI200 and MI300 ISA documents, "DS_GWS_*"; the number of a resource is
 * LLVM's M0[21:16] + offset. */
#ifndef SOFTGPU_ISA_MEMORY_GWS_H
#define SOFTGPU_ISA_MEMORY_GWS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/base/wave.h"

enum { ISA_GWS_RESOURCES = 64 };

typedef struct isa_gws_resource {
  uint32_t counter;          /* waves a barrier still waits for; what a semaphore has to give */
  uint64_t barriers;         /* that were completed */
  uint64_t queued, released; /* waves, at the semaphore, one after the other */
} isa_gws_resource_t;

/* All zeros is a good beginning, but for the lock. */
typedef struct softgpu_gws {
  pthread_mutex_t lock; /* of `resources` */
  isa_gws_resource_t resources[ISA_GWS_RESOURCES];
  uint64_t groups, most; /* of the dispatch that runs, and how many of them can at a time */
  uint32_t group_waves;
} softgpu_gws_t;

void isa_gws_open(softgpu_gws_t *gws);
void isa_gws_close(softgpu_gws_t *gws);

/* A dispatch begins. No wave waits; what barriers and semaphores count stays. */
void isa_gws_begin(softgpu_gws_t *gws, uint64_t groups, uint64_t most, uint32_t group_waves);

/* One of the six instructions, for any engine. A wave that has to wait executes it again. False for
 * a fault: the queue has no resources, or those that it waits for can never come. */
bool isa_gws_run(isa_wave_t *wave, const isa_inst_t *inst, uint32_t resource, uint32_t value);

#endif
