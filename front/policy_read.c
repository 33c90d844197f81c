/* From JSON to rules. What is not understood is refused, with the rule's number, from 1. */
#include "front/policy.h"

#include "base/error.h"
#include "base/jansson.h"

#include <stdlib.h>
#include <string.h>

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a policy");
}

/* ---- Values ---- */

typedef rawhal_status_t read_fn(policy_rule_t *rule, const json_t *value, rawhal_error_t *error);

static rawhal_status_t copy_text(const json_t *value, char **text, rawhal_error_t *error)
{
  const char *string = jansson.string_value(value);
  if (!string)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected text");
  if (strchr(string, '\n'))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected one line");
  *text = strdup(string);
  return *text ? RAWHAL_OK : no_memory(error);
}

static rawhal_status_t read_program(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  return copy_text(value, &rule->program, error);
}

static rawhal_status_t read_kernel(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  return copy_text(value, &rule->kernel, error);
}

static rawhal_status_t read_object(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  rawhal_status_t status = copy_text(value, &rule->object, error);
  if (status != RAWHAL_OK)
    return status;
  const size_t length = strlen(rule->object);
  if (length >= 4 && length <= 32 && strspn(rule->object, "0123456789abcdef") == length)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "'%.40s' is not a hash prefix of 4 to 32 hexadecimal digits", rule->object);
}

static rawhal_status_t read_check(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  const char *word = jansson.string_value(value);
  rule->has_check = true;
  return word && watch_check_of(word, &rule->check)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected " WATCH_CHECKS);
}

static rawhal_status_t read_word(const json_t *value, policy_word_t *word, rawhal_error_t *error)
{
  *word = json_is_true(value) ? POLICY_YES : POLICY_NO;
  return json_is_boolean(value)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected true or false");
}

static rawhal_status_t read_record(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  return read_word(value, &rule->record, error);
}

static rawhal_status_t read_trace(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  return read_word(value, &rule->trace, error);
}

static rawhal_status_t read_substitute(policy_rule_t *rule, const json_t *value,
                                       rawhal_error_t *error)
{
  return copy_text(value, &rule->substitute, error);
}

static rawhal_status_t read_ignore(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  if (!json_is_true(value))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected true");
  if (rule->has_check || rule->record || rule->trace || rule->substitute)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "it contradicts another key of the rule");
  rule->has_check = true;
  rule->check = WATCH_CHECK_OFF;
  rule->record = rule->trace = POLICY_NO;
  rule->substitute = strdup("");
  return rule->substitute ? RAWHAL_OK : no_memory(error);
}

static rawhal_status_t read_contract(policy_rule_t *rule, const char *argument, const json_t *value,
                                     rawhal_error_t *error)
{
  const char *text = jansson.string_value(value);
  if (!text)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the value of '%.40s' is not text",
                       argument);
  if (rule->contract_count == POLICY_CONTRACTS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there are more than %d", POLICY_CONTRACTS);
  policy_contract_t *contract = &rule->contracts[rule->contract_count++];
  contract->argument = strdup(argument);
  return contract->argument ? contract_parse(text, &contract->bytes, error) : no_memory(error);
}

static rawhal_status_t read_bytes(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (!json_is_object(value))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected an object");
  rule->contracts = calloc(jansson.object_size(value) + 1, sizeof(*rule->contracts));
  if (!rule->contracts)
    return no_memory(error);
  jansson_each(value, member)
  {
    status = read_contract(rule, jansson.object_iter_key(member), jansson.object_iter_value(member),
                           error);
    if (status != RAWHAL_OK)
      break;
  }
  return status;
}

static rawhal_status_t read_limit(policy_rule_t *rule, const char *name, const json_t *value,
                                  rawhal_error_t *error)
{
  static const rawhal_limit_device_t some = {.memory_bytes = UINT64_C(1) << 40};
  const rawhal_limit_info_t *info;
  int limit = 0;
  while ((info = rawhal_limit_info((rawhal_limit_t)limit)) && strcmp(info->name, name) != 0)
    ++limit;
  if (!info)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown limit '%.40s'", name);
  policy_limit_t *made = &rule->limits[rule->limit_count++];
  made->limit = (rawhal_limit_t)limit;
  rawhal_status_t status = copy_text(value, &made->value, error);
  uint64_t parsed;
  return status == RAWHAL_OK ? rawhal_limit_parse(made->limit, made->value, &some, &parsed, error)
                             : status;
}

