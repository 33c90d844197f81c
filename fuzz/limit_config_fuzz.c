/* Limits from the environment: any text in any of the variables. The first bytes describe the device, lines
 * set variables: a letter names the variable, a digit behind it makes it the device's own, the rest is the
 * text. What is taken must be allowed, and read back as itself; what is refused must be blamed on a variable
 * that is set. Its text as a mask of compute units must select some that the device has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/budget.h"
#include "queue/cu_mask.h"
#include "queue/limit/config.h"
#include "queue/limit/parse.h"

static const char *const variables[] = {
    "RAWHAL_MEMORY_LIMIT",
    "RAWHAL_GPU_SHARE",
    "RAWHAL_DISPATCH_RATE",
    "RAWHAL_GPU_BURST",
    "RAWHAL_GPU_CHARGING",
    "RAWHAL_DEVICE_SHARE",
    "RAWHAL_PROCESS_MEMORY_LIMIT",
    "RAWHAL_PROCESS_SHARE",
    "RAWHAL_DISPATCHES_IN_FLIGHT",
    "RAWHAL_WORKGROUPS_IN_FLIGHT",
    "RAWHAL_KERNARG_IN_FLIGHT",
    "RAWHAL_GRID_WORKGROUPS",
    "RAWHAL_WEIGHT",
    "RAWHAL_PRIORITY",
    "RAWHAL_TENANT",
    "RAWHAL_LIMIT_REGION",
    "RAWHAL_CU_MASK",
    "HIP_DEVICE_MEMORY_LIMIT",
    "CUDA_DEVICE_MEMORY_LIMIT",
    "CUDA_DEVICE_SM_LIMIT",
    "RAWHAL_LIMITS_PINNED",
    "AMD_TASK_PRIORITY",
    "CUDA_TASK_PRIORITY",
    "HIP_DEVICE_MEMORY_SHARED_CACHE",
    "CUDA_DEVICE_MEMORY_SHARED_CACHE",
    "ROC_GLOBAL_CU_MASK",
};

enum {
  VARIABLES = sizeof(variables) / sizeof(*variables),
  DEVICES = 4,
  MAX_NAME = 64,
  MAX_TEXT = 1024
};

#define CHECK(condition)                                                                           \
  do                                                                                               \
    if (!(condition))                                                                              \
      __builtin_trap();                                                                            \
  while (0)

/* "NAME=text" of each variable, the general one and the devices' own: setenv() keeps a copy of every text it
 * is ever given. */
static char entries[VARIABLES][1 + DEVICES][MAX_NAME + MAX_TEXT];

static void clear_environment(void)
{
  for (int i = 0; i < VARIABLES; ++i)
    for (int own = 0; own <= DEVICES; ++own) {
      char *entry = entries[i][own], *equals = strchr(entry, '=');
      if (!equals)
        continue;
      *equals = '\0';
      unsetenv(entry);
      *entry = '\0';
    }
}

/* "b2512m" is RAWHAL_GPU_SHARE_2=512m. */
static void set_variable(const char *line, size_t size)
{
  if (size == 0 || line[0] < 'a' || line[0] >= 'a' + VARIABLES)
    return;
  bool own = size > 1 && line[1] >= '0' && line[1] < '0' + DEVICES;
  const char *name = variables[line[0] - 'a'];
  char *entry = entries[line[0] - 'a'][own ? 1 + line[1] - '0' : 0];
  size_t length = own ? (size_t)snprintf(entry, MAX_NAME, "%s_%c=", name, line[1])
                      : (size_t)snprintf(entry, MAX_NAME, "%s=", name);
  line += own ? 2 : 1;
  size -= own ? 2 : 1;
  size = size < MAX_TEXT - 1 ? size : MAX_TEXT - 1;
  memcpy(entry + length, line, size);
  entry[length + size] = '\0';
  putenv(entry);
}

