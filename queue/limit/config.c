/* What a program sets. Where limits come from besides is sources.c. */
#include "queue/limit/config.h"

#include "queue/limit/parse.h"
#include "queue/limit/table.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Judging ---- */

bool limit_is_stricter(rawhal_limit_t limit, uint64_t a, uint64_t b)
{
  return limit == RAWHAL_LIMIT_CHARGING ? a > b : a < b;
}

rawhal_status_t limit_check_value(rawhal_limit_t limit, uint64_t value, rawhal_error_t *error)
{
  const rawhal_limit_info_t *info = &limit_rows[limit].info;
  bool none = value == RAWHAL_UNLIMITED && limit_rows[limit].initial == RAWHAL_UNLIMITED;
  if (none || (value >= info->minimum && value <= info->maximum))
    return RAWHAL_OK;
  char given[32], low[32], high[32];
  rawhal_limit_format(limit, value, given, sizeof(given));
  rawhal_limit_format(limit, info->minimum, low, sizeof(low));
  rawhal_limit_format(limit, info->maximum, high, sizeof(high));
  return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%s is %s, allowed are %s to %s", info->name,
                     given, low, high);
}

rawhal_status_t limit_check_bound(const rawhal_limit_value_t *bound, rawhal_limit_t limit,
                                  uint64_t value, rawhal_error_t *error)
{
  if (!*bound->bound_origin || value == bound->bound)
    return RAWHAL_OK;
  if (!bound->pinned && limit_is_stricter(limit, value, bound->bound))
    return RAWHAL_OK;
  char asked[32], held[32];
  rawhal_limit_format(limit, value, asked, sizeof(asked));
  rawhal_limit_format(limit, bound->bound, held, sizeof(held));
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                     "%s is %s %s by %s: the program cannot make it %s",
                     limit_rows[limit].info.name, bound->pinned ? "pinned at" : "limited to", held,
                     bound->bound_origin, asked);
}

rawhal_status_t rawhal_limit_config_create(rawhal_limit_config_t **config, rawhal_error_t *error)
{
  if (!config)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "config is NULL");
  *config = allocate_zeroed(NULL, 1, sizeof(**config));
  return *config ? RAWHAL_OK
                 : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a configuration");
}

void rawhal_limit_config_destroy(rawhal_limit_config_t *config)
{
  allocate_free(NULL, config);
}

/* ---- Setting ---- */

static rawhal_status_t parse(const char *text, rawhal_limit_unit_t unit,
                             const rawhal_limit_device_t *device, uint64_t *value,
                             rawhal_error_t *error)
{
  rawhal_limit_device_t known;
  rawhal_status_t status = SIZED_TAKE(&known, device, memory_bytes, error);
  return status == RAWHAL_OK ? limit_parse(text, unit, known.memory_bytes, value, error) : status;
}

rawhal_status_t rawhal_limit_parse(rawhal_limit_t limit, const char *text,
                                   const rawhal_limit_device_t *device, uint64_t *value,
                                   rawhal_error_t *error)
{
  const rawhal_limit_info_t *info = rawhal_limit_info(limit);
  if (!value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  *value = 0;
  if (!info || !text)
    return info ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "text is NULL")
                : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown limit %d", (int)limit);
  uint64_t parsed;
  rawhal_status_t status = parse(text, info->unit, device, &parsed, error);
  if (status == RAWHAL_OK)
    status = limit_check_value(limit, parsed, error);
  if (status == RAWHAL_OK)
    *value = parsed;
  return status;
}

static rawhal_status_t check_limit(const rawhal_limit_config_t *config, rawhal_limit_t limit,
                                   rawhal_error_t *error)
{
  if (!config)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "config is NULL");
  if (!rawhal_limit_info(limit))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown limit %d", (int)limit);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_config_set(rawhal_limit_config_t *config, rawhal_limit_t limit,
                                        uint64_t value, rawhal_error_t *error)
{
  rawhal_status_t status = check_limit(config, limit, error);
  if (status == RAWHAL_OK)
    status = limit_check_value(limit, value, error);
  if (status == RAWHAL_OK)
    status = limit_check_bound(&config->values[limit], limit, value, error);
  if (status == RAWHAL_OK) {
    config->values[limit].value = value;
    snprintf(config->values[limit].origin, sizeof(config->values[limit].origin), "program");
  }
  return status;
}

