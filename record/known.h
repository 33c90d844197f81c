/* Which code objects are in a recording already. Internal to this folder. */
#ifndef RAWHAL_RECORD_KNOWN_H
#define RAWHAL_RECORD_KNOWN_H

#include "record/record.h"

typedef struct known known_t; /* NULL: none */

/* An object's number; 0: not there. */
uint64_t known_find(const known_t *known, rawhal_content_hash_t hash);
/* Where an object's number is to be stored; 0 until then. NULL: no memory. */
uint64_t *known_add(known_t **known, rawhal_content_hash_t hash);
void known_free(known_t **known);

#endif
