/* rawhal unpack: the code objects of a file as files of their own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/whole.h"
#include "tools/shared/progress.h"
#include "tools/shared/select.h"
#include "tools/shared/tool.h"

typedef struct unpack {
  const char *path, *folder;
  const rawhal_target_t *target; /* NULL: all */
  uint64_t object;               /* its number + 1; 0: all */
  bool replace;
  uint64_t written, unreadable;
} unpack_t;

/* A file that is there already is left alone, unless it is to be replaced; and then it is removed
 * first, so that no link is followed. */
static bool write_file(const unpack_t *unpack, const char *path, rawhal_bytes_t bytes,
                       rawhal_error_t *error)
{
  struct stat about;
  if (unpack->replace && stat(path, &about) == 0 && !S_ISREG(about.st_mode))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s", path, NEW_FILE_NO_FILE);
  if (unpack->replace)
    (void)unlink(path);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool done = file >= 0 && write_whole(file, bytes.data, bytes.size);
  int problem = errno;
  if (file >= 0 && close(file) && done) {
    problem = errno;
    done = false;
  }
  if (done)
    return true;
  if (file >= 0)
    (void)unlink(path); /* a part of an object is not an object */
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s%s", path, strerror(problem),
                     problem == EEXIST ? " (--force replaces it)" : "");
}

/* What a file is called, wherever it is. */
static const char *base_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return !strcmp(path, "-") ? "stdin" : slash ? slash + 1 : path;
}

/* FOLDER/FILE-NUMBER-TARGET.co: nothing in it is from inside of the file but the target, which is
 * one that is known, or a number: "gfx90a-sramecc+-xnack-". */
static bool name_file(const unpack_t *unpack, size_t index, const rawhal_target_t *target,
                      char path[PATH_MAX], rawhal_error_t *error)
{
  char text[64];
  (void)rawhal_target_format(target, text, sizeof(text));
  for (char *colon; (colon = strchr(text, ':'));)
    *colon = '-'; /* which paths in lists, and other systems, do without */
  int size = snprintf(path, PATH_MAX, "%s/%s-%zu-%s.co", unpack->folder, base_of(unpack->path),
                      index, text);
  return (size >= 0 && size < PATH_MAX) ||
         tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "the path of object %zu would be too long",
                     index);
}

static bool unpack_objects(unpack_t *unpack, rawhal_container_t *container, rawhal_error_t *error)
{
  const rawhal_container_object_t *object;
  for (size_t i = 0; (object = rawhal_container_object(container, i)); ++i) {
    char path[PATH_MAX];
    progress_show("unpack", "object", i + 1, rawhal_container_count(container), unpack->path);
    if (unpack->object && unpack->object != i + 1)
      continue;
    if (!object->readable) {
      ++unpack->unreadable;
      continue;
    }
    if (unpack->target && !select_runs_on(&object->target, unpack->target))
      continue;
    rawhal_bytes_t bytes;
    if (!name_file(unpack, i, &object->target, path, error) ||
        rawhal_container_read(container, i, &bytes, error) ||
        !write_file(unpack, path, bytes, error))
      return false;
    ++unpack->written;
    progress_clear();
    (void)tool_print_string(path);
    putchar('\n');
  }
  return unpack->written ||
         tool_refuse(error, RAWHAL_NOT_FOUND,
                     "none of the file's %zu objects%s (%" PRIu64 " cannot be read)",
                     rawhal_container_count(container),
                     unpack->target || unpack->object ? " is selected" : " is a code object",
                     unpack->unreadable);
}

static bool unpack_file(unpack_t *unpack, rawhal_error_t *error)
{
  rawhal_container_t *container;
  unsigned char *data;
  unpack->written = unpack->unreadable = 0;
  bool done = select_open_container(unpack->path, &container, &data, error) &&
              unpack_objects(unpack, container, error);
  rawhal_container_close(container);
  free(data);
  return done;
}

/* Each for itself: what one lacks says nothing of the others. */
static int unpack_files(unpack_t *unpack, char **paths, int count)
{
  int status = TOOL_OK;
  for (int i = 0; i < count && !ferror(stdout); ++i) {
    rawhal_error_t error, said;
    unpack->path = paths[i];
    if (unpack_file(unpack, &error))
      continue;
    said = error;
    if (count > 1)
      snprintf(said.message, sizeof(said.message), "%.200s: %.600s", paths[i], error.message);
    fflush(stdout); /* before what standard error says */
    status = tool_fail("unpack", &said);
  }
  return status;
}

/* ---- The command line ---- */

static const tool_option_t options[] = {
    {TOOL_OPTION("force", FLAG, unpack_t, replace)},
    {SELECT_OBJECT_OPTION(unpack_t, object)},
    {TOOL_OPTION("output", TEXT, unpack_t, folder)},
    {SELECT_TARGET_OPTION(unpack_t, target)},
    {0},
};

static int run(int argc, char **argv)
{
  unpack_t unpack = {.folder = "."};
  if (!option_read_all("unpack", options, false, &argc, &argv, &unpack))
    return TOOL_USAGE;
  if (!argc)
    return tool_usage("unpack", "expected at least one FILE");
  /* With --force the objects of the one would replace those of the other. */
  for (int i = 0; i < argc; ++i)
    for (int k = 0; k < i && unpack.replace; ++k)
      if (!strcmp(base_of(argv[i]), base_of(argv[k])))
        return tool_usage("unpack", "'%s' and '%s' have the same name '%s': unpack them separately",
                          argv[k], argv[i], base_of(argv[i]));
  return unpack_files(&unpack, argv, argc);
}

const tool_command_t unpack_command = {
    .name = "unpack",
    .summary = "extract the code objects of a file",
    .help = "usage: rawhal unpack FILE... [OPTIONS]\n\n"
            "Extracts the code objects of FILE, as listed by 'rawhal inspect', from any\n"
            "container and compression, byte for byte to files named FILE-NUMBER-TARGET.co.\n"
            "Prints their names. Extracts damaged code objects as well, but nothing that is\n"
            "not an AMDGPU code object. A FILE of - is standard input, whose objects are\n"
            "named stdin-NUMBER-TARGET.co.\n\n"
            "options:\n"
            "  --force          replace existing files\n"
            "  --object N       only the object with this number\n"
            "  --output FOLDER  write to FOLDER, not to the current folder\n"
            "  --target ID      only objects that run on ID, such as gfx90a or gfx90a:xnack-\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   a FILE cannot be read or has no such object, or a file cannot be written;\n"
            "      standard error says why\n",
    .run = run,
    .options = options,
};
