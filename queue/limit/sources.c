/* Where limits come from, and which counts: the program, RAWHAL_* variables, the variables HAMi's
 * device plugins set, and an operator's file. The rules stand in limit.h. */
#include "queue/limit/config.h"
#include "queue/limit/limits_file.h"
#include "queue/limit/parse.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/hex_set.h"
#include "base/sized.h"
#include "base/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PER_DEVICE = LIMIT_COUNT + LIMIT_NAME_COUNT };

static const char file_variable[] = "RAWHAL_LIMITS_FILE";
static const char pinned_variable[] = "RAWHAL_LIMITS_PINNED";

/* How a foreign variable's text is to be read, where it differs from ours. */
typedef enum dialect {
  DIALECT_OURS,
  DIALECT_PERCENT_NUMBER, /* "30" is 30 %; 0, and 100 or more, mean no limit: HAMi's plugin writes 0
                             when no share was asked for */
  DIALECT_ZERO_IS_HIGH,   /* 0 is high, anything above is low */
} dialect_t;

static const struct {
  rawhal_limit_t limit;
  dialect_t dialect;
  const char *variable;
} foreign_limits[] = {
    {RAWHAL_LIMIT_MEMORY, DIALECT_OURS, "HIP_DEVICE_MEMORY_LIMIT"},
    {RAWHAL_LIMIT_MEMORY, DIALECT_OURS, "CUDA_DEVICE_MEMORY_LIMIT"},
    {RAWHAL_LIMIT_GPU_SHARE, DIALECT_PERCENT_NUMBER, "CUDA_DEVICE_SM_LIMIT"},
    {RAWHAL_LIMIT_PRIORITY, DIALECT_ZERO_IS_HIGH, "AMD_TASK_PRIORITY"},
    {RAWHAL_LIMIT_PRIORITY, DIALECT_ZERO_IS_HIGH, "CUDA_TASK_PRIORITY"},
};

