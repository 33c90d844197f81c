#include "record/known.h"

#include "base/allocate.h"

typedef struct known_entry {
  rawhal_content_hash_t hash;
  uint64_t number; /* 0: free */
} known_entry_t;

static known_entry_t *place_of(const known_t *known, rawhal_content_hash_t hash)
{
  size_t at = (size_t)hash.low & (known->capacity - 1);
  for (; known->entries[at].number; at = (at + 1) & (known->capacity - 1))
    if (known->entries[at].hash.low == hash.low && known->entries[at].hash.high == hash.high)
      break;
  return &known->entries[at];
}

uint64_t known_find(const known_t *known, rawhal_content_hash_t hash)
{
  return known->capacity ? place_of(known, hash)->number : 0;
}

bool known_reserve(known_t *known)
{
  enum { FIRST = 16 };
  if (2 * (known->count + 1) <= known->capacity)
    return true;
  known_t larger = {.capacity = known->capacity ? 2 * known->capacity : FIRST};
  larger.entries = allocate_zeroed(NULL, larger.capacity, sizeof(*larger.entries));
  if (!larger.entries)
    return false;
  for (size_t i = 0; i < known->capacity; ++i)
    if (known->entries[i].number)
      known_add(&larger, known->entries[i].hash, known->entries[i].number);
  known_free(known);
  *known = larger;
  return true;
}

void known_add(known_t *known, rawhal_content_hash_t hash, uint64_t number)
{
  *place_of(known, hash) = (known_entry_t){hash, number};
  ++known->count;
}

void known_free(known_t *known)
{
  allocate_free(NULL, known->entries);
  *known = (known_t){0};
}
