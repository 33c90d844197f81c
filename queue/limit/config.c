/* Where limits come from: the program, RAWHAL_* variables, the variables HAMi's device plugins set.
 * One table row for each limit. */
#include "queue/limit/parse.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  MILLION = 1000000,
  DEFAULT_BURST_NS = 20 * MILLION,
  MIN_BURST_NS = MILLION / 10, /* below a timer's slack the share could not be reached */
  DEFAULT_WEIGHT = 100,
  MAX_WEIGHT = 1000,
};

#define MAX_BURST_NS 60000000000ull

/* How a foreign variable's text is to be read, where it differs from ours. */
typedef enum dialect {
  DIALECT_OURS,
  DIALECT_PERCENT_NUMBER, /* "30" is 30 %; 0, and 100 or more, mean no limit: HAMi's plugin writes 0
                             when no share was asked for */
  DIALECT_ZERO_IS_HIGH,   /* 0 is high, anything above is low */
} dialect_t;

typedef struct foreign {
  const char *variable;
  dialect_t dialect;
} foreign_t;

enum { MAX_FOREIGN = 2 };

typedef struct limit_row {
  rawhal_limit_info_t info;
  uint64_t initial; /* when nobody has set it */
  foreign_t foreign[MAX_FOREIGN];
} limit_row_t;

#define NO_MAXIMUM (RAWHAL_UNLIMITED - 1)

static const limit_row_t rows[RAWHAL_LIMIT_COUNT] = {
    [RAWHAL_LIMIT_MEMORY] = {{"memory", "RAWHAL_MEMORY_LIMIT", "device memory of the tenant",
                              RAWHAL_UNIT_BYTES, 0, NO_MAXIMUM},
                             RAWHAL_UNLIMITED,
                             {{"HIP_DEVICE_MEMORY_LIMIT", DIALECT_OURS},
                              {"CUDA_DEVICE_MEMORY_LIMIT", DIALECT_OURS}}},
    [RAWHAL_LIMIT_GPU_SHARE] = {{"gpu-share", "RAWHAL_GPU_SHARE", "device time of the tenant",
                                 RAWHAL_UNIT_SHARE, 0, MILLION},
                                RAWHAL_UNLIMITED,
                                {{"CUDA_DEVICE_SM_LIMIT", DIALECT_PERCENT_NUMBER}}},
    [RAWHAL_LIMIT_DISPATCH_RATE] = {{"dispatch-rate", "RAWHAL_DISPATCH_RATE",
                                     "dispatches a second of the tenant", RAWHAL_UNIT_COUNT, 0,
                                     1000ull * MILLION},
                                    RAWHAL_UNLIMITED,
                                    {{0}}},
    [RAWHAL_LIMIT_BURST] = {{"burst", "RAWHAL_GPU_BURST", "how far device time may run ahead",
                             RAWHAL_UNIT_DURATION, MIN_BURST_NS, MAX_BURST_NS},
                            DEFAULT_BURST_NS,
                            {{0}}},
    [RAWHAL_LIMIT_CHARGING] = {{"charging", "RAWHAL_GPU_CHARGING", "what is paid while others run",
                                RAWHAL_UNIT_CHARGING, 0, RAWHAL_CHARGING_WALL},
                               RAWHAL_CHARGING_FAIR,
                               {{0}}},
    [RAWHAL_LIMIT_DEVICE_SHARE] = {{"device-share", "RAWHAL_DEVICE_SHARE",
                                    "device time of all tenants together", RAWHAL_UNIT_SHARE, 0,
                                    MILLION},
                                   RAWHAL_UNLIMITED,
                                   {{0}}},
    [RAWHAL_LIMIT_PROCESS_MEMORY] = {{"process-memory", "RAWHAL_PROCESS_MEMORY_LIMIT",
                                      "device memory of this process", RAWHAL_UNIT_BYTES, 0,
                                      NO_MAXIMUM},
                                     RAWHAL_UNLIMITED,
                                     {{0}}},
    [RAWHAL_LIMIT_PROCESS_SHARE] = {{"process-share", "RAWHAL_PROCESS_SHARE",
                                     "device time of this process", RAWHAL_UNIT_SHARE, 0, MILLION},
                                    RAWHAL_UNLIMITED,
                                    {{0}}},
    [RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT] = {{"dispatches-in-flight", "RAWHAL_DISPATCHES_IN_FLIGHT",
                                            "dispatches in flight of this process",
                                            RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM},
                                           RAWHAL_UNLIMITED,
                                           {{0}}},
    [RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT] = {{"workgroups-in-flight", "RAWHAL_WORKGROUPS_IN_FLIGHT",
                                            "work-groups in flight of this process",
                                            RAWHAL_UNIT_COUNT, 0, NO_MAXIMUM},
                                           RAWHAL_UNLIMITED,
                                           {{0}}},
    [RAWHAL_LIMIT_KERNARG_IN_FLIGHT] = {{"kernarg-in-flight", "RAWHAL_KERNARG_IN_FLIGHT",
                                         "kernarg bytes in flight of this process",
                                         RAWHAL_UNIT_BYTES, 0, NO_MAXIMUM},
                                        RAWHAL_UNLIMITED,
                                        {{0}}},
    [RAWHAL_LIMIT_GRID_WORKGROUPS] = {{"grid-workgroups", "RAWHAL_GRID_WORKGROUPS",
                                       "work-groups of one dispatch", RAWHAL_UNIT_COUNT, 0,
                                       NO_MAXIMUM},
                                      RAWHAL_UNLIMITED,
                                      {{0}}},
    [RAWHAL_LIMIT_WEIGHT] = {{"weight", "RAWHAL_WEIGHT", "of this process in its tenant",
                              RAWHAL_UNIT_COUNT, 1, MAX_WEIGHT},
                             DEFAULT_WEIGHT,
                             {{0}}},
    [RAWHAL_LIMIT_PRIORITY] = {{"priority", "RAWHAL_PRIORITY",
                                "of this process among those who wait", RAWHAL_UNIT_PRIORITY, 0,
                                RAWHAL_PRIORITY_HIGH},
                               RAWHAL_PRIORITY_NORMAL,
                               {{"AMD_TASK_PRIORITY", DIALECT_ZERO_IS_HIGH},
                                {"CUDA_TASK_PRIORITY", DIALECT_ZERO_IS_HIGH}}},
};

