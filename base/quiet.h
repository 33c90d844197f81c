/* Files in a program that is not ours: for a pipe without a reader, or a file that would pass the
 * process's limit (RLIMIT_FSIZE), the kernel sends a signal that would end the program. Internal.
 */
#ifndef RAWHAL_BASE_QUIET_H
#define RAWHAL_BASE_QUIET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Between begin and end a call that writes to a file, or makes it longer, has an error (EPIPE,
 * EFBIG) as its only consequence. The calling thread's business alone; errno stays. */
typedef struct quiet {
  sigset_t before, pending;
} quiet_t;
void quiet_begin(quiet_t *quiet);
void quiet_end(const quiet_t *quiet);

/* Writes all of it. False, with errno: some of it or nothing was written. */
bool quiet_write(int fd, const void *bytes, size_t size);

#endif
