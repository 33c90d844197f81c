/* What was written last of each buffer, so that what has not changed is not written again. Internal
 * to this folder. */
#ifndef RAWHAL_RECORD_KEPT_H
#define RAWHAL_RECORD_KEPT_H

#include "record/record.h"

enum { KEPT_PIECES = 1 << 16 }; /* remembered at most: 16 GiB of buffers, in 1.5 MiB */

typedef struct kept_piece {
  rawhal_content_hash_t hash;
  uint64_t piece; /* its number; 0: not written */
} kept_piece_t;

typedef struct kept_entry kept_entry_t;

/* Zeros: none. */
typedef struct kept {
  kept_entry_t *entries; /* by uthash */
  size_t pieces;
} kept_t;

/* The pieces of a buffer, as many as it has of RECORD_PIECE bytes, to be looked at and changed
 * until the next call. NULL: it is too large, or there is no memory: it is written. When there are
 * too many, those of all others are forgotten. */
kept_piece_t *kept_of(kept_t *kept, uint64_t address, uint64_t size);
/* Is anything of that buffer remembered? */
bool kept_has(const kept_t *kept, uint64_t address, uint64_t size);
void kept_free(kept_t *kept);

#endif
