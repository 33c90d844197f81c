/* Between the AQL packet processor and kernel dispatch. */
#ifndef SOFTGPU_CP_AQL_H
#define SOFTGPU_CP_AQL_H

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include "softgpu/cp/processor.h"

amd_queue_t *softgpu_aql_queue(const softgpu_queue_t *queue);

/* Ends the packet at hand: gives its slot back, advances the read index, completes its signal. */
softgpu_step_t softgpu_aql_retire(softgpu_queue_t *queue, uint64_t signal, uint64_t start);

/* dispatch.c: the kernel dispatch packet at hand. */
softgpu_step_t softgpu_dispatch_step(softgpu_queue_t *queue,
                                     const hsa_kernel_dispatch_packet_t *packet);
/* Goes on with what the runtime was asked for. */
softgpu_step_t softgpu_dispatch_request(softgpu_queue_t *queue);

#endif
