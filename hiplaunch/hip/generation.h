/* In what the two libraries of these sources differ: librawhal-hiplaunch has HIP 5.2's interface,
 * and libamdhip64 (door/) HIP 7's. Internal; each library has one file that says so. */
#ifndef RAWHAL_HIPLAUNCH_GENERATION_H
#define RAWHAL_HIPLAUNCH_GENERATION_H

#include <stdbool.h>

typedef struct generation {
  int version; /* as hipRuntimeGetVersion() has it */
  /* hipMemoryType, which HIP 6 has renumbered: the same field, other values. */
  struct {
    int host, device, managed;
  } memory;
  /* From HIP 6 on, a pointer that HIP does not know has attributes, too: those of no memory. */
  bool knows_unregistered;
} generation_t;

#pragma GCC visibility push(hidden)
extern const generation_t generation;
#pragma GCC visibility pop

#endif
