/* Where librawhal-front is, and what it says of an environment; where softgpu's is begun. */
#include "tools/shared/front.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/hal.h>

#include "tools/shared/program.h"
#include "tools/shared/tool.h"

static const char front_name[] = "librawhal-front.so";

/* Up to its last slash, which is not part of it. */
static void cut_to_folder(char path[PATH_MAX])
{
  char *slash = strrchr(path, '/');
  if (slash)
    *slash = '\0';
}

static void own_folder(char folder[PATH_MAX])
{
  ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  folder[size > 0 ? size : 0] = '\0';
  cut_to_folder(folder);
}

bool front_find(char path[PATH_MAX], rawhal_error_t *error)
{
  const char *named = secure_getenv("RAWHAL_FRONT_LIBRARY");
  char self[PATH_MAX], place[2 * PATH_MAX];
  own_folder(self);
  if (named && *named)
    snprintf(place, sizeof(place), "%s", named);
  else
    snprintf(place, sizeof(place), "%s/%s/%s", self, RAWHAL_LIBDIR_FROM_BINDIR, front_name);
  if (!realpath(place, path))
    return tool_refuse(error, RAWHAL_NOT_FOUND, "%.300s: %s; set RAWHAL_FRONT_LIBRARY to its path",
                       place, strerror(errno));
  /* Names in HSA_TOOLS_LIB are separated by blanks. */
  if (strpbrk(path, " \t"))
    return tool_refuse(error, RAWHAL_UNSUPPORTED,
                       "the HSA runtime cannot load a path that contains a blank: '%.300s'", path);
  return true;
}

bool front_load(const char *path, front_preflight_fn **preflight, rawhal_error_t *error)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "%.400s", dlerror());
  /* POSIX promises that an object pointer from dlsym() holds a function's address. */
  *(void **)preflight = dlsym(library, "rawhal_front_preflight");
  return *preflight || tool_refuse(error, RAWHAL_NOT_FOUND, "'%.300s' is of another version", path);
}

/* ---- softgpu ---- */

/* Is there a folder of softgpu's libraries in LD_LIBRARY_PATH, as softgpu-run puts it there? */
bool front_runs_on_softgpu(void)
{
  static const char *const libraries[] = {"libhsakmt.so.1", "libdtif.so"};
  const char *at = getenv("LD_LIBRARY_PATH");
  for (; at && *at; at += *at == ':') {
    const size_t size = strcspn(at, ":");
    char path[PATH_MAX];
    bool all = true;
    for (size_t i = 0; i < 2; ++i) {
      const int used = size < PATH_MAX
                           ? snprintf(path, PATH_MAX, "%.*s/%s", (int)size, at, libraries[i])
                           : PATH_MAX;
      all = all && used < PATH_MAX && access(path, R_OK) == 0;
    }
    if (all)
      return true;
    at += size;
  }
  return false;
}

static bool find_in_folder(const char *folder, char runner[PATH_MAX])
{
  const int used = snprintf(runner, PATH_MAX, "%s/softgpu-run", folder);
  return used > 0 && used < PATH_MAX && program_is(runner);
}

/* Installed it is beside this program, in the build tree beside its library. */
static bool find_runner(char runner[PATH_MAX], rawhal_error_t *error)
{
  char folder[PATH_MAX];
  if (rawhal_softgpu_library_path(NULL, folder, sizeof(folder), error))
    return false;
  cut_to_folder(folder);
  if (find_in_folder(folder, runner))
    return true;
  own_folder(folder);
  return find_in_folder(folder, runner) ||
         tool_refuse(error, RAWHAL_NOT_FOUND, "there is no softgpu-run in '%.300s'", folder);
}

bool front_find_runner(char runner[PATH_MAX], rawhal_error_t *error)
{
  rawhal_backend_t backend;
  const char *asked = getenv("RAWHAL_DEVICE");
  *runner = '\0';
  if (front_runs_on_softgpu())
    return true;
  if (rawhal_backend_default(&backend, error))
    return false;
  if (backend != RAWHAL_BACKEND_SOFTGPU || find_runner(runner, error))
    return true;
  *runner = '\0';
  if (asked && *asked)
    return false;
  fprintf(stderr, "rawhal exec: there is no GPU, and softgpu is not available: %s\n",
          error->message);
  return true;
}
