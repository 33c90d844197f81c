/* Reads and writes of all the bytes that were asked for: a signal's handler, or a pipe, makes the
 * kernel do less. A call that does one step is glibc's TEMP_FAILURE_RETRY(). Internal. */
#ifndef RAWHAL_BASE_WHOLE_H
#define RAWHAL_BASE_WHOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many bytes there were up to the end of the file, at most `size`; -1, with errno. */
ssize_t read_whole(int file, void *bytes, size_t size);
/* The same at an offset. */
ssize_t pread_whole(int file, void *bytes, size_t size, uint64_t offset);

/* False, with errno: some of it or nothing was written. */
bool write_whole(int file, const void *bytes, size_t size);

#endif
