/* What can be limited, one table row for each limit, and what a program sets. Where limits come
 * from besides is sources.c. */
#include "queue/limit/config.h"

#include "queue/limit/parse.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MILLION = 1000000,
  DEFAULT_BURST_NS = 20 * MILLION,
  MIN_BURST_NS = MILLION / 10, /* below a timer's slack the share could not be reached */
  DEFAULT_WEIGHT = 100,
  MAX_WEIGHT = 1000,
};

#define MAX_BURST_NS 60000000000ull

typedef struct limit_row {
  rawhal_limit_info_t info;
  uint64_t initial; /* when it is not set */
} limit_row_t;

#define NO_MAXIMUM (RAWHAL_UNLIMITED - 1)

static const limit_row_t rows[LIMIT_COUNT] = {
    [RAWHAL_LIMIT_MEMORY] = {{"memory", "RAWHAL_MEMORY_LIMIT", "device memory of the tenant",
                              RAWHAL_UNIT_BYTES, 0, NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_TENANT},
                             RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_GPU_SHARE] = {{"gpu-share", "RAWHAL_GPU_SHARE", "device time of the tenant",
                                 RAWHAL_UNIT_SHARE, 0, MILLION, RAWHAL_LIMIT_LEVEL_TENANT},
                                RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_DISPATCH_RATE] = {{"dispatch-rate", "RAWHAL_DISPATCH_RATE",
                                     "dispatches a second of the tenant", RAWHAL_UNIT_COUNT, 0,
                                     1000ull * MILLION, RAWHAL_LIMIT_LEVEL_TENANT},
                                    RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_BURST] = {{"burst", "RAWHAL_GPU_BURST", "how far device time may run ahead",
                             RAWHAL_UNIT_DURATION, MIN_BURST_NS, MAX_BURST_NS,
                             RAWHAL_LIMIT_LEVEL_TENANT},
                            DEFAULT_BURST_NS},
    [RAWHAL_LIMIT_CHARGING] = {{"charging", "RAWHAL_GPU_CHARGING", "what is paid while others run",
                                RAWHAL_UNIT_CHARGING, 0, RAWHAL_CHARGING_WALL,
                                RAWHAL_LIMIT_LEVEL_TENANT},
                               RAWHAL_CHARGING_FAIR},
    [RAWHAL_LIMIT_DEVICE_SHARE] = {{"device-share", "RAWHAL_DEVICE_SHARE",
                                    "device time of all tenants together", RAWHAL_UNIT_SHARE, 0,
                                    MILLION, RAWHAL_LIMIT_LEVEL_DEVICE},
                                   RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_PROCESS_MEMORY] = {{"process-memory", "RAWHAL_PROCESS_MEMORY_LIMIT",
                                      "device memory of this process", RAWHAL_UNIT_BYTES, 0,
                                      NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_PROCESS},
                                     RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_PROCESS_SHARE] = {{"process-share", "RAWHAL_PROCESS_SHARE",
                                     "device time of this process", RAWHAL_UNIT_SHARE, 0, MILLION,
                                     RAWHAL_LIMIT_LEVEL_PROCESS},
                                    RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT] = {{"dispatches-in-flight", "RAWHAL_DISPATCHES_IN_FLIGHT",
                                            "dispatches in flight of this process",
                                            RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM,
                                            RAWHAL_LIMIT_LEVEL_PROCESS},
                                           RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT] = {{"workgroups-in-flight", "RAWHAL_WORKGROUPS_IN_FLIGHT",
                                            "work-groups in flight of this process",
                                            RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM,
                                            RAWHAL_LIMIT_LEVEL_PROCESS},
                                           RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_KERNARG_IN_FLIGHT] = {{"kernarg-in-flight", "RAWHAL_KERNARG_IN_FLIGHT",
                                         "kernarg bytes in flight of this process",
                                         RAWHAL_UNIT_BYTES, 0, NO_MAXIMUM,
                                         RAWHAL_LIMIT_LEVEL_PROCESS},
                                        RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_GRID_WORKGROUPS] = {{"grid-workgroups", "RAWHAL_GRID_WORKGROUPS",
                                       "work-groups of one dispatch", RAWHAL_UNIT_COUNT, 0,
                                       NO_MAXIMUM, RAWHAL_LIMIT_LEVEL_PROCESS},
                                      RAWHAL_UNLIMITED},
    [RAWHAL_LIMIT_WEIGHT] = {{"weight", "RAWHAL_WEIGHT", "of this process in its tenant",
                              RAWHAL_UNIT_COUNT, 1, MAX_WEIGHT, RAWHAL_LIMIT_LEVEL_PROCESS},
                             DEFAULT_WEIGHT},
    [RAWHAL_LIMIT_PRIORITY] = {{"priority", "RAWHAL_PRIORITY",
                                "of this process among those who wait", RAWHAL_UNIT_PRIORITY, 0,
                                RAWHAL_PRIORITY_HIGH, RAWHAL_LIMIT_LEVEL_PROCESS},
                               RAWHAL_PRIORITY_NORMAL},
};

const rawhal_limit_info_t *rawhal_limit_info(rawhal_limit_t limit)
{
  return (size_t)limit < LIMIT_COUNT ? &rows[limit].info : NULL;
}

/* ---- Judging ---- */

bool limit_is_stricter(rawhal_limit_t limit, uint64_t a, uint64_t b)
{
  return limit == RAWHAL_LIMIT_CHARGING ? a > b : a < b;
}

rawhal_status_t limit_check_value(rawhal_limit_t limit, uint64_t value, rawhal_error_t *error)
{
  const rawhal_limit_info_t *info = &rows[limit].info;
  bool none = value == RAWHAL_UNLIMITED && rows[limit].initial == RAWHAL_UNLIMITED;
  if (none || (value >= info->minimum && value <= info->maximum))
    return RAWHAL_OK;
  char given[32], low[32], high[32];
  rawhal_limit_format(limit, value, given, sizeof(given));
  rawhal_limit_format(limit, info->minimum, low, sizeof(low));
  rawhal_limit_format(limit, info->maximum, high, sizeof(high));
  return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%s is %s, allowed is %s to %s", info->name, given,
                     low, high);
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
                     "%s is %s %s by %s: the program cannot make it %s", rows[limit].info.name,
                     bound->pinned ? "pinned at" : "limited to", held, bound->bound_origin, asked);
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
    status = parse(text, rows[limit].info.unit, device, &value, error);
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
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a name of %zu bytes, at most %zu are taken",
                       strlen(text), sizeof(into->text) - 1);
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
  return *value->origin ? value->value : rows[limit].initial;
}

bool rawhal_limit_config_limits(const rawhal_limit_config_t *config)
{
  for (int i = 0; config && i < LIMIT_COUNT; ++i)
    if (rows[i].initial == RAWHAL_UNLIMITED &&
        rawhal_limit_config_get(config, (rawhal_limit_t)i) != RAWHAL_UNLIMITED)
      return true;
  return config && (*config->region.text || config->has_region_fd || *config->cu_mask.text);
}
