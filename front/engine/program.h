/* A program of the user's that is started beside the one that runs: an engine, a callback. Internal
 * to this folder.
 *
 * It gets one argument, no descriptor of the program's, no input, a file for what it prints, a
 * process group of its own, a bound on the files that it writes, and the environment without what
 * would have it probed in turn. Thread-safety: programs are run by any thread, between opening and
 * closing. */
#ifndef RAWHAL_FRONT_ENGINE_PROGRAM_H
#define RAWHAL_FRONT_ENGINE_PROGRAM_H

#include "front/front.h"

enum { ENGINE_DECLINES = 77 };

typedef struct engine_program {
  const char *path, *argument, *log; /* absolute; the last is made, or appended to */
  uint64_t limit;                    /* ns */
  bool (*stop)(void);                /* has it to end now? NULL: it never has */
} engine_program_t;

/* Keeps a copy of the environment, which the program may change while others run. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t engine_programs_open(rawhal_error_t *error);
void engine_programs_close(void);

/* Runs it to its end, or ends it and what it has started. UNSUPPORTED: it has ended with
 * ENGINE_DECLINES; TIMED_OUT: by its limit, or by `stop`; RUNTIME: it could not be started, or has
 * failed. Whoever else waits for any child may have its status: then it counts as done. */
RAWHAL_CHECKED rawhal_status_t engine_program_run(const engine_program_t *program,
                                                  rawhal_error_t *error);

#endif
