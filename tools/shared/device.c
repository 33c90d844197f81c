/* The option --device KIND. */
#include "tools/shared/device.h"

#include <string.h>

#include "tools/shared/tool.h"

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

bool device_read_option(const char *command, const char *text, rawhal_backend_t *backend)
{
  if (device_kind(text, backend))
    return true;
  (void)tool_usage(command,
                   "--device: expected softgpu or hsa, got '%s' (ROCR_VISIBLE_DEVICES selects "
                   "devices by number)",
                   text);
  return false;
}
