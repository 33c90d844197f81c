/* The register of the variables of the environment, RAWHAL_*, that a user may set, so that one that
 * is misspelt is noticed: what it was to limit would not be limited. Internal.
 *
 * What tests and the workshop read is not in it, and so is never proposed. Nor is it refused, as
 * other people's is not: it is like no name in the register. tests/lint.py sees to the former,
 * tests/limit/sources_test.cc to the latter. */
#ifndef RAWHAL_BASE_VARIABLES_H
#define RAWHAL_BASE_VARIABLES_H

#include "base/status.h"

#include <stddef.h>

/* Those that may be set for single devices, too, with _ and its number at their end; NULL: there
 * are no more. */
typedef const char *variable_of_device_t(int index);

/* INVALID_ARGUMENT: the environment has a RAWHAL_* variable that is not known and that is like one
 * that is; the message begins with it and names the nearest. RAWHAL_PY_* are the Python package's,
 * which looks after them itself. */
RAWHAL_CHECKED rawhal_status_t variables_check(variable_of_device_t *of_device,
                                               rawhal_error_t *error);

/* The size of the name without a device's number at its end. */
size_t variable_stem(const char *name, size_t size);

bool variable_is(const char *given, size_t size, const char *known);

#endif
