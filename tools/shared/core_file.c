#include "tools/shared/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole.h"
#include "debug/core/walk.h"
#include "tools/shared/file.h"
#include "tools/shared/tool.h"

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

bool core_input_is(const char *path)
{
  Elf64_Ehdr header; /* e_type is at the same place in files of 32 bits */
  const ssize_t wanted = offsetof(Elf64_Ehdr, e_machine);
  if (tool_stream_of(path) >= 0)
    return true;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return false;
  const bool is = read_whole(file, &header, (size_t)wanted) == wanted &&
                  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_CORE;
  (void)close(file);
  return is;
}

rawhal_bytes_t core_own_note(const core_file_t *file, uint32_t type)
{
  core_file_note_t note;
  for (core_note_cursor_t cursor = {0}; core_file_note(file, &cursor, &note);)
    if (note.type == type && core_note_is_of(&note, "RAWHAL"))
      return note.bytes;
  return (rawhal_bytes_t){0};
}

void core_chip_text(uint32_t version, char text[32])
{
  const core_chip_t *chip = core_chip_of(version);
  if (chip)
    (void)snprintf(text, 32, "%s", chip->name);
  else
    (void)snprintf(text, 32, "gfx%u%x%x", version / 10000, version / 100 % 100, version % 100);
}