const rawhal_limit_info_t *rawhal_limit_info(rawhal_limit_t limit)
{
  return (size_t)limit < RAWHAL_LIMIT_COUNT ? &rows[limit].info : NULL;
}

/* ---- Setting ---- */

static rawhal_status_t store(rawhal_limit_config_t *config, rawhal_limit_t limit, uint64_t value,
                             const char *origin, rawhal_error_t *error)
{
  const rawhal_limit_info_t *info = &rows[limit].info;
  bool none = value == RAWHAL_UNLIMITED && rows[limit].initial == RAWHAL_UNLIMITED;
  if (!none && (value < info->minimum || value > info->maximum)) {
    char given[32], low[32], high[32];
    rawhal_limit_format(limit, value, given, sizeof(given));
    rawhal_limit_format(limit, info->minimum, low, sizeof(low));
    rawhal_limit_format(limit, info->maximum, high, sizeof(high));
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%s is %s, allowed is %s to %s", info->name,
                       given, low, high);
  }
  config->values[limit].value = value;
  snprintf(config->values[limit].origin, sizeof(config->values[limit].origin), "%s", origin);
  return RAWHAL_OK;
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
  return status == RAWHAL_OK ? store(config, limit, value, "program", error) : status;
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
    status =
        limit_parse(text, rows[limit].info.unit, device ? device->memory_bytes : 0, &value, error);
  return status == RAWHAL_OK ? store(config, limit, value, "program", error) : status;
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
  for (int i = 0; config && i < RAWHAL_LIMIT_COUNT; ++i)
    if (rows[i].initial == RAWHAL_UNLIMITED &&
        rawhal_limit_config_get(config, (rawhal_limit_t)i) != RAWHAL_UNLIMITED)
      return true;
  return config && (*config->region.origin || config->has_region_fd || *config->cu_mask.origin);
}

/* ---- Environment ---- */

enum { NAME_BYTES = 48 };

/* The variable for this device, or the general one, and its name; NULL when neither is set. */
static const char *look_up(const char *variable, uint32_t index, char name[NAME_BYTES])
{
  snprintf(name, NAME_BYTES, "%s_%u", variable, index);
  const char *text = getenv(name);
  if (text)
    return text;
  snprintf(name, NAME_BYTES, "%s", variable);
  return getenv(name);
}

static rawhal_status_t parse_foreign(dialect_t dialect, const char *text, uint64_t *value,
                                     rawhal_error_t *error)
{
  rawhal_status_t status = limit_parse_count(text, value, error);
  if (status != RAWHAL_OK)
    return status;
  if (dialect == DIALECT_ZERO_IS_HIGH)
    *value = *value ? RAWHAL_PRIORITY_LOW : RAWHAL_PRIORITY_HIGH;
  else
    *value = *value == 0 || *value >= 100 ? RAWHAL_UNLIMITED : *value * (MILLION / 100);
  return RAWHAL_OK;
}

