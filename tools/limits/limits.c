/* rawhal limits: what the environment limits, and where each value comes from. */
#include "tools/limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/limit.h>

#include "tools/shared/json.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

/* ---- What other limiters read ---- */

/* Its value where it is set, "" for a file that is there; NULL: neither. */
static const char *foreign_value(const rawhal_limit_foreign_t *foreign)
{
  if (*foreign->variable == '/')
    return access(foreign->variable, F_OK) == 0 ? "" : NULL;
  return getenv(foreign->variable);
}

/* ---- Text ---- */

enum { INDENT = 4, NARROW = 72 };

static void print_row(const char *name, const char *value, const char *origin, bool pinned)
{
  terminal_row_t row = {0};
  char from[sizeof((rawhal_limit_text_t){0}.origin) + sizeof(", pinned")];
  snprintf(from, sizeof(from), "%s%s", *origin ? origin : "-", pinned ? ", pinned" : "");
  terminal_row_put(&row, name, 22, INDENT);
  terminal_row_put(&row, value, terminal_columns() < NARROW ? 10 : 24, INDENT);
  terminal_row_put(&row, from, 0, INDENT);
  putchar('\n');
}

static void print_name_row(const char *key, const rawhal_limit_config_t *config,
                           rawhal_limit_name_t name, const char *otherwise)
{
  rawhal_limit_text_t text = {.size = sizeof(text)};
  (void)!rawhal_limit_config_name(config, name, &text, NULL);
  print_row(key, *text.text ? text.text : otherwise, text.origin, text.pinned);
}

static void print_foreign_row(const char *variable, const char *value, const char *instead)
{
  terminal_row_t row = {0};
  terminal_row_put(&row, variable, 30, INDENT);
  terminal_row_put(&row, value, 16, INDENT);
  terminal_row_put_wrapped(&row, rawhal_string(instead), INDENT);
  putchar('\n');
}

static void print_foreign(void)
{
  const rawhal_limit_foreign_t *foreign;
  bool any = false;
  for (size_t i = 0; (foreign = rawhal_limit_foreign(i)); ++i) {
    const char *value = foreign_value(foreign);
    if (!value)
      continue;
    if (!any) {
      putchar('\n');
      print_foreign_row("NOT HONOURED", "VALUE", "INSTEAD");
    }
    any = true;
    print_foreign_row(foreign->variable, value, foreign->instead);
  }
}

static void print_text(const rawhal_limit_config_t *config)
{
  print_row("LIMIT", "VALUE", "FROM", false);
  for (rawhal_limit_t limit = 0; rawhal_limit_info(limit); ++limit) {
    rawhal_limit_value_t set = {.size = sizeof(set)};
    char value[32];
    (void)!rawhal_limit_config_value(config, limit, &set, NULL);
    rawhal_limit_format(limit, set.value, value, sizeof(value));
    print_row(rawhal_limit_info(limit)->name, value, set.origin, set.pinned);
  }
  print_name_row("cu-mask", config, RAWHAL_LIMIT_NAME_CU_MASK, "all");
  print_name_row("tenant", config, RAWHAL_LIMIT_NAME_TENANT, "default");
  print_name_row("region", config, RAWHAL_LIMIT_NAME_REGION, "none, this process only");
  print_foreign();
}

/* ---- JSON ---- */

static void put_entry(json_writer_t *out, const char *key, const char *value, const char *origin,
                      bool pinned)
{
  json_begin_object(out, key);
  json_put_text(out, "value", *value ? value : NULL);
  json_put_text(out, "from", *origin ? origin : NULL);
  json_put_bool(out, "pinned", pinned);
  json_end(out);
}

static void put_name(json_writer_t *out, const char *key, const rawhal_limit_config_t *config,
                     rawhal_limit_name_t name)
{
  rawhal_limit_text_t text = {.size = sizeof(text)};
  (void)!rawhal_limit_config_name(config, name, &text, NULL);
  put_entry(out, key, text.text, text.origin, text.pinned);
}

static void put_foreign(json_writer_t *out, const char *key)
{
  const rawhal_limit_foreign_t *foreign;
  json_begin_array(out, key);
  for (size_t i = 0; (foreign = rawhal_limit_foreign(i)); ++i) {
    const char *value = foreign_value(foreign);
    if (!value)
      continue;
    json_begin_object(out, NULL);
    json_put_text(out, "variable", foreign->variable);
    json_put_text(out, "value", value);
    json_put_text(out, "instead", foreign->instead);
    json_end(out);
  }
  json_end(out);
}

