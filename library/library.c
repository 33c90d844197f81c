#include "hal/runtime.h"
#include "library/internal.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_OPEN_FILES = 32 };
static const uint64_t default_loaded_bytes = UINT64_C(1) << 30;

/* ---- Creating and destroying ---- */

/* How files and objects are read: as the options say, with the runtime's memory unless they name
 * other. */
static rawhal_status_t take_reading(rawhal_library_t *library,
                                    const rawhal_library_options_t *options, rawhal_error_t *error)
{
  rawhal_container_options_t *container = &library->container_options;
  rawhal_hsaco_options_t *hsaco = &library->hsaco_options;
  rawhal_status_t status = SIZED_TAKE(container, options->container, allocator, error);
  if (status == RAWHAL_OK)
    status = SIZED_TAKE(hsaco, options->hsaco, allocator, error);
  if (status == RAWHAL_OK && hsaco->flags & ~(uint32_t)RAWHAL_HSACO_DESCRIPTOR_KERNELS)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "of the objects' flags a library takes only "
                         "RAWHAL_HSACO_DESCRIPTOR_KERNELS: it copies what it must");
  if (status == RAWHAL_OK && (container->allocator || hsaco->allocator))
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "a library uses its instance's allocator: no other can be given");
  container->flags |= RAWHAL_CONTAINER_HOLD_ONE;
  container->allocator = hsaco->allocator = allocator_option(&library->allocator);
  return status;
}

/* Threads that search without a pause must not keep out those that add or refresh. No thread takes
 * it twice. */
static void init_lock(pthread_rwlock_t *lock)
{
  pthread_rwlockattr_t kind;
  pthread_rwlockattr_init(&kind);
  pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(lock, &kind);
  pthread_rwlockattr_destroy(&kind);
}

rawhal_status_t rawhal_library_create(rawhal_device_t *device,
                                      const rawhal_library_options_t *options,
                                      rawhal_library_t **library, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_library_options_t taken;
  if (!library)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "library is NULL");
  *library = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = SIZED_TAKE(&taken, options, max_open_files, error);
  if (status == RAWHAL_OK)
    status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  const allocator_t *allocator = &device->runtime->allocator;
  rawhal_library_t *created = allocate_zeroed(allocator, 1, sizeof(*created));
  if (!created)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a library");
  created->device = device;
  created->allocator = *allocator;
  status = take_reading(created, &taken, error);
  if (status != RAWHAL_OK) {
    allocate_free(allocator, created);
    return status;
  }
  cache_choose(&created->cache, taken.cache);
  created->max_loaded_bytes =
      taken.max_loaded_bytes ? taken.max_loaded_bytes : default_loaded_bytes;
  created->max_open_files = taken.max_open_files ? taken.max_open_files : DEFAULT_OPEN_FILES;
  created->last = &created->sources;
  path_names_begin(&created->names, &created->allocator);
  init_lock(&created->lock);
  pthread_mutex_init(&created->loaded_lock, NULL);
  runtime_hold();
  *library = created;
  return RAWHAL_OK;
}

void rawhal_library_destroy(rawhal_library_t *library)
{
  WITHOUT_CANCELLATION();
  if (!library || runtime_check(NULL) != RAWHAL_OK)
    return;
  loaded_free_all(library);
  for (library_source_t *source = library->sources, *next; source; source = next) {
    next = source->next;
    source_free(library, source);
  }
  path_names_free(&library->names);
  pthread_rwlock_destroy(&library->lock);
  pthread_mutex_destroy(&library->loaded_lock);
  allocate_free(&library->allocator, library);
  runtime_release();
}

rawhal_status_t library_check(const rawhal_library_t *library, rawhal_error_t *error)
{
  if (!library)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "library is NULL");
  return runtime_check(error);
}

/* ---- Adding ---- */

static rawhal_status_t no_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a source of a library");
}

