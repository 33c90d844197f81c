#include "record/kept.h"

#include "base/allocate.h"
#include "base/hash_table.h"

#include <stddef.h>

typedef struct kept_key {
  uint64_t address, size;
} kept_key_t;

struct kept_entry {
  kept_key_t key;
  size_t count;
  UT_hash_handle hh;
  kept_piece_t pieces[];
};

static kept_entry_t *make_entry(kept_t *kept, kept_key_t key, size_t count)
{
  kept_entry_t *entry =
      allocate_zeroed(NULL, 1, offsetof(kept_entry_t, pieces) + count * sizeof(kept_piece_t));
  if (!entry)
    return NULL;
  entry->key = key;
  entry->count = count;
  HASH_ADD(hh, kept->entries, key, sizeof(entry->key), entry);
  if (entry->hh.tbl) {
    kept->pieces += count;
    return entry;
  }
  allocate_free(NULL, entry);
  return NULL;
}

bool kept_has(const kept_t *kept, uint64_t address, uint64_t size)
{
  const kept_key_t key = {address, size};
  kept_entry_t *entry;
  HASH_FIND(hh, kept->entries, &key, sizeof(key), entry);
  return entry != NULL;
}

kept_piece_t *kept_of(kept_t *kept, uint64_t address, uint64_t size)
{
  const kept_key_t key = {address, size};
  const uint64_t count = size / RECORD_PIECE + (size % RECORD_PIECE != 0);
  kept_entry_t *entry;
  HASH_FIND(hh, kept->entries, &key, sizeof(key), entry);
  if (!entry && count <= KEPT_PIECES) {
    if (count > KEPT_PIECES - kept->pieces)
      kept_free(kept);
    entry = make_entry(kept, key, (size_t)count);
  }
  return entry ? entry->pieces : NULL;
}

void kept_free(kept_t *kept)
{
  kept_entry_t *entry, *next;
  HASH_ITER(hh, kept->entries, entry, next)
  {
    HASH_DELETE(hh, kept->entries, entry);
    allocate_free(NULL, entry);
  }
  *kept = (kept_t){0};
}
