/* rawhal/version.h: the version of the headers and of the library.
 *
 * Before 1.0 a minor version may change the interface, so it is part of the shared library's name
 * (librawhal.so.0.2); a patch version adds nothing and takes nothing away. From 1.0 on, only a
 * major version takes anything away.
 *
 * Thread-safety: everything here is constant. */
#ifndef RAWHAL_VERSION_H
#define RAWHAL_VERSION_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* The version of these headers. */
#define RAWHAL_VERSION_MAJOR 0
#define RAWHAL_VERSION_MINOR 2
#define RAWHAL_VERSION_PATCH 0

/* Versions as numbers that can be compared, also in #if. */
#define RAWHAL_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define RAWHAL_VERSION                                                                             \
  RAWHAL_VERSION_NUMBER(RAWHAL_VERSION_MAJOR, RAWHAL_VERSION_MINOR, RAWHAL_VERSION_PATCH)

/* The version of the library that is loaded: as a number like RAWHAL_VERSION, and as text
 * ("0.2.0"), which the library owns. */
RAWHAL_API uint32_t rawhal_version(void);
RAWHAL_API const char *rawhal_version_text(void);

RAWHAL_END

#endif
