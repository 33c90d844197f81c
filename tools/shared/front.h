/* librawhal-front, which the HSA runtime loads into programs that were never changed. */
#ifndef TOOLS_SHARED_FRONT_H
#define TOOLS_SHARED_FRONT_H

#include <limits.h>

#include <rawhal/status.h>

/* Beside librawhal, as seen from this program; the build tree has it there, too. Or where
 * RAWHAL_FRONT_LIBRARY says. */
bool front_find(char path[PATH_MAX], rawhal_error_t *error);

/* Asks the library of that path what it will do with a program's file in this environment. False:
 * it would leave the program without a device, and the error says why, or NOT_FOUND: the library
 * cannot be loaded. `*enforces`: something must not be done, as opposed to what is only watched. */
bool front_check(const char *path, const char *program, bool *enforces, rawhal_error_t *error);

/* softgpu-run, if this environment's programs are to run on softgpu, and do not yet; else "". The
 * same choice as that of instances. A softgpu that nobody asked for need not be there: then
 * standard error gets a line. */
bool front_find_runner(char runner[PATH_MAX], rawhal_error_t *error);

#endif