static rawhal_status_t blame(const char *name, rawhal_status_t status, rawhal_error_t *error)
{
  if (!error)
    return status;
  return rawhal_fail(error, status, "%s: %s", name, error->message);
}

static rawhal_status_t read_variable(rawhal_limit_config_t *config, rawhal_limit_t limit,
                                     const foreign_t *from, const rawhal_limit_device_t *device,
                                     rawhal_error_t *error)
{
  char name[NAME_BYTES];
  const char *text = look_up(from->variable, device->index, name);
  if (!text)
    return RAWHAL_OK;
  uint64_t value;
  rawhal_status_t status =
      from->dialect == DIALECT_OURS
          ? limit_parse(text, rows[limit].info.unit, device->memory_bytes, &value, error)
          : parse_foreign(from->dialect, text, &value, error);
  if (status == RAWHAL_OK)
    status = store(config, limit, value, name, error);
  return status == RAWHAL_OK ? RAWHAL_OK : blame(name, status, error);
}

/* HAMi's switch of its own share limit: DISABLE turns CUDA_DEVICE_SM_LIMIT off. */
static rawhal_status_t read_policy(bool *disabled, rawhal_error_t *error)
{
  static const char name[] = "GPU_CORE_UTILIZATION_POLICY";
  const char *text = getenv(name);
  *disabled = text && !strcasecmp(text, "disable");
  if (!text || *disabled || !strcasecmp(text, "force") || !strcasecmp(text, "default"))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: '%.100s' is not understood; expected default, force or disable", name,
                     text);
}

static rawhal_status_t read_limit(rawhal_limit_config_t *config, rawhal_limit_t limit,
                                  const rawhal_limit_device_t *device, rawhal_error_t *error)
{
  const rawhal_limit_value_t *mine = &config->values[limit];
  if (*mine->origin)
    return RAWHAL_OK;
  const foreign_t ours = {rows[limit].info.variable, DIALECT_OURS};
  rawhal_status_t status = read_variable(config, limit, &ours, device, error);
  for (int i = 0; status == RAWHAL_OK && i < MAX_FOREIGN; ++i) {
    const foreign_t *foreign = &rows[limit].foreign[i];
    if (*mine->origin || !foreign->variable)
      break;
    bool disabled = false;
    if (foreign->dialect == DIALECT_PERCENT_NUMBER)
      status = read_policy(&disabled, error);
    if (status == RAWHAL_OK && !disabled)
      status = read_variable(config, limit, foreign, device, error);
  }
  return status;
}

/* `suffix` follows the text: what HAMi's variables name is HAMi's file, ours lies beside it. */
static rawhal_status_t read_text(rawhal_limit_text_t *into, const char *variable,
                                 const char *suffix, uint32_t index, rawhal_error_t *error)
{
  char name[NAME_BYTES];
  const char *text = *into->origin ? NULL : look_up(variable, index, name);
  if (!text)
    return RAWHAL_OK;
  size_t size = strlen(text), suffix_size = strlen(suffix) + 1; /* with its NUL */
  if (!*text || size > sizeof(into->text) - suffix_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s: %s", name,
                       *text ? "the text is too long" : "the text is empty");
  memcpy(into->text, text, size);
  memcpy(into->text + size, suffix, suffix_size);
  snprintf(into->origin, sizeof(into->origin), "%s", name);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limit_config_environment(rawhal_limit_config_t *config,
                                                const rawhal_limit_device_t *device,
                                                rawhal_error_t *error)
{
  if (!config || !device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", config ? "device" : "config");
  rawhal_error_t mine; /* blame() needs the callee's words even when the caller does not */
  if (!error)
    error = &mine;
  for (int i = 0; i < RAWHAL_LIMIT_COUNT; ++i) {
    rawhal_status_t status = read_limit(config, (rawhal_limit_t)i, device, error);
    if (status != RAWHAL_OK)
      return status;
  }
  const struct {
    rawhal_limit_text_t *into;
    const char *variable, *suffix;
  } texts[] = {
      {&config->tenant, "RAWHAL_TENANT", ""},
      {&config->region, "RAWHAL_LIMIT_REGION", ""},
      {&config->region, "HIP_DEVICE_MEMORY_SHARED_CACHE", ".rawhal"},
      {&config->region, "CUDA_DEVICE_MEMORY_SHARED_CACHE", ".rawhal"},
      {&config->cu_mask, "RAWHAL_CU_MASK", ""},
      {&config->cu_mask, "ROC_GLOBAL_CU_MASK", ""},
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); ++i) {
    rawhal_status_t status =
        read_text(texts[i].into, texts[i].variable, texts[i].suffix, device->index, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}
