#include "front/probe/rules.h"

#include "front/report.h"
#include "front/rule_lines.h"

#include "base/clock.h"
#include "base/error.h"
#include "hsaco/file_bytes.h"
#include "queue/limit/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_BUFFER = 64 << 20, LEAST_BUFFER = 4096, DEFAULT_SECONDS = 10, MOST_SECONDS = 3600 };

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a probe");
}

/* ---- Items ---- */

typedef rawhal_status_t read_fn(probe_rule_t *rule, const char *value, rawhal_error_t *error);

static rawhal_status_t copy_text(const char *value, char **to, rawhal_error_t *error)
{
  free(*to);
  *to = strdup(value);
  return *to ? RAWHAL_OK : no_memory(error);
}

static rawhal_status_t read_kernel(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return copy_text(value, &rule->kernel, error);
}

static rawhal_status_t read_object(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  if (value[strspn(value, "0123456789abcdef")] || strlen(value) >= OBJECT_HASH_TEXT)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.60s' is not the beginning of a code object's hash", value);
  return copy_text(value, &rule->object, error);
}

static rawhal_status_t read_client(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return copy_text(value, &rule->client, error);
}

static rawhal_status_t read_queue(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  rule->of_queue = true;
  return limit_parse_count(value, &rule->queue, error);
}

static rawhal_status_t read_least(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse_count(value, &rule->least, error);
}

static rawhal_status_t read_most(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse_count(value, &rule->most, error);
}

static rawhal_status_t read_sample(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  rawhal_status_t status =
      strncmp(value, "1/", 2) == 0
          ? limit_parse_count(value + 2, &rule->each, error)
          : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected sample=1/N, got '%.60s'", value);
  return status == RAWHAL_OK && rule->each == 0
             ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "sample=1/0")
             : status;
}

static rawhal_status_t read_skip(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse_count(value, &rule->skip, error);
}

static rawhal_status_t read_first(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse_count(value, &rule->first, error);
}

static rawhal_status_t read_after(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse(value, RAWHAL_UNIT_DURATION, 0, &rule->after, error);
}

static rawhal_status_t read_until(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return limit_parse(value, RAWHAL_UNIT_DURATION, 0, &rule->until, error);
}

static rawhal_status_t read_buffer(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  rawhal_status_t status = limit_parse(value, RAWHAL_UNIT_BYTES, 0, &rule->buffer, error);
  if (status == RAWHAL_OK && (rule->buffer < LEAST_BUFFER || rule->buffer > PROBE_MEMORY_LARGEST))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a buffer of '%.40s' bytes; the least is %d, the most %llu", value,
                       LEAST_BUFFER, (unsigned long long)PROBE_MEMORY_LARGEST);
  return status;
}

static rawhal_status_t read_by(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  rule->by_softgpu = strcmp(value, "softgpu") == 0;
  return rule->by_softgpu || strcmp(value, "code") == 0
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "expected by=code or by=softgpu, got '%.60s'", value);
}

static rawhal_status_t read_wait(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  (void)value, (void)error;
  rule->waits = true;
  return RAWHAL_OK;
}

static rawhal_status_t read_value(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  if (rule->value_count == PROBE_VALUES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "more than %d values", PROBE_VALUES);
  return rawhal_probe_value_parse(rawhal_string(value), &rule->values[rule->value_count++], error);
}

static rawhal_status_t read_verified(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  return copy_text(value, &rule->verified, error);
}

static rawhal_status_t read_limit(probe_rule_t *rule, const char *value, rawhal_error_t *error)
{
  rawhal_status_t status = limit_parse(value, RAWHAL_UNIT_DURATION, 0, &rule->limit, error);
  return status == RAWHAL_OK && rule->limit > MOST_SECONDS * (uint64_t)CLOCK_SECOND
             ? rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a limit of '%.40s'; the most is %ds",
                           value, MOST_SECONDS)
             : status;
}

typedef struct item {
  const char *name;
  bool valued;
  read_fn *read;
} item_t;

