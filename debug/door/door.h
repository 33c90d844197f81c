/* The door of a process: what others may see of it, and ask it. Internal to hal/ and front/.
 *
 *     RAWHAL_DOOR   events: others see what exists and what happens, as without; answers: a thread
 *                   answers requests, too; poke: which may write to allocations; off: nothing.
 *                   ",now" behind it: somebody is about to watch, so events are kept from the first
 *
 * Who may look is the kernel's to decide, as of ptrace(2). */
#ifndef RAWHAL_DEBUG_DOOR_DOOR_H
#define RAWHAL_DEBUG_DOOR_DOOR_H

#include "debug/door/format.h"

#include "base/status.h"

/* What answers; by a thread of the door's, one request at a time. NULL: it cannot. */
typedef struct door_host {
  /* What does not end, and where it stands. */
  void (*why)(char *text, size_t size);
  /* Within one allocation. False: it is in none, or cannot be had. */
  bool (*read)(uint64_t address, void *to, size_t size);
  bool (*write)(uint64_t address, const void *from, size_t size);
  /* So much was written: for a log, whose hooks may wait for others. The host may be closed. */
  void (*wrote)(uint64_t address, size_t size);
  /* Writes a core file of what is there now. */
  rawhal_status_t (*core)(int descriptor, rawhal_error_t *error);
} door_host_t;

/* What the variable says, before anything is opened: `*asked`: it names one but off.
 * INVALID_ARGUMENT: it is not understood. */
RAWHAL_CHECKED rawhal_status_t door_check(bool *asked, rawhal_error_t *error);
/* Opens it as RAWHAL_DOOR wants it; `host` stays the caller's. A system that has no memory of that
 * kind is no failure: there is no door then. INVALID_ARGUMENT: the variable is not understood. */
RAWHAL_CHECKED rawhal_status_t door_open(door_kind_t kind, const door_host_t *host,
                                         rawhal_error_t *error);
/* The host answers nothing any more. What is shared stays, for who opens it next. */
void door_close(void);

#endif
