/* The files that a command line names, and those below the folders it names. */
#ifndef TOOLS_SHARED_WALK_H
#define TOOLS_SHARED_WALK_H

#include <rawhal/status.h>

/* Zero-initialise but for these. */
typedef struct walk {
  const char *command;
  void *context;
  /* `named`: on the command line. What only stands in a folder need not be a code object. */
  void (*file)(void *context, const char *path, bool named);
  uint64_t files;   /* looked at so far */
  uint64_t refused; /* what walk_refuse() was told */
} walk_t;

/* In the order of their names; symbolic links below a folder are not followed. What cannot be read
 * is refused, and the rest walked. False: out of memory. */
bool walk_paths(walk_t *walk, char **paths, int count, rawhal_error_t *error);

/* Should a file that opening refused with this be passed over? */
bool walk_passes_over(bool named, const rawhal_error_t *error);

/* A line on standard error: which file, and why. */
void walk_refuse(walk_t *walk, const char *path, const rawhal_error_t *error);

#endif
