/* A device as a core file tells it. Internal. */
#ifndef RAWHAL_DEBUG_AGENT_H
#define RAWHAL_DEBUG_AGENT_H

#include "debug/core/core.h"

#include <hsa/hsa.h>

/* By what the runtime's hsa_agent_get_info() says. `number`: of the device, from 0; `processor`: as
 * "gfx90a", what it executes; one that is none gives version 0, of which no waves are written. */
core_agent_t debug_agent(hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *),
                         hsa_agent_t agent, uint32_t number, const char *processor);

#endif
