/* How far long work has come: one line on the terminal of standard error, which rewrites itself.
 * There is none in the first half second, none where standard error is not a terminal or TERM is
 * "dumb" or unset, and none is left at the end. */
#ifndef TOOLS_SHARED_PROGRESS_H
#define TOOLS_SHARED_PROGRESS_H

#include <rawhal/types.h>

/* "rawhal find: file 17: PATH", or with a total "object 17 of 446: PATH", in the terminal's width.
 * Cheap: most calls look at the clock only. */
void progress_show(const char *command, const char *noun, uint64_t number, uint64_t total,
                   const char *path);

/* Erases the line, where there is one: before anything else is printed, and at the end. */
void progress_clear(void);

#endif
