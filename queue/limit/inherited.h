/* Regions that a process was given as open descriptors, and is told of as "fd:9" or "fd:9,12" where
 * a region's path may stand. Internal.
 *
 * Whoever gives them vouches for them: neither owner, mode nor names are checked, and an operator
 * has said which tenants there are (rawhal_limit_control_add). A program that closes what it does
 * not know before it starts another, as Python's subprocess does, takes the descriptors from it:
 * then those of its ancestors are found, as far as /proc lets this process open them. */
#ifndef RAWHAL_QUEUE_LIMIT_INHERITED_H
#define RAWHAL_QUEUE_LIMIT_INHERITED_H

#include "queue/limit/config.h"

/* Is that a list of descriptors, well-formed or not, and no path? */
bool inherited_is(const char *text);
/* Is such a list the config's region? */
bool inherited_is_named(const rawhal_limit_config_t *config);

/* Opens the first of them, or, of several, the one with the device (NULL: any). `access`: O_RDONLY
 * or O_RDWR. `path`: what it is called in messages. INVALID_ARGUMENT: the list is malformed.
 * NOT_FOUND: neither this process nor an ancestor has it open, or no region has the device. Else as
 * region_view(). */
RAWHAL_CHECKED rawhal_status_t inherited_open(const char *text, const char *device, int access,
                                              char path[300], int *fd, rawhal_error_t *error);

#endif
