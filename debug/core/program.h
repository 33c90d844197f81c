/* Programs that are started beside the one that runs, as one that takes a core file on its standard
 * input. Internal. */
#ifndef RAWHAL_DEBUG_CORE_PROGRAM_H
#define RAWHAL_DEBUG_CORE_PROGRAM_H

#include <spawn.h>
#include <sys/types.h>

#include "base/status.h"

/* With no signal blocked, and of the caller's dispositions none that would have it go on after it
 * should have ended. `words` and `environment` end with a NULL; the first word is a path. `flags`:
 * more of posix_spawnattr_setflags(). Returns an errno. */
int program_spawn(const char *const *words, char *const *environment,
                  const posix_spawn_file_actions_t *actions, short flags, pid_t *child);

/* Begins it: `words` end with a NULL, the first is a path. `*input` is the end of a pipe to write
 * to, which no other program inherits. RUNTIME: it cannot be started. It may allocate. */
RAWHAL_CHECKED rawhal_status_t program_start(const char *const *words, int *input, pid_t *child,
                                             rawhal_error_t *error);

/* Waits until it has ended, at most until `deadline` (CLOCK_MONOTONIC ns; 0: for as long as it
 * takes), after which it is left alone: TIMED_OUT. RUNTIME: it failed. Who has taken its status
 * meanwhile, or ignores SIGCHLD, has it: OK. */
RAWHAL_CHECKED rawhal_status_t program_end(pid_t child, uint64_t deadline, rawhal_error_t *error);

/* Waits for any child so. False: it has not ended. `ended` is its id, or -1: there is none. Without
 * pidfds it is looked at once. */
bool program_wait(pid_t child, uint64_t deadline, int *status, pid_t *ended);

#endif
