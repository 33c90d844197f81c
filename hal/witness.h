/* What the HAL tells of a queue's death: the device's words, code and memory. Internal. */
#ifndef RAWHAL_HAL_WITNESS_H
#define RAWHAL_HAL_WITNESS_H

#include "hal/internal.h"

/* Of every device; the context of its functions is the device's queue_device_t. */
extern const queue_witness_t hal_witness;
/* Remembers a buffer that is about to be freed. The caller holds the registry's lock. */
void witness_freed(const rawhal_buffer_t *buffer);

#endif
