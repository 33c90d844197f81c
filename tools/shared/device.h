/* The option --device KIND, which means the same to all commands. */
#ifndef TOOLS_SHARED_DEVICE_H
#define TOOLS_SHARED_DEVICE_H

#include <rawhal/hal.h>

/* As RAWHAL_DEVICE has it; false when `text` is no kind. */
bool device_kind(const char *text, rawhal_backend_t *backend);

/* The value of --device; false: it is none, as standard error says. */
bool device_read_option(const char *command, const char *text, rawhal_backend_t *backend);

#endif
