/* A kernel as JSON, for `rawhal inspect` and `rawhal diff`. */
#ifndef TOOLS_SHARED_KERNEL_JSON_H
#define TOOLS_SHARED_KERNEL_JSON_H

#include <rawhal/hsaco.h>

#include "tools/shared/json.h"

/* Of an object that is open: what there is to say of a kernel but its names; more when it is for a
 * page. */
void json_put_kernel(json_writer_t *out, const rawhal_kernel_t *kernel, bool page);
/* Of a page: "demangled", null where that is the same as the name, or is not wanted. */
void json_put_demangled(json_writer_t *out, rawhal_string_t name, bool wanted);

#endif