rawhal_status_t rawhal_limit_config_set_text(rawhal_limit_config_t *config, rawhal_limit_t limit,
                                             const char *text, const rawhal_limit_device_t *device,
                                             rawhal_error_t *error)
{
  rawhal_status_t status = check_limit(config, limit, error);
  if (status == RAWHAL_OK && !text)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "text is NULL");
  uint64_t value;
  if (status == RAWHAL_OK)
    status = parse(text, limit_rows[limit].info.unit, device, &value, error);
  return status == RAWHAL_OK ? rawhal_limit_config_set(config, limit, value, error) : status;
}

rawhal_limit_text_t *limit_config_name(rawhal_limit_config_t *config, rawhal_limit_name_t name)
{
  switch (name) {
  case RAWHAL_LIMIT_NAME_TENANT:
    return &config->tenant;
  case RAWHAL_LIMIT_NAME_REGION:
    return &config->region;
  case RAWHAL_LIMIT_NAME_CU_MASK:
    return &config->cu_mask;
  }
  return NULL;
}

static rawhal_status_t check_name(const rawhal_limit_config_t *config, rawhal_limit_name_t name,
                                  rawhal_error_t *error)
{
  if (!config)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "config is NULL");
  if ((size_t)name >= LIMIT_NAME_COUNT)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown name %d", (int)name);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_config_set_name(rawhal_limit_config_t *config,
                                             rawhal_limit_name_t name, const char *text,
                                             rawhal_error_t *error)
{
  rawhal_status_t status = check_name(config, name, error);
  if (status == RAWHAL_OK && !text)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "text is NULL");
  if (status != RAWHAL_OK)
    return status;
  rawhal_limit_text_t *into = limit_config_name(config, name);
  if (into->pinned)
    return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "'%s' is pinned by %s: it cannot be made '%s'",
                       into->text, into->origin, text);
  if (strlen(text) >= sizeof(into->text))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a name of %zu bytes, at most %zu are allowed", strlen(text),
                       sizeof(into->text) - 1);
  snprintf(into->text, sizeof(into->text), "%s", text);
  snprintf(into->origin, sizeof(into->origin), "%s", *text ? "program" : "");
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_config_set_region_fd(rawhal_limit_config_t *config, int region_fd,
                                                  rawhal_error_t *error)
{
  if (!config)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "config is NULL");
  config->has_region_fd = region_fd >= 0;
  config->region_fd = region_fd;
  return RAWHAL_OK;
}

/* ---- Reading ---- */

rawhal_status_t rawhal_limit_config_value(const rawhal_limit_config_t *config, rawhal_limit_t limit,
                                          rawhal_limit_value_t *value, rawhal_error_t *error)
{
  rawhal_status_t status = check_limit(config, limit, error);
  if (status == RAWHAL_OK && !value)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  if (status != RAWHAL_OK)
    return status;
  rawhal_limit_value_t ours = config->values[limit];
  ours.value = rawhal_limit_config_get(config, limit);
  sized_give(value, sizeof(ours), &ours, sizeof(ours));
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_config_name(const rawhal_limit_config_t *config,
                                         rawhal_limit_name_t name, rawhal_limit_text_t *text,
                                         rawhal_error_t *error)
{
  rawhal_status_t status = check_name(config, name, error);
  if (status == RAWHAL_OK && !text)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "text is NULL");
  if (status != RAWHAL_OK)
    return status;
  rawhal_limit_config_t copy = *config;
  sized_give(text, sizeof(*text), limit_config_name(&copy, name), sizeof(*text));
  return RAWHAL_OK;
}

uint64_t rawhal_limit_config_get(const rawhal_limit_config_t *config, rawhal_limit_t limit)
{
  if (!config || !rawhal_limit_info(limit))
    return RAWHAL_UNLIMITED;
  const rawhal_limit_value_t *value = &config->values[limit];
  return *value->origin ? value->value : limit_rows[limit].initial;
}

bool rawhal_limit_config_limits(const rawhal_limit_config_t *config)
{
  for (int i = 0; config && i < LIMIT_COUNT; ++i)
    if (limit_rows[i].initial == RAWHAL_UNLIMITED &&
        rawhal_limit_config_get(config, (rawhal_limit_t)i) != RAWHAL_UNLIMITED)
      return true;
  return config && (*config->region.text || config->has_region_fd || *config->cu_mask.text);
}