/* The caller holds the lock for writing. Takes the container, whatever comes of it. */
static rawhal_status_t add_source(rawhal_library_t *library, rawhal_string_t name,
                                  rawhal_container_t *container, rawhal_error_t *error)
{
  library_source_t *source = allocate_zeroed(&library->allocator, 1, sizeof(*source));
  if (!source) {
    rawhal_container_close(container);
    return no_memory(error);
  }
  source->container = container;
  source->files.allocator = &library->allocator;
  source->name = path_names_get(&library->names, name);
  rawhal_status_t status = source->name ? RAWHAL_OK : no_memory(error);
  if (status == RAWHAL_OK && !container)
    status = source_list(library, source, error);
  if (status != RAWHAL_OK) {
    source_free(library, source);
    return status;
  }
  *library->last = source;
  library->last = &source->next;
  return RAWHAL_OK;
}

static bool has_path(const rawhal_library_t *library, const char *path)
{
  for (const library_source_t *one = library->sources; one; one = one->next)
    if (!one->container && strcmp(one->name->text, path) == 0)
      return true;
  return false;
}

rawhal_status_t rawhal_library_add(rawhal_library_t *library, const char *path,
                                   rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  char absolute[PATH_MAX];
  rawhal_status_t status = library_check(library, error);
  if (status != RAWHAL_OK)
    return status;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  if (!realpath(path, absolute))
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "'%s' cannot be found: %s", path, strerror(errno));
  pthread_rwlock_wrlock(&library->lock);
  if (!has_path(library, absolute))
    status = add_source(library, rawhal_string(absolute), NULL, error);
  pthread_rwlock_unlock(&library->lock);
  return status;
}

rawhal_status_t rawhal_library_add_bytes(rawhal_library_t *library, const void *bytes, size_t size,
                                         rawhal_string_t name, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_container_t *container;
  rawhal_status_t status = library_check(library, error);
  if (status != RAWHAL_OK)
    return status;
  if (!name.data && name.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "name is NULL");
  rawhal_container_options_t options = library->container_options;
  options.flags &= ~(uint32_t)RAWHAL_CONTAINER_HOLD_ONE; /* several threads read it at once */
  status = rawhal_container_open(bytes, size, &options, &container, error);
  if (status != RAWHAL_OK)
    return status;
  pthread_rwlock_wrlock(&library->lock);
  status = add_source(library, name, container, error);
  pthread_rwlock_unlock(&library->lock);
  return status;
}

rawhal_status_t rawhal_library_refresh(rawhal_library_t *library, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = library_check(library, error);
  if (status != RAWHAL_OK)
    return status;
  pthread_rwlock_wrlock(&library->lock);
  for (library_source_t *one = library->sources; one; one = one->next) {
    rawhal_status_t refreshed =
        source_refresh(library, one, status == RAWHAL_OK ? error : NULL); /* the first is told */
    if (status == RAWHAL_OK)
      status = refreshed;
  }
  pthread_rwlock_unlock(&library->lock);
  return status;
}

/* ---- Looking up ---- */

static bool is_indexed(const rawhal_library_t *library)
{
  for (const library_source_t *one = library->sources; one; one = one->next)
    if (!one->indexed)
      return false;
  return true;
}

/* The lock for reading, with all indexed. Without it on failure. */
static rawhal_status_t lock_indexed(rawhal_library_t *library, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  pthread_rwlock_rdlock(&library->lock);
  while (status == RAWHAL_OK && !is_indexed(library)) {
    pthread_rwlock_unlock(&library->lock);
    pthread_rwlock_wrlock(&library->lock);
    for (library_source_t *one = library->sources; one && status == RAWHAL_OK; one = one->next)
      status = source_index(library, one, true, error);
    pthread_rwlock_unlock(&library->lock);
    if (status == RAWHAL_OK)
      pthread_rwlock_rdlock(&library->lock);
  }
  return status;
}

/* Looks at the source's files again, and makes its index of what is there. */
static rawhal_status_t make_current(rawhal_library_t *library, library_source_t *stale,
                                    rawhal_error_t *error)
{
  pthread_rwlock_wrlock(&library->lock);
  source_forget_index(library, stale);
  rawhal_status_t status = source_refresh(library, stale, error);
  if (status == RAWHAL_NOT_FOUND || status == RAWHAL_INVALID_ARGUMENT) {
    list_free(&stale->files); /* it has gone; others may have what is asked for */
    status = RAWHAL_OK;
  }
  if (status == RAWHAL_OK)
    status = source_index(library, stale, false, error);
  pthread_rwlock_unlock(&library->lock);
  return status;
}

