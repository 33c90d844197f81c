/* rawhal core: files that are read and made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/core/core.h"
#include "tools/shared/file.h"

/* ---- Reading ---- */

/* Core files may be larger than memory is: they are mapped. */
static bool map_file(core_input_t *input, const char *path, int file, rawhal_error_t *error)
{
  struct stat facts;
  if (fstat(file, &facts) || !S_ISREG(facts.st_mode))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "'%s' is not a regular file", path);
  if (!facts.st_size)
    return true;
  void *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (bytes == MAP_FAILED)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot map '%s': %s", path,
                       strerror(errno));
  input->bytes = bytes;
  input->size = (size_t)facts.st_size;
  input->mapped = true;
  return true;
}

static bool read_input(core_input_t *input, const char *path, rawhal_error_t *error)
{
  const int stream = tool_stream_of(path);
  if (stream >= 0)
    return tool_read_stream(stream, path, TOOL_FILE_BYTES, &input->bytes, &input->size, error);
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* not for a FIFO */
  if (file < 0)
    return tool_refuse(error, errno == ENOENT ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                       "cannot open '%s': %s", path, strerror(errno));
  const bool done = map_file(input, path, file, error);
  (void)close(file);
  return done;
}

bool core_input_open(core_input_t *input, const char *path, rawhal_error_t *error)
{
  *input = (core_input_t){0};
  if (!read_input(input, path, error))
    return false;
  if (core_file_open(&input->file, (rawhal_bytes_t){input->bytes, input->size}, error) == RAWHAL_OK)
    return true;
  char why[sizeof(error->message)];
  const uint64_t offset = error->offset;
  (void)snprintf(why, sizeof(why), "%s", error->message);
  (void)tool_refuse(error, error->status, "%.200s: %.600s", path, why);
  error->offset = offset;
  return false;
}

void core_input_close(core_input_t *input)
{
  core_file_close(&input->file);
  if (input->mapped)
    (void)munmap(input->bytes, input->size);
  else
    free(input->bytes);
  *input = (core_input_t){0};
}

/* ---- Making ---- */

static bool refuse_target(const core_target_t *target, int problem, rawhal_error_t *error)
{
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s%s", target->path,
                     strerror(problem), problem == EEXIST ? " (--force replaces it)" : "");
}

bool core_target_open(core_target_t *target, const char *path, bool force, rawhal_error_t *error)
{
  *target = (core_target_t){.path = path, .descriptor = STDOUT_FILENO, .force = force};
  if (!strcmp(path, "-"))
    return true;
  target->descriptor = -1;
  if (!force && access(path, F_OK) == 0)
    return refuse_target(target, EEXIST, error);
  if (!new_file_open(&target->file, path))
    return refuse_target(target, errno, error);
  target->descriptor = target->file.descriptor;
  return true;
}

bool core_target_put(void *context, const void *bytes, size_t size)
{
  return write_whole(((const core_target_t *)context)->descriptor, bytes, size);
}

bool core_target_close(core_target_t *target, bool whole, rawhal_error_t *error)
{
  if (target->descriptor < 0 || target->descriptor == STDOUT_FILENO)
    return whole;
  if (!whole)
    new_file_drop(&target->file);
  else if (!new_file_keep(&target->file, target->force))
    return refuse_target(target, errno, error);
  return whole;
}