/* The program has set nothing: what holds is the environment's bound, and the program cannot lift it. */
static void check_bound(const rawhal_limit_value_t *value, rawhal_limit_t limit)
{
  rawhal_limit_config_t config = {0};
  const rawhal_limit_info_t *info = rawhal_limit_info(limit);
  uint64_t loosest = limit == RAWHAL_LIMIT_CHARGING ? info->minimum : info->maximum;
  CHECK(value->bound == value->value && !strcmp(value->bound_origin, value->origin));
  config.values[limit] = *value;
  CHECK((rawhal_limit_config_set(&config, limit, loosest, NULL) == RAWHAL_OK) ==
            (value->value == loosest || value->value == RAWHAL_UNLIMITED) ||
        value->pinned);
}

static void check_values(const rawhal_limit_config_t *config, uint64_t memory)
{
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = (rawhal_limit_t)i;
    const rawhal_limit_info_t *info = rawhal_limit_info(limit);
    const rawhal_limit_value_t *value = &config->values[i];
    uint64_t got = rawhal_limit_config_get(config, limit), again;
    CHECK(memchr(value->origin, '\0', sizeof(value->origin)));
    if (!*value->origin)
      continue;
    CHECK(getenv(value->origin));
    CHECK(got == RAWHAL_UNLIMITED || (got >= info->minimum && got <= info->maximum));
    char text[64];
    rawhal_limit_format(limit, got, text, sizeof(text));
    CHECK(limit_parse(text, info->unit, memory, &again, NULL) == RAWHAL_OK && again == got);
    /* A number begins with a digit, whatever stands for it. */
    const char *given = getenv(value->origin);
    CHECK(strchr("0123456789uU", *given) || info->unit == RAWHAL_UNIT_CHARGING ||
          info->unit == RAWHAL_UNIT_PRIORITY);
    check_bound(value, limit);
  }
}

static void check_mask(const char *text, uint32_t units, uint32_t dies, bool pairs)
{
  cu_mask_device_t device = {units, dies, pairs};
  cu_mask_t mask;
  rawhal_status_t status = cu_mask_parse(text, &device, &mask, NULL);
  uint32_t selected = 0;
  for (uint32_t unit = 0; unit < 32 * CU_MASK_WORDS; ++unit) {
    bool is_set = mask.words[unit / 32] >> unit % 32 & 1;
    CHECK(!is_set || unit < units);
    selected += is_set;
  }
  CHECK((status == RAWHAL_OK) == (selected > 0));
  CHECK(mask.bits % 32 == 0 && (mask.bits != 0) == (selected > 0));
}

static void check_environment(const uint8_t *data, size_t size)
{
  uint8_t first[4] = {0};
  size_t header = size < sizeof(first) ? size : sizeof(first);
  memcpy(first, data, header);
  rawhal_limit_device_t device = {.index = first[0] % DEVICES,
                                  .memory_bytes = (uint64_t)(first[1] & 15) << (first[1] >> 4) * 3};
  clear_environment();
  const char *at = (const char *)data + header, *end = (const char *)data + size;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end;
    set_variable(at, (size_t)(stop - at));
    at = newline ? newline + 1 : end;
  }
  rawhal_limit_config_t config = {0};
  rawhal_error_t error = {0};
  if (rawhal_limit_config_environment(&config, &device, &error) != RAWHAL_OK) {
    char blamed[128];
    size_t length = strcspn(error.message, ":");
    CHECK(length < sizeof(blamed));
    memcpy(blamed, error.message, length);
    blamed[length] = '\0';
    blamed[strcspn(blamed, " ")] = '\0'; /* the first of several masks */
    CHECK(getenv(blamed));
    return;
  }
  check_values(&config, device.memory_bytes);
  CHECK(memchr(config.cu_mask.text, '\0', sizeof(config.cu_mask.text)));
  CHECK(memchr(config.region.text, '\0', sizeof(config.region.text)));
  if (*config.cu_mask.text)
    check_mask(config.cu_mask.text, first[2] * 5u, first[3] % 70, first[3] & 128);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  /* One misspelt name is compared with some 60 that are known: 64 characters with 20 or 30; and each
   * of its words with theirs. */
  budget_t budget = budget_begin(300000 + 64 * (uint64_t)size, 1 << 16);
  check_environment(data, size);
  budget_end(&budget);
  return 0;
}
