/* Finding and configuring softgpu, the GPU in software below the runtime. */
#include "hal/softgpu.h"

#include "hal/installed.h"

#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

bool softgpu_resolve(void *library, softgpu_thunk_t *thunk)
{
  /* POSIX promises that an object pointer from dlsym() holds a function's address. */
  *(void **)&thunk->option_set = dlsym(library, "softgpu_option_set");
  *(void **)&thunk->options_set_text = dlsym(library, "softgpu_options_set_text");
  *(void **)&thunk->option_get = dlsym(library, "softgpu_option_get");
  *(void **)&thunk->option_messages = dlsym(library, "softgpu_option_messages");
  debug_softgpu_find(library, &thunk->tells);
  *(void **)&thunk->coverage = dlsym(library, "softgpu_coverage");
  return thunk->option_set && thunk->options_set_text && thunk->option_get &&
         thunk->option_messages && thunk->tells.device_chip && thunk->tells.fault_text &&
         thunk->coverage;
}

/* The library's absolute path: the caller's word and the environment's are final, the rest are
 * places to look. A program with more rights than its user takes nothing from the environment. */
static rawhal_status_t path_find(const char *given, char path[PATH_MAX], rawhal_error_t *error)
{
  const char *named = given ? given : secure_getenv("RAWHAL_SOFTGPU_LIBRARY");
  if (named && *named) {
    if (!realpath(named, path))
      return rawhal_fail(error, RAWHAL_NOT_FOUND, "softgpu's library does not exist: '%s'", named);
    return RAWHAL_OK;
  }
  if (installed_find("softgpu/" THUNK_LIBRARY, path))
    return RAWHAL_OK;
  char folder[PATH_MAX];
  installed_from(folder);
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "softgpu's library %s is neither in '%s/softgpu' nor in '%s/softgpu', "
                     "relative to '%s'; set RAWHAL_SOFTGPU_LIBRARY to its path",
                     THUNK_LIBRARY, installed_places[0], installed_places[1], folder);
}

rawhal_status_t rawhal_softgpu_library_path(const char *given, char *path, size_t size,
                                            rawhal_error_t *error)
{
  char found[PATH_MAX];
  if (!path || !size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path has no room");
  path[0] = '\0';
  rawhal_status_t status = path_find(given, found, error);
  if (status == RAWHAL_OK && strlen(found) >= size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "the path has %zu bytes; the buffer has %zu",
                       strlen(found) + 1, size);
  if (status == RAWHAL_OK)
    memcpy(path, found, strlen(found) + 1);
  return status;
}

/* A program that is linked with the runtime has it before its first line runs. */
#define GO_ON                                                                                      \
  ": start the program with softgpu-run; one that is not linked with the HSA runtime may also "    \
  "create the instance before it opens that"

/* A softgpu that is there already (loaded before, or first in the library path) will do as well as
 * ours; a real thunk is an error, because the runtime takes the first of that name. */
static rawhal_status_t use_loaded(const char *why, softgpu_thunk_t *thunk, bool *there,
                                  rawhal_error_t *error)
{
  void *loaded = dlopen(THUNK_LIBRARY, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
  *there = loaded && softgpu_resolve(loaded, thunk);
  if (loaded && !*there) {
    dlclose(loaded);
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s, but this process has already loaded the real %s" GO_ON, why,
                       THUNK_LIBRARY);
  }
  void *runtime = *there ? NULL : dlopen(RUNTIME_LIBRARY, RTLD_NOLOAD | RTLD_LAZY);
  if (runtime) {
    dlclose(runtime);
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s, but this process has already loaded %s without it" GO_ON, why,
                       RUNTIME_LIBRARY);
  }
  return RAWHAL_OK;
}

rawhal_status_t softgpu_load(const char *given, const char *why, softgpu_thunk_t *thunk,
                             rawhal_error_t *error)
{
  char path[PATH_MAX];
  rawhal_status_t status = given ? path_find(given, path, error) : RAWHAL_OK;
  bool there = false;
  if (status == RAWHAL_OK)
    status = use_loaded(why, thunk, &there, error);
  if (status != RAWHAL_OK || there)
    return status;
  status = path_find(given, path, error);
  if (status != RAWHAL_OK)
    return status;
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "softgpu cannot be loaded: %s", dlerror());
  if (!softgpu_resolve(library, thunk)) {
    dlclose(library);
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "'%s' is not softgpu: it lacks functions of its interface", path);
  }
  return RAWHAL_OK;
}

/* Which of softgpu's libraries a runtime takes shows only when it is there: up to ROCm 6.2 it links
 * libhsakmt.so.1; later ones have a thunk of their own inside, and load libdtif.so instead when
 * they begin, which that library has them do. Each is a device of its own. */
rawhal_status_t softgpu_follow(void *runtime, softgpu_thunk_t *thunk, rawhal_error_t *error)
{
  if (dlsym(runtime, "hsaKmtOpenKFD"))
    return RAWHAL_OK;
  Dl_info info;
  char path[PATH_MAX] = "";
  /* A function's address is an object's here, as POSIX has it for dlsym(). */
  void *address = *(void **)&thunk->option_get;
  if (dladdr(address, &info) && info.dli_fname && strrchr(info.dli_fname, '/') &&
      strlen(info.dli_fname) + sizeof(DTIF_LIBRARY) < sizeof(path)) {
    int folder = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
    snprintf(path, sizeof(path), "%.*s/%s", folder, info.dli_fname, DTIF_LIBRARY);
  }
  void *library = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library && softgpu_resolve(library, thunk))
    return RAWHAL_OK;
  if (library)
    dlclose(library);
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "this HSA runtime does not link %s but loads %s, and softgpu's cannot be "
                     "loaded from '%s'",
                     THUNK_LIBRARY, DTIF_LIBRARY, path);
}

