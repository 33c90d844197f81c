#include "hal/installed.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beside librawhal, and for a program in a folder next to the library's. The build tree has the
 * same places. */
const char *const installed_places[2] = {"rawhal", RAWHAL_INSTALLED_FROM_BINDIR};

/* As the kernel has it, because the dynamic linker's path may be relative to an earlier working
 * directory, and that of a program is its argv[0]. */
void installed_from(char folder[PATH_MAX])
{
  folder[0] = '\0';
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps)
    return;
  const uintptr_t self = (uintptr_t)&installed_from;
  char line[PATH_MAX + 256]; /* addresses, then a path */
  while (fgets(line, sizeof(line), maps)) {
    uintptr_t from, to;
    char *slash = strchr(line, '/'), *last = strrchr(line, '/');
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2 || self < from || self >= to)
      continue;
    if (slash && (size_t)(last - slash) < PATH_MAX)
      snprintf(folder, PATH_MAX, "%.*s", (int)(last - slash), slash);
    break;
  }
  fclose(maps);
}

bool installed_find(const char *name, char path[PATH_MAX])
{
  char folder[PATH_MAX], place[2 * PATH_MAX];
  installed_from(folder);
  for (size_t i = 0; *folder && i < sizeof(installed_places) / sizeof(*installed_places); ++i) {
    snprintf(place, sizeof(place), "%s/%s/%s", folder, installed_places[i], name);
    if (realpath(place, path))
      return true;
  }
  return false;
}
