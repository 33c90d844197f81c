/* Where a core file goes: a descriptor, a file of a pattern's name, or a program. Internal.
 *
 * No signal of what is written to can reach the program that failed. Nothing allocates but
 * core_output_open(). */
#ifndef RAWHAL_DEBUG_CORE_OUTPUT_H
#define RAWHAL_DEBUG_CORE_OUTPUT_H

#include <sys/types.h>

#include "debug/core/core.h"

/* Writes to a descriptor, which stays open: a file from where it stands, or a pipe or socket, whose
 * reader may be dead (RUNTIME, without SIGPIPE) or slow (until the deadline, then TIMED_OUT). */
RAWHAL_CHECKED rawhal_status_t core_write_descriptor(const core_description_t *description,
                                                     const core_options_t *options, int descriptor,
                                                     core_written_t *written,
                                                     rawhal_error_t *error);

/* The name that a pattern gives: %p the process, %h the host, %e the program, %t seconds since
 * 1970, %% a percent sign. False: it gives none. */
enum { CORE_PATH_BYTES = 1024 };
bool core_file_name(const core_process_t *process, const char *pattern, char path[CORE_PATH_BYTES]);
/* Makes a file, or replaces it. It has its name only when it is whole: a call that fails leaves
 * none. It is bounded by RLIMIT_CORE and RLIMIT_FSIZE, too: with a limit of 0 QUOTA_EXCEEDED. */
RAWHAL_CHECKED rawhal_status_t core_write_file(const core_description_t *description,
                                               const core_options_t *options, const char *path,
                                               core_written_t *written, rawhal_error_t *error);

/* Any of these, as an operator writes it. */
typedef enum core_output_kind {
  CORE_OUTPUT_NONE = 0,
  CORE_OUTPUT_FILE = 1,
  CORE_OUTPUT_DESCRIPTOR = 2,
  CORE_OUTPUT_PROGRAM = 3,
} core_output_kind_t;

typedef struct core_output {
  core_output_kind_t kind;
  int descriptor;
  pid_t child;
  char path[CORE_PATH_BYTES]; /* of the file, or of the program; "" for a descriptor */
} core_output_t;

/* `where` is a file's pattern; "fd:3", a descriptor of this process, which stays open; or
 * "|PROGRAM WORD ...", a path from the root on and words, each with what stands for %p and so on,
 * which gets the file on its standard input. That is started here: not in a signal handler, it may
 * allocate, and its end is a SIGCHLD as that of any child. INVALID_ARGUMENT: it is none of these;
 * RUNTIME: no such program. */
RAWHAL_CHECKED rawhal_status_t core_output_open(core_output_t *output, const char *where,
                                                const core_process_t *process,
                                                rawhal_error_t *error);
/* Only understands it: nothing is started, and there is nothing to close. */
RAWHAL_CHECKED rawhal_status_t core_output_read(core_output_t *output, const char *where,
                                                const core_process_t *process,
                                                rawhal_error_t *error);
/* As core_write_file() and core_write_descriptor(). */
RAWHAL_CHECKED rawhal_status_t core_output_write(core_output_t *output,
                                                 const core_description_t *description,
                                                 const core_options_t *options,
                                                 core_written_t *written, rawhal_error_t *error);
/* Ends it, also where nothing was written: a program sees the end of its input, and is waited for
 * until `deadline` (0: for as long as it takes). TIMED_OUT: it still runs, and is left alone;
 * RUNTIME: it failed. */
RAWHAL_CHECKED rawhal_status_t core_output_close(core_output_t *output, uint64_t deadline,
                                                 rawhal_error_t *error);

#endif
