/* Core files as the command reads them. */
#ifndef TOOLS_SHARED_CORE_FILE_H
#define TOOLS_SHARED_CORE_FILE_H

#include "debug/core/file.h"

/* A core file in memory: its own pages, which may be written to without changing it. */
typedef struct core_input {
  unsigned char *bytes;
  size_t size;
  bool mapped;
  core_file_t file;
} core_input_t;

/* False, with `error`; to be closed always. */
bool core_input_open(core_input_t *input, const char *path, rawhal_error_t *error);
void core_input_close(core_input_t *input);

/* Whether a path is that of a core file, of whatever process; or of a stream, which nobody can look
 * at twice. */
bool core_input_is(const char *path);

/* A GPU by its number there: "gfx90a". */
void core_chip_text(uint32_t gfx_target_version, char text[32]);

/* The note of ours of that type; empty: there is none. */
rawhal_bytes_t core_own_note(const core_file_t *file, uint32_t type);

#endif
