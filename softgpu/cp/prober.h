/* Dispatches whose records go to a file: softgpu/prober.h. */
#ifndef SOFTGPU_CP_PROBER_H
#define SOFTGPU_CP_PROBER_H

#include <hsa/hsa.h>

#include "softgpu/cp/processor.h"
#include "softgpu/prober.h"

/* NULL: there is none. Changes while there are no queues. */
extern const softgpu_prober_t *softgpu_prober_loaded;

/* Gives the dispatch what it is to record, unless somebody has asked for that already. NULL:
 * nothing. */
void *softgpu_prober_begin(const softgpu_queue_t *queue, const hsa_kernel_dispatch_packet_t *packet,
                           softgpu_dispatch_t *dispatch);

#endif
