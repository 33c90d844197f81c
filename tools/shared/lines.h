/* Which line of the source an address of a code object is from: its line tables, DWARF 2 to 5. */
#ifndef TOOLS_SHARED_LINES_H
#define TOOLS_SHARED_LINES_H

#include <rawhal/types.h>

typedef struct lines_place {
  char file[512]; /* with its folder, as the compiler knew it; cut */
  uint32_t line;
} lines_place_t;

/* `object` is an ELF file of 64 bits, of which nothing is trusted. `address` is the object's own.
 * False: it does not say. */
bool lines_find(rawhal_bytes_t object, uint64_t address, lines_place_t *place);

#endif
