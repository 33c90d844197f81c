/* Core files of queues that died: RAWHAL_CORE, see debug/dump.h. Internal. */
#ifndef RAWHAL_HAL_DUMP_H
#define RAWHAL_HAL_DUMP_H

#include "hal/internal.h"

/* Reads the environment, before the first queue. */
RAWHAL_CHECKED rawhal_status_t dump_open(rawhal_error_t *error);
extern dump_settings_t hal_cores; /* as they were read */
/* Of the witness. */
void dump_death(const queue_device_t *device, const void *hsa_queue, const rawhal_fault_t *fault,
                const debug_scene_t *around, bool code, dump_t *dump);
void dump_other(const queue_device_t *device, const void *hsa_queue, const rawhal_fault_t *fault,
                const debug_dispatch_t *dispatches, size_t count, dump_t *dump);

#endif
