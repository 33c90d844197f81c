/* Who a process is, so that others can tell that it is gone even while a file lock of it stands.
 * Internal.
 *
 * The kernel keeps a lock while any process has the open file, and a child made by a raw clone()
 * has it, too. Where the process can be seen, its number and start time tell more than the lock;
 * where it cannot (another PID namespace, no /proc), the lock decides alone. Nor does a lock that
 * is gone tell by itself: a program may close files that it knows nothing of. */
#ifndef RAWHAL_QUEUE_LIMIT_IDENTITY_H
#define RAWHAL_QUEUE_LIMIT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct identity {
  uint64_t pid;
  uint64_t pid_namespace, time_namespace; /* their inodes */
  uint64_t start_time;                    /* clock ticks since boot; 0: not known */
} identity_t;

void identity_of_self(identity_t *self);

/* True only when it is certain that no thread of that process runs any more. */
bool identity_is_gone(const identity_t *self, const identity_t *other);
/* True only when that process is there and still has the file mapped, by its inode; not when it has
 * executed another program since. Of the process that asks, and has it mapped, once more. */
bool identity_maps(const identity_t *self, const identity_t *other, uint64_t inode);

#endif
