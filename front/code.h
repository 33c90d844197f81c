/* Executables: what is charged for what they have loaded, and who is told of it. Internal. */
#ifndef RAWHAL_FRONT_CODE_H
#define RAWHAL_FRONT_CODE_H

#include "front/front.h"

/* Of the front's own, which is charged like the program's, and nobody is told of: loads into an
 * executable, and freezes it. */
hsa_status_t code_load(hsa_executable_t executable, hsa_agent_t agent,
                       hsa_code_object_reader_t reader);
hsa_status_t code_unload(hsa_executable_t executable);
void code_hooks(front_calls_t *hooks);

#endif
