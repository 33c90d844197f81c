#include "front/objects.h"

#include "front/report.h"

#include "front/contents.h"
#include "front/loaded.h"
#include "front/ranges.h"
#include "front/trace.h"
#include "front/unloaded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

/* An object in an executable. */
typedef struct place {
  uint64_t executable, loaded; /* by the runtime's numbers */
  hsa_agent_t agent;
  uint64_t base, size; /* in the device's address space */
  uint64_t delta;      /* from the object's own addresses to those */
  front_object_t *object;
  uint64_t number; /* of the module, for observers; so is: */
  tell_entry_t told;
  struct place *next;
} place_t;

/* What a packet's kernel_object is. */
typedef struct known {
  uint64_t kernel_object, executable;
  hsa_agent_t agent;
  front_kernel_t *kernel;
  tell_entry_t told;
  UT_hash_handle hh;
} known_t;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static place_t *places;
static known_t *all_known;
static const objects_listener_t *listener;

/* ---- Kernels ---- */

static int by_address(const void *a, const void *b)
{
  uint64_t one = ((const front_kernel_t *)a)->address, other = ((const front_kernel_t *)b)->address;
  return (one > other) - (one < other);
}

/* The caller holds the lock for writing. */
static void read_kernels(front_object_t *object)
{
  if (object->read)
    return;
  rawhal_error_t error;
  object->read = true;
  if (rawhal_hsaco_open(object->bytes, object->size,
                        &(rawhal_hsaco_options_t){.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS},
                        &object->hsaco, &error) != RAWHAL_OK) {
    object->unreadable = strdup(error.message);
    return;
  }
  size_t count = rawhal_hsaco_info(object->hsaco)->kernel_count;
  object->kernels = calloc(count ? count : 1, sizeof(*object->kernels));
  for (size_t i = 0; object->kernels && i < count; ++i) {
    const rawhal_kernel_t *facts = rawhal_hsaco_kernel(object->hsaco, i);
    if (facts->descriptor)
      object->kernels[object->kernel_count++] =
          (front_kernel_t){.object = object, .facts = facts, .address = facts->descriptor->address};
  }
  if (object->kernel_count)
    qsort(object->kernels, object->kernel_count, sizeof(*object->kernels), by_address);
}

static front_kernel_t *kernel_at(front_object_t *object, uint64_t address)
{
  const front_kernel_t wanted = {.address = address};
  read_kernels(object);
  return object->kernel_count ? bsearch(&wanted, object->kernels, object->kernel_count,
                                        sizeof(*object->kernels), by_address)
                              : NULL;
}

/* What it takes, and what is said of it. */
static void learn(front_kernel_t *kernel)
{
  if (kernel->learnt)
    return;
  kernel->learnt = true;
  if (rawhal_kernarg_layout_create(kernel->facts, 0, &kernel->layout, NULL) != RAWHAL_OK)
    kernel->layout = NULL;
  kernel->policy = policy_for(kernel->facts, kernel->layout, kernel->object->key.given);
}

static place_t *place_at(uint64_t address)
{
  place_t *place = places;
  while (place && address - place->base >= place->size)
    place = place->next;
  return place;
}

static known_t *known_as(uint64_t kernel_object)
{
  known_t *known;
  HASH_FIND(hh, all_known, &kernel_object, sizeof(kernel_object), known);
  return known;
}

/* The caller holds the lock for writing. What finds no memory is looked for again. */
static front_kernel_t *find(uint64_t kernel_object, hsa_agent_t *agent)
{
  place_t *place = place_at(kernel_object);
  front_kernel_t *kernel = place ? kernel_at(place->object, kernel_object - place->delta) : NULL;
  if (kernel)
    *agent = place->agent;
  known_t *known = kernel && !known_as(kernel_object) ? malloc(sizeof(*known)) : NULL;
  if (!known)
    return kernel;
  *known = (known_t){kernel_object, place->executable, place->agent, kernel, 0, {0}};
  HASH_ADD(hh, all_known, kernel_object, sizeof(known->kernel_object), known);
  if (known->hh.tbl)
    known->told = tell_came((rawhal_event_t){.type = RAWHAL_EVENT_KERNEL,
                                             .id = place->number,
                                             .kernel_object = kernel_object,
                                             .delta = (int64_t)place->delta,
                                             .text = kernel->facts->name});
  else
    free(known);
  return kernel;
}