static rawhal_status_t check_environment(const softgpu_thunk_t *thunk, rawhal_error_t *error)
{
  char text[512];
  if (thunk->option_messages(text, sizeof(text)) == 0)
    return RAWHAL_OK;
  text[strcspn(text, "\n")] = '\0'; /* one of them is enough to go on */
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "softgpu's environment: %s", text);
}

/* Chips that softgpu only lists are for programs that look, not for those that run kernels: the
 * runtime's own come first, and it ends the process when they fail. */
static rawhal_status_t check_chips(const softgpu_thunk_t *thunk, rawhal_error_t *error)
{
  static const uint32_t s_nop = 0xbf800000;
  uint32_t chip, listed;
  for (uint32_t node = 1; thunk->tells.device_chip(node, &chip, &listed); ++node)
    if (thunk->coverage(chip, &s_nop, sizeof(s_nop), NULL, NULL) != 1)
      return rawhal_fail(
          error, RAWHAL_UNSUPPORTED,
          "softgpu only lists the chip gfx%" PRIx32
          " (SOFTGPU_CHIP); it executes gfx90a, gfx942, gfx950, gfx1030, gfx1100 and "
          "gfx1151",
          chip);
  return RAWHAL_OK;
}

/* ---- Options last as long as the runtime ---- */

/* What options were before instances set them, oldest first. Under the runtime's lock. */
static struct before {
  char name[32];
  uint64_t value;
} before[64]; /* of every option twice: for those that run, and for the one that is being made */
static size_t before_count;

/* False when there are more than any softgpu has. */
static bool before_note(void *context, const char *name, uint64_t value)
{
  const size_t mark = *(const size_t *)context;
  for (size_t i = mark; i < before_count; ++i)
    if (strcmp(before[i].name, name) == 0)
      return true;
  if (before_count == sizeof(before) / sizeof(*before) || strlen(name) >= sizeof(before->name))
    return false;
  memcpy(before[before_count].name, name, strlen(name) + 1);
  before[before_count++].value = value;
  return true;
}

size_t softgpu_options_mark(void)
{
  return before_count;
}

static bool is_as_before(const softgpu_thunk_t *thunk, const struct before *was)
{
  uint64_t now;
  return thunk->option_get(was->name, &now) && now == was->value;
}

void softgpu_options_undo(const softgpu_thunk_t *thunk, size_t mark)
{
  size_t kept = mark;
  for (size_t i = before_count; i-- > mark;)
    if (is_as_before(thunk, &before[i]) || thunk->option_set(before[i].name, before[i].value))
      before[i].name[0] = '\0';
  /* What is fixed because the program itself has the device open waits for the next time. */
  for (size_t i = mark; i < before_count; ++i)
    if (before[i].name[0])
      before[kept++] = before[i];
  before_count = kept;
}

void softgpu_options_keep(size_t mark)
{
  size_t kept = mark;
  for (size_t i = mark; i < before_count; ++i) {
    bool older = false;
    for (size_t j = 0; j < mark; ++j)
      older |= strcmp(before[i].name, before[j].name) == 0;
    if (!older)
      before[kept++] = before[i];
  }
  before_count = kept;
}

rawhal_status_t softgpu_configure(const softgpu_thunk_t *thunk, const char *options,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = check_environment(thunk, error);
  size_t mark = softgpu_options_mark();
  char why[160];
  if (status == RAWHAL_OK && options &&
      !thunk->options_set_text(options, before_note, &mark, why, sizeof(why)))
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "softgpu options '%s': %s", options, why);
  return status == RAWHAL_OK ? check_chips(thunk, error) : status;
}

/* Of all GPUs, and of what else the runtime begins with; 0: not known. */
static uint64_t room_wanted(const softgpu_thunk_t *thunk, uint64_t *gpus)
{
  const uint64_t of_gpu = UINT64_C(4) << 30, of_runtime = UINT64_C(64) << 20;
  const char *smaller = getenv("HSA_SCRATCH_MEM"); /* the runtime then takes less */
  if ((smaller && *smaller) || !thunk->option_get("gpus", gpus) || *gpus > UINT16_MAX)
    return 0;
  return *gpus * of_gpu + of_runtime;
}

rawhal_status_t softgpu_check_room(const softgpu_thunk_t *thunk, rawhal_error_t *error)
{
  uint64_t gpus;
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  const uint64_t wanted = room_wanted(thunk, &gpus);
  char whose[64] = "";
  if (!wanted)
    return RAWHAL_OK;
  void *room = mmap(NULL, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    munmap(room, wanted);
    return RAWHAL_OK;
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    snprintf(whose, sizeof(whose), " (RLIMIT_AS is %" PRIu64 " MiB: ulimit -v)",
             (uint64_t)limit.rlim_cur >> 20);
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                     "the HSA runtime takes %" PRIu64 " MiB of address space for %" PRIu64
                     " GPU%s of softgpu's, of which next to nothing is ever used, and this process "
                     "cannot have it%s: %s",
                     wanted >> 20, gpus, gpus == 1 ? "" : "s", whose, strerror(ENOMEM));
}
