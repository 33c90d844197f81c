/* rawhal replay: which dispatch of a file. */
#include <inttypes.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

static bool is_named(rawhal_string_t kernel, const char *name)
{
  const size_t size = strlen(name);
  return tool_text_is(kernel, name) ||
         (kernel.size == size + 3 && !memcmp(kernel.data, name, size) &&
          !memcmp(kernel.data + size, ".kd", 3));
}

bool replay_choose(void *file, replay_name_fn *name_of, uint64_t count, const char *wanted,
                   uint64_t *number, rawhal_error_t *error)
{
  rawhal_string_t name;
  if (!count)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "the recording has no dispatch");
  if (!wanted) {
    *number = 1;
    return count == 1 || tool_refuse(error, RAWHAL_NOT_FOUND,
                                     "there are %" PRIu64
                                     " dispatches: choose one with --kernel (--list lists them)",
                                     count);
  }
  if (tool_parse_number(wanted, UINT64_MAX, number))
    return (*number && *number <= count) ||
           tool_refuse(error, RAWHAL_NOT_FOUND, "there is no dispatch %s of %" PRIu64, wanted,
                       count);
  for (*number = 1; *number <= count; ++*number) {
    if (!name_of(file, *number, &name, error))
      return false;
    if (is_named(name, wanted))
      return true;
  }
  return tool_refuse(error, RAWHAL_NOT_FOUND, "none of %" PRIu64 " dispatches is of kernel '%s'",
                     count, wanted);
}
