/* A core file that is there: any bytes, which may lie. Internal. */
#ifndef RAWHAL_DEBUG_CORE_FILE_H
#define RAWHAL_DEBUG_CORE_FILE_H

#include <elf.h>

#include "base/status.h"
#include "debug/core/view.h"

typedef struct core_file {
  rawhal_bytes_t bytes; /* the caller's, until it is closed */
  core_view_t view;
  core_range_t *ranges;
} core_file_t;

/* Of machine x86-64 with all in one, or AMDGPU (ROCr's own). MALFORMED: not such a file, or ranges
 * overlap; UNSUPPORTED: another class, order or machine; OUT_OF_MEMORY. To be closed always. */
RAWHAL_CHECKED rawhal_status_t core_file_open(core_file_t *file, rawhal_bytes_t bytes,
                                              rawhal_error_t *error);
void core_file_close(core_file_t *file);

/* The index-th program header as it stands there. False: there are no more. */
bool core_file_header(const core_file_t *file, size_t index, Elf64_Phdr *header);

/* One note of the file. `owner` is without its NUL. */
typedef struct core_file_note {
  rawhal_string_t owner;
  uint32_t type;
  rawhal_bytes_t bytes;
} core_file_note_t;

/* The next note behind `*cursor`, which begins as zeros. False: there are no more. */
typedef struct core_note_cursor {
  size_t header; /* of the program's headers */
  uint64_t offset;
} core_note_cursor_t;
bool core_file_note(const core_file_t *file, core_note_cursor_t *cursor, core_file_note_t *note);
bool core_note_is_of(const core_file_note_t *note, const char *owner);

#endif
