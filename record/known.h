/* Which code objects are in a recording already. Internal to this folder. */
#ifndef RAWHAL_RECORD_KNOWN_H
#define RAWHAL_RECORD_KNOWN_H

#include "record/record.h"

/* Zeros: none. */
typedef struct known {
  struct known_entry *entries; /* a power of two of them, at most half of which are taken */
  size_t capacity, count;
} known_t;

/* An object's number; 0: not there. */
uint64_t known_find(const known_t *known, rawhal_content_hash_t hash);
/* Room for one more; false: no memory. */
bool known_reserve(known_t *known);
/* One that is not there, after known_reserve(). */
void known_add(known_t *known, rawhal_content_hash_t hash, uint64_t number);
void known_free(known_t *known);

#endif
