#include "base/variables.h"

#include "base/error.h"
#include "base/meant.h"

#include <string.h>
#include <unistd.h>

/* But those of single devices. */
static const struct {
  const char *name;
  bool enforced; /* it says what must hold */
} variables[] = {
    {"RAWHAL_CACHE", false},
    {"RAWHAL_CHECK", true},
    {"RAWHAL_CORE", false},
    {"RAWHAL_CORE_BYTES", false},
    {"RAWHAL_CORE_CONTENTS", false},
    {"RAWHAL_CORE_PER_HOUR", false},
    {"RAWHAL_CORE_THREADS", false},
    {"RAWHAL_DEVICE", false},
    {"RAWHAL_DOOR", false},
    {"RAWHAL_FAULTS", false},
    {"RAWHAL_FRONT_LIBRARY", false},
    {"RAWHAL_FRONT_REPORT", false},
    {"RAWHAL_GDB", false},
    {"RAWHAL_HIPLAUNCH_POINTERS", false},
    {"RAWHAL_LIMITS_FILE", true},
    {"RAWHAL_LIMITS_PINNED", true},
    {"RAWHAL_LOG", false},
    {"RAWHAL_OBJDUMP", false},
    {"RAWHAL_POLICY", true},
    {"RAWHAL_PROBE", false},
    {"RAWHAL_PROBE_BYTES", false},
    {"RAWHAL_PROBE_CALLBACK", false},
    {"RAWHAL_PROBE_ENGINE", false},
    {"RAWHAL_PROBE_FILE", false},
    {"RAWHAL_PROBE_FOLDER", false},
    {"RAWHAL_RECORD", false},
    {"RAWHAL_RECORD_BUFFERS", false},
    {"RAWHAL_RECORD_BYTES", false},
    {"RAWHAL_RUNTIME_LIBRARY", false},
    {"RAWHAL_SOFTGPU_LIBRARY", false},
    {"RAWHAL_SUBSTITUTE", false},
    {"RAWHAL_SUBSTITUTE_CACHE", false},
    {"RAWHAL_TRACE", false},
    {"RAWHAL_WATCHDOG", false},
};

enum { VARIABLES = sizeof(variables) / sizeof(*variables) };

static const char prefix[] = MEANT_PREFIX;
static const char of_python[] = MEANT_PREFIX "PY_"; /* the Python package's own, however named */

/* Is that how a device's number is written? Exactly so it is looked for: no sign, no zero before
 * it, at most 2^32 - 1. */
static bool is_index(const char *text, size_t size)
{
  uint64_t value = 0;
  if (size == 0 || size > 10 || (size > 1 && *text == '0'))
    return false;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    value = value * 10 + (uint64_t)(text[i] - '0');
  }
  return value <= UINT32_MAX;
}

size_t variable_stem(const char *name, size_t size)
{
  for (size_t at = size; at-- > 0;)
    if (name[at] == '_')
      return is_index(name + at + 1, size - at - 1) ? at : size;
  return size;
}

bool variable_is(const char *given, size_t size, const char *known)
{
  return strlen(known) == size && memcmp(given, known, size) == 0;
}

static bool is_known(variable_of_device_t *of_device, const char *name, size_t size)
{
  const char *known;
  const size_t stem = variable_stem(name, size);
  if (!strncmp(name, of_python, sizeof(of_python) - 1))
    return true;
  for (int i = 0; (known = of_device(i)); ++i)
    if (variable_is(name, size, known) || variable_is(name, stem, known))
      return true;
  for (int i = 0; i < VARIABLES; ++i)
    if (variable_is(name, size, variables[i].name))
      return true;
  return false;
}

/* Might it have been meant to say what must hold? A third of it may be wrong. What is like no name
 * is other people's, RAWHAL_BUILD or RAWHAL_SOURCE, or of our tests. */
static bool is_meant(variable_of_device_t *of_device, const char *name, size_t size,
                     const meant_t *nearest)
{
  const size_t looked_at = size < MEANT_COMPARED ? size : MEANT_COMPARED;
  const size_t own = looked_at - (sizeof(prefix) - 1), stem = variable_stem(name, size);
  const char *known;
  bool meant = nearest->least_edits <= own / 3;
  for (int i = 0; !meant && (known = of_device(i)); ++i)
    meant = meant_shares_word(name, stem, known);
  for (int i = 0; i < VARIABLES && !meant; ++i)
    meant = variables[i].enforced && meant_shares_word(name, stem, variables[i].name);
  return meant;
}

static rawhal_status_t check(variable_of_device_t *of_device, const char *name, size_t size,
                             rawhal_error_t *error)
{
  const size_t stem = variable_stem(name, size);
  const char *known;
  meant_t nearest = {0};
  if (is_known(of_device, name, size))
    return RAWHAL_OK;
  for (int i = 0; (known = of_device(i)); ++i)
    meant_compare(&nearest, name, stem, known);
  for (int i = 0; i < VARIABLES; ++i)
    meant_compare(&nearest, name, stem, variables[i].name);
  if (!is_meant(of_device, name, size, &nearest))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "%.*s: rawhal knows no variable of that name; the nearest is %s",
                     (int)(size < 200 ? size : 200), name, nearest.name);
}

rawhal_status_t variables_check(variable_of_device_t *of_device, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  for (char **entry = environ; status == RAWHAL_OK && entry && *entry; ++entry)
    if (!strncmp(*entry, prefix, sizeof(prefix) - 1))
      status = check(of_device, *entry, strcspn(*entry, "="), error);
  return status;
}
