/* rawhal exec beside a program that has to be limited: it ends what uses a device without the
 * front, because the runtime did not find it, was not told of it, or had no descriptor left to load
 * it. */
#ifndef TOOLS_EXEC_GUARD_H
#define TOOLS_EXEC_GUARD_H

#include <rawhal/status.h>

/* What --check, --guard, RAWHAL_CHECK and policies have in common: whether anybody looks, whether
 * the first finding is reported or each, and whether what was found may go on. */
typedef enum check_mode { CHECK_OFF, CHECK_WARN, CHECK_REPORT, CHECK_REFUSE } check_mode_t;
#define CHECK_MODES "off, warn, report or refuse"

/* False: no such mode. */
bool check_mode_of(const char *word, check_mode_t *mode);

/* Runs the program, and returns when it has ended: its exit status, or `escaped` when something had
 * to be ended. A program that was ended by a signal ends this process by the same one. -1: it has
 * not been started, and `*why` is the errno of execvp(3), or 0, and the error says more. */
int guard_run(char **argv, check_mode_t mode, int escaped, int *why, rawhal_error_t *error);

#endif