static front_kernel_t *find_learnt(uint64_t kernel_object, hsa_agent_t *agent)
{
  const known_t *known = known_as(kernel_object);
  if (!known || !known->kernel->learnt)
    return NULL;
  *agent = known->agent;
  atomic_fetch_add(&known->kernel->object->users, 1);
  return known->kernel;
}

front_kernel_t *objects_kernel(uint64_t kernel_object, hsa_agent_t *agent)
{
  hsa_agent_t ignored;
  agent = agent ? agent : &ignored;
  pthread_rwlock_rdlock(&lock);
  front_kernel_t *kernel = find_learnt(kernel_object, agent);
  pthread_rwlock_unlock(&lock);
  if (kernel)
    return kernel;
  pthread_rwlock_wrlock(&lock);
  kernel = find_learnt(kernel_object, agent);
  if (!kernel && (kernel = find(kernel_object, agent))) {
    learn(kernel);
    atomic_fetch_add(&kernel->object->users, 1);
  }
  pthread_rwlock_unlock(&lock);
  return kernel;
}

/* The caller holds the lock. */
static tell_entry_t tell_instead(rawhal_event_instead_t how, uint64_t instead,
                                 uint64_t kernel_object, const front_kernel_t *kernel)
{
  const place_t *place = place_at(kernel_object);
  return tell_came((rawhal_event_t){.type = RAWHAL_EVENT_KERNEL,
                                    .id = place ? place->number : 0,
                                    .kernel_object = instead,
                                    .address = kernel_object,
                                    .kind = how,
                                    .text = kernel->facts->name});
}

tell_entry_t objects_tell_substitute(uint64_t substitute, uint64_t kernel_object,
                                     const front_kernel_t *kernel)
{
  pthread_rwlock_rdlock(&lock);
  const tell_entry_t told =
      tell_instead(RAWHAL_EVENT_INSTEAD_SUBSTITUTE, substitute, kernel_object, kernel);
  pthread_rwlock_unlock(&lock);
  return told;
}

void objects_set_copy(uint64_t copy, uint64_t kernel_object)
{
  known_t *added = kernel_object ? calloc(1, sizeof(*added)) : NULL;
  pthread_rwlock_wrlock(&lock);
  known_t *before = known_as(copy);
  if (before)
    HASH_DELETE(hh, all_known, before);
  const known_t *known = known_as(kernel_object);
  if (added && known) {
    *added = (known_t){copy, known->executable, known->agent, known->kernel, 0, {0}};
    HASH_ADD(hh, all_known, kernel_object, sizeof(added->kernel_object), added);
  }
  if (before)
    tell_unlist(before->told);
  if (added && added->hh.tbl)
    added->told = tell_instead(RAWHAL_EVENT_INSTEAD_PROBED, copy, kernel_object, added->kernel);
  pthread_rwlock_unlock(&lock);
  free(before);
  if (added && !added->hh.tbl)
    free(added);
}

void objects_asked(uint64_t kernel_object, bool by_name)
{
  enum { SMALL = 256 << 10 };
  hsa_agent_t agent;
  if (!front.remembered || front_orphaned())
    return;
  pthread_rwlock_rdlock(&lock);
  const place_t *place = place_at(kernel_object);
  const bool is_new =
      place && !known_as(kernel_object) && !(by_name && place->object->size > SMALL);
  pthread_rwlock_unlock(&lock);
  if (!is_new)
    return;
  pthread_rwlock_wrlock(&lock);
  (void)find(kernel_object, &agent);
  pthread_rwlock_unlock(&lock);
}