/* `suffix` follows the text: what HAMi's variables name is HAMi's file, ours lies next to it. */
static const struct {
  rawhal_limit_name_t text;
  const char *variable, *suffix;
} foreign_texts[] = {
    {RAWHAL_LIMIT_NAME_REGION, "HIP_DEVICE_MEMORY_SHARED_CACHE", ".rawhal"},
    {RAWHAL_LIMIT_NAME_REGION, "CUDA_DEVICE_MEMORY_SHARED_CACHE", ".rawhal"},
    {RAWHAL_LIMIT_NAME_CU_MASK, "ROC_GLOBAL_CU_MASK", ""},
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

typedef struct sources {
  rawhal_limit_device_t device;
  limits_file_t file;
  bool pinned[PER_DEVICE]; /* by RAWHAL_LIMITS_PINNED */
} sources_t;

/* A text that was found, and the name to blame it on. */
typedef struct finding {
  const char *text; /* NULL: none */
  char origin[LIMIT_NAME_BYTES];
} finding_t;

/* ---- Looking for texts ---- */

/* Where one source has a text of that name. */
typedef finding_t lookup(const sources_t *sources, const char *name);

static finding_t in_environment(const sources_t *sources, const char *name)
{
  (void)sources;
  finding_t found = {.text = getenv(name)};
  snprintf(found.origin, sizeof(found.origin), "%s", name);
  return found;
}

static finding_t in_file(const sources_t *sources, const char *name)
{
  finding_t found = {0};
  const limits_line_t *line = limits_file_find(&sources->file, name);
  if (line) {
    found.text = line->value;
    snprintf(found.origin, sizeof(found.origin), "%s:%u", file_variable, line->number);
  }
  return found;
}

/* What a source says of this device and what it says of all: neither lifts the other. */
enum { FINDINGS = 2 };

static void find(const sources_t *sources, lookup *look, const char *variable,
                 finding_t found[FINDINGS])
{
  char own[LIMIT_NAME_BYTES];
  snprintf(own, sizeof(own), "%s_%u", variable, sources->device.index);
  found[0] = look(sources, own);
  found[1] = look(sources, variable);
}

/* A program with more rights than the user who started it does not open files for that user; and
 * not to open one would lift a limit. */
static rawhal_status_t check_secure(const char *variable, rawhal_error_t *error)
{
  if (!getenv(variable) || secure_getenv(variable))
    return RAWHAL_OK;
  return rawhal_fail(
      error, RAWHAL_UNSUPPORTED,
      "%s: it names a file, and this program has more privileges than the user who started it",
      variable);
}

/* ---- Values ---- */

/* `origin` "": none. */
typedef struct word {
  uint64_t value;
  char origin[LIMIT_NAME_BYTES];
} word_t;

static rawhal_status_t parse_foreign(dialect_t dialect, const char *text, uint64_t *value,
                                     rawhal_error_t *error)
{
  rawhal_status_t status = limit_parse_count(text, value, error);
  if (status != RAWHAL_OK)
    return status;
  if (dialect == DIALECT_ZERO_IS_HIGH)
    *value = *value ? RAWHAL_PRIORITY_LOW : RAWHAL_PRIORITY_HIGH;
  else
    *value = *value == 0 || *value >= 100 ? RAWHAL_UNLIMITED : *value * 10000;
  return RAWHAL_OK;
}

static rawhal_status_t parse_one(const sources_t *sources, rawhal_limit_t limit, dialect_t dialect,
                                 const char *text, uint64_t *value, rawhal_error_t *error)
{
  rawhal_status_t status = dialect == DIALECT_OURS
                               ? limit_parse(text, rawhal_limit_info(limit)->unit,
                                             sources->device.memory_bytes, value, error)
                               : parse_foreign(dialect, text, value, error);
  return status == RAWHAL_OK ? limit_check_value(limit, *value, error) : status;
}

/* `best` becomes what was found, when that is stricter. */
static rawhal_status_t weigh(const sources_t *sources, rawhal_limit_t limit, dialect_t dialect,
                             const finding_t *found, word_t *best, rawhal_error_t *error)
{
  if (!found->text)
    return RAWHAL_OK;
  uint64_t value;
  rawhal_status_t status = parse_one(sources, limit, dialect, found->text, &value, error);
  if (status != RAWHAL_OK)
    return rawhal_fail_of(error, status, "%s", found->origin);
  if (!*best->origin || limit_is_stricter(limit, value, best->value)) {
    best->value = value;
    memcpy(best->origin, found->origin, sizeof(best->origin));
  }
  return RAWHAL_OK;
}

static rawhal_status_t weigh_all(const sources_t *sources, lookup *look, rawhal_limit_t limit,
                                 dialect_t dialect, const char *variable, word_t *best,
                                 rawhal_error_t *error)
{
  finding_t found[FINDINGS];
  rawhal_status_t status = RAWHAL_OK;
  find(sources, look, variable, found);
  for (int i = 0; status == RAWHAL_OK && i < FINDINGS; ++i)
    status = weigh(sources, limit, dialect, &found[i], best, error);
  return status;
}

static rawhal_status_t read_environment(const sources_t *sources, rawhal_limit_t limit,
                                        word_t *best, rawhal_error_t *error)
{
  rawhal_status_t status = weigh_all(sources, in_environment, limit, DIALECT_OURS,
                                     rawhal_limit_info(limit)->variable, best, error);
  for (size_t i = 0; status == RAWHAL_OK && i < COUNT(foreign_limits); ++i)
    if (foreign_limits[i].limit == limit)
      status = weigh_all(sources, in_environment, limit, foreign_limits[i].dialect,
                         foreign_limits[i].variable, best, error);
  return status;
}

/* A caller asks for less than what is pinned, and would not get it. */
static rawhal_status_t check_pin(rawhal_limit_t limit, const word_t *pin, const char *origin,
                                 uint64_t value, rawhal_error_t *error)
{
  if (!limit_is_stricter(limit, value, pin->value))
    return RAWHAL_OK;
  char asked[32], held[32];
  rawhal_limit_format(limit, value, asked, sizeof(asked));
  rawhal_limit_format(limit, pin->value, held, sizeof(held));
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: %s is pinned at %s by %s and cannot be made %s", origin,
                     rawhal_limit_info(limit)->name, held, pin->origin, asked);
}

