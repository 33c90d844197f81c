/* Names by patterns, as the shell has them for files. Internal. */
#ifndef RAWHAL_BASE_GLOB_H
#define RAWHAL_BASE_GLOB_H

#include "base/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether all of the text fits: * is anything, ? one byte, [...] one of those, with ranges, classes
 * such as [:digit:] and a ! or ^ before the others; \ takes the meaning of what follows. As
 * fnmatch() in the C locale, without its collating symbols; but texts may have any bytes, nothing
 * is allocated, and the cost is at most that of the two lengths multiplied, however many stars. */
bool glob_fits(rawhal_string_t pattern, rawhal_string_t text);

/* Whether it is the text itself, or a pattern that fits it: names may have in them what is not
 * itself in a pattern. */
bool glob_names(rawhal_string_t wanted, rawhal_string_t text);

/* Whether a pattern is more than a name: fits anything but itself. */
bool glob_is_pattern(rawhal_string_t text);

#ifdef __cplusplus
}
#endif

#endif
