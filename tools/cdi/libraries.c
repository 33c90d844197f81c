/* The files that a container gets: the front with what it needs, and softgpu. */
#include "tools/cdi/cdi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawhal/hal.h>

#include "base/new_file.h"
#include "base/whole.h"
#include "tools/shared/file.h"
#include "tools/shared/front.h"
#include "tools/shared/tool.h"

/* An image's programs have these already, of one version with their loader. */
static bool is_of_libc(const char *name)
{
  static const char *const names[] = {"libc.", "libm.", "libdl.", "libpthread.", "librt.", "ld-"};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (!strncmp(name, names[i], strlen(names[i])))
      return true;
  return false;
}

/* Where the loader has it, by the name that the front asks for. */
static bool add_needed(const char *name, cdi_libraries_t *libraries, rawhal_error_t *error)
{
  struct link_map *map = NULL;
  void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (libraries->count == CDI_MOST_LIBRARIES)
    return tool_refuse(error, RAWHAL_UNSUPPORTED, "the front needs more than %d libraries",
                       CDI_MOST_LIBRARIES);
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) ||
      !realpath(map->l_name, libraries->list[libraries->count].path))
    return tool_refuse(error, RAWHAL_NOT_FOUND, "'%.200s' of the front's cannot be found", name);
  snprintf(libraries->list[libraries->count].name, sizeof(libraries->list->name), "%s", name);
  ++libraries->count;
  return true;
}

static bool add_front(cdi_libraries_t *libraries, rawhal_error_t *error)
{
  struct link_map *map = NULL;
  char *path = libraries->list[0].path;
  if (!front_find(path, error))
    return false;
  snprintf(libraries->list[0].name, sizeof(libraries->list->name), "%s", strrchr(path, '/') + 1);
  void *front = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!front || dlinfo(front, RTLD_DI_LINKMAP, &map))
    return tool_refuse(error, RAWHAL_NOT_FOUND, "%.400s", dlerror());
  libraries->count = 1;
  const char *names = NULL;
  for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_STRTAB)
      names = (const char *)at->d_un.d_ptr;
  for (const ElfW(Dyn) *at = map->l_ld; names && at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_NEEDED && !is_of_libc(names + at->d_un.d_val) &&
        !add_needed(names + at->d_un.d_val, libraries, error))
      return false;
  return true;
}

static bool add_softgpu(cdi_libraries_t *libraries, rawhal_error_t *error)
{
  char path[PATH_MAX], part[2 * PATH_MAX];
  if (rawhal_softgpu_library_path(NULL, path, sizeof(path), error))
    return false;
  char *slash = strrchr(path, '/');
  *(slash ? slash : path) = '\0';
  if (!realpath(path, libraries->softgpu))
    return tool_refuse(error, RAWHAL_NOT_FOUND, "softgpu's folder '%.200s' is not there", path);
  snprintf(part, sizeof(part), "%s/libsoftgpu-wait.so", libraries->softgpu);
  libraries->softgpu_waits = access(part, R_OK) == 0;
  return true;
}

bool cdi_find_libraries(bool softgpu, cdi_libraries_t *libraries, rawhal_error_t *error)
{
  libraries->count = 0;
  *libraries->softgpu = '\0';
  libraries->softgpu_waits = false;
  return add_front(libraries, error) && (!softgpu || add_softgpu(libraries, error));
}

/* ---- Copies ---- */

enum { LIBRARY_BYTES = 256 << 20, LIBRARY_MODE = 0755 };

static bool write_copy(const char *path, const void *data, size_t size, rawhal_error_t *error)
{
  new_file_t file;
  if (new_file_open(&file, path)) {
    if (!write_whole(file.descriptor, data, size) || fchmod(file.descriptor, LIBRARY_MODE))
      new_file_drop(&file);
    else if (new_file_keep(&file, true))
      return true;
  }
  return tool_refuse(error, RAWHAL_RUNTIME, "%.300s: %s", path, strerror(errno));
}

bool cdi_install_libraries(const char *folder, cdi_libraries_t *libraries, rawhal_error_t *error)
{
  for (size_t i = 0; i < libraries->count; ++i) {
    char path[PATH_MAX];
    unsigned char *data;
    size_t size;
    const int used = snprintf(path, sizeof(path), "%s/%s", folder, libraries->list[i].name);
    if (used < 0 || (size_t)used >= sizeof(path))
      return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: the path is too long", folder);
    const bool done = tool_read_file(libraries->list[i].path, LIBRARY_BYTES, &data, &size, error) &&
                      write_copy(path, data, size, error);
    free(data);
    if (!done)
      return false;
    strcpy(libraries->list[i].path, path);
  }
  return true;
}
