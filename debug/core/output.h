/* Where a core file goes: a descriptor, or a file of a pattern's name. Internal. */
#ifndef RAWHAL_DEBUG_CORE_OUTPUT_H
#define RAWHAL_DEBUG_CORE_OUTPUT_H

#include "debug/core/core.h"

/* Writes to a descriptor, which stays open: a file from where it stands, or a pipe or socket, whose
 * reader may be dead (RUNTIME, without SIGPIPE) or slow (until the deadline, then TIMED_OUT). */
RAWHAL_CHECKED rawhal_status_t core_write_descriptor(const core_description_t *description,
                                                     const core_options_t *options, int descriptor,
                                                     core_written_t *written,
                                                     rawhal_error_t *error);

/* Makes a file, or replaces it: %p the process, %h the host, %e the program, %t seconds since 1970,
 * %% a percent sign. It has its name only when it is whole: a call that fails leaves none. It is
 * bounded by RLIMIT_CORE and RLIMIT_FSIZE, too: with a limit of 0 QUOTA_EXCEEDED. `path` gets the
 * name. */
enum { CORE_PATH_BYTES = 1024 };
RAWHAL_CHECKED rawhal_status_t core_write_file(const core_description_t *description,
                                               const core_options_t *options, const char *pattern,
                                               char path[CORE_PATH_BYTES], core_written_t *written,
                                               rawhal_error_t *error);

#endif
