/* librawhal-front, which the HSA runtime loads into programs that were never changed. */
#ifndef TOOLS_FRONT_H
#define TOOLS_FRONT_H

#include <limits.h>

#include <rawhal/status.h>

/* Beside librawhal, as seen from this program; the build tree has it there, too. Or where
 * RAWHAL_FRONT_LIBRARY says. */
bool front_find(char path[PATH_MAX], rawhal_error_t *error);

#endif
