#include "front/held.h"

#include "front/descriptors.h"
#include "front/ranges.h"
#include "front/report.h"
#include "front/scratch.h"
#include "front/sources.h"

#include "debug/door/tell.h"

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* what finds no memory is not added, and has no table */
#include <uthash.h>

/* Memory. */
typedef struct charge {
  front_device_t *device;
  rawhal_limiter_t *limiter;
  ledger_class_t class;
  uint64_t bytes;
  uint32_t names; /* changes under the lock, once there are several */
} charge_t;

/* And a name of it. */
struct held {
  held_key_t key;
  uint64_t span;
  charge_t *charge;
  bool doubted;   /* of a descriptor: not seen yet */
  uint64_t shown; /* its number for observers, of an address that ranges.c does not have; so is: */
  tell_entry_t told;
  held_t *next; /* of the same name; only the first is in the table */
  UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held_t *all;
static size_t descriptors;

/* ---- Charges ---- */

static held_t *make(front_device_t *device, ledger_class_t class, uint64_t bytes)
{
  held_t *held = front_orphaned() ? NULL : calloc(1, sizeof(*held));
  charge_t *charge = held ? malloc(sizeof(*charge)) : NULL;
  if (!charge) {
    free(held);
    return NULL;
  }
  *charge = (charge_t){device, device->limiter, class, memory_granules(device->granule, bytes), 1};
  held->charge = charge;
  return held;
}

static void destroy(held_t *held)
{
  free(held->charge);
  free(held);
}

static bool reserve(const charge_t *charge, rawhal_error_t *error)
{
  return limit_memory_reserve(charge->limiter, charge->class, charge->bytes, error) == RAWHAL_OK;
}

/* Programs that try less and less are told once. */
static void tell_refused(front_device_t *device, const rawhal_error_t *error)
{
  if (front.faults && !atomic_exchange(&device->refused, true))
    front_report("device %u: %s: the program is told that there is no memory",
                 (unsigned)(device - front.devices), error->message);
}

held_t *held_reserve(front_device_t *device, ledger_class_t class, uint64_t bytes)
{
  scratch_look();
  rawhal_error_t error;
  held_t *held = make(device, class, bytes);
  if (!held || reserve(held->charge, NULL))
    return held;
  held_sweep();
  if (reserve(held->charge, &error))
    return held;
  tell_refused(device, &error);
  destroy(held);
  return NULL;
}

held_t *held_charge(front_device_t *device, ledger_class_t class, uint64_t bytes)
{
  held_t *held = make(device, class, bytes);
  if (!held || limit_memory_charge(device->limiter, class, held->charge->bytes))
    return held;
  destroy(held);
  return NULL;
}

void held_give_back(held_t *held)
{
  if (!held)
    return;
  pthread_mutex_lock(&lock);
  bool last = --held->charge->names == 0;
  pthread_mutex_unlock(&lock);
  if (last) {
    limit_memory_release(held->charge->limiter, held->charge->class, held->charge->bytes);
    free(held->charge);
  }
  free(held);
}

/* ---- What others see ---- */

static rawhal_event_t event_of(rawhal_event_type_t type, const held_t *held)
{
  return (rawhal_event_t){.type = type,
                          .id = held->shown,
                          .address = held->key.number,
                          .bytes = held->span,
                          .agent = held->charge->device->agent.handle};
}

static void show(held_t *held)
{
  if (held->key.kind != HELD_MAPPING && held->key.kind != HELD_IMPORT)
    return;
  held->shown = ranges_number();
  held->told = tell_came(event_of(RAWHAL_EVENT_ALLOCATE, held));
}

static void hide(held_t *held)
{
  tell_went(held->told, event_of(RAWHAL_EVENT_FREE, held));
  held->told = 0;
}

/* ---- Names; the caller holds the lock ---- */

static held_t *find(const held_key_t *key)
{
  held_t *held;
  HASH_FIND(hh, all, key, sizeof(*key), held);
  return held;
}

static bool add(held_t *held)
{
  held_t *first = find(&held->key);
  if (first) {
    for (held_t *each = first; each; each = each->next)
      each->doubted = false; /* it is there, then */
    held->next = first->next;
    first->next = held;
  } else {
    held->next = NULL;
    held->hh.tbl = NULL;
    HASH_ADD(hh, all, key, sizeof(held->key), held);
    if (!held->hh.tbl)
      return false;
  }
  descriptors += held->key.kind == HELD_DESCRIPTOR;
  show(held);
  return true;
}

/* One of that name. */
static held_t *take(const held_key_t *key)
{
  held_t *first = find(key), *held = first;
  if (!first)
    return NULL;
  if (first->next) {
    held = first->next;
    first->next = held->next;
  } else {
    HASH_DELETE(hh, all, first);
  }
  held->next = NULL;
  descriptors -= key->kind == HELD_DESCRIPTOR;
  hide(held);
  return held;
}

static held_t *again(const held_t *known)
{
  held_t *held = known ? calloc(1, sizeof(*held)) : NULL;
  if (!held)
    return NULL;
  held->charge = known->charge;
  ++held->charge->names;
  return held;
}

/* ---- Names ---- */

static held_key_t key_of(held_kind_t kind, uint64_t number)
{
  return (held_key_t){.kind = kind, .number = number};
}

static bool remember(held_t *held, held_key_t key, uint64_t span)
{
  held->key = key;
  held->span = span;
  pthread_mutex_lock(&lock);
  bool added = add(held);
  pthread_mutex_unlock(&lock);
  return added;
}

bool held_remember(held_t *held, held_kind_t kind, uint64_t number, uint64_t span)
{
  return remember(held, key_of(kind, number), span);
}

bool held_remember_descriptor(held_t *held, int fd)
{
  held_key_t key;
  return descriptor_key(fd, &key) && remember(held, key, 1);
}

held_t *held_again(held_kind_t kind, uint64_t number)
{
  held_key_t key = key_of(kind, number);
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  held_t *held = again(find(&key));
  pthread_mutex_unlock(&lock);
  return held;
}

held_t *held_again_mapped(uint64_t address)
{
  const held_t *known = NULL;
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  for (const held_t *each = all; each && !known; each = each->hh.next)
    if (each->key.kind == HELD_MAPPING && address >= each->key.number &&
        address - each->key.number < each->span)
      known = each;
  held_t *held = again(known);
  pthread_mutex_unlock(&lock);
  return held;
}

bool held_knows(held_kind_t kind, uint64_t number)
{
  held_key_t key = key_of(kind, number);
  if (front_orphaned())
    return false;
  pthread_mutex_lock(&lock);
  bool known = find(&key) != NULL;
  pthread_mutex_unlock(&lock);
  return known;
}

uint64_t held_sum(held_kind_t kind, uint64_t number, const front_device_t *device)
{
  held_key_t key = key_of(kind, number);
  uint64_t sum = 0;
  pthread_mutex_lock(&lock);
  for (const held_t *each = find(&key); each; each = each->next)
    sum += each->charge->device == device ? each->charge->bytes : 0;
  pthread_mutex_unlock(&lock);
  return sum;
}

held_t *held_take(held_kind_t kind, uint64_t number)
{
  held_key_t key = key_of(kind, number);
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  held_t *held = take(&key);
  pthread_mutex_unlock(&lock);
  return held;
}

held_t *held_take_all(held_kind_t kind, uint64_t number)
{
  held_key_t key = key_of(kind, number);
  if (front_orphaned())
    return NULL;
  pthread_mutex_lock(&lock);
  held_t *first = find(&key);
  if (first)
    HASH_DELETE(hh, all, first);
  pthread_mutex_unlock(&lock);
  return first;
}

hsa_status_t held_settle(held_t *held, hsa_status_t result)
{
  while (held) {
    held_t *next = held->next;
    if (result == HSA_STATUS_SUCCESS)
      held_give_back(held);
    else if (!remember(held, held->key, held->span))
      free(held); /* still there, and so still charged */
    held = next;
  }
  return result;
}

/* ---- Descriptors ---- */

static void seen(const held_key_t *key, void *data)
{
  (void)data;
  pthread_mutex_lock(&lock);
  for (held_t *each = find(key); each; each = each->next)
    each->doubted = false;
  pthread_mutex_unlock(&lock);
}

/* Doubts those that there are, and returns whether there is any: what is remembered meanwhile is
 * not looked for. */
static bool doubt(void)
{
  pthread_mutex_lock(&lock);
  if (descriptors)
    for (held_t *first = all; first; first = first->hh.next)
      for (held_t *each = first; each; each = each->next)
        each->doubted = each->key.kind == HELD_DESCRIPTOR;
  bool any = descriptors != 0;
  pthread_mutex_unlock(&lock);
  return any;
}

/* One that is still doubted. */
static held_t *take_doubted(void)
{
  held_t *held = NULL;
  pthread_mutex_lock(&lock);
  for (held_t *each = all; each && !held; each = each->hh.next)
    if (each->doubted) /* as all of that name are */
      held = take(&each->key);
  pthread_mutex_unlock(&lock);
  return held;
}

void held_sweep(void)
{
  if (front_orphaned() || !doubt() || !descriptors_each(seen, NULL))
    return;
  for (held_t *held = take_doubted(); held; held = take_doubted())
    held_give_back(held);
}

/* ---- The end ---- */

void memory_forget(void)
{
  held_t *first, *next;
  HASH_ITER(hh, all, first, next)
  {
    HASH_DELETE(hh, all, first);
    for (held_t *each = first; each; each = each->next)
      hide(each);
    (void)held_settle(first, HSA_STATUS_SUCCESS);
  }
  descriptors = 0;
  sources_forget();
}

void memory_abandon(void)
{
  sources_abandon();
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
  all = NULL;
  descriptors = 0;
}
