/* Where librawhal-front is. */
#include "tools/front.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

static const char front_name[] = "librawhal-front.so";

bool front_find(char path[PATH_MAX], rawhal_error_t *error)
{
  const char *named = secure_getenv("RAWHAL_FRONT_LIBRARY");
  char self[PATH_MAX], place[2 * PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  self[size > 0 ? size : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash)
    *slash = '\0';
  if (named && *named)
    snprintf(place, sizeof(place), "%s", named);
  else
    snprintf(place, sizeof(place), "%s/%s/%s", self, RAWHAL_LIBDIR_FROM_BINDIR, front_name);
  if (!realpath(place, path))
    return tool_refuse(error, RAWHAL_NOT_FOUND, "%.300s: %s; RAWHAL_FRONT_LIBRARY may name it",
                       place, strerror(errno));
  /* Names in HSA_TOOLS_LIB are separated by blanks. */
  if (strpbrk(path, " \t"))
    return tool_refuse(error, RAWHAL_UNSUPPORTED,
                       "the HSA runtime takes no path with a blank in it: '%.300s'", path);
  return true;
}
