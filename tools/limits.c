/* rawhal limits: what the environment limits, and where each value comes from. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <rawhal/limit.h>

#include "tools/json.h"
#include "tools/tool.h"

static void print_row(const char *name, const char *value, const char *origin)
{
  printf("%-22s ", name);
  int columns = tool_print_words(value);
  printf("%*s ", columns < 24 ? 24 - columns : 0, "");
  tool_print_words(*origin ? origin : "-");
  putchar('\n');
}

static void print_text(const rawhal_limit_config_t *config)
{
  print_row("LIMIT", "VALUE", "FROM");
  for (int i = 0; i < RAWHAL_LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = (rawhal_limit_t)i;
    char value[32];
    rawhal_limit_format(limit, rawhal_limit_config_get(config, limit), value, sizeof(value));
    print_row(rawhal_limit_info(limit)->name, value, config->values[i].origin);
  }
  print_row("cu-mask", *config->cu_mask.text ? config->cu_mask.text : "all",
            config->cu_mask.origin);
  print_row("tenant", *config->tenant.text ? config->tenant.text : "default",
            config->tenant.origin);
  print_row("region", *config->region.text ? config->region.text : "none, this process only",
            config->region.origin);
}

static void put_entry(json_writer_t *out, const char *key, const char *value, const char *origin)
{
  json_begin_object(out, key);
  json_put_text(out, "value", *value ? value : NULL);
  json_put_text(out, "from", *origin ? origin : NULL);
  json_end(out);
}

/* Schema "rawhal-limits-1", described in docs/limits.schema.json. */
static void print_json(const rawhal_limit_config_t *config)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-limits-1");
  json_begin_object(&out, "limits");
  for (int i = 0; i < RAWHAL_LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = (rawhal_limit_t)i;
    char value[32];
    rawhal_limit_format(limit, rawhal_limit_config_get(config, limit), value, sizeof(value));
    put_entry(&out, rawhal_limit_info(limit)->name, value, config->values[i].origin);
  }
  put_entry(&out, "cu-mask", config->cu_mask.text, config->cu_mask.origin);
  put_entry(&out, "tenant", config->tenant.text, config->tenant.origin);
  put_entry(&out, "region", config->region.text, config->region.origin);
  json_end(&out);
  json_end(&out);
}

static int run(int argc, char **argv)
{
  static const struct option long_options[] = {
      {"json", no_argument, NULL, 'j'},
      {"device", required_argument, NULL, 'd'},
      {"memory", required_argument, NULL, 'm'},
      {NULL, 0, NULL, 0},
  };
  rawhal_limit_device_t device = {0};
  rawhal_limit_config_t size = {0}, config = {0};
  rawhal_error_t error;
  bool json = false;
  uint64_t index;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
    switch (option) {
    case 'j':
      json = true;
      break;
    case 'd':
      if (!tool_parse_number(optarg, UINT32_MAX, &index))
        return tool_usage("limits", "--device: '%s' is no number", optarg);
      device.index = (uint32_t)index;
      break;
    case 'm':
      if (rawhal_limit_config_set_text(&size, RAWHAL_LIMIT_MEMORY, optarg, NULL, &error))
        return tool_usage("limits", "--memory: %s", error.message);
      device.memory_bytes = rawhal_limit_config_get(&size, RAWHAL_LIMIT_MEMORY);
      break;
    default:
      return tool_usage("limits", "unknown or incomplete option '%s'", argv[optind - 1]);
    }
  if (argc != optind)
    return tool_usage("limits", "expected options only, got '%s'", argv[optind]);
  if (rawhal_limit_config_environment(&config, &device, &error))
    return tool_fail("limits", &error);
  (json ? print_json : print_text)(&config);
  return TOOL_OK;
}

static const char *help(void)
{
  return "usage: rawhal limits [OPTIONS]\n\n"
         "Shows the limits that programs started from this environment will have, and which "
         "variable\n"
         "each value comes from: RAWHAL_* first, then those that HAMi's device plugins set.\n\n"
         "options:\n"
         "  --device N       the device whose variables count, as in RAWHAL_MEMORY_LIMIT_1; "
         "default 0\n"
         "  --memory SIZE    the device's memory, such as 64G: what percentages are of\n"
         "  --json           one JSON document (schema \"rawhal-limits-1\") instead of text\n"
         "  --help           this text\n\n"
         "exit status:\n"
         "  0   done\n"
         "  1   a variable is not understood; standard error names it\n"
         "  2   the command line is wrong\n";
}

const tool_command_t limits_command = {
    .name = "limits",
    .summary = "show what the environment limits, and where from",
    .help = help,
    .run = run,
};