static const item_t items[] = {
    {"kernel", true, read_kernel}, {"object", true, read_object},
    {"client", true, read_client}, {"queue", true, read_queue},
    {"grid>", true, read_least},   {"grid<", true, read_most},
    {"sample", true, read_sample}, {"skip", true, read_skip},
    {"first", true, read_first},   {"after", true, read_after},
    {"until", true, read_until},   {"buffer", true, read_buffer},
    {"wait", false, read_wait},    {0},
};
static const item_t of_kinds[] = {{"by", true, read_by},
                                  {"value", true, read_value},
                                  {"verified", true, read_verified},
                                  {0}},
                    of_engines[] = {{"limit", true, read_limit}, {0}};

static rawhal_status_t read_item(probe_rule_t *rule, char *text, rawhal_error_t *error)
{
  char *value;
  const item_t *const both[] = {items, rule->engine ? of_engines : of_kinds};
  for (size_t i = 0; i < sizeof(both) / sizeof(*both); ++i)
    for (const item_t *item = both[i]; item->name; ++item)
      if (rule_item_is(text, item->name, item->valued, &value))
        return item->read(rule, value, error);
  return rawhal_fail(
      error, RAWHAL_INVALID_ARGUMENT,
      "expected kernel=NAME, object=HASH, client=NAME, queue=N, grid>=N, grid<=N, "
      "sample=1/N, skip=N, first=N, after=TIME, until=TIME, buffer=BYTES, %s or "
      "wait, got '%.60s'",
      rule->engine ? "limit=TIME" : "by=code|softgpu, value=REGISTER@OFFSET, verified=PATH", text);
}

/* ---- Lines ---- */

/* What stands before the items. */
static rawhal_status_t read_kinds(probe_rule_t *rule, const char *names, rawhal_error_t *error)
{
  return rawhal_probe_kinds_parse(rawhal_string(names), &rule->kinds, error);
}

/* What it makes depends on what it is. */
static rawhal_status_t read_engine(probe_rule_t *rule, const char *path, rawhal_error_t *error)
{
  enum { MOST_BYTES = 256 << 20 };
  file_bytes_t bytes;
  rawhal_status_t status = file_bytes_open(path, MOST_BYTES, true, NULL, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  rule->engine_hash = rawhal_content_hash(bytes.data, bytes.size);
  file_bytes_close(&bytes, NULL);
  if (access(path, X_OK) != 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%.200s': %s", path, strerror(errno));
  rule->engine = realpath(path, NULL);
  return rule->engine ? RAWHAL_OK : no_memory(error);
}

static rawhal_status_t read_rule(probe_rule_t *rule, char *line, read_fn *read_what,
                                 rawhal_error_t *error)
{
  char *rest = line;
  const char *what = strsep(&rest, ",");
  rawhal_status_t status = rule->text ? read_what(rule, what, error) : no_memory(error);
  for (char *item; status == RAWHAL_OK && (item = strsep(&rest, ","));)
    status = read_item(rule, item, error);
  if (status == RAWHAL_OK && !(rule->kinds & RAWHAL_PROBE_VALUES) != !rule->value_count)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "values requires value=REGISTER@OFFSET, and the reverse");
  if (status == RAWHAL_OK && rule->verified && rule->by_softgpu)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "verified=PATH is of copies; by=softgpu makes none");
  return status;
}

static void close_rule(probe_rule_t *rule)
{
  probe_pool_close(&rule->memory);
  free(rule->text);
  free(rule->engine);
  free(rule->kernel);
  free(rule->object);
  free(rule->client);
  free(rule->verified);
  free(rule);
}

static probe_rule_t *make_rule(const char *line)
{
  probe_rule_t *rule = calloc(1, sizeof(*rule));
  if (!rule)
    return NULL;
  rule->text = strdup(line);
  rule->most = rule->first = rule->until = UINT64_MAX;
  rule->each = 1;
  rule->buffer = DEFAULT_BUFFER;
  rule->limit = DEFAULT_SECONDS * (uint64_t)CLOCK_SECOND;
  return rule;
}

typedef struct reading {
  const char *variable;
  read_fn *read_what;
  probe_rule_t **last; /* where the next goes */
} reading_t;

