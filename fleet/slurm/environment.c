#include "fleet/slurm/environment.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 8192 };

static rawhal_status_t set(spank_t spank, const char *name, const char *value,
                           rawhal_error_t *error)
{
  const spank_err_t result = spank_setenv(spank, name, value, 1);
  return result == ESPANK_SUCCESS ? RAWHAL_OK
                                  : refuse(error, RAWHAL_RUNTIME, "setting %s for the task: %s",
                                           name, spank_strerror(result));
}

/* First, and the others that the variable names already, once each. */
static rawhal_status_t set_first(spank_t spank, const char *name, const char *first,
                                 const char *separator, rawhal_error_t *error)
{
  char others[LIST_BYTES], all[2 * LIST_BYTES], *place = NULL;
  const spank_err_t result = spank_getenv(spank, name, others, sizeof(others));
  if (result == ESPANK_NOSPACE)
    return refuse(error, RAWHAL_RUNTIME, "%s is longer than %d bytes", name, LIST_BYTES - 1);
  if (result != ESPANK_SUCCESS)
    *others = '\0';
  size_t length = (size_t)snprintf(all, sizeof(all), "%s", first);
  for (const char *other = strtok_r(others, separator, &place); other;
       other = strtok_r(NULL, separator, &place))
    if (strcmp(other, first) != 0)
      length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", separator, other);
  if (*separator == ':') /* rocprofiler-sdk takes each name of several to its colon */
    snprintf(all + length, sizeof(all) - length, "%s", separator);
  return set(spank, name, all, error);
}

/* Where rocprofiler-sdk is asked for; newer runtimes leave out HSA_TOOLS_LIB then. */
static rawhal_status_t set_register(spank_t spank, const char *front, rawhal_error_t *error)
{
  static const char variable[] = "ROCP_TOOL_LIBRARIES";
  char path[PATH_MAX + 64], present[2];
  const char *slash = strrchr(front, '/');
  const spank_err_t result = spank_getenv(spank, variable, present, sizeof(present));
  if (result == ESPANK_ENV_NOEXIST || !slash)
    return RAWHAL_OK;
  snprintf(path, sizeof(path), "%.*s/librawhal-front-register.so", (int)(slash - front), front);
  return set_first(spank, variable, path, ":", error);
}

/* A share and a quota of each process, within its job's. */
static rawhal_status_t set_wish(spank_t spank, const wish_t *wish, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (wish->share)
    status = set(spank, "RAWHAL_PROCESS_SHARE", wish->share, error);
  if (status == RAWHAL_OK && wish->memory)
    status = set(spank, "RAWHAL_PROCESS_MEMORY_LIMIT", wish->memory, error);
  return status;
}

rawhal_status_t environment_set(spank_t spank, const settings_t *settings, const task_t *task,
                                const wish_t *wish, rawhal_error_t *error)
{
  const struct {
    const char *name, *value;
  } variables[] = {{"RAWHAL_LIMIT_REGION", task->regions},
                   {"RAWHAL_TENANT", task->tenant},
                   {"RAWHAL_LIMITS_PINNED", "tenant,region"},
                   {"HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1"}};
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; status == RAWHAL_OK && i < sizeof(variables) / sizeof(*variables); ++i)
    status = set(spank, variables[i].name, variables[i].value, error);
  if (status == RAWHAL_OK)
    status = set_first(spank, "HSA_TOOLS_LIB", settings->front, " ", error);
  if (status == RAWHAL_OK)
    status = set_register(spank, settings->front, error);
  return status == RAWHAL_OK ? set_wish(spank, wish, error) : status;
}
