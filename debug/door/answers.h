/* The thread that answers observers' requests. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_ANSWERS_H
#define RAWHAL_DEBUG_DOOR_ANSWERS_H

#include "debug/door/door.h"

/* Starts it, once. The descriptor that observers take, for format.h; -1: there is none to be had,
 * or in a child of fork(). */
int answers_start(void);
/* Who answers, and whether it may be written to; NULL: nobody, once this has returned. */
void answers_by(const door_host_t *host, bool may_poke);

#endif
