#include "debug/dump.h"

#include "base/error.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DUMP_BUDGET (UINT64_C(64) << 20)
#define DUMP_MOST   (UINT64_C(1) << 40)

static rawhal_status_t refuse(const char *name, const char *expected, const char *text,
                              rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s: expected %s, got '%s'", name, expected,
                     text);
}

/* Not of a program with more rights than its user. NULL: it is not set. */
static const char *variable(const char *name)
{
  const char *text = secure_getenv(name);
  return text && *text ? text : NULL;
}

static const struct {
  const char *name;
  uint32_t classes;
} contents[] = {
    {"none", CORE_NO_CONTENTS},
    {"kernargs", CORE_NO_CONTENTS | CORE_CLASS_BIT(CORE_KERNARG)},
    {"all", CORE_CLASS_BIT(CORE_CLASSES) - 1},
};

static bool read_where(dump_settings_t *settings, const char *where)
{
  core_output_t output;
  struct stat about = {0};
  if (core_output_read(&output, where, &(core_process_t){0}, NULL) != RAWHAL_OK ||
      strlen(where) >= sizeof(settings->where) ||
      (output.kind == CORE_OUTPUT_DESCRIPTOR && fstat(output.descriptor, &about)))
    return false;
  settings->device = about.st_dev;
  settings->inode = about.st_ino;
  snprintf(settings->where, sizeof(settings->where), "%s", where);
  return true;
}

rawhal_status_t dump_settings_read(dump_settings_t *settings, rawhal_error_t *error)
{
  const char *where = variable("RAWHAL_CORE"), *bytes = variable("RAWHAL_CORE_BYTES"),
             *wanted = variable("RAWHAL_CORE_CONTENTS"), *hour = variable("RAWHAL_CORE_PER_HOUR"),
             *threads = variable("RAWHAL_CORE_THREADS");
  uint64_t number = 1;
  *settings = (dump_settings_t){.budget = DUMP_BUDGET, .classes = CORE_NO_CONTENTS, .per_hour = 1};
  if (where && !read_where(settings, where))
    return refuse("RAWHAL_CORE",
                  "a file's name with %p, %h, %e, %t and %%, fd:N of a descriptor that is open, or "
                  "|PROGRAM WORD ...",
                  where, error);
  if (bytes && (number_bytes(bytes, &settings->budget) || settings->budget > DUMP_MOST))
    return refuse("RAWHAL_CORE_BYTES", "bytes such as 64M or 1G, or 0 for no bound", bytes, error);
  if (hour && (number_count(hour, &number) || number > UINT32_MAX))
    return refuse("RAWHAL_CORE_PER_HOUR", "a number", hour, error);
  settings->per_hour = (uint32_t)number;
  settings->threads = threads && !strcmp(threads, "1");
  if (threads && !settings->threads && strcmp(threads, "0"))
    return refuse("RAWHAL_CORE_THREADS", "0 or 1", threads, error);
  for (size_t i = 0; wanted && i < sizeof(contents) / sizeof(*contents); ++i)
    if (!strcmp(wanted, contents[i].name)) {
      settings->classes = contents[i].classes;
      wanted = NULL;
    }
  return wanted ? refuse("RAWHAL_CORE_CONTENTS", "none, kernargs or all", wanted, error)
                : RAWHAL_OK;
}
