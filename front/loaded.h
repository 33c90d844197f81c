/* Code objects that executables have got, as far as the runtime can be asked about them. Internal.
 *
 * Where a load fails, ROCr leaves an object without segments in the executable, and ends the
 * program (or reads beyond a list) when it is asked for its agent or size. So those that appear
 * while a load fails are never asked for.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_LOADED_H
#define RAWHAL_FRONT_LOADED_H

#include "front/front.h"

#include <hsa/hsa_ven_amd_loader.h>

typedef hsa_status_t loaded_info_t(hsa_loaded_code_object_t object,
                                   hsa_ven_amd_loader_loaded_code_object_info_t attribute,
                                   void *value);
typedef void loaded_visitor(hsa_executable_t executable, hsa_loaded_code_object_t object,
                            loaded_info_t *info, void *context);

/* Calls for each of them, after a load that succeeded. False: the runtime does not tell, or there
 * is no memory, and some were left out. */
bool loaded_each(hsa_executable_t executable, loaded_visitor *visitor, void *context);
/* After a load that failed: what has appeared since the last call is not asked for. */
void loaded_failed(hsa_executable_t executable);
/* Before the executable is destroyed. */
void loaded_gone(hsa_executable_t executable);
void loaded_forget(void);
void loaded_abandon(void);

#endif
