#include "front/held.h"

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* what finds no memory is not added, and has no table */
#include <uthash.h>

typedef struct held_key {
  uint64_t kind, number;
} held_key_t;

struct held {
  held_key_t key;
  rawhal_limiter_t *limiter;
  ledger_class_t class;
  uint64_t bytes;
  UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held_t *all;

held_t *held_reserve(front_device_t *device, ledger_class_t class, uint64_t bytes)
{
  held_t *held = front_orphaned() ? NULL : malloc(sizeof(*held));
  if (!held)
    return NULL;
  uint64_t granule = device->granule ? device->granule : 1;
  uint64_t rounded =
      bytes > UINT64_MAX - granule ? bytes : (bytes + granule - 1) / granule * granule;
  *held = (held_t){.limiter = device->limiter, .class = class, .bytes = rounded};
  if (limit_memory_reserve(device->limiter, class, rounded, NULL) == RAWHAL_OK)
    return held;
  free(held);
  return NULL;
}

void held_give_back(held_t *held)
{
  if (!held)
    return;
  limit_memory_release(held->limiter, held->class, held->bytes);
  free(held);
}

bool held_remember(held_t *held, held_kind_t kind, uint64_t number)
{
  held->key = (held_key_t){kind, number};
  held->hh.tbl = NULL;
  pthread_mutex_lock(&lock);
  HASH_ADD(hh, all, key, sizeof(held->key), held);
  bool added = held->hh.tbl != NULL;
  pthread_mutex_unlock(&lock);
  return added;
}

static held_t *find(held_kind_t kind, uint64_t number, bool take)
{
  held_key_t key = {kind, number};
  held_t *held;
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), held);
  if (held && take)
    HASH_DELETE(hh, all, held);
  pthread_mutex_unlock(&lock);
  return held;
}

bool held_knows(held_kind_t kind, uint64_t number)
{
  return find(kind, number, false) != NULL;
}

held_t *held_take(held_kind_t kind, uint64_t number)
{
  return find(kind, number, true);
}

hsa_status_t held_settle(held_t *held, hsa_status_t result)
{
  if (!held || result == HSA_STATUS_SUCCESS)
    held_give_back(held);
  else if (!held_remember(held, (held_kind_t)held->key.kind, held->key.number))
    free(held); /* still there, and so still charged */
  return result;
}

void memory_forget(void)
{
  held_t *held, *next;
  pthread_mutex_lock(&lock);
  HASH_ITER(hh, all, held, next)
  {
    HASH_DELETE(hh, all, held);
    held_give_back(held);
  }
  pthread_mutex_unlock(&lock);
}

void memory_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
  all = NULL;
}
