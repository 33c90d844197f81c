/* Which of the names that there are is meant by one that there is not: by its letters and by its
 * words, which _ and - divide, in whatever case. Internal. */
#ifndef RAWHAL_BASE_NEAREST_H
#define RAWHAL_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_PREFIX "RAWHAL_" /* no word of a name that begins with it */

enum { NEAREST_COMPARED = 64 }; /* characters of a name that are looked at */

/* Zero-initialise; then compare with each. */
typedef struct nearest {
  const char *name;
  unsigned mistakes, edits; /* of this name */
  unsigned least_edits;     /* of any */
} nearest_t;

void nearest_compare(nearest_t *nearest, const char *given, size_t size, const char *known);

/* Has a name any word of another? Those that stand in any name do not count. */
bool nearest_shares_word(const char *given, size_t given_size, const char *known_name);

/* How many characters must be put in, left out, replaced, or swapped with their neighbour to make
 * one of the other, in whatever case; `most` + 1 if more than that. Of longer texts the first
 * NEAREST_LONGEST are compared. The cost is that of the shorter one times `most`. */
enum { NEAREST_LONGEST = 256 };
unsigned nearest_distance(const char *a, size_t a_size, const char *b, size_t b_size,
                          unsigned most);

#endif
