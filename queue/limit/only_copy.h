/* Limits without a region are those of a process, but a process may have several copies of this
 * code: dlmopen() loads a second runtime with a second front, and plugins may each have librawhal
 * inside. Each would keep the limits for itself. So the second copy is refused: it is told to use a
 * region, in which both count together. Internal.
 *
 * The sign by which copies find each other is a mapping of a page of memory with a name of its own,
 * which /proc/self/maps lists. Copies share nothing but the address space: no symbol, as dlmopen()
 * is for; no environment, of which each copy of libc has its own; no file descriptor, which the
 * program may close. A file or socket by the process's number could be another process's. A mapping
 * is gone with the process or its exec(), children of fork() do not have it, and nothing else comes
 * by that name by accident. */
#ifndef RAWHAL_QUEUE_LIMIT_ONLY_COPY_H
#define RAWHAL_QUEUE_LIMIT_ONLY_COPY_H

#include "base/status.h"

/* A front and the program's own librawhal are both there, and each charges its part. */
typedef enum limit_part { LIMIT_PART_FRONT, LIMIT_PART_LIBRARY } limit_part_t;

/* As often as it is ended. The caller makes calls exclude each other in this copy. UNSUPPORTED:
 * another copy has limits; RUNTIME: it cannot be told. */
RAWHAL_CHECKED rawhal_status_t limit_only_copy_begin(limit_part_t part, rawhal_error_t *error);
void limit_only_copy_end(limit_part_t part);

#endif