static rawhal_status_t read_value(const sources_t *sources, rawhal_limit_t limit,
                                  rawhal_limit_value_t *mine, rawhal_error_t *error)
{
  word_t file = {0}, environment = {0};
  rawhal_status_t status = weigh_all(sources, in_file, limit, DIALECT_OURS,
                                     rawhal_limit_info(limit)->variable, &file, error);
  if (status == RAWHAL_OK)
    status = read_environment(sources, limit, &environment, error);
  if (status == RAWHAL_OK && *file.origin && *environment.origin)
    status = check_pin(limit, &file, environment.origin, environment.value, error);
  const word_t *bound = *file.origin ? &file : &environment;
  bool pinned = *file.origin || (*environment.origin && sources->pinned[limit]);
  if (status == RAWHAL_OK && pinned && *mine->origin)
    status = check_pin(limit, bound, mine->origin, mine->value, error);
  if (status != RAWHAL_OK)
    return status;
  mine->pinned = pinned;
  mine->bound = bound->value;
  memcpy(mine->bound_origin, bound->origin, sizeof(mine->bound_origin));
  if (*bound->origin &&
      (!*mine->origin || pinned || limit_is_stricter(limit, bound->value, mine->value))) {
    mine->value = bound->value;
    memcpy(mine->origin, bound->origin, sizeof(mine->origin));
  }
  return RAWHAL_OK;
}

/* ---- Texts ---- */

static rawhal_status_t set_text(rawhal_limit_text_t *into, const finding_t *found,
                                const char *suffix, rawhal_error_t *error)
{
  size_t size = strlen(found->text), suffix_size = strlen(suffix) + 1; /* with its NUL */
  if (size == 0 || size > sizeof(into->text) - suffix_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s: the text is %s", found->origin,
                       size ? "too long" : "empty");
  memcpy(into->text, found->text, size);
  memcpy(into->text + size, suffix, suffix_size);
  memcpy(into->origin, found->origin, sizeof(into->origin));
  return RAWHAL_OK;
}

static rawhal_status_t check_mask(const rawhal_limit_text_t *text, rawhal_error_t *error)
{
  if (hex_set_digits(text->text))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: '%.100s' is not a mask of compute units; expected hexadecimal digits",
                     text->origin, text->text);
}

static rawhal_status_t conflict(const char *what, const rawhal_limit_text_t *a,
                                const rawhal_limit_text_t *b, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: the %s is '%.100s', but '%.100s' by %s; they must be equal, or one of "
                     "them set by the operator's file",
                     a->origin, what, a->text, b->text, b->origin);
}

/* Both hold. A tenant or a region is the same or none. */
static rawhal_status_t join(rawhal_limit_name_t id, rawhal_limit_text_t *into,
                            const rawhal_limit_text_t *other, rawhal_error_t *error)
{
  if (!*other->text || !strcmp(into->text, other->text))
    return RAWHAL_OK;
  if (!*into->text) {
    *into = *other;
    return RAWHAL_OK;
  }
  if (id != RAWHAL_LIMIT_NAME_CU_MASK)
    return conflict(limit_texts[id].name, other, into, error);
  rawhal_limit_text_t both = {0};
  hex_set_intersect(into->text, other->text, both.text);
  if (hex_set_is_same(both.text, "0"))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s: the mask '%.100s' has no compute unit in common with '%.100s' of %s",
                       other->origin, other->text, into->text, into->origin);
  if (hex_set_is_same(both.text, into->text))
    return RAWHAL_OK;
  if (hex_set_is_same(both.text, other->text)) {
    *into = *other;
    return RAWHAL_OK;
  }
  char origins[sizeof(into->origin) + sizeof(other->origin) + 3];
  snprintf(origins, sizeof(origins), "%s & %s", into->origin, other->origin);
  memcpy(both.origin, origins, sizeof(both.origin) - 1); /* three general names fit */
  *into = both;
  return RAWHAL_OK;
}

