/* What has been reported of a kernel already. Internal.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_REPORTED_H
#define RAWHAL_FRONT_REPORTED_H

#include "front/objects.h"

typedef struct reported_key {
  rawhal_content_hash_t object;
  uint64_t address; /* of the kernel in it */
  uint64_t about;   /* what of it: REPORTED_RECORD and a kind of note; all others are watch.c's */
} reported_key_t;

#define REPORTED_RECORD (UINT64_C(1) << 40)

/* Was this called for the key before? Without memory for the key it is reported again. */
bool reported_before(reported_key_t key);
void reported_clear(void);
void reported_abandon(void);

#endif
