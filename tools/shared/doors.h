/* The doors of a process: what librawhal in it, and `rawhal exec` round it, show and answer. */
#ifndef TOOLS_SHARED_DOORS_H
#define TOOLS_SHARED_DOORS_H

#include "debug/door/observe.h"
#include "tools/shared/option.h"

enum { DOORS_MOST = 2 };

typedef struct doors {
  pid_t process;
  unsigned of; /* a door_kind_t; 0: of both */
  size_t count;
  observer_t *list[DOORS_MOST];
} doors_t;

/* False, with `error`: there is none yet, or no process, or it may not be looked at. To be closed
 * always. */
bool doors_open(doors_t *doors, pid_t process, unsigned of, rawhal_error_t *error);
/* The same of a process that was started, or of the first of its children that has one: programs
 * start programs. `doors->process` is whose they are. */
bool doors_open_below(doors_t *doors, pid_t process, unsigned of, rawhal_error_t *error);
/* Looks for one that was opened since. False: there is none. */
bool doors_look(doors_t *doors, rawhal_error_t *error);
void doors_close(doors_t *doors);

/* "library" or "front". */
const char *doors_name(unsigned kind);

/* The number of a process in a command line. */
bool doors_read_process(const char *text, pid_t *process);

/* The row of --of: it fills the unsigned MEMBER of TYPE, 0 being both. */
#define DOORS_OPTION(TYPE, MEMBER)                                                                 \
  TOOL_OPTION("of", READ, TYPE, MEMBER), .read = doors_read_kind,                                  \
                                         .wrong = "--of: expected library or front, got '%s'"
option_read_fn doors_read_kind;

#endif
