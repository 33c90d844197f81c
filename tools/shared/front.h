/* librawhal-front, which the HSA runtime loads into programs that were never changed. */
#ifndef TOOLS_SHARED_FRONT_H
#define TOOLS_SHARED_FRONT_H

#include <limits.h>

#include <rawhal/status.h>

/* Beside librawhal, as seen from this program; the build tree has it there, too. Or where
 * RAWHAL_FRONT_LIBRARY says. */
bool front_find(char path[PATH_MAX], rawhal_error_t *error);

/* What the library will do with a program's file in this environment. Unless OK it would leave the
 * program without a device. INVALID_ARGUMENT: a variable's value, or what a policy says, is wrong;
 * else what it needs, such as a file, is not to be had. `*enforces`: something must not be done, as
 * opposed to what is only watched. */
typedef rawhal_status_t front_preflight_fn(const char *program, bool *enforces,
                                           rawhal_error_t *error);

/* Loads the library of that path, for good. False: it cannot be loaded. */
bool front_load(const char *path, front_preflight_fn **preflight, rawhal_error_t *error);

/* Whether this environment's programs run on softgpu, by softgpu-run. */
bool front_runs_on_softgpu(void);

/* softgpu-run, if this environment's programs are to run on softgpu, and do not yet; else "". The
 * same choice as that of instances. A softgpu that nobody asked for need not be there: then
 * standard error gets a line. */
bool front_find_runner(char runner[PATH_MAX], rawhal_error_t *error);

#endif