rawhal_status_t library_look_up(rawhal_library_t *library, ask_fn *ask, void *context,
                                rawhal_string_t what, rawhal_error_t *error)
{
  enum { ATTEMPTS = 5 };
  for (int i = 0; i < ATTEMPTS; ++i) {
    library_source_t *stale = NULL;
    rawhal_status_t status = lock_indexed(library, error);
    if (status != RAWHAL_OK)
      return status;
    status = ask(library, context, &stale, error);
    pthread_rwlock_unlock(&library->lock);
    if (status != RAWHAL_OK || !stale)
      return status;
    status = make_current(library, stale, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "the files with kernel '%.*s' change while they are read",
                     RAWHAL_STRING_ARGS(what));
}

static rawhal_status_t take_query(const rawhal_library_t *library,
                                  const rawhal_library_query_t *query,
                                  rawhal_library_query_t *taken, rawhal_error_t *error)
{
  rawhal_status_t status = library_check(library, error);
  if (status == RAWHAL_OK)
    status = SIZED_TAKE(taken, query, kernarg_size, error);
  if (status != RAWHAL_OK)
    return status;
  if (!taken->name.data || !taken->name.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the query names no kernel");
  if (!taken->file.data && taken->file.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the query's file is NULL");
  return RAWHAL_OK;
}

/* ---- Matches ---- */

typedef struct match_room {
  const rawhal_library_query_t *query;
  char *matches;
  size_t capacity, match_size, count;
} match_room_t;

static void give_match(const candidate_t *candidate, void *to, size_t size)
{
  const rawhal_library_match_t match = {
      .file = {candidate->file->text, candidate->file->size},
      .ordinal = candidate->object.ordinal,
      .offset = candidate->object.offset,
      .bytes = candidate->object.size,
      .target = candidate->object.target,
      .content = candidate->content,
      .signature = candidate->signature,
      .unpacked = candidate->object.unpacked,
      .usable = candidate->flags & INDEX_USABLE,
  };
  sized_element(to, size, &match, sizeof(match));
}

static rawhal_status_t ask_for_matches(rawhal_library_t *library, void *context,
                                       library_source_t **stale, rawhal_error_t *error)
{
  match_room_t *room = context;
  list_t candidates = {.allocator = &library->allocator};
  rawhal_status_t status =
      resolve_all(library, room->query, room->capacity, &candidates, stale, error);
  room->count = status == RAWHAL_OK && !*stale ? candidates.count : 0;
  for (size_t i = 0; i < room->count && i < room->capacity; ++i)
    give_match((const candidate_t *)candidates.items + i, room->matches + i * room->match_size,
               room->match_size);
  list_free(&candidates);
  return status;
}

rawhal_status_t rawhal_library_find(rawhal_library_t *library, const rawhal_library_query_t *query,
                                    rawhal_library_match_t *matches, size_t capacity,
                                    size_t match_size, size_t *count, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_library_query_t taken;
  if (!count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "count is NULL");
  *count = 0;
  if (capacity && (!matches || !match_size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       matches ? "match_size is 0" : "matches is NULL");
  match_room_t room = {&taken, (char *)matches, capacity, match_size, 0};
  rawhal_status_t status = take_query(library, query, &taken, error);
  if (status == RAWHAL_OK)
    status = library_look_up(library, ask_for_matches, &room, taken.name, error);
  if (status == RAWHAL_OK)
    *count = room.count;
  return status;
}

/* ---- Kernels ---- */

/* The object, on the device already or opened for loading. */
typedef struct chosen_object {
  const rawhal_library_query_t *query;
  object_key_t key;
  loaded_object_t *loaded;
  opened_object_t opened;
  rawhal_executable_options_t options;
} chosen_object_t;

static rawhal_status_t ask_for_object(rawhal_library_t *library, void *context,
                                      library_source_t **stale, rawhal_error_t *error)
{
  chosen_object_t *chosen = context;
  const rawhal_library_query_t *query = chosen->query;
  candidate_t candidate;
  rawhal_status_t status = resolve_one(library, query, &candidate, stale, error);
  if (status != RAWHAL_OK || *stale)
    return status;
  if (!object_is_as_indexed(&candidate)) {
    *stale = candidate.source;
    return RAWHAL_OK;
  }
  chosen->key = (object_key_t){candidate.source, candidate.source->generation, candidate.number};
  chosen->loaded = loaded_find(library, &chosen->key);
  if (chosen->loaded)
    return RAWHAL_OK;
  status = object_open(library, &candidate, query->name, &chosen->opened, error);
  if (status == RAWHAL_NOT_FOUND) {
    *stale = candidate.source;
    return RAWHAL_OK;
  }
  if (!candidate.source->container && !candidate.object.unpacked)
    chosen->options = (rawhal_executable_options_t){
        .size = sizeof(chosen->options),
        .path = candidate.file->text,
        .offset = candidate.object.offset,
    };
  return status;
}

static rawhal_status_t get_object(rawhal_library_t *library, const rawhal_library_query_t *query,
                                  loaded_object_t **loaded, rawhal_error_t *error)
{
  chosen_object_t chosen = {.query = query};
  rawhal_status_t status = library_look_up(library, ask_for_object, &chosen, query->name, error);
  *loaded = chosen.loaded;
  if (status != RAWHAL_OK || *loaded)
    return status;
  status = loaded_get(library, &chosen.key, chosen.opened.hsaco, &chosen.options, loaded, error);
  if (status == RAWHAL_NOT_FOUND || status == RAWHAL_INVALID_ARGUMENT) { /* replaced meanwhile */
    chosen.options = (rawhal_executable_options_t){.size = sizeof(chosen.options)};
    status = loaded_get(library, &chosen.key, chosen.opened.hsaco, &chosen.options, loaded, error);
  }
  object_close(library, &chosen.opened);
  return status;
}

rawhal_status_t rawhal_library_kernel(rawhal_library_t *library,
                                      const rawhal_library_query_t *query,
                                      const rawhal_device_kernel_t **kernel, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_library_query_t taken;
  loaded_object_t *loaded;
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");
  *kernel = NULL;
  rawhal_status_t status = take_query(library, query, &taken, error);
  if (status == RAWHAL_OK)
    status = get_object(library, &taken, &loaded, error);
  if (status != RAWHAL_OK)
    return status;
  status =
      rawhal_executable_kernel(loaded->executable, taken.name, taken.kernarg_size, kernel, error);
  if (status != RAWHAL_OK)
    loaded_put(library, loaded);
  return status;
}

void rawhal_library_release(rawhal_library_t *library, const rawhal_device_kernel_t *kernel)
{
  WITHOUT_CANCELLATION();
  if (!library || !kernel || runtime_check(NULL) != RAWHAL_OK)
    return;
  loaded_object_t *loaded = loaded_of(library, kernel);
  if (loaded)
    loaded_put(library, loaded);
}

rawhal_executable_t *rawhal_library_executable(rawhal_library_t *library,
                                               const rawhal_device_kernel_t *kernel)
{
  if (!library || !kernel || runtime_check(NULL) != RAWHAL_OK)
    return NULL;
  const loaded_object_t *loaded = loaded_of(library, kernel);
  return loaded ? loaded->executable : NULL;
}

/* ---- Statistics ---- */

void rawhal_library_stats(rawhal_library_t *library, rawhal_library_stats_t *stats,
                          size_t stats_size)
{
  WITHOUT_CANCELLATION();
  rawhal_library_stats_t now = {0};
  if (!stats)
    return;
  if (library && runtime_check(NULL) == RAWHAL_OK) {
    const library_counters_t *counters = &library->counters;
    pthread_rwlock_rdlock(&library->lock);
    for (const library_source_t *one = library->sources; one; one = one->next) {
      now.files += one->files.count;
      now.objects += one->index.header.object_count;
      now.kernels += one->index.header.kernels;
    }
    pthread_rwlock_unlock(&library->lock);
    now.files_read = counters->files_read;
    now.index_bytes = __atomic_load_n(&counters->index_bytes, __ATOMIC_RELAXED);
    now.indexes_read = counters->indexes_read;
    now.indexes_written = counters->indexes_written;
    now.loads = counters->loads;
    now.unloads = counters->unloads;
    pthread_mutex_lock(&library->loaded_lock);
    now.loaded_bytes = library->loaded_bytes;
    now.loaded_objects = HASH_CNT(hh, library->loaded);
    pthread_mutex_unlock(&library->loaded_lock);
  }
  sized_element(stats, stats_size, &now, sizeof(now));
}
