#include "front/reported.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash_table.h"

typedef struct reported {
  reported_key_t key;
  UT_hash_handle hh;
} reported_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reported_t *all;

bool reported_before(reported_key_t key)
{
  reported_t *entry;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), entry);
  const bool before = entry != NULL;
  if (!before && (entry = malloc(sizeof(*entry)))) {
    entry->key = key;
    HASH_ADD(hh, all, key, sizeof(entry->key), entry);
    if (!entry->hh.tbl)
      free(entry);
  }
  pthread_mutex_unlock(&lock);
  return before;
}

void reported_clear(void)
{
  reported_t *entry, *next;
  pthread_mutex_lock(&lock);
  HASH_ITER(hh, all, entry, next)
  {
    HASH_DELETE(hh, all, entry);
    free(entry);
  }
  pthread_mutex_unlock(&lock);
}

void reported_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  all = NULL;
}
