/* rawhal limits: what its parts share. */
#ifndef TOOLS_LIMITS_LIMITS_H
#define TOOLS_LIMITS_LIMITS_H

#include "tools/shared/option.h"

/* rawhal limits set, suspend, resume, release: `argv[0]` is that word. */
int limits_control(int argc, char **argv);

/* What they take. */
extern const tool_option_t limits_control_options[];

/* The row of --memory: it fills the uint64_t MEMBER of TYPE. */
#define LIMITS_MEMORY_OPTION(TYPE, MEMBER)                                                         \
  TOOL_OPTION("memory", READ, TYPE, MEMBER), .read = limits_read_memory
option_read_fn limits_read_memory;

/* Is it one of these words? */
int limits_is_control(const char *word);

#endif
