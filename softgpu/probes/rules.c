#include "softgpu/probes/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/glob.h"
#include "queue/limit/parse.h"

enum { DEFAULT_BUFFER = 64 << 20, LEAST_BUFFER = 4096 };
static const uint64_t most_buffer = UINT64_C(1) << 32; /* events have places below 4 GiB */

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a probe");
}

/* ---- Items ---- */

static rawhal_status_t read_sample(const char *text, uint64_t *each, rawhal_error_t *error)
{
  if (strncmp(text, "1/", 2) != 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected sample=1/N, got '%.60s'", text);
  rawhal_status_t status = limit_parse_count(text + 2, each, error);
  return status == RAWHAL_OK && *each == 0
             ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "sample=1/0")
             : status;
}

static rawhal_status_t read_buffer(const char *text, uint64_t *buffer, rawhal_error_t *error)
{
  rawhal_status_t status = limit_parse(text, RAWHAL_UNIT_BYTES, 0, buffer, error);
  return status == RAWHAL_OK && (*buffer < LEAST_BUFFER || *buffer > most_buffer)
             ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "a buffer of '%.40s' bytes; the least is %d, the most %llu", text,
                           LEAST_BUFFER, (unsigned long long)most_buffer)
             : status;
}

static rawhal_status_t read_value(rule_t *rule, const char *text, rawhal_error_t *error)
{
  if (rule->value_count == RULE_VALUES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "more than %d values", RULE_VALUES);
  return rawhal_probe_value_parse(rawhal_string(text), &rule->values[rule->value_count++], error);
}

typedef enum item {
  ITEM_KERNEL,
  ITEM_QUEUE,
  ITEM_LEAST,
  ITEM_MOST,
  ITEM_SAMPLE,
  ITEM_SKIP,
  ITEM_FIRST,
  ITEM_BUFFER,
  ITEM_VALUE,
  ITEMS,
} item_t;

static const char *const items[ITEMS] = {
    [ITEM_KERNEL] = "kernel=", [ITEM_QUEUE] = "queue=",   [ITEM_LEAST] = "grid>=",
    [ITEM_MOST] = "grid<=",    [ITEM_SAMPLE] = "sample=", [ITEM_SKIP] = "skip=",
    [ITEM_FIRST] = "first=",   [ITEM_BUFFER] = "buffer=", [ITEM_VALUE] = "value=",
};

static rawhal_status_t read_item(rule_t *rule, const char *text, rawhal_error_t *error)
{
  uint64_t *const counts[ITEMS] = {[ITEM_QUEUE] = &rule->queue,
                                   [ITEM_LEAST] = &rule->least,
                                   [ITEM_MOST] = &rule->most,
                                   [ITEM_SKIP] = &rule->skip,
                                   [ITEM_FIRST] = &rule->first};
  int item = 0;
  while (item < ITEMS &&
         (strncmp(text, items[item], strlen(items[item])) != 0 || !text[strlen(items[item])]))
    ++item;
  const char *value = item < ITEMS ? text + strlen(items[item]) : NULL;
  switch (item) {
  case ITEM_KERNEL:
    free(rule->kernel);
    rule->kernel = strdup(value);
    return rule->kernel ? RAWHAL_OK : no_memory(error);
  case ITEM_SAMPLE:
    return read_sample(value, &rule->each, error);
  case ITEM_BUFFER:
    return read_buffer(value, &rule->buffer, error);
  case ITEM_VALUE:
    return read_value(rule, value, error);
  case ITEMS:
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "expected kernel=NAME, queue=N, grid>=N, grid<=N, sample=1/N, skip=N, "
                       "first=N, buffer=BYTES or value=REGISTER@OFFSET, got '%.60s'",
                       text);
  default:
    return limit_parse_count(value, counts[item], error);
  }
}

/* ---- Lines ---- */

static void close_rules(rule_t *rules)
{
  for (rule_t *rule; (rule = rules);) {
    rules = rule->next;
    free(rule->text);
    free(rule->kernel);
    free(rule);
  }
}

static rawhal_status_t read_line(rule_t *rule, char *line, rawhal_error_t *error)
{
  *rule = (rule_t){.text = strdup(line),
                   .queue = RULE_ANY,
                   .most = UINT64_MAX,
                   .first = UINT64_MAX,
                   .each = 1,
                   .buffer = DEFAULT_BUFFER};
  const rawhal_string_t kinds = rawhal_string(strsep(&line, ","));
  rawhal_status_t status =
      rule->text ? rawhal_probe_kinds_parse(kinds, &rule->kinds, error) : no_memory(error);
  for (char *item; status == RAWHAL_OK && (item = strsep(&line, ","));)
    status = read_item(rule, item, error);
  if (status == RAWHAL_OK && !(rule->kinds & RAWHAL_PROBE_VALUES) != !rule->value_count)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "values requires value=REGISTER@OFFSET, and the reverse");
  return status;
}

rawhal_status_t rules_open(const char *lines, rule_t **rules, rawhal_error_t *error)
{
  char *copy = strdup(lines), *at = copy;
  rule_t **last = rules;
  *rules = NULL;
  rawhal_status_t status = copy ? RAWHAL_OK : no_memory(error);
  for (char *line; status == RAWHAL_OK && (line = strsep(&at, "\n"));) {
    if (!*line)
      continue;
    *last = malloc(sizeof(**last));
    status = *last ? read_line(*last, line, error) : no_memory(error);
    last = *last ? &(*last)->next : last;
  }
  free(copy);
  if (status == RAWHAL_OK && !*rules)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no rule in it");
  if (status == RAWHAL_OK)
    return status;
  close_rules(*rules);
  *rules = NULL;
  return status;
}

static bool is_for(const rule_t *rule, const char *kernel)
{
  return rule->kernel ? glob_names(rawhal_string(rule->kernel), rawhal_string(kernel))
                      : strncmp(kernel, "__amd_rocclr_", strlen("__amd_rocclr_")) != 0;
}

rule_t *rules_find(rule_t *rules, const char *kernel)
{
  while (rules && !is_for(rules, kernel))
    rules = rules->next;
  return rules;
}
