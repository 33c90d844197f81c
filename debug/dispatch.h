/* Dispatches as packets tell them, for cause.h. Internal. */
#ifndef RAWHAL_DEBUG_DISPATCH_H
#define RAWHAL_DEBUG_DISPATCH_H

#include "debug/cause.h"

#include <hsa/hsa.h>

/* Kernel, layout and kernargs are the caller's to add, and whether it runs. */
debug_dispatch_t dispatch_of_packet(uint64_t queue_id, uint64_t index,
                                    const hsa_kernel_dispatch_packet_t *packet);
/* The device address of its kernel's first instruction. */
uint64_t dispatch_entry(const debug_dispatch_t *dispatch, const rawhal_descriptor_t *descriptor);
/* Names the dispatch in the fault, where that KNOWS_DISPATCH, and its kernel always; `descriptor`:
 * the kernel's, as in the object, or NULL. */
void dispatch_failed(const debug_dispatch_t *dispatch, const rawhal_descriptor_t *descriptor,
                     rawhal_fault_t *fault);

#endif