void objects_why_unknown(uint64_t kernel_object, char *text, size_t size)
{
  char hash[OBJECT_HASH_TEXT];
  pthread_rwlock_rdlock(&lock);
  const place_t *place = place_at(kernel_object);
  if (!place) {
    (void)snprintf(text, size, "kernel 0x%llx is of no code object that was seen being loaded",
                   (unsigned long long)kernel_object);
  } else {
    const char *why = place->object->unreadable;
    object_hash_text(place->object, hash);
    (void)snprintf(text, size, "kernel 0x%llx: code object %s %s%.200s",
                   (unsigned long long)kernel_object, hash,
                   why ? "cannot be read: " : "has no kernel there", why ? why : "");
  }
  pthread_rwlock_unlock(&lock);
}

void objects_release(front_kernel_t *kernel)
{
  if (!kernel)
    return;
  front_object_t *object = kernel->object;
  size_t users = atomic_load(&object->users);
  while (users > 1)
    if (atomic_compare_exchange_weak(&object->users, &users, users - 1))
      return;
  pthread_rwlock_wrlock(&lock); /* the last, unless it is loaded again meanwhile */
  contents_drop(object);
  pthread_rwlock_unlock(&lock);
}

/* ---- Facts ---- */

bool objects_range(uint64_t address, uint64_t *base, uint64_t *size, hsa_agent_t *agent)
{
  pthread_rwlock_rdlock(&lock);
  const place_t *place = place_at(address);
  if (place) {
    *base = place->base;
    *size = place->size;
    *agent = place->agent;
  }
  pthread_rwlock_unlock(&lock);
  return place != NULL;
}

bool objects_loaded(uint64_t address, object_loaded_t *loaded)
{
  pthread_rwlock_wrlock(&lock); /* its facts may have to be read */
  const place_t *place = place_at(address);
  if (place) {
    *loaded = (object_loaded_t){.executable = place->executable,
                                .base = place->base,
                                .size = place->size,
                                .delta = place->delta};
    read_kernels(place->object);
    loaded->unreadable = !place->object->hsaco;
    if (place->object->hsaco)
      variables_of(place->object->hsaco, &loaded->variables);
  }
  pthread_rwlock_unlock(&lock);
  return place != NULL;
}

void objects_bounds(uint64_t *least, uint64_t *end)
{
  *least = *end = 0;
  pthread_rwlock_rdlock(&lock);
  for (const place_t *place = places; place; place = place->next) {
    *least = *end && *least < place->base ? *least : place->base;
    *end = *end > place->base + place->size ? *end : place->base + place->size;
  }
  pthread_rwlock_unlock(&lock);
}

/* ---- Executables ---- */

static bool info_of(loaded_info_t *info, hsa_loaded_code_object_t loaded,
                    hsa_ven_amd_loader_loaded_code_object_info_t attribute, void *value)
{
  return info(loaded, attribute, value) == HSA_STATUS_SUCCESS;
}

/* The runtime's name for where it was: a file with offset and size, or memory. NULL: none. */
static char *uri_of(loaded_info_t *info, hsa_loaded_code_object_t loaded)
{
  uint32_t length = 0;
  if (!info_of(info, loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &length))
    return NULL;
  char *uri = calloc(1, (size_t)length + 1);
  if (uri && info_of(info, loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri))
    return uri;
  free(uri);
  return NULL;
}

/* The caller holds the lock for writing. */
static front_object_t *add_place(const place_t *found, const content_t *content, const char *uri)
{
  place_t *place = malloc(sizeof(*place));
  front_object_t *object = place ? contents_get(content) : NULL;
  if (!place || !object) {
    free(place);
    return NULL;
  }
  *place = *found;
  place->object = object;
  place->next = places;
  places = place;
  unloaded_forget(place->base, place->size);
  atomic_fetch_add(&object->users, 1);
  place->number = tell_number();
  place->told = tell_came((rawhal_event_t){.type = RAWHAL_EVENT_MODULE_LOAD,
                                           .id = place->number,
                                           .agent = place->agent.handle,
                                           .bytes = place->size,
                                           .text = rawhal_string(uri)});
  return object;
}

