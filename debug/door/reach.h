/* Reaching into another process, as far as the kernel lets: what is taken is a descriptor of its
 * own, and nothing stops. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_REACH_H
#define RAWHAL_DEBUG_DOOR_REACH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* NOT_FOUND: there is no such process. `*pidfd` is -1 then. */
RAWHAL_CHECKED rawhal_status_t reach_process(pid_t process, int *pidfd, rawhal_error_t *error);
/* The process's descriptor of that number. UNSUPPORTED: the kernel forbids it, and why. */
RAWHAL_CHECKED rawhal_status_t reach_descriptor(pid_t process, int pidfd, int number, int *fd,
                                                rawhal_error_t *error);
/* The index-th of its memory files with a door's name. NOT_FOUND: it has no such. */
RAWHAL_CHECKED rawhal_status_t reach_memory(pid_t process, int pidfd, size_t index, int *fd,
                                            rawhal_error_t *error);

/* The number that the process has in its own namespace; 0: not to be seen. */
int32_t reach_own_number(pid_t process);

/* What can be seen of a process that may not be looked at. */
typedef struct reach_facts {
  int64_t user, own;    /* whose it is; -1: not to be seen; whose this process is */
  bool hidden;          /* what the system shows of it is root's, and not its user's */
  bool other_namespace; /* of users */
  int yama;             /* its ptrace_scope; 0 without it */
} reach_facts_t;
/* Why not, as far as these tell: each reason behind "; ". */
enum { REACH_WHY = 512 };
void reach_why(const reach_facts_t *facts, char text[REACH_WHY]);

#endif