static rawhal_status_t add_text(rawhal_limit_name_t id, const finding_t *found, const char *suffix,
                                rawhal_limit_text_t *into, rawhal_error_t *error)
{
  if (!found->text)
    return RAWHAL_OK;
  rawhal_limit_text_t text = {0};
  rawhal_status_t status =
      id == RAWHAL_LIMIT_NAME_REGION ? check_secure(found->origin, error) : RAWHAL_OK;
  if (status == RAWHAL_OK)
    status = set_text(&text, found, suffix, error);
  if (status == RAWHAL_OK && id == RAWHAL_LIMIT_NAME_CU_MASK)
    status = check_mask(&text, error);
  return status == RAWHAL_OK ? join(id, into, &text, error) : status;
}

static rawhal_status_t add_texts(const sources_t *sources, lookup *look, rawhal_limit_name_t id,
                                 const char *variable, const char *suffix,
                                 rawhal_limit_text_t *into, rawhal_error_t *error)
{
  finding_t found[FINDINGS];
  rawhal_status_t status = RAWHAL_OK;
  find(sources, look, variable, found);
  for (int i = 0; status == RAWHAL_OK && i < FINDINGS; ++i)
    status = add_text(id, &found[i], suffix, into, error);
  return status;
}

static rawhal_status_t read_environment_text(const sources_t *sources, rawhal_limit_name_t id,
                                             rawhal_limit_text_t *text, rawhal_error_t *error)
{
  rawhal_status_t status =
      add_texts(sources, in_environment, id, limit_texts[id].variable, "", text, error);
  for (size_t i = 0; status == RAWHAL_OK && i < COUNT(foreign_texts); ++i)
    if (foreign_texts[i].text == id)
      status = add_texts(sources, in_environment, id, foreign_texts[i].variable,
                         foreign_texts[i].suffix, text, error);
  return status;
}

/* A mask that is pinned is the operator's; one that would leave less is refused, not ignored. */
static rawhal_status_t check_mask_pin(const rawhal_limit_text_t *pin,
                                      const rawhal_limit_text_t *other, rawhal_error_t *error)
{
  char both[sizeof(pin->text)];
  if (!*other->text)
    return RAWHAL_OK;
  hex_set_intersect(pin->text, other->text, both);
  if (hex_set_is_same(both, pin->text))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: cu-mask is pinned at '%.100s' by %s and cannot be made '%.100s'",
                     other->origin, pin->text, pin->origin, other->text);
}

static rawhal_status_t pin_text(rawhal_limit_name_t id, const rawhal_limit_text_t *pin,
                                const rawhal_limit_text_t *others[2], rawhal_limit_text_t *into,
                                rawhal_error_t *error)
{
  for (int i = 0; i < 2 && id == RAWHAL_LIMIT_NAME_CU_MASK; ++i) {
    rawhal_status_t status = check_mask_pin(pin, others[i], error);
    if (status != RAWHAL_OK)
      return status;
  }
  rawhal_limit_text_t pinned = *pin;
  pinned.pinned = true;
  *into = pinned;
  return RAWHAL_OK;
}

