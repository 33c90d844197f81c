/* Who observes a process. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_OBSERVE_INTERNAL_H
#define RAWHAL_DEBUG_DOOR_OBSERVE_INTERNAL_H

#include "debug/door/observe.h"
#include "debug/door/ticks.h"

struct observer {
  pid_t process;
  int pidfd;
  door_memory_t *memory;
  door_head_t head;              /* a copy, of what does not change */
  ticks_moment_t opened, latest; /* the process's door, as it says; and when we looked */
  uint64_t types, said;          /* what it wants, and when it said so last */
  uint64_t next;                 /* number of the event that it reads next */
  unsigned looks;                /* at its slot, in vain */
  uint64_t words[DOOR_RECORD_BYTES / 8];
};

/* What the process says is its end for requests, which it may have only later; -1: none. */
int observer_socket(const observer_t *observer);

#endif
