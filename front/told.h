/* What was said of a kernel already. Internal.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_TOLD_H
#define RAWHAL_FRONT_TOLD_H

#include "front/objects.h"

typedef struct told_key {
  rawhal_content_hash_t object;
  uint64_t address; /* of the kernel in it */
  uint64_t about;   /* what of it: TOLD_RECORD and a kind of note; all others are watch.c's */
} told_key_t;

#define TOLD_RECORD (UINT64_C(1) << 40)

/* Was it asked before? What finds no memory is told again. */
bool told_before(told_key_t key);
void told_forget(void);
void told_abandon(void);

#endif
