/* C++ names of kernels as a programmer wrote them. */
#ifndef TOOLS_SHARED_DEMANGLE_H
#define TOOLS_SHARED_DEMANGLE_H

#include <rawhal/types.h>

#include "tools/shared/option.h"

/* What the command line asks for. */
typedef enum demangle_when {
  DEMANGLE_ON_TERMINALS = 0, /* for people; programs that read a pipe look names up */
  DEMANGLE_ALWAYS = 1,
  DEMANGLE_NEVER = 2,
} demangle_when_t;

/* The rows of --demangle and --no-demangle: they fill MEMBER of TYPE. */
#define DEMANGLE_OPTIONS(TYPE, MEMBER)                                                             \
  {TOOL_OPTION("demangle", SET, TYPE, MEMBER), .value = DEMANGLE_ALWAYS},                          \
  {                                                                                                \
    TOOL_OPTION("no-demangle", SET, TYPE, MEMBER), .value = DEMANGLE_NEVER                         \
  }

/* Is what goes to standard output to be demangled? */
bool demangle_text(demangle_when_t when);

/* "vector_add(float*, float*, float*, unsigned int)" of "_Z10vector_addPfS_S_j"; of "NAME.kd" with
 * ".kd" after it. What is not such a name, or becomes too long, is returned unchanged. A few bytes
 * can stand for a text that no machine has room for: a name is expanded to 16 times its bytes at
 * most, and one of more than 1 KiB not at all. Valid until the next call; still to be escaped. */
rawhal_string_t demangle(rawhal_string_t name);

/* The same, if `wanted`. */
static inline rawhal_string_t demangle_if(bool wanted, rawhal_string_t name)
{
  return wanted ? demangle(name) : name;
}

#endif
