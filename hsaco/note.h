/* Walking ELF notes. Internal. */
#ifndef RAWHAL_HSACO_NOTE_H
#define RAWHAL_HSACO_NOTE_H

#include "base/status.h"

enum { NOTE_AMDGPU_METADATA = 32 }; /* with owner "AMDGPU" (AMDGPUUsage, "Note Records") */

typedef struct note {
  rawhal_string_t owner; /* without its terminating NUL */
  uint32_t type;
  rawhal_bytes_t description;
} note_t;

/* A position in the bytes of a PT_NOTE segment or SHT_NOTE section. */
typedef struct note_walk {
  const unsigned char *bytes;
  size_t size, offset;
  size_t alignment; /* of name and description: 4, or 8 in 8-aligned segments */
} note_walk_t;

/* True with the next note; false at the end, or when the rest is damaged: then *wrong names what is
 * wrong at walk->offset (NULL at the end). */
bool note_next(note_walk_t *walk, note_t *note, const char **wrong);

bool note_is_metadata(const note_t *note);

#endif
