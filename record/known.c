#include "record/known.h"

#include "base/allocate.h"
#include "base/hash_table.h"

struct known {
  rawhal_content_hash_t hash;
  uint64_t number;
  UT_hash_handle hh;
};

static known_t *find(const known_t *known, rawhal_content_hash_t hash)
{
  known_t *found;
  HASH_FIND(hh, known, &hash, sizeof(hash), found);
  return found;
}

uint64_t known_find(const known_t *known, rawhal_content_hash_t hash)
{
  const known_t *found = find(known, hash);
  return found ? found->number : 0;
}

uint64_t *known_add(known_t **known, rawhal_content_hash_t hash)
{
  known_t *added = find(*known, hash);
  if (added)
    return &added->number;
  added = allocate_zeroed(NULL, 1, sizeof(*added));
  if (!added)
    return NULL;
  added->hash = hash;
  HASH_ADD(hh, *known, hash, sizeof(hash), added);
  if (added->hh.tbl)
    return &added->number;
  allocate_free(NULL, added);
  return NULL;
}

void known_free(known_t **known)
{
  known_t *entry, *next;
  HASH_ITER(hh, *known, entry, next)
  {
    HASH_DELETE(hh, *known, entry);
    allocate_free(NULL, entry);
  }
}
