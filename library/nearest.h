/* The names that are like one that a library has not. Internal. */
#ifndef RAWHAL_LIBRARY_NEAREST_H
#define RAWHAL_LIBRARY_NEAREST_H

#include "base/near.h"
#include "library/internal.h"

/* "; nearest: 'a', 'b'", or "". NEAR_COMPARED names of all sources are compared, of those lengths
 * that are nearest, of each source an equal share. The caller holds the library's lock. */
void nearest_names(const rawhal_library_t *library, rawhal_string_t name, char text[NEAR_TEXT]);

#endif
