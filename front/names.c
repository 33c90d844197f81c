#include "front/names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void kernel_names(kernel_names_t *names, rawhal_string_t kernel, rawhal_content_hash_t object)
{
  names->cut = kernel.size >= sizeof(names->name);
  (void)snprintf(names->name, sizeof(names->name), "%.*s",
                 (int)(names->cut ? sizeof(names->name) - 1 : kernel.size), kernel.data);
  content_text(object, names->object);
}

bool name_matches(const char *pattern, const char *name)
{
  return !pattern || strcmp(pattern, name) == 0 || fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

bool kernel_names_match(const kernel_names_t *names, const char *pattern, const char *object)
{
  return name_matches(pattern, names->name) &&
         (!object || strncmp(object, names->object, strlen(object)) == 0);
}
