#include "front/told.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash_table.h"

typedef struct told {
  told_key_t key;
  UT_hash_handle hh;
} told_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static told_t *all;

bool told_before(told_key_t key)
{
  told_t *told;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), told);
  const bool before = told != NULL;
  if (!before && (told = malloc(sizeof(*told)))) {
    told->key = key;
    HASH_ADD(hh, all, key, sizeof(told->key), told);
    if (!told->hh.tbl)
      free(told);
  }
  pthread_mutex_unlock(&lock);
  return before;
}

void told_forget(void)
{
  told_t *told, *next;
  pthread_mutex_lock(&lock);
  HASH_ITER(hh, all, told, next)
  {
    HASH_DELETE(hh, all, told);
    free(told);
  }
  pthread_mutex_unlock(&lock);
}

void told_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  all = NULL;
}
