/* Which one of the names that we have, of variables and limits, is meant by one that there is not:
 * by its letters and by its words, which _ and - divide, in whatever case. (Of names that users
 * have given, as to kernels, several: near.h.) Internal. */
#ifndef RAWHAL_BASE_MEANT_H
#define RAWHAL_BASE_MEANT_H

#include <stdbool.h>
#include <stddef.h>

#define MEANT_PREFIX "RAWHAL_" /* no word of a name that begins with it */

enum { MEANT_COMPARED = 64 }; /* characters of a name that are looked at */

/* Zero-initialise; then compare with each. */
typedef struct meant {
  const char *name;
  unsigned mistakes, edits; /* of this name */
  unsigned least_edits;     /* of any */
} meant_t;

void meant_compare(meant_t *meant, const char *given, size_t size, const char *known);

/* Has a name any word of another? Those that stand in any name do not count. */
bool meant_shares_word(const char *given, size_t given_size, const char *known_name);

#endif