static rawhal_status_t read_text(const sources_t *sources, rawhal_limit_name_t id,
                                 rawhal_limit_text_t *into, rawhal_error_t *error)
{
  rawhal_limit_text_t file = {0}, environment = {0}, program = *into;
  if (*program.text && !*program.origin)
    snprintf(program.origin, sizeof(program.origin), "program");
  rawhal_status_t status = RAWHAL_OK;
  if (*program.text && id == RAWHAL_LIMIT_NAME_CU_MASK)
    status = check_mask(&program, error);
  if (status == RAWHAL_OK)
    status = add_texts(sources, in_file, id, limit_texts[id].variable, "", &file, error);
  if (status == RAWHAL_OK && (!*file.text || id == RAWHAL_LIMIT_NAME_CU_MASK))
    status = read_environment_text(sources, id, &environment, error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_limit_text_t *others[] = {&environment, &program};
  if (*file.text)
    return pin_text(id, &file, others, into, error);
  if (*environment.text && sources->pinned[LIMIT_COUNT + (int)id])
    return pin_text(id, &environment, others, into, error);
  *into = program;
  return join(id, into, &environment, error);
}

/* The program's descriptor and a path from outside must be one file; one that is pinned wins. */
static rawhal_status_t settle_region(rawhal_limit_config_t *config, rawhal_error_t *error)
{
  if (!config->has_region_fd || !*config->region.text)
    return RAWHAL_OK;
  if (config->region.pinned) {
    config->has_region_fd = false;
    return RAWHAL_OK;
  }
  struct stat given, named;
  if (fstat(config->region_fd, &given) == 0 && stat(config->region.text, &named) == 0 &&
      given.st_dev == named.st_dev && given.st_ino == named.st_ino)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%s: the region is '%.100s', but the program has a descriptor of another file",
                     config->region.origin, config->region.text);
}

/* ---- All of them ---- */

/* Names separated by commas or blanks, or "all": whatever is set from outside. */
static rawhal_status_t read_pinned(sources_t *sources, rawhal_error_t *error)
{
  const char *at = getenv(pinned_variable);
  while (at && *at) {
    at += strspn(at, ", \t");
    size_t size = strcspn(at, ", \t");
    const char *nearest = NULL;
    if (size == 3 && !strncmp(at, "all", 3)) {
      for (int i = 0; i < PER_DEVICE; ++i)
        sources->pinned[i] = true;
    } else if (size) {
      int index = limit_find_name(at, size, &nearest);
      if (index < 0)
        return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "%s: no limit has the name '%.*s'; the nearest is %s", pinned_variable,
                           (int)(size < 100 ? size : 100), at, nearest);
      sources->pinned[index] = true;
    }
    at += size;
  }
  return RAWHAL_OK;
}

static rawhal_status_t open_sources(sources_t *sources, rawhal_error_t *error)
{
  rawhal_status_t status = variables_check(limit_variable, error);
  if (status == RAWHAL_OK)
    status = read_pinned(sources, error);
  if (status == RAWHAL_OK)
    status = check_secure(file_variable, error);
  const char *path = getenv(file_variable);
  return status == RAWHAL_OK && path ? limits_file_read(path, &sources->file, error) : status;
}

static rawhal_status_t read_all(const sources_t *sources, rawhal_limit_config_t *config,
                                rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  for (int i = 0; status == RAWHAL_OK && i < LIMIT_COUNT; ++i)
    status = read_value(sources, (rawhal_limit_t)i, &config->values[i], error);
  for (int i = 0; status == RAWHAL_OK && i < LIMIT_NAME_COUNT; ++i)
    status = read_text(sources, (rawhal_limit_name_t)i,
                       limit_config_name(config, (rawhal_limit_name_t)i), error);
  return status == RAWHAL_OK ? settle_region(config, error) : status;
}

rawhal_status_t rawhal_limit_config_environment(rawhal_limit_config_t *config,
                                                const rawhal_limit_device_t *device,
                                                rawhal_error_t *error)
{
  if (!config || !device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", config ? "device" : "config");
  sources_t sources = {0};
  WITHOUT_CANCELLATION();
  rawhal_limit_config_t read = *config; /* a failed call leaves `*config` alone */
  rawhal_status_t status = SIZED_TAKE(&sources.device, device, memory_bytes, error);
  if (status == RAWHAL_OK)
    status = open_sources(&sources, error);
  if (status == RAWHAL_OK)
    status = read_all(&sources, &read, error);
  limits_file_free(&sources.file);
  if (status == RAWHAL_OK)
    *config = read;
  return status;
}
