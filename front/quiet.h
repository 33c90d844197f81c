/* Writing as a guest: the kernel answers a pipe that nobody reads and a file that has reached the
 * process's bound by a signal that ends the process, and here that is the program's. Internal. */
#ifndef RAWHAL_FRONT_QUIET_H
#define RAWHAL_FRONT_QUIET_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of it. False, with errno: some of it, or nothing, and the error is all that comes of
 * it: EPIPE, EFBIG. */
bool quiet_write(int fd, const void *bytes, size_t size);

#endif
