/* The thread that answers observers' requests. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_ANSWERS_H
#define RAWHAL_DEBUG_DOOR_ANSWERS_H

#include "debug/door/door.h"

/* Starts it, once. The descriptor that observers take, for format.h; -1: there is none. */
int answers_start(void);
/* In a child of fork(): the thread, and who answers, are its parent's. */
void answers_forget(void);
/* Who answers, and whether it may be written to; NULL: nobody, once this has returned. */
void answers_by(const door_host_t *host, bool may_poke);

#endif
