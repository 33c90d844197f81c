/* A file that is kept open in a process whose program does not know of it. Such a program may close
 * every descriptor there is, as daemons do at their start, and then the number is unused, or that
 * of a file of its own. Internal. */
#ifndef RAWHAL_BASE_OWN_FILE_H
#define RAWHAL_BASE_OWN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct own_file {
  int descriptor; /* -1: none */
  dev_t device;
  ino_t inode;
} own_file_t;

/* From here on it is known what the number stands for. False, with errno: it is not; the descriptor
 * stays open. */
bool own_file_keep(own_file_t *file, int descriptor);
/* To be asked before the number is used. False, with EBADF: it stands for something else. */
bool own_file_is_open(const own_file_t *file);
/* As close(); what is not ours any more stays open. */
int own_file_close(own_file_t *file);

#endif
