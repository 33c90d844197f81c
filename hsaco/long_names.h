/* Names of symbols that are long. Internal.
 *
 * A symbol takes 24 bytes of a file, and any number of them may share one name of 64 KiB: read for
 * each, a megabyte would take a third of a second. So of a name that is longer than
 * LONG_NAMES_SHORT, its size and what stands for it are kept, by where it starts. Names that start
 * at different places of the same bytes are different names: reading those takes steps (work.h),
 * and an object where they run out is not opened. */
#ifndef RAWHAL_HSACO_LONG_NAMES_H
#define RAWHAL_HSACO_LONG_NAMES_H

#include <string.h>

#include "hsaco/name_table.h"
#include "hsaco/work.h"

enum {
  LONG_NAMES_SHORT = 1024,   /* bytes; those of most real kernels are shorter */
  LONG_NAMES_MOST = 1 << 16, /* bytes; those of longer names cannot be read */
};

typedef struct long_names {
  name_table_t places; /* where they start */
  work_t work;
  bool exhausted; /* there was too much work: some names are missing */
} long_names_t;

void long_names_init(long_names_t *names, arena_t *arena, uint64_t file_size);

/* The rest of the next function. */
bool long_names_read_on(long_names_t *names, const char *text, uint64_t room, rawhal_string_t *name,
                        name_slots_t **known);

/* The name at `text`, which has `room` bytes at most. False when it does not end there, or after
 * LONG_NAMES_MOST bytes, or when there is no work or memory left: `exhausted` and the arena's
 * status tell. `*known` is NULL for short names; of long ones by_name is the caller's, NAME_NONE at
 * first. */
static inline bool long_names_read(long_names_t *names, const char *text, uint64_t room,
                                   rawhal_string_t *name, name_slots_t **known)
{
  const size_t shortest = LONG_NAMES_SHORT;
  const char *end = (const char *)memchr(text, 0, room < shortest ? (size_t)room : shortest);
  *name = (rawhal_string_t){text, end ? (size_t)(end - text) : 0};
  *known = NULL;
  return end || long_names_read_on(names, text, room, name, known);
}

/* To be asked before all bytes of a name are looked at once more. */
static inline bool long_names_may_look(long_names_t *names, rawhal_string_t name)
{
  if (name.size > LONG_NAMES_SHORT)
    names->exhausted |= !work_take(&names->work, name.size);
  return name.size <= LONG_NAMES_SHORT || !names->exhausted;
}

#endif
