/* Reaching into another process, as far as the kernel lets: what is taken is a descriptor of its
 * own, and nothing stops. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_REACH_H
#define RAWHAL_DEBUG_DOOR_REACH_H

#include "base/status.h"

#include <stddef.h>
#include <sys/types.h>

/* NOT_FOUND: there is no such process. `*pidfd` is -1 then. */
RAWHAL_CHECKED rawhal_status_t reach_process(pid_t process, int *pidfd, rawhal_error_t *error);
/* The process's descriptor of that number. UNSUPPORTED: the kernel forbids it, and why. */
RAWHAL_CHECKED rawhal_status_t reach_descriptor(pid_t process, int pidfd, int number, int *fd,
                                                rawhal_error_t *error);
/* The index-th of its memory files with a door's name. NOT_FOUND: it has no such. */
RAWHAL_CHECKED rawhal_status_t reach_memory(pid_t process, int pidfd, size_t index, int *fd,
                                            rawhal_error_t *error);

#endif
