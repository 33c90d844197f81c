/* Writing in a program that is not ours: for a pipe without a reader, or a file that has reached
 * the process's limit, the kernel sends a signal that would end the program. Internal. */
#ifndef RAWHAL_FRONT_QUIET_H
#define RAWHAL_FRONT_QUIET_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of it. False, with errno: some of it or nothing was written; the error (EPIPE, EFBIG)
 * is the only consequence. */
bool quiet_write(int fd, const void *bytes, size_t size);

#endif