static rawhal_status_t read_line(void *context, char *line, rawhal_error_t *error)
{
  reading_t *reading = context;
  rawhal_error_t why;
  probe_rule_t *rule = *reading->last = make_rule(line);
  rawhal_status_t status = rule ? read_rule(rule, line, reading->read_what, &why) : no_memory(&why);
  if (rule) {
    probe_pool_open(&rule->memory, rule->buffer);
    reading->last = &rule->next;
  }
  return status == RAWHAL_OK ? status
                             : rawhal_fail(error, status, "%s: %s", reading->variable, why.message);
}

rawhal_status_t probe_rules_open(const char *kinds, const char *engines, probe_rule_t **rules,
                                 rawhal_error_t *error)
{
  reading_t reading = {"RAWHAL_PROBE", read_kinds, rules};
  *rules = NULL;
  rawhal_status_t status = rule_lines_read(kinds, read_line, &reading, error);
  reading.variable = "RAWHAL_PROBE_ENGINE";
  reading.read_what = read_engine;
  if (status == RAWHAL_OK)
    status = rule_lines_read(engines, read_line, &reading, error);
  if (status == RAWHAL_OK)
    return status;
  probe_rules_close(*rules);
  *rules = NULL;
  return status;
}

void probe_rules_close(probe_rule_t *rules)
{
  for (probe_rule_t *rule; (rule = rules);) {
    rules = rule->next;
    close_rule(rule);
  }
}

void probe_rules_keep(probe_rule_t **rules, const char *program)
{
  char own[PATH_MAX];
  const char *tenant = secure_getenv("RAWHAL_TENANT");
  program = program_or_own(program, own);
  for (probe_rule_t *rule; (rule = *rules);) {
    if (program_matches(rule->client, program) ||
        name_matches(rule->client, tenant ? tenant : "")) {
      rules = &rule->next;
      continue;
    }
    *rules = rule->next;
    close_rule(rule);
  }
}

/* ---- Using ---- */

probe_rule_t *probe_rules_find(probe_rule_t *rules, rawhal_string_t kernel,
                               rawhal_content_hash_t object)
{
  kernel_names_t names;
  kernel_names(&names, kernel, object);
  const bool by_name = strncmp(names.name, "__amd_rocclr_", strlen("__amd_rocclr_")) == 0;
  while (rules &&
         ((by_name && !rules->kernel) || !kernel_names_match(&names, rules->kernel, rules->object)))
    rules = rules->next;
  return rules;
}

/* ---- The end ---- */

static const char *const why[] = {
    [PROBE_KEPT_SAMPLING] = "left out by the rule",
    [PROBE_KEPT_EARLY] = "before there was a probed kernel",
    [PROBE_KEPT_REFUSED] = "of kernels that cannot be probed",
    [PROBE_KEPT_REPLACED] = "of replaced kernels",
    [PROBE_KEPT_POLICY] = "of kernels that the policy does not record",
    [PROBE_KEPT_KERNARGS] = "with kernargs that the host cannot read",
    [PROBE_KEPT_MEMORY] = "for want of memory",
    [PROBE_KEPT_FILE] = "after the end of the file",
    [PROBE_KEPT_LAUNCH] = "of sizes that the probed kernel does not allow",
    [PROBE_KEPT_UNCERTIFIED] = "of kernels whose copies have no certificate",
};

void probe_rules_summary(const probe_rule_t *rules)
{
  for (const probe_rule_t *rule = rules; rule; rule = rule->next) {
    char text[512] = "";
    size_t used = 0;
    unsigned long long kept = 0;
    for (size_t i = 0; i < PROBE_KEPTS; ++i) {
      const unsigned long long count = atomic_load(&rule->kept[i]);
      if (count && used < sizeof(text))
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu %s", kept ? ", " : "",
                                 count, why[i]);
      kept += count;
    }
    front_report("probe: %.200s: %llu dispatches probed, %llu not%s%s%s, %llu records lost",
                 rule->text, (unsigned long long)atomic_load(&rule->probed), kept, kept ? " (" : "",
                 text, kept ? ")" : "", (unsigned long long)atomic_load(&rule->lost));
  }
}
