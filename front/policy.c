#include "front/policy.h"

#include "front/names.h"
#include "front/report.h"

#include "front/front.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of rules, those that are for this program come first, in their order. */
static policy_t policy;
static size_t own;

/* ---- The file ---- */

/* A file, once, and never waited for. */
static rawhal_status_t read_file(const char *path, char **text, size_t *size, rawhal_error_t *error)
{
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool regular = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  int code = fd < 0 ? errno : 0;
  *size = 0;
  *text = regular ? malloc(POLICY_BYTES + 1) : NULL;
  for (ssize_t got = 1; *text && got > 0 && *size <= POLICY_BYTES; *size += (size_t)got) {
    got = read(fd, *text + *size, POLICY_BYTES + 1 - *size);
    if (got < 0) {
      code = errno;
      break;
    }
  }
  if (fd >= 0)
    (void)close(fd);
  if (*text && !code)
    return RAWHAL_OK;
  free(*text);
  *text = NULL;
  return code       ? rawhal_fail(error, file_failure(code), "%s", strerror(code))
         : !regular ? rawhal_fail(error, RAWHAL_UNSUPPORTED, "it is not a regular file")
                    : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a policy");
}

static void keep_own(const char *program)
{
  char self[PATH_MAX];
  program = program_or_own(program, self);
  own = 0;
  for (size_t i = 0; i < policy.rule_count; ++i) {
    if (!program_matches(policy.rules[i].program, program))
      continue;
    policy_rule_t rule = policy.rules[i];
    policy.rules[i] = policy.rules[own];
    policy.rules[own++] = rule;
  }
}

rawhal_status_t policy_open(const char *program, rawhal_error_t *error)
{
  const char *path = secure_getenv("RAWHAL_POLICY");
  char *text = NULL;
  size_t size = 0;
  rawhal_error_t why;
  const char *named = getenv("RAWHAL_POLICY");
  if (!path && named && *named) /* no file is opened for them, and none is left out */
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_POLICY: not read, because the program has more privileges than the "
                       "user who started it");
  if (!path || !*path)
    return RAWHAL_OK;
  rawhal_status_t status = read_file(path, &text, &size, &why);
  if (status == RAWHAL_OK)
    status = policy_read(text, size, &policy, &why);
  free(text);
  if (status != RAWHAL_OK)
    return rawhal_fail(error, status, "RAWHAL_POLICY, '%.300s': %s", path, why.message);
  keep_own(program);
  return RAWHAL_OK;
}

void policy_close(void)
{
  policy_free(&policy);
  own = 0;
}

/* ---- What rules say ---- */

bool policy_checks(void)
{
  bool checks = false;
  for (size_t i = 0; i < own; ++i)
    checks |= policy.rules[i].contract_count ||
              (policy.rules[i].has_check && policy.rules[i].check != WATCH_CHECK_OFF);
  return checks;
}

watch_check_t policy_strictest_check(void)
{
  watch_check_t strictest = policy_checks() ? WATCH_CHECK_WARN : WATCH_CHECK_OFF;
  for (size_t i = 0; i < own; ++i)
    if (policy.rules[i].has_check && policy.rules[i].check > strictest)
      strictest = policy.rules[i].check;
  return strictest;
}

bool policy_has_rules(void)
{
  return policy.rule_count != 0;
}

bool policy_has_limits(void)
{
  bool limits = false;
  for (size_t i = 0; i < own; ++i)
    limits |= policy.rules[i].limit_count != 0;
  return limits;
}

rawhal_status_t policy_substitutes(char **lines, rawhal_error_t *error)
{
  size_t size = 0;
  FILE *stream = open_memstream(lines, &size);
  for (size_t i = 0; stream && i < own; ++i) {
    const policy_rule_t *rule = &policy.rules[i];
    if (rule->substitute)
      (void)fprintf(stream, "%s%s%s=%s\n", rule->kernel ? rule->kernel : "*",
                    rule->object ? "@" : "", rule->object ? rule->object : "", rule->substitute);
  }
  bool failed = !stream || ferror(stream);
  if (stream && fclose(stream) != 0)
    failed = true;
  if (!failed && size)
    return RAWHAL_OK;
  if (stream)
    free(*lines);
  *lines = NULL;
  return failed ? rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a policy") : RAWHAL_OK;
}

