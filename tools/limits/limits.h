/* rawhal limits: what its parts share. */
#ifndef TOOLS_LIMITS_LIMITS_H
#define TOOLS_LIMITS_LIMITS_H

#include <getopt.h>

/* rawhal limits set, suspend, resume, release: `argv[0]` is that word. */
int limits_control(int argc, char **argv);

/* What they take. */
extern const struct option limits_control_options[];

/* Is it one of these words? */
int limits_is_control(const char *word);

#endif
