/* What a device is. Internal. */
#ifndef RAWHAL_HAL_DEVICE_FACTS_H
#define RAWHAL_HAL_DEVICE_FACTS_H

#include "hal/internal.h"

/* Fills in the handle and everything after it. */
void device_facts(const hsa_table_t *hsa, hsa_agent_t agent, rawhal_device_info_t *info);
/* What all processes call the device, whatever part of the machine they see. */
void device_identity(const rawhal_device_info_t *info, char identity[64]);

#endif
