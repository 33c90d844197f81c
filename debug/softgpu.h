/* What a device that is softgpu tells of its faults, in our words. Internal. */
#ifndef RAWHAL_DEBUG_SOFTGPU_H
#define RAWHAL_DEBUG_SOFTGPU_H

#include "debug/fault.h"
#include "softgpu/waves.h"

#include <hsa/hsa.h>
#include <rawhal/target.h>

/* Functions of softgpu, found by their names; NULL where the thunk is a real one, or an older
 * softgpu's. */
typedef struct debug_softgpu {
  size_t (*fault_text)(const void *hsa_queue, char *text, size_t size);
  softgpu_queue_fault_info_fn *fault_info;
  softgpu_waves_fn *waves;
  softgpu_waves_take_fn *waves_take;
  softgpu_memory_bound_fn *memory_bound;
  softgpu_memory_order_fn *memory_order;
  softgpu_signal_instructions_fn *instructions;
  softgpu_memory_in_place_fn *memory_in_place;
  softgpu_probe_fn *probe;
  /* Of a GPU, by its HSA_AGENT_INFO_NODE: hexadecimal digits after "gfx". False: there is none. */
  bool (*device_chip)(uint32_t node, uint32_t *chip, uint32_t *listed);
} debug_softgpu_t;

/* Of an open library (dlopen()), the thunk. */
void debug_softgpu_find(void *library, debug_softgpu_t *softgpu);

/* Of the thunk that the process's runtime has loaded. */
void debug_softgpu_find_loaded(debug_softgpu_t *softgpu);

/* `target` is what a device is listed as, and becomes what it executes the code of, which may be
 * another chip. `info`: the runtime's hsa_agent_get_info(). Fails as rawhal_target_parse(). */
RAWHAL_CHECKED rawhal_status_t debug_softgpu_target(
    const debug_softgpu_t *softgpu, hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *),
    hsa_agent_t agent, rawhal_target_t *target, rawhal_error_t *error);

/* Adds to a fault what softgpu knows of why the queue stopped. False, and nothing added: nothing.
 */
bool debug_softgpu_fault(const debug_softgpu_t *softgpu, const void *hsa_queue,
                         rawhal_fault_t *fault);

#endif