/* Schema "rawhal-limits-1", described in docs/limits.schema.json. */
static void print_json(const rawhal_limit_config_t *config)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-limits-1");
  json_begin_object(&out, "limits");
  for (rawhal_limit_t limit = 0; rawhal_limit_info(limit); ++limit) {
    rawhal_limit_value_t set = {.size = sizeof(set)};
    char value[32];
    (void)!rawhal_limit_config_value(config, limit, &set, NULL);
    rawhal_limit_format(limit, set.value, value, sizeof(value));
    put_entry(&out, rawhal_limit_info(limit)->name, value, set.origin, set.pinned);
  }
  put_name(&out, "cu-mask", config, RAWHAL_LIMIT_NAME_CU_MASK);
  put_name(&out, "tenant", config, RAWHAL_LIMIT_NAME_TENANT);
  put_name(&out, "region", config, RAWHAL_LIMIT_NAME_REGION);
  json_end(&out);
  put_foreign(&out, "not_honoured");
  json_end(&out);
}

/* ---- */

typedef struct limits_request {
  rawhal_limit_device_t device;
  bool json;
} limits_request_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, limits_request_t, json)},
    {TOOL_OPTION("index", NUMBER, limits_request_t, device.index), .most = UINT32_MAX,
     .wrong = "--index: '%s' is not a number"},
    {LIMITS_MEMORY_OPTION(limits_request_t, device.memory_bytes)},
    {.name = "device",
     .kind = OPTION_NOT,
     .wrong = "unknown option '--device': --index N selects a device"},
    {0},
};

static int run(int argc, char **argv)
{
  if (argc > 1 && limits_is_control(argv[1]))
    return limits_control(argc - 1, argv + 1);
  limits_request_t request = {0};
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  if (!option_read_all("limits", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc)
    return tool_usage("limits", "unexpected argument '%s'", *argv);
  rawhal_limit_config_t *config;
  rawhal_status_t status = rawhal_limit_config_create(&config, &error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_environment(config, &request.device, &error);
  if (status == RAWHAL_OK)
    (request.json ? print_json : print_text)(config);
  rawhal_limit_config_destroy(config);
  return status == RAWHAL_OK ? TOOL_OK : tool_fail("limits", &error);
}

const tool_command_t limits_command = {
    .name = "limits",
    .summary = "show the limits of this environment, or change a running tenant",
    .help = "usage: rawhal limits [--index N] [--memory SIZE] [--json]\n"
            "       rawhal limits set REGION TENANT NAME=VALUE... [--on DEVICE]\n"
            "                         [--memory SIZE]\n"
            "       rawhal limits suspend|resume|release REGION TENANT [--on DEVICE]\n\n"
            "Shows the limits of programs that are started from this environment, and where\n"
            "each value comes from: RAWHAL_* variables, variables that HAMi's device plugins\n"
            "set, and the file that RAWHAL_LIMITS_FILE names. The strictest value applies.\n"
            "Also lists variables that other limiters read and rawhal ignores.\n\n"
            "With REGION, a file that must be writable, changes a running tenant:\n\n"
            "  set       sets memory, gpu-share (or share), dispatch-rate (or rate), burst,\n"
            "            charging, or device-share, which is that of all tenants together\n"
            "  suspend   admits nothing until 'resume'; what is running continues\n"
            "  release   undoes 'set' and 'suspend': the limits of the tenant's processes\n"
            "            apply again\n\n"
            "options:\n"
            "  --index N        the number of the device whose variables apply, as in\n"
            "                   RAWHAL_MEMORY_LIMIT_1; default: 0\n"
            "  --memory SIZE    memory of the device, such as 64G, for values in percent\n"
            "  --on DEVICE      change the tenant on this device of the region only, as named\n"
            "                   by 'rawhal top'\n"
            "  --json           print one JSON document (schema \"rawhal-limits-1\") instead of\n"
            "                   text\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   a variable is not valid, or the region or the tenant does not exist or is\n"
            "      not writable; standard error says which\n",
    .run = run,
    .options = options,
    .more_options = limits_control_options,
    .first_words = "set suspend resume release",
};
