/* Names for the files of the second and later ones that write: processes of one program, lives of
 * the runtime in one process. Internal. */
#ifndef RAWHAL_FRONT_NUMBERED_H
#define RAWHAL_FRONT_NUMBERED_H

#include <stdbool.h>

enum { NUMBERED_BYTES = 4096, NUMBERED_ATTEMPTS = 1000 };

/* PATH.PID, then PATH.PID.2 and so on, by `attempt` from 0. False: it is too long. */
bool numbered_name(char name[NUMBERED_BYTES], const char *path, unsigned attempt);

#endif
