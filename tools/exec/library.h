/* How a program comes to load librawhal-front: by its environment, which is this process's. */
#ifndef TOOLS_EXEC_LIBRARY_H
#define TOOLS_EXEC_LIBRARY_H

#include <stdbool.h>

#include <rawhal/status.h>

/* False, with OUT_OF_MEMORY: there is no room, or `value` is NULL as there was none for it. */
bool set_variable(const char *name, const char *value, rawhal_error_t *error);
/* Has runtimes load it, from `path`, beside the tools that the environment names already. */
bool set_tools(const char *path, rawhal_error_t *error);

#endif
