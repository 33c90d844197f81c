/* Names of files of which there is one already. Internal. */
#ifndef RAWHAL_BASE_NUMBERED_H
#define RAWHAL_BASE_NUMBERED_H

#include <stdbool.h>

enum { PATH_WITH_NUMBER_BYTES = 4096, NUMBERED_ATTEMPTS = 1000 };

/* PATH.PID, then PATH.PID.2 and so on, by `attempt` from 0: for the second and later ones that
 * write, be it processes of one program or lives of the runtime in one process. False: it is too
 * long. */
bool path_with_number(char name[PATH_WITH_NUMBER_BYTES], const char *path, unsigned attempt);

#endif
