/* What runs between two of a kernel's instructions, judged. Internal to this folder. */
#ifndef RAWHAL_PROBE_VERIFY_H
#define RAWHAL_PROBE_VERIFY_H

#include "probe/emit.h"
#include "probe/walk.h"

/* Where a stretch is. */
typedef enum between {
  BETWEEN_ENTRY, /* before the kernel's first instruction: what it is not given is free */
  BETWEEN_TWO,
  BETWEEN_END, /* before s_endpgm: everything is free */
} between_t;

/* What the kernel has: registers from these numbers on are not its. */
typedef struct owned {
  uint32_t sgprs, vgprs, initial_sgprs;
} owned_t;

/* Instructions number `first` to `end` - 1 of the probed kernel, entered at any of them that
 * `is_landing` says, and at the first. True: they go on to number `end`, and there all that is the
 * kernel's is as it was. Else `*wrong` is the instruction's number, and the text says what is. */
bool verify_between(const walk_t *walk, uint32_t first, uint32_t end, between_t where,
                    const owned_t *owned, uint32_t *wrong, const char **text);

#endif
