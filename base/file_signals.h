/* Files in a program that is not ours: for a pipe without a reader, or a file that would pass the
 * process's limit (RLIMIT_FSIZE), the kernel sends a signal that would end the program. Internal.
 */
#ifndef RAWHAL_BASE_FILE_SIGNALS_H
#define RAWHAL_BASE_FILE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Between begin and end a call that writes to a file, or makes it longer, has an error (EPIPE,
 * EFBIG) as its only consequence. The calling thread's business alone; errno stays. */
typedef struct file_signals {
  sigset_t before, pending;
} file_signals_t;
void file_signals_block(file_signals_t *signals);
void file_signals_restore(const file_signals_t *signals);

/* Writes all of it. False, with errno: some of it or nothing was written. */
bool write_without_signals(int fd, const void *bytes, size_t size);

#endif