/* Of several rules the first that has a limit counts, as of everything else. */
rawhal_status_t policy_limits(rawhal_limit_config_t *config, const rawhal_limit_device_t *device,
                              rawhal_error_t *error)
{
  uint64_t said = 0; /* a bit for each */
  for (size_t i = 0; i < own; ++i)
    for (size_t j = 0; j < policy.rules[i].limit_count; ++j) {
      const policy_limit_t *limit = &policy.rules[i].limits[j];
      const uint64_t bit = UINT64_C(1) << limit->limit;
      if (said & bit)
        continue;
      said |= bit;
      rawhal_status_t status =
          rawhal_limit_config_set_text(config, limit->limit, limit->value, device, error);
      if (status != RAWHAL_OK)
        return status;
    }
  return RAWHAL_OK;
}

/* ---- Kernels ---- */

static bool is_for(const policy_rule_t *rule, const kernel_names_t *names)
{
  return kernel_names_match(names, rule->kernel, rule->object);
}

static bool index_of(const char *argument, const rawhal_kernarg_layout_t *layout, size_t *index)
{
  char *end = NULL;
  if (rawhal_kernarg_layout_find(layout, rawhal_string(argument), index, NULL) == RAWHAL_OK)
    return true;
  if (strncmp(argument, "arg", 3) != 0 || argument[3] < '0' || argument[3] > '9')
    return false;
  *index = strtoul(argument + 3, &end, 10);
  return *end == '\0';
}

/* A contract that cannot be kept is said, and left out: it is about another kernel. */
static void add_contract(policy_kernel_t *made, const policy_contract_t *contract,
                         const rawhal_kernarg_layout_t *layout, const kernel_names_t *names)
{
  size_t index = 0;
  rawhal_error_t error;
  const rawhal_kernarg_argument_t *argument = NULL;
  if (layout && index_of(contract->argument, layout, &index))
    argument = rawhal_kernarg_layout_argument(layout, index);
  if (!argument || argument->size != 8 || argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER) {
    front_report("policy: %.200s has no pointer '%.60s'", names->name, contract->argument);
    return;
  }
  for (size_t i = 0; i < made->argument_count; ++i)
    if (made->arguments[i].index == index)
      return;
  if (contract_check(contract->bytes, layout, &error) != RAWHAL_OK)
    front_report("policy: %.200s, '%.60s': %s", names->name, contract->argument, error.message);
  else
    made->arguments[made->argument_count++] = (policy_argument_t){(uint32_t)index, contract->bytes};
}

policy_kernel_t *policy_for(const rawhal_kernel_t *kernel, const rawhal_kernarg_layout_t *layout,
                            rawhal_content_hash_t object)
{
  kernel_names_t names;
  size_t contracts = 0, rules = 0;
  if (!own)
    return NULL;
  kernel_names(&names, kernel->name, object);
  for (size_t i = 0; i < own; ++i)
    if (is_for(&policy.rules[i], &names)) {
      contracts += policy.rules[i].contract_count;
      ++rules;
    }
  policy_kernel_t *made =
      rules ? calloc(1, sizeof(*made) + contracts * sizeof(*made->arguments)) : NULL;
  if (rules && !made)
    front_report("policy: no memory for a message about %.200s", names.name);
  policy_word_t record = POLICY_UNSAID, trace = POLICY_UNSAID;
  for (size_t i = 0; made && i < own; ++i) {
    const policy_rule_t *rule = &policy.rules[i];
    if (!is_for(rule, &names))
      continue;
    if (!made->has_check && rule->has_check) {
      made->has_check = true;
      made->check = rule->check;
    }
    record = record ? record : rule->record;
    trace = trace ? trace : rule->trace;
    for (size_t j = 0; j < rule->contract_count; ++j)
      add_contract(made, &rule->contracts[j], layout, &names);
  }
  if (made) {
    made->no_record = record == POLICY_NO;
    made->no_trace = trace == POLICY_NO;
  }
  return made;
}
