#include "tools/shared/triton.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool ends_in(const char *path, const char *ending)
{
  size_t size = strlen(path), end = strlen(ending);
  return size > end && !strcmp(path + size - end, ending);
}

bool tool_is_triton_json(const char *path)
{
  return ends_in(path, ".json");
}

bool tool_has_triton_json(const char *path)
{
  static const char ending[] = ".hsaco";
  char other[PATH_MAX];
  struct stat facts;
  size_t stem = strlen(path) - (sizeof(ending) - 1);
  return ends_in(path, ending) && stem < sizeof(other) - 8 &&
         snprintf(other, sizeof(other), "%.*s.json", (int)stem, path) > 0 && !stat(other, &facts) &&
         S_ISREG(facts.st_mode);
}
