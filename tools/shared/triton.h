/* Files that look like those of Triton's cache. */
#ifndef TOOLS_SHARED_TRITON_H
#define TOOLS_SHARED_TRITON_H

#include <rawhal/triton.h>

/* By its name, which ends in .json. */
bool tool_is_triton_json(const char *path);
/* NAME.hsaco, with a file NAME.json beside it. */
bool tool_has_triton_json(const char *path);

#endif
