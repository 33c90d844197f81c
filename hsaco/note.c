#include "hsaco/note.h"

#include <elf.h>
#include <string.h>

#include "base/checked.h"

/* Takes `size` bytes and their padding. The padding after the last description may be missing. */
static bool take(note_walk_t *walk, uint64_t *at, uint64_t size, const unsigned char **bytes)
{
  uint64_t next;
  if (!range_within(*at, size, walk->size) ||
      !checked_align_u64(*at + size, walk->alignment, &next))
    return false;
  *bytes = walk->bytes + *at;
  *at = next < walk->size ? next : walk->size;
  return true;
}

bool note_next(note_walk_t *walk, note_t *note, const char **wrong)
{
  *wrong = NULL;
  *note = (note_t){0};
  if (walk->offset >= walk->size)
    return false;
  Elf64_Nhdr header;
  if (walk->size - walk->offset < sizeof(header)) {
    *wrong = "a note header is truncated";
    return false;
  }
  memcpy(&header, walk->bytes + walk->offset, sizeof(header));
  uint64_t at = walk->offset + sizeof(header);
  const unsigned char *owner, *description;
  if (!take(walk, &at, header.n_namesz, &owner)) {
    *wrong = "a note's owner name ends after its segment";
    return false;
  }
  if (!take(walk, &at, header.n_descsz, &description)) {
    *wrong = "a note's description ends after its segment";
    return false;
  }
  size_t length = header.n_namesz;
  if (length && owner[length - 1] == 0)
    --length;
  note->owner = (rawhal_string_t){(const char *)owner, length};
  note->type = header.n_type;
  note->description = (rawhal_bytes_t){description, header.n_descsz};
  walk->offset = (size_t)at;
  return true;
}

bool note_is_metadata(const note_t *note)
{
  static const char owner[] = "AMDGPU";
  return note->type == NOTE_AMDGPU_METADATA && note->owner.size == sizeof(owner) - 1 &&
         memcmp(note->owner.data, owner, sizeof(owner) - 1) == 0;
}
