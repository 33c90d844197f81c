/* Reading the tables of a solution library. Internal. */
#ifndef RAWHAL_LIBRARY_TENSILE_READ_H
#define RAWHAL_LIBRARY_TENSILE_READ_H

#include "hsaco/arena.h"
#include "library/tensile/tensile.h"

enum { TENSILE_LONGEST = 4096 }; /* bytes of a prefix, of a target */

typedef struct tensile_tables {
  arena_t *arena;
  rawhal_string_t version;
  rawhal_tensile_solution_t *solutions;
  size_t solution_count, solution_capacity;
  rawhal_string_t *libraries;
  size_t library_count, library_capacity;
} tensile_tables_t;

/* `tables` is all zero but for the arena. The solutions' code objects are left empty. */
RAWHAL_CHECKED rawhal_status_t tensile_read(tensile_tables_t *tables, const void *bytes,
                                            size_t size, rawhal_error_t *error);

/* The folder of the library's file, with a slash; empty: of bytes, or it is gone. */
rawhal_string_t tensile_folder(const rawhal_tensile_t *tensile);

#endif
