#include "tools/shared/target.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/shared/tool.h"

static bool refuse_target(const tool_target_t *target, int problem, rawhal_error_t *error)
{
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s%s", target->path,
                     problem == ENOTSUP ? NEW_FILE_NO_FILE : strerror(problem),
                     problem == EEXIST ? " (--force replaces it)" : "");
}

bool tool_target_open(tool_target_t *target, const char *path, bool force, rawhal_error_t *error)
{
  *target = (tool_target_t){.path = path, .descriptor = STDOUT_FILENO, .force = force};
  if (!strcmp(path, "-"))
    return true;
  target->descriptor = -1;
  if (!force && access(path, F_OK) == 0)
    return refuse_target(target, EEXIST, error);
  if (!new_file_open(&target->file, path))
    return refuse_target(target, errno, error);
  target->descriptor = target->file.descriptor;
  return true;
}

bool tool_target_put(void *context, const void *bytes, size_t size)
{
  return write_whole(((const tool_target_t *)context)->descriptor, bytes, size);
}

bool tool_target_close(tool_target_t *target, bool whole, rawhal_error_t *error)
{
  if (target->descriptor < 0 || target->descriptor == STDOUT_FILENO)
    return whole;
  if (!whole)
    new_file_drop(&target->file);
  else if (!new_file_keep(&target->file, target->force))
    return refuse_target(target, errno, error);
  return whole;
}