/* The executable keeps what is loaded, and the thread that loads keeps the executable. */
static void tell_of(front_object_t *object, const place_t *place)
{
  pthread_rwlock_wrlock(&lock);
  read_kernels(object);
  pthread_rwlock_unlock(&lock);
  for (size_t i = 0; i < object->kernel_count; ++i)
    listener->loaded(place->agent, (hsa_executable_t){place->executable}, &object->kernels[i],
                     object->kernels[i].address + place->delta);
}

static bool is_remembered(hsa_executable_t executable, hsa_loaded_code_object_t loaded)
{
  pthread_rwlock_rdlock(&lock);
  const place_t *place = places;
  while (place && (place->executable != executable.handle || place->loaded != loaded.handle))
    place = place->next;
  pthread_rwlock_unlock(&lock);
  return place != NULL;
}

static void no_memory(uint64_t size, const char *uri)
{
  front_report("no memory for a code object of %llu bytes (%.200s): its kernels have no names",
               (unsigned long long)size, uri ? uri : "origin unknown");
}

/* What is loaded keeps its bytes' place until the executable is frozen, and ROCr has read all of a
 * file: both are in memory. */
static void remember(hsa_executable_t executable, hsa_loaded_code_object_t loaded,
                     loaded_info_t *info, void *context)
{
  (void)context;
  if (is_remembered(executable, loaded))
    return;
  uint64_t bytes = 0, size = 0;
  int64_t delta = 0;
  place_t place = {.executable = executable.handle, .loaded = loaded.handle};
  const struct {
    hsa_ven_amd_loader_loaded_code_object_info_t attribute;
    void *value;
  } wanted[] = {
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE, &bytes},
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE, &size},
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &delta},
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &place.base},
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &place.size},
      {HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &place.agent},
  };
  for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); ++i)
    if (!info_of(info, loaded, wanted[i].attribute, wanted[i].value))
      return;
  place.delta = (uint64_t)delta;
  if (!bytes || !size)
    return;
  const content_t content = /* hashed while nothing waits for that */
      content_of((rawhal_bytes_t){(const void *)(uintptr_t)bytes, size});
  char *uri = uri_of(info, loaded);
  trace_object(content.key.given, size, uri);
  pthread_rwlock_wrlock(&lock);
  front_object_t *object = add_place(&place, &content, uri);
  if (object && !object->uri) {
    object->uri = uri;
    uri = NULL;
  }
  pthread_rwlock_unlock(&lock);
  if (object && listener && listener->loaded)
    tell_of(object, &place);
  else if (!object)
    no_memory(size, uri);
  free(uri);
}

void objects_remember(hsa_executable_t executable)
{
  if (!front_orphaned())
    (void)loaded_each(executable, remember, NULL);
}

/* The caller holds the lock for writing. */
static void drop_executable(uint64_t executable)
{
  known_t *known, *next;
  HASH_ITER(hh, all_known, known, next)
  {
    if (known->executable != executable)
      continue;
    HASH_DELETE(hh, all_known, known);
    tell_unlist(known->told);
    free(known);
  }
  for (place_t **at = &places; *at;) {
    place_t *place = *at;
    if (place->executable == executable) {
      *at = place->next;
      unloaded_note(place->base, place->size, place->agent.handle);
      tell_went(place->told,
                (rawhal_event_t){.type = RAWHAL_EVENT_MODULE_UNLOAD, .id = place->number});
      contents_drop(place->object);
      free(place);
    } else {
      at = &place->next;
    }
  }
}

void objects_unload(hsa_executable_t executable)
{
  if (front_orphaned())
    return;
  pthread_rwlock_wrlock(&lock);
  drop_executable(executable.handle);
  pthread_rwlock_unlock(&lock);
  ranges_settle(); /* whoever reads its memory has done so */
  if (listener)
    listener->unload(executable);
}

void objects_listen(const objects_listener_t *who)
{
  listener = who;
}

void objects_forget(void)
{
  pthread_rwlock_wrlock(&lock);
  while (places)
    drop_executable(places->executable);
  pthread_rwlock_unlock(&lock);
  unloaded_forget(0, UINT64_MAX);
}

void objects_abandon(void)
{
  (void)pthread_rwlock_init(&lock, NULL);
  contents_abandon();
  places = NULL;
  all_known = NULL;
  unloaded_abandon();
}
