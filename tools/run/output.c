/* rawhal run: whether its results can be written, before a kernel runs for an hour. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/run/run.h"
#include "tools/shared/file.h"
#include "tools/shared/tool.h"

#define refuse(error, ...) tool_refuse(error, RAWHAL_INVALID_ARGUMENT, __VA_ARGS__)

/* The folder that a new file would be in. False: longer than any path may be. */
static bool folder_of(const char *path, char folder[PATH_MAX])
{
  const char *slash = strrchr(path, '/');
  const size_t size = slash ? (size_t)(slash - path) : 0;
  if (size >= PATH_MAX)
    return false;
  snprintf(folder, PATH_MAX, "%.*s", size ? (int)size : 1, size ? path : slash ? "/" : ".");
  return true;
}

/* Where a file goes that does not exist yet: `path`, or where the links lead that it is. False:
 * nowhere, or too far. */
static bool follow(const char *path, char place[PATH_MAX])
{
  enum { MOST_LINKS = 40 }; /* as Linux has it */
  char target[PATH_MAX], folder[PATH_MAX];
  int size = snprintf(place, PATH_MAX, "%s", path);
  for (int i = 0; i < MOST_LINKS && size >= 0 && size < PATH_MAX; ++i) {
    const ssize_t length = readlink(place, target, sizeof(target) - 1);
    if (length < 0)
      return true;
    target[length] = 0;
    if (!folder_of(place, folder))
      return false;
    size = *target == '/' ? snprintf(place, PATH_MAX, "%s", target)
                          : snprintf(place, PATH_MAX, "%s/%s", folder, target);
  }
  return false;
}

/* The file system that it goes to, and what its file has there now, which is given back. False:
 * to a device or a pipe, or nowhere. */
static bool find_system(const run_argument_t *argument, dev_t *system, uint64_t *freed)
{
  char place[PATH_MAX], folder[PATH_MAX];
  struct stat facts;
  *freed = 0;
  if (!argument->out_path)
    return false;
  if (!stat(argument->out_path, &facts)) {
    *freed = (uint64_t)facts.st_blocks * 512;
    *system = facts.st_dev;
    return S_ISREG(facts.st_mode);
  }
  if (!follow(argument->out_path, place) || !folder_of(place, folder) || stat(folder, &facts))
    return false;
  *system = facts.st_dev;
  return true;
}

/* Of the file system that `place` is on, for it and for all that go there before it. */
static bool has_room(const run_request_t *request, size_t index, const char *place,
                     rawhal_error_t *error)
{
  const run_argument_t *argument = &request->arguments[index];
  struct statvfs facts;
  uint64_t room, freed, wanted = 0;
  dev_t system, other;
  size_t count = 0;
  if (statvfs(place, &facts) || !facts.f_blocks || !find_system(argument, &system, &freed))
    return true; /* a file system that cannot tell may have some */
  if (__builtin_mul_overflow((uint64_t)(geteuid() ? facts.f_bavail : facts.f_bfree),
                             (uint64_t)facts.f_frsize, &room))
    return true;
  for (size_t i = 0; i <= index; ++i) {
    if (!find_system(&request->arguments[i], &other, &freed) || other != system)
      continue;
    if (__builtin_add_overflow(room, freed, &room) ||
        __builtin_add_overflow(wanted, request->arguments[i].size, &wanted))
      return true;
    ++count;
  }
  return wanted <= room ||
         refuse(error, "'%s': %" PRIu64 " bytes are free, but %s %" PRIu64, argument->out_path,
                room, count > 1 ? "it and the files before it need" : "it needs", wanted);
}

/* One that is not there yet. */
static bool check_new(const run_request_t *request, size_t index, rawhal_error_t *error)
{
  const char *path = request->arguments[index].out_path;
  char place[PATH_MAX], folder[PATH_MAX];
  struct stat facts;
  if (!follow(path, place) || !folder_of(place, folder))
    return refuse(error, "cannot write '%.200s...': the path is too long", path);
  if (stat(folder, &facts))
    return tool_refuse(error, errno == ENOENT ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                       "cannot write '%s': its folder '%s': %s", path, folder, strerror(errno));
  if (!S_ISDIR(facts.st_mode))
    return refuse(error, "cannot write '%s': '%s' is not a folder", path, folder);
  if (access(folder, W_OK | X_OK))
    return refuse(error, "cannot write '%s': its folder '%s': %s", path, folder, strerror(errno));
  return has_room(request, index, folder, error);
}

/* One that will be overwritten. Pipes and devices are opened when there is something to write. */
static bool check_old(const run_request_t *request, size_t index, const struct stat *facts,
                      const struct stat *object, rawhal_error_t *error)
{
  const run_argument_t *argument = &request->arguments[index];
  const char *path = argument->out_path;
  if (S_ISDIR(facts->st_mode))
    return refuse(error, "cannot write '%s': it is a directory", path);
  if (object && facts->st_dev == object->st_dev && facts->st_ino == object->st_ino)
    return refuse(error, "'%s' would overwrite the file of the kernel", argument->word);
  if (access(path, W_OK))
    return refuse(error, "cannot write '%s': %s", path, strerror(errno));
  return !S_ISREG(facts->st_mode) || has_room(request, index, path, error);
}

static const char *base_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Two names of one file, whether it is there or not; devices and pipes take what comes. */
static bool is_same(const char *a, const char *b)
{
  char places[2][PATH_MAX], folders[2][PATH_MAX];
  struct stat first, second;
  if (!stat(a, &first) && !stat(b, &second))
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  if (strcmp(a, b) == 0)
    return true;
  return follow(a, places[0]) && follow(b, places[1]) && folder_of(places[0], folders[0]) &&
         folder_of(places[1], folders[1]) && !strcmp(base_of(places[0]), base_of(places[1])) &&
         !stat(folders[0], &first) && !stat(folders[1], &second) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

static bool check_one(const run_request_t *request, size_t index, rawhal_error_t *error)
{
  const run_argument_t *argument = &request->arguments[index];
  struct stat facts, object;
  const bool has_object =
      tool_stream_of(request->path) < 0 && !stat(request->path, &object) && S_ISREG(object.st_mode);
  for (size_t i = 0; i < index; ++i)
    if (request->arguments[i].out_path &&
        is_same(request->arguments[i].out_path, argument->out_path))
      return refuse(error, "'%s' and '%s' are the same file", request->arguments[i].word,
                    argument->word);
  if (!stat(argument->out_path, &facts))
    return check_old(request, index, &facts, has_object ? &object : NULL, error);
  if (errno == ENOENT)
    return check_new(request, index, error);
  return refuse(error, "cannot write '%s': %s", argument->out_path, strerror(errno));
}

bool run_output_check(const run_request_t *request, rawhal_error_t *error)
{
  for (size_t i = 0; i < request->argument_count; ++i)
    if (request->arguments[i].out_path && !check_one(request, i, error))
      return false;
  return true;
}
