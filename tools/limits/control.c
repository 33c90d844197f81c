/* rawhal limits set, suspend, resume, release: an operator changes a tenant that runs. */
#include "tools/limits/limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/limit.h>

#include "tools/shared/tool.h"

typedef struct assignment {
  rawhal_limit_t limit;
  uint64_t value;
} assignment_t;

typedef struct order {
  const char *region, *tenant, *on; /* the device's name; NULL: all */
  rawhal_limit_device_t device;     /* for values in percent */
  assignment_t *assignments;        /* of set */
  size_t count;
} order_t;

typedef rawhal_status_t (*action_t)(rawhal_limit_control_t *control, const order_t *order,
                                    rawhal_error_t *error);

static rawhal_status_t set(rawhal_limit_control_t *control, const order_t *order,
                           rawhal_error_t *error)
{
  for (size_t i = 0; i < order->count; ++i) {
    const assignment_t *wanted = &order->assignments[i];
    rawhal_status_t status = rawhal_limit_control_set(control, order->on, order->tenant,
                                                      wanted->limit, wanted->value, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

static rawhal_status_t suspend(rawhal_limit_control_t *control, const order_t *order,
                               rawhal_error_t *error)
{
  return rawhal_limit_control_suspend(control, order->on, order->tenant, true, error);
}

static rawhal_status_t resume(rawhal_limit_control_t *control, const order_t *order,
                              rawhal_error_t *error)
{
  return rawhal_limit_control_suspend(control, order->on, order->tenant, false, error);
}

static rawhal_status_t release(rawhal_limit_control_t *control, const order_t *order,
                               rawhal_error_t *error)
{
  return rawhal_limit_control_release(control, order->on, order->tenant, error);
}

static const struct {
  const char *word;
  action_t action;
} actions[] = {{"set", set}, {"suspend", suspend}, {"resume", resume}, {"release", release}};

enum { ACTIONS = sizeof(actions) / sizeof(*actions) };

static action_t find_action(const char *word)
{
  for (int i = 0; i < ACTIONS; ++i)
    if (!strcmp(actions[i].word, word))
      return actions[i].action;
  return NULL;
}

int limits_is_control(const char *word)
{
  return find_action(word) != NULL;
}

/* ---- Arguments ---- */

/* The limits that can be set from outside; the short names are for people. */
static bool find_limit(const char *name, size_t size, rawhal_limit_t *limit)
{
  static const struct {
    const char *name;
    rawhal_limit_t limit;
  } short_names[] = {{"share", RAWHAL_LIMIT_GPU_SHARE}, {"rate", RAWHAL_LIMIT_DISPATCH_RATE}};
  for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); ++i)
    if (strlen(short_names[i].name) == size && !memcmp(short_names[i].name, name, size)) {
      *limit = short_names[i].limit;
      return true;
    }
  const rawhal_limit_info_t *info;
  for (rawhal_limit_t i = 0; (info = rawhal_limit_info(i)); ++i) {
    const char *known = info->name;
    if (strlen(known) != size || memcmp(known, name, size) != 0)
      continue;
    *limit = i;
    return true;
  }
  return false;
}

/* "share=30%". Returns TOOL_OK, or says what is wrong. */
static int read_assignment(const char *text, const rawhal_limit_device_t *device,
                           assignment_t *assignment)
{
  const char *equals = strchr(text, '=');
  rawhal_error_t error;
  if (!equals)
    return tool_usage("limits", "expected NAME=VALUE, got '%s'", text);
  if (!find_limit(text, (size_t)(equals - text), &assignment->limit))
    return tool_usage("limits", "unknown limit '%.*s'", (int)(equals - text), text);
  if (rawhal_limit_info(assignment->limit)->level == RAWHAL_LIMIT_LEVEL_PROCESS)
    return tool_usage("limits", "%s is set for each process, where it is started",
                      rawhal_limit_info(assignment->limit)->name);
  if (rawhal_limit_parse(assignment->limit, equals + 1, device, &assignment->value, &error))
    return tool_usage("limits", "%s: %s", text, error.message);
  return TOOL_OK;
}

static int carry_out(action_t action, const order_t *order)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  rawhal_limit_control_t *control = NULL;
  rawhal_status_t status = rawhal_limit_control_open(order->region, &control, &error);
  if (status == RAWHAL_OK)
    status = action(control, order, &error);
  rawhal_limit_control_close(control);
  return status == RAWHAL_OK ? TOOL_OK : tool_fail("limits", &error);
}

/* All are understood before the first is set. */
static int run_with(action_t action, order_t *order, char **words, size_t count)
{
  order->assignments = calloc(count + 1, sizeof(*order->assignments));
  if (!order->assignments) {
    rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
    (void)tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for the limits");
    return tool_fail("limits", &error);
  }
  int result = TOOL_OK;
  for (; result == TOOL_OK && order->count < count; ++order->count)
    result =
        read_assignment(words[order->count], &order->device, &order->assignments[order->count]);
  if (result == TOOL_OK)
    result = carry_out(action, order);
  free(order->assignments);
  return result;
}

bool limits_read_memory(const char *command, const tool_option_t *option, const char *text,
                        void *place)
{
  rawhal_error_t error;
  (void)option;
  if (rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, text, NULL, place, &error) == RAWHAL_OK)
    return true;
  (void)tool_usage(command, "--memory: %s", error.message);
  return false;
}

const tool_option_t limits_control_options[] = {
    {TOOL_OPTION("on", TEXT, order_t, on)},
    {LIMITS_MEMORY_OPTION(order_t, device.memory_bytes)},
    {0},
};

int limits_control(int argc, char **argv)
{
  const char *word = argv[0];
  action_t action = find_action(word);
  order_t order = {0};
  if (!option_read_all("limits", limits_control_options, false, &argc, &argv, &order))
    return TOOL_USAGE;
  if (argc < 2)
    return tool_usage("limits", "%s: expected REGION and TENANT", word);
  if (action == set && argc == 2)
    return tool_usage("limits", "set: expected NAME=VALUE after TENANT");
  if (action != set && argc > 2)
    return tool_usage("limits", "%s: unexpected argument '%s'", word, argv[2]);
  order.region = argv[0];
  order.tenant = argv[1];
  return run_with(action, &order, argv + 2, (size_t)argc - 2);
}
