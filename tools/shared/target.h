/* A file that a command makes, "-" being standard output. It is there only once it is whole. */
#ifndef TOOLS_SHARED_TARGET_H
#define TOOLS_SHARED_TARGET_H

#include <rawhal/status.h>

#include "base/new_file.h"

typedef struct tool_target {
  const char *path;
  int descriptor;
  bool force;
  new_file_t file;
} tool_target_t;
bool tool_target_open(tool_target_t *target, const char *path, bool force, rawhal_error_t *error);
/* Its context is the target. */
bool tool_target_put(void *context, const void *bytes, size_t size);
/* Gives it its name if `whole`, else removes it. False, with `error`: it could not. */
bool tool_target_close(tool_target_t *target, bool whole, rawhal_error_t *error);

#endif
