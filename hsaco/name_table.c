#include "hsaco/name_table.h"

#include <string.h>
#include <sys/auxv.h>

/* uthash takes its memory from the arena of the table at hand, gives none back, and reports
 * failures instead of exiting. */
#define HASH_NONFATAL_OOM      1
#define uthash_malloc(size)    arena_alloc(table->arena, (size))
#define uthash_free(p, size)   ((void)(p))
#define HASH_FUNCTION(k, n, h) ((h) = (unsigned)hash_bytes(table->key, (k), (n)))
#define uthash_nonfatal_oom(e) (lost = true)
#include <uthash.h>

#undef HASH_INITIAL_NUM_BUCKETS
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS      (1u << table->buckets_log2)
#define HASH_INITIAL_NUM_BUCKETS_LOG2 (table->buckets_log2)

typedef struct name_entry {
  name_slots_t slots;
  UT_hash_handle hh;
} name_entry_t;

static uint64_t load64(const unsigned char *from)
{
  uint64_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}

/* Both halves of a 128-bit product, folded. */
static uint64_t fold(uint64_t a, uint64_t b)
{
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Sixteen bytes a multiplication; each word is masked with a secret first. The last sixteen may
 * overlap those before them. */
static uint64_t hash_bytes(const uint64_t key[2], const void *bytes, size_t size)
{
  enum { STEP = 16 };
  const unsigned char *at = bytes, *last;
  unsigned char few[STEP] = {0};
  uint64_t hash = key[0] ^ size;
  if (size >= STEP)
    last = at + size - STEP;
  else
    at = last = size ? memcpy(few, bytes, size) : few;
  for (; at < last; at += STEP)
    hash = fold(load64(at) ^ key[1], load64(at + 8) ^ hash);
  hash = fold(load64(last) ^ key[1], load64(last + 8) ^ hash);
  return fold(hash ^ key[0], key[1]);
}

static void choose_key(uint64_t key[2])
{
  /* The kernel gives every process 16 random bytes; no system call, no state of our own. */
  const void *random = (const void *)getauxval(AT_RANDOM);
  if (random)
    memcpy(key, random, 2 * sizeof(*key));
  key[0] ^= 0x9e3779b97f4a7c15;
  key[1] |= 1; /* never 0 */
}

void name_table_init(name_table_t *table, arena_t *arena, size_t expected)
{
  *table = (name_table_t){.arena = arena, .buckets_log2 = 3};
  while (table->buckets_log2 < 20 && (size_t)1 << table->buckets_log2 < expected)
    ++table->buckets_log2;
}

name_slots_t *name_table_find(const name_table_t *table, rawhal_string_t name)
{
  name_entry_t *entry = NULL;
  if (table->head && name.size && name.size <= UINT32_MAX)
    HASH_FIND(hh, table->head, name.data, (unsigned)name.size, entry);
  return entry ? &entry->slots : NULL;
}

static name_entry_t *new_entry(name_table_t *table)
{
  enum { BATCH = 64 };
  if (table->spare == table->spare_end) {
    size_t batch = table->head ? BATCH : 4;
    table->spare = arena_alloc(table->arena, batch * sizeof(name_entry_t));
    if (!table->spare)
      return table->spare_end = NULL;
    table->spare_end = table->spare + batch;
  }
  return table->spare++;
}

name_slots_t *name_table_at(name_table_t *table, rawhal_string_t name)
{
  if (name.size > UINT32_MAX) {
    table->arena->status = RAWHAL_CAP_EXCEEDED;
    return NULL;
  }
  name_entry_t *entry = NULL;
  if (!table->head) /* many tables stay empty */
    choose_key(table->key);
  unsigned hash = (unsigned)hash_bytes(table->key, name.data, name.size);
  if (table->head)
    HASH_FIND_BYHASHVALUE(hh, table->head, name.data, (unsigned)name.size, hash, entry);
  if (entry)
    return &entry->slots;
  entry = new_entry(table);
  if (!entry)
    return NULL;
  entry->slots = (name_slots_t){NAME_NONE, NAME_NONE};
  bool lost = false;
  HASH_ADD_KEYPTR_BYHASHVALUE(hh, table->head, name.data, (unsigned)name.size, hash, entry);
  return lost ? NULL : &entry->slots;
}
