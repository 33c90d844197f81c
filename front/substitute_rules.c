#include "front/substitute_rules.h"

#include "front/devices.h"
#include "front/names.h"
#include "front/report.h"
#include "front/rule_lines.h"

#include "front/output.h"

#include "base/error.h"
#include "base/file_signals.h"
#include "queue/limit/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a substitution");
}

/* ---- Extras ---- */

typedef rawhal_status_t read_fn(rule_extra_t *extra, char *value, rawhal_error_t *error);

/* The program may change its folder. */
static char *absolute(const char *path)
{
  char folder[PATH_MAX], *whole = NULL;
  if (*path == '/')
    return strdup(path);
  if (!getcwd(folder, sizeof(folder)))
    return NULL;
  return asprintf(&whole, "%s/%s", folder, path) < 0 ? NULL : whole;
}

static rawhal_status_t read_buffer(rule_extra_t *extra, char *value, rawhal_error_t *error)
{
  char *file = strchr(value, ':');
  uint64_t bytes = 0;
  if (file)
    *file++ = '\0';
  rawhal_status_t status = limit_parse(value, RAWHAL_UNIT_BYTES, 0, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  if (!bytes || bytes == RAWHAL_UNLIMITED || bytes > SIZE_MAX / 2)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a buffer of '%.40s' bytes", value);
  extra->argument.kind = REMAP_BUFFER;
  extra->bytes = bytes;
  extra->save = file && *file ? absolute(file) : NULL;
  return file && *file && !extra->save ? no_memory(error) : RAWHAL_OK;
}

static rawhal_status_t read_dispatch(rule_extra_t *extra, char *value, rawhal_error_t *error)
{
  (void)value, (void)error;
  extra->argument.kind = REMAP_NUMBER;
  return RAWHAL_OK;
}

static rawhal_status_t read_value(rule_extra_t *extra, char *value, rawhal_error_t *error)
{
  extra->argument.kind = REMAP_VALUE;
  return limit_parse_count(value, &extra->argument.value, error);
}

static const struct {
  const char *name;
  bool valued;
  read_fn *read;
} extra_kinds[] = {
    {"buffer", true, read_buffer},
    {"dispatch", false, read_dispatch},
    {"value", true, read_value},
};

static rawhal_status_t read_extra(substitute_rule_t *rule, char *text, rawhal_error_t *error)
{
  char *value;
  for (size_t i = 0; i < sizeof(extra_kinds) / sizeof(*extra_kinds); ++i) {
    if (!rule_item_is(text, extra_kinds[i].name, extra_kinds[i].valued, &value))
      continue;
    if (rule->extra_count == REMAP_EXTRAS)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "more than %d additional arguments",
                         REMAP_EXTRAS);
    return extra_kinds[i].read(&rule->extras[rule->extra_count++], value, error);
  }
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "expected buffer=BYTES[:FILE], dispatch or value=N, got '%.60s'", text);
}

/* ---- Lines ---- */

static rawhal_status_t read_file(substitute_rule_t *rule, char *text, rawhal_error_t *error)
{
  char *kernel = strrchr(text, ':');
  if (kernel) {
    *kernel++ = '\0';
    rule->kernel = strdup(kernel);
    if (!rule->kernel)
      return no_memory(error);
  }
  if (!*text && !kernel)
    return RAWHAL_OK; /* it stays */
  if (!*text || (kernel && !*kernel))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no %s is named", *text ? "kernel" : "file");
  return replacement_open(text, &rule->file, error);
}

/* What follows NAME@, if it is the beginning of a hash; else it is part of the name. */
static const char *cut_object(char *name)
{
  char *at = strrchr(name, '@');
  if (!at || !at[1] || at[1 + strspn(at + 1, "0123456789abcdef")])
    return NULL;
  *at = '\0';
  return at + 1;
}

static rawhal_status_t read_rule(substitute_rule_t *rule, char *line, rawhal_error_t *error)
{
  char *rest = strchr(line, '='), *at = rest;
  if (!rest || rest == line)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "expected NAME=FILE[:KERNEL][,EXTRA...], got '%.100s'", line);
  *rest++ = '\0';
  const char *object = cut_object(line);
  rule->name = strdup(line);
  rule->object = object ? strdup(object) : NULL;
  if (!rule->name || (object && !rule->object))
    return no_memory(error);
  at = rest;
  (void)strsep(&at, ",");
  rawhal_status_t status = read_file(rule, rest, error);
  for (char *extra; status == RAWHAL_OK && (extra = strsep(&at, ","));)
    status = read_extra(rule, extra, error);
  return status;
}

