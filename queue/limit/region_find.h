/* How a process comes by a region's file: by its name, by a descriptor, or from a broker. Internal.
 *
 * A broker is a program that listens at a socket and gives whoever connects a descriptor of one
 * region, each with an open file description of its own, which locks belong to. That is the form
 * for containers: what stands at a path may be deleted, filled or cut short there, and in a user
 * namespace the file's owner is nobody; the descriptor is of memory whose size is sealed. */
#ifndef RAWHAL_QUEUE_LIMIT_REGION_FIND_H
#define RAWHAL_QUEUE_LIMIT_REGION_FIND_H

#include "queue/limit/region.h"

enum { REGION_PATH_BYTES = 300 };

/* What a config names, of several descriptors the one whose region has the device (NULL: the
 * first); `*fd` is the caller's to close. `path`: what it is called in messages.
 * NOT_FOUND, RUNTIME, OUT_OF_MEMORY; TIMED_OUT: the broker does not answer; UNSUPPORTED: it is not
 * to be trusted, with the reason. */
RAWHAL_CHECKED rawhal_status_t region_find(const rawhal_limit_config_t *config, const char *device,
                                           char path[REGION_PATH_BYTES], int *fd,
                                           rawhal_error_t *error);
/* Of an operator, who knows what it names: one that is there. `access`: O_RDONLY or O_RDWR. */
RAWHAL_CHECKED rawhal_status_t region_find_existing(const char *path, int access, int *fd,
                                                    rawhal_error_t *error);

/* What errno says of that. */
RAWHAL_CHECKED rawhal_status_t region_fail(rawhal_error_t *error, const char *what,
                                           const char *path);

/* Memory whose size never changes: it is of this boot, and no access to it ends in a signal. */
bool region_is_sealed(int fd);

#endif
