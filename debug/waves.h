/* Where the waves of a dispatch are, in words. Internal. */
#ifndef RAWHAL_DEBUG_WAVES_H
#define RAWHAL_DEBUG_WAVES_H

#include "debug/cause.h"
#include "debug/softgpu.h"

/* "12 waves: 8 at entry+64, 4 wait at s_barrier at entry+88 for wave 2 of their work-group ..." of
 * the running dispatch of a queue. `entry` is its first instruction's address. The length, like
 * snprintf(); 0, and "": nothing is known, as on hardware. Waits for the dispatch a moment. */
size_t debug_waves_describe(const debug_softgpu_t *softgpu, const void *hsa_queue, uint64_t entry,
                            char *text, size_t size);

/* What work-groups stand like that, of the fault's kernel, as softgpu has noted its waves last.
 * False: none do, or nothing is known. */
bool debug_waves_stand(const debug_softgpu_t *softgpu, const void *hsa_queue,
                       const rawhal_fault_t *fault, debug_stand_t *stand);

#endif
