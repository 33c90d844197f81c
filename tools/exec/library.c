#include "tools/exec/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/shared/tool.h"

static const char register_name[] = "librawhal-front-register.so";

bool set_variable(const char *name, const char *value, rawhal_error_t *error)
{
  return (value && setenv(name, value, 1) == 0) ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for the environment");
}

/* `path`, and what the variable names besides, once each, and `end`. NULL: no memory. */
static char *with_others(const char *path, const char *others, const char *separator,
                         const char *end)
{
  size_t room = strlen(path) + strlen(others) + strlen(end) + 2;
  char *all = malloc(room), *rest = strdup(others), *place = NULL;
  if (all && rest) {
    size_t length = (size_t)snprintf(all, room, "%s", path);
    for (char *name = strtok_r(rest, separator, &place); name;
         name = strtok_r(NULL, separator, &place))
      if (strcmp(name, path))
        length += (size_t)snprintf(all + length, room - length, "%c%s", *separator, name);
    snprintf(all + length, room - length, "%s", end);
  }
  if (!rest) {
    free(all);
    all = NULL;
  }
  free(rest);
  return all;
}

static bool put_first(const char *variable, const char *path, const char *separator,
                      const char *end, rawhal_error_t *error)
{
  const char *others = getenv(variable);
  char *all = with_others(path, others ? others : "", separator, end);
  bool done = set_variable(variable, all, error);
  free(all);
  return done;
}

/* Where rocprofiler-sdk is asked for already, which a profiler does that is run around or within
 * this. It is not asked for otherwise: where it is not installed the runtime would end the program.
 * rocprofiler-sdk takes each name of several to its colon, and not the last without one. */
static bool set_register(const char *front, rawhal_error_t *error)
{
  static const char variable[] = "ROCP_TOOL_LIBRARIES";
  char path[PATH_MAX + sizeof(register_name)];
  const char *named = getenv(variable);
  const char *slash = strrchr(front, '/');
  snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - front), front, register_name);
  if (!named || !*named || access(path, R_OK))
    return true;
  return put_first(variable, path, ":", ":", error);
}

/* It comes first, nearest to the runtime: what other tools do is limited, too. Newer runtimes leave
 * out what HSA_TOOLS_LIB names when rocprofiler-sdk is in the program, but for the second variable;
 * older ones do not know it. */
bool set_tools(const char *path, rawhal_error_t *error)
{
  return put_first("HSA_TOOLS_LIB", path, " ", "", error) &&
         set_variable("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", error) && set_register(path, error);
}
