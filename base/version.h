/* rawhal/version.h: which rawhal this is.
 *
 * Until 1.0 a minor version may change the interface, and the shared library's name has it
 * (librawhal.so.0.2); a patch version adds nothing and takes nothing away. From 1.0 on only a major
 * version takes away.
 *
 * Thread-safety: everything here is constant. */
#ifndef RAWHAL_VERSION_H
#define RAWHAL_VERSION_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* Of these headers. */
#define RAWHAL_VERSION_MAJOR 0
#define RAWHAL_VERSION_MINOR 2
#define RAWHAL_VERSION_PATCH 0

/* Versions as numbers that compare, for #if too. */
#define RAWHAL_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define RAWHAL_VERSION                                                                             \
  RAWHAL_VERSION_NUMBER(RAWHAL_VERSION_MAJOR, RAWHAL_VERSION_MINOR, RAWHAL_VERSION_PATCH)

/* Of the library that is loaded, as RAWHAL_VERSION; and "0.2.0", which is the library's. */
RAWHAL_API uint32_t rawhal_version(void);
RAWHAL_API const char *rawhal_version_text(void);

RAWHAL_END

#endif
