/* The file that RAWHAL_LIMITS_FILE names: an operator's limits, which a program cannot change.
 * Internal.
 *
 * Lines of NAME=VALUE; a name is a variable's (RAWHAL_GPU_SHARE, RAWHAL_GPU_SHARE_1) or a limit's
 * (gpu-share, gpu-share_1). Blank lines and those that begin with # are skipped. The file must be
 * root's or another user's, and this process must not be able to write to it. */
#ifndef RAWHAL_QUEUE_LIMIT_LIMITS_FILE_H
#define RAWHAL_QUEUE_LIMIT_LIMITS_FILE_H

#include "queue/limit/names.h"

typedef struct limits_line {
  char variable[LIMIT_NAME_BYTES];
  const char *value;
  unsigned number;
} limits_line_t;

typedef struct limits_file {
  char *text; /* of the lines' values */
  limits_line_t *lines;
  size_t count;
} limits_file_t;

/* NOT_FOUND, RUNTIME, UNSUPPORTED (may be written by us, too large, no regular file),
 * INVALID_ARGUMENT (a line): messages begin with "RAWHAL_LIMITS_FILE:". */
RAWHAL_CHECKED rawhal_status_t limits_file_read(const char *path, limits_file_t *file,
                                                rawhal_error_t *error);
void limits_file_free(limits_file_t *file);
/* The line of exactly that variable; NULL: none. */
const limits_line_t *limits_file_find(const limits_file_t *file, const char *variable);

#endif
