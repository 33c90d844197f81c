/* Files that the front makes where the program runs: none is written over, and no link is followed.
 * Internal. */
#ifndef RAWHAL_FRONT_OUTPUT_H
#define RAWHAL_FRONT_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

/* A new file, open for writing, of that name or, where there is one already, of a numbered one. A
 * pipe that is there is taken as it is. -1, with errno. */
int output_make(const char *path, mode_t mode);
/* The same to append to, or the file that is there, which need not be a regular one. */
int output_append(const char *path, mode_t mode);
/* Would output_make() make it, under this very name? False, with errno, EEXIST where not. */
bool output_would_make(const char *path);
/* Would it make a file, whose name may be numbered, and no pipe is one? */
bool output_would_make_file(const char *path);

#endif
