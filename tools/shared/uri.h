/* Where debuggers find a code object. */
#ifndef TOOLS_SHARED_URI_H
#define TOOLS_SHARED_URI_H

#include <rawhal/container.h>

#include "tools/shared/json.h"

/* Writes "uri": ROCm's, which names a part of the file at `path`; null where the object was
 * unpacked, for no file has it then, and where the path has no absolute form. */
void uri_put(json_writer_t *out, const char *path, const rawhal_container_object_t *object);

#endif
