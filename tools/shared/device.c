/* The option --device KIND. */
#include "tools/shared/device.h"

#include <string.h>

bool device_kind(const char *text, rawhal_backend_t *backend)
{
  if (strcmp(text, "softgpu") == 0)
    *backend = RAWHAL_BACKEND_SOFTGPU;
  else if (strcmp(text, "hsa") == 0)
    *backend = RAWHAL_BACKEND_HSA;
  else
    return false;
  return true;
}

bool device_read(const char *command, const tool_option_t *option, const char *text, void *place)
{
  (void)command, (void)option;
  return device_kind(text, place);
}

const char *device_softgpu_options(rawhal_backend_t backend, const char *options)
{
  if (backend == RAWHAL_BACKEND_DEFAULT && rawhal_backend_default(&backend, NULL) != RAWHAL_OK)
    return options; /* whoever opens it says why it cannot be */
  return backend == RAWHAL_BACKEND_HSA ? NULL : options;
}
