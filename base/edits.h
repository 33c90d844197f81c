/* How far apart two texts are. Internal. */
#ifndef RAWHAL_BASE_EDITS_H
#define RAWHAL_BASE_EDITS_H

#include <stddef.h>

/* How many characters must be put in, left out, replaced, or swapped with their neighbour to make
 * one of the other, in whatever case; `most` + 1 if more than that. Of longer texts the first
 * EDITS_LONGEST are compared. The cost is that of the shorter one times `most`. */
enum { EDITS_LONGEST = 256 };
unsigned edits_between(const char *a, size_t a_size, const char *b, size_t b_size, unsigned most);

#endif
