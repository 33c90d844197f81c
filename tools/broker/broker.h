/* rawhal broker: what its parts share. */
#ifndef TOOLS_BROKER_BROKER_H
#define TOOLS_BROKER_BROKER_H

#include <rawhal/status.h>

/* The region of a socket's broker before this one, that programs may be in: from that broker where
 * it listens, else from a process that has it open, as far as this one may look. `*fd` -1: there is
 * none. False: there is one and it cannot be had. */
bool broker_find(const char *socket, int *fd, rawhal_error_t *error);
/* Writes down which region the socket's is, for the next broker. */
bool broker_note(const char *socket, int fd, rawhal_error_t *error);

#endif
