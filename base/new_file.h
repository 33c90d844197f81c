/* A file that has its name only when it is whole. Internal.
 *
 * Until then it has none where the file system can (O_TMPFILE): what is killed meanwhile leaves
 * nothing. Elsewhere it has one that nobody else makes, "PATH.RANDOM.part", which may be left. */
#ifndef RAWHAL_BASE_NEW_FILE_H
#define RAWHAL_BASE_NEW_FILE_H

#include <stdbool.h>

#define NEW_FILE_NO_FILE "there is something other than a file" /* ENOTSUP of new_file_open() */

enum { NEW_FILE_PATH_BYTES = 4096 };

typedef struct new_file {
  int descriptor;                      /* for writing; -1: there is none */
  const char *path;                    /* the caller's */
  char temporary[NEW_FILE_PATH_BYTES]; /* "": it has no name */
} new_file_t;

/* Makes one, for its owner alone. False, with errno: EISDIR and ENOTSUP where that name, or what a
 * link of that name leads to, is a directory or something else that is no file, such as a device.
 * Where a device's name is taken from it, whoever opens it gets the file. */
bool new_file_open(new_file_t *file, const char *path);
/* Closes it, and gives it its name; `replace`: also where there is one already, else that is
 * EEXIST. False, with errno, and nothing is left of it. */
bool new_file_keep(new_file_t *file, bool replace);
/* Closes it, and nothing is left of it. */
void new_file_drop(new_file_t *file);

#endif