static void close_rule(substitute_rule_t *rule)
{
  for (size_t i = 0; i < rule->extra_count; ++i) {
    free(rule->extras[i].save);
    if (rule->extras[i].memory)
      (void)front.hsa.pool_free(rule->extras[i].memory);
  }
  replacement_close(rule->file);
  free(rule->name);
  free(rule->object);
  free(rule->kernel);
  free(rule);
}

static rawhal_status_t read_line(void *context, char *line, rawhal_error_t *error)
{
  substitute_rule_t **last = context;
  while (*last)
    last = &(*last)->next;
  *last = calloc(1, sizeof(**last));
  return *last ? read_rule(*last, line, error) : no_memory(error);
}

rawhal_status_t rules_open(const char *lines, substitute_rule_t **rules, rawhal_error_t *error)
{
  rawhal_status_t status = rule_lines_read(lines, read_line, rules, error);
  if (status == RAWHAL_OK)
    return status;
  rules_close(*rules);
  *rules = NULL;
  return status;
}

void rules_close(substitute_rule_t *rules)
{
  for (substitute_rule_t *rule; (rule = rules);) {
    rules = rule->next;
    close_rule(rule);
  }
}

/* ---- Using ---- */

substitute_rule_t *rules_find(substitute_rule_t *rules, rawhal_string_t kernel,
                              rawhal_content_hash_t object)
{
  kernel_names_t names;
  kernel_names(&names, kernel, object);
  while (rules && (names.cut || !kernel_names_match(&names, rules->name, rules->object)))
    rules = rules->next;
  return rules;
}

bool rule_prepare(substitute_rule_t *rule)
{
  for (size_t i = 0; i < rule->extra_count; ++i) {
    rule_extra_t *extra = &rule->extras[i];
    if (extra->argument.kind != REMAP_BUFFER || extra->memory)
      continue;
    extra->memory = devices_shared_memory(extra->bytes);
    if (!extra->memory)
      return false;
    memset(extra->memory, 0, extra->bytes);
  }
  return true;
}

void rule_extras_text(const substitute_rule_t *rule, char *text, size_t size)
{
  size_t used = 0;
  *text = '\0';
  for (size_t i = 0; i < rule->extra_count && used < size; ++i) {
    const remap_extra_t *argument = &rule->extras[i].argument;
    int wrote = snprintf(text + used, size - used, ",%s=%llu", extra_kinds[argument->kind].name,
                         (unsigned long long)argument->value);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
}

void rule_values(substitute_rule_t *rule, uint64_t *values)
{
  const uint64_t number = atomic_fetch_add(&rule->numbers, 1);
  for (size_t i = 0; i < rule->extra_count; ++i) {
    const rule_extra_t *extra = &rule->extras[i];
    const uint64_t of_kind[] = {[REMAP_BUFFER] = (uint64_t)(uintptr_t)extra->memory,
                                [REMAP_NUMBER] = number,
                                [REMAP_VALUE] = extra->argument.value};
    values[i] = of_kind[extra->argument.kind];
  }
}

/* ---- The end ---- */

rawhal_status_t rules_check(const substitute_rule_t *rules, rawhal_error_t *error)
{
  for (const substitute_rule_t *rule = rules; rule; rule = rule->next)
    for (size_t i = 0; i < rule->extra_count; ++i)
      if (rule->extras[i].save && !output_would_make(rule->extras[i].save))
        return rawhal_fail(error, file_failure(errno), "the buffer's file '%.200s': %s",
                           rule->extras[i].save, strerror(errno));
  return RAWHAL_OK;
}

static void save(const rule_extra_t *extra)
{
  int fd = output_make(extra->save, 0666);
  if (extra->bytes && (fd < 0 || !write_without_signals(fd, extra->memory, extra->bytes)))
    front_report("substitute: '%.300s' could not be written: %s", extra->save, strerror(errno));
  if (fd >= 0)
    (void)close(fd);
}

void rules_summary(const substitute_rule_t *rules)
{
  for (const substitute_rule_t *rule = rules; rule; rule = rule->next) {
    if (!rule->file)
      continue;
    front_report("substitute: %.200s: %llu dispatches replaced, %llu not replaced", rule->name,
                 (unsigned long long)atomic_load(&rule->replaced),
                 (unsigned long long)atomic_load(&rule->kept));
    for (size_t i = 0; i < rule->extra_count; ++i)
      if (rule->extras[i].save && rule->extras[i].memory)
        save(&rule->extras[i]);
  }
}