static rawhal_status_t read_limits(policy_rule_t *rule, const json_t *value, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (!json_is_object(value))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected an object");
  rule->limits = calloc(jansson.object_size(value) + 1, sizeof(*rule->limits));
  if (!rule->limits)
    return no_memory(error);
  jansson_each(value, member)
  {
    status =
        read_limit(rule, jansson.object_iter_key(member), jansson.object_iter_value(member), error);
    if (status != RAWHAL_OK)
      break;
  }
  return status;
}

/* In the order in which they are read: "ignore" after all that it contradicts. */
static const struct {
  const char *name;
  read_fn *read;
} keys[] = {
    {"program", read_program}, {"kernel", read_kernel}, {"object", read_object},
    {"check", read_check},     {"record", read_record}, {"trace", read_trace},
    {"bytes", read_bytes},     {"limits", read_limits}, {"substitute", read_substitute},
    {"ignore", read_ignore},
};

enum { KEYS = sizeof(keys) / sizeof(*keys) };

/* ---- Rules ---- */

static rawhal_status_t check_keys(const json_t *object, rawhal_error_t *error)
{
  jansson_each(object, member)
  {
    const char *name = jansson.object_iter_key(member);
    int i = 0;
    while (i < KEYS && strcmp(keys[i].name, name) != 0)
      ++i;
    if (i == KEYS)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown key '%.40s'", name);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_rule(const policy_rule_t *rule, rawhal_error_t *error)
{
  if (rule->limit_count && (rule->kernel || rule->object))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "limits apply to programs, not to kernels or code objects");
  if (rule->substitute && strchr(rule->kernel ? rule->kernel : "", '='))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a kernel whose name contains '=' cannot be replaced");
  return RAWHAL_OK;
}

static rawhal_status_t read_rule(policy_rule_t *rule, const json_t *object, rawhal_error_t *error)
{
  if (!json_is_object(object))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "expected an object");
  rawhal_status_t status = check_keys(object, error);
  for (int i = 0; i < KEYS && status == RAWHAL_OK; ++i) {
    const json_t *value = jansson.object_get(object, keys[i].name);
    rawhal_error_t why;
    if (value && (status = keys[i].read(rule, value, &why)) != RAWHAL_OK)
      return rawhal_fail(error, status, "'%s': %s", keys[i].name, why.message);
  }
  return status == RAWHAL_OK ? check_rule(rule, error) : status;
}

static rawhal_status_t read_rules(const json_t *root, policy_t *policy, rawhal_error_t *error)
{
  const json_t *version = jansson.object_get(root, "version"),
               *rules = jansson.object_get(root, "rules");
  if (!json_is_integer(version) || jansson.integer_value(version) != 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "its \"version\" is not 1");
  if (!json_is_array(rules) || jansson.object_size(root) != 2)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "expected only \"version\" and a list of \"rules\"");
  const size_t count = jansson.array_size(rules);
  if (count > POLICY_RULES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu rules; the limit is %d", count,
                       POLICY_RULES);
  policy->rules = calloc(count + 1, sizeof(*policy->rules));
  if (!policy->rules)
    return no_memory(error);
  for (size_t i = 0; i < count; ++i) {
    rawhal_error_t why;
    rawhal_status_t status =
        read_rule(&policy->rules[policy->rule_count++], jansson.array_get(rules, i), &why);
    if (status != RAWHAL_OK)
      return rawhal_fail(error, status, "rule %zu: %s", i + 1, why.message);
  }
  return RAWHAL_OK;
}

rawhal_status_t policy_read(const char *text, size_t size, policy_t *policy, rawhal_error_t *error)
{
  json_error_t where;
  *policy = (policy_t){0};
  if (size > POLICY_BYTES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "it has more than %d bytes", POLICY_BYTES);
  rawhal_status_t status = jansson_open(error);
  if (status != RAWHAL_OK)
    return status;
  json_t *root = jansson.loadb(text, size, JSON_REJECT_DUPLICATES, &where);
  if (!root)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "line %d, column %d: %s", where.line,
                       where.column, where.text);
  status = read_rules(root, policy, error);
  jansson.delete(root);
  if (status != RAWHAL_OK)
    policy_free(policy);
  return status;
}

static void free_rule(policy_rule_t *rule)
{
  for (size_t i = 0; i < rule->contract_count; ++i) {
    free(rule->contracts[i].argument);
    contract_free(rule->contracts[i].bytes);
  }
  for (size_t i = 0; i < rule->limit_count; ++i)
    free(rule->limits[i].value);
  free(rule->contracts);
  free(rule->limits);
  free(rule->program);
  free(rule->kernel);
  free(rule->object);
  free(rule->substitute);
}

void policy_free(policy_t *policy)
{
  for (size_t i = 0; i < policy->rule_count; ++i)
    free_rule(&policy->rules[i]);
  free(policy->rules);
  *policy = (policy_t){0};
}
