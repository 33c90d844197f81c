/* The option --device KIND, which means the same to all commands. */
#ifndef TOOLS_SHARED_DEVICE_H
#define TOOLS_SHARED_DEVICE_H

#include <rawhal/hal.h>

#include "tools/shared/option.h"

/* As RAWHAL_DEVICE has it; false when `text` is no kind. */
bool device_kind(const char *text, rawhal_backend_t *backend);

/* The row of --device: it fills the rawhal_backend_t MEMBER of TYPE. */
#define DEVICE_OPTION(TYPE, MEMBER)                                                                \
  TOOL_OPTION("device", READ, TYPE, MEMBER),                                                       \
      .read = device_read,                                                                         \
      .wrong = "--device: expected softgpu or hsa, got '%s' (ROCR_VISIBLE_DEVICES selects "        \
               "devices by number)"
option_read_fn device_read;

/* What is for softgpu alone, for rawhal_instance_options_t: NULL where `backend` is hardware, which
 * refuses it. */
const char *device_softgpu_options(rawhal_backend_t backend, const char *options);

#endif
