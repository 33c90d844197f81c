#include "front/names.h"

#include "base/glob.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void kernel_names(kernel_names_t *names, rawhal_string_t kernel, rawhal_content_hash_t object)
{
  names->cut = kernel.size >= sizeof(names->name);
  (void)snprintf(names->name, sizeof(names->name), "%.*s",
                 (int)(names->cut ? sizeof(names->name) - 1 : kernel.size), kernel.data);
  content_text(object, names->object);
}

bool name_matches(const char *pattern, const char *name)
{
  return !pattern || glob_names(rawhal_string(pattern), rawhal_string(name));
}

bool program_matches(const char *pattern, const char *program)
{
  const char *last = strrchr(program, '/');
  return name_matches(pattern, program) || (last && name_matches(pattern, last + 1));
}

const char *program_or_own(const char *program, char own[PATH_MAX])
{
  const ssize_t length = program ? 0 : readlink("/proc/self/exe", own, PATH_MAX - 1);
  own[length > 0 ? length : 0] = '\0';
  return program ? program : own;
}

bool kernel_names_match(const kernel_names_t *names, const char *pattern, const char *object)
{
  return name_matches(pattern, names->name) &&
         (!object || strncmp(object, names->object, strlen(object)) == 0);
}
