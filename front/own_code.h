/* Code of the front's own that runs on the program's queues. What is loaded is charged as the
 * program's other code is. Internal. Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_OWN_CODE_H
#define RAWHAL_FRONT_OWN_CODE_H

#include "front/front.h"

#include <rawhal/hsaco.h>

/* Loads a code object onto a device. The bytes must stay for as long: debuggers read them where
 * they are. Whatever comes of it, the executable is to be unloaded by code_unload() if it has a
 * number. */
hsa_status_t own_code_load(const front_device_t *device, rawhal_bytes_t bytes,
                           hsa_executable_t *executable);
/* Where a kernel of it is, by its symbol. RUNTIME: `result`, of loading, is an error, or the
 * runtime does not find it; UNSUPPORTED: the symbol is too long. */
RAWHAL_CHECKED rawhal_status_t own_code_kernel(const front_device_t *device,
                                               hsa_executable_t executable, hsa_status_t result,
                                               rawhal_string_t symbol, uint64_t *kernel_object,
                                               rawhal_error_t *error);

#endif
