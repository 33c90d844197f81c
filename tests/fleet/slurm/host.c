#include "tests/fleet/slurm/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

host_t host;

const char *host_variable(const char *name)
{
  for (int i = 0; i < HOST_VARIABLES; ++i)
    if (strcmp(host.variables[i].name, name) == 0)
      return host.variables[i].value;
  return NULL;
}

spank_context_t spank_context(void)
{
  return host.context;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
  (void)spank;
  if (item != S_JOB_ID || !host.job)
    return ESPANK_NOT_AVAIL;
  va_list arguments;
  va_start(arguments, item);
  *va_arg(arguments, uint32_t *) = host.job;
  va_end(arguments);
  return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *value, int size)
{
  (void)spank;
  const char *found = host_variable(name);
  if (!found)
    return ESPANK_ENV_NOEXIST;
  return snprintf(value, (size_t)size, "%s", found) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
  (void)spank;
  for (int i = 0; i < HOST_VARIABLES; ++i) {
    if (*host.variables[i].name && strcmp(host.variables[i].name, name) != 0)
      continue;
    if (*host.variables[i].name && !overwrite)
      return ESPANK_ENV_EXISTS;
    snprintf(host.variables[i].name, sizeof(host.variables[i].name), "%s", name);
    snprintf(host.variables[i].value, sizeof(host.variables[i].value), "%s", value);
    return ESPANK_SUCCESS;
  }
  return ESPANK_NOSPACE;
}

const char *spank_strerror(spank_err_t error)
{
  return error == ESPANK_NOSPACE ? "no space" : "an error";
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
  (void)spank;
  (void)option;
  ++host.registered;
  return ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *option, char **value)
{
  (void)spank;
  const char *given = host.options[strcmp(option->name, "gpu-share") != 0];
  *value = (char *)(uintptr_t)given;
  return given ? ESPANK_SUCCESS : ESPANK_ERROR;
}

void slurm_error(const char *format, ...)
{
  const size_t length = strlen(host.log);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(host.log + length, sizeof(host.log) - length, format, arguments);
  va_end(arguments);
}

int slurm_load_job(job_info_msg_t **answer, uint32_t job, uint16_t flags)
{
  (void)job;
  (void)flags;
  if (host.is_down) {
    errno = ECONNREFUSED;
    return -1;
  }
  *answer = calloc(1, sizeof(**answer));
  if (!*answer)
    return -1;
  (*answer)->record_count = host.answer.job_id ? 1 : 0;
  (*answer)->job_array = &host.answer;
  return 0;
}

void slurm_free_job_info_msg(job_info_msg_t *answer)
{
  free(answer);
}

char *slurm_strerror(int code)
{
  return strerror(code);
}

/* A list of one name. */
hostlist_t slurm_hostlist_create(const char *names)
{
  return (hostlist_t)(void *)strdup(names);
}

int slurm_hostlist_find(hostlist_t list, const char *name)
{
  return strcmp((const char *)(void *)list, name) == 0 ? 0 : -1;
}

void slurm_hostlist_destroy(hostlist_t list)
{
  free(list);
}
