/* What is on the device. An object is there as long as one of its kernels is held, and after that
 * until its room is needed; those that are not held are in a list, the last to be given back first.
 */
#include "library/internal.h"

#include "hal/runtime.h"

#include "base/error.h"

#include "hal/executable.h"

/* ---- The list of those that are not held. The caller holds the lock ---- */

static void idle_add(rawhal_library_t *library, loaded_object_t *loaded)
{
  loaded->newer = NULL;
  loaded->older = library->newest;
  *(library->newest ? &library->newest->newer : &library->oldest) = loaded;
  library->newest = loaded;
}

static void idle_remove(rawhal_library_t *library, loaded_object_t *loaded)
{
  *(loaded->newer ? &loaded->newer->older : &library->newest) = loaded->older;
  *(loaded->older ? &loaded->older->newer : &library->oldest) = loaded->newer;
}

static void use(rawhal_library_t *library, loaded_object_t *loaded)
{
  if (loaded->users++ == 0)
    idle_remove(library, loaded);
}

static void remove_key(rawhal_library_t *library, loaded_object_t *loaded)
{
  if (loaded->has_key)
    HASH_DELETE(by_key, library->loaded_by_key, loaded);
  loaded->has_key = false;
}

static void forget(rawhal_library_t *library, loaded_object_t *loaded)
{
  idle_remove(library, loaded);
  HASH_DELETE(hh, library->loaded, loaded);
  remove_key(library, loaded);
  library->loaded_bytes -= loaded->bytes;
  ++library->counters.unloads;
}

/* Unloads the oldest until there is no more than `most`. The caller holds the lock, which is let go
 * meanwhile. */
static void make_room(rawhal_library_t *library, uint64_t most)
{
  while (library->loaded_bytes > most && library->oldest) {
    loaded_object_t *oldest = library->oldest;
    forget(library, oldest);
    pthread_mutex_unlock(&library->loaded_lock);
    rawhal_executable_destroy(oldest->executable);
    allocate_free(&library->allocator, oldest);
    pthread_mutex_lock(&library->loaded_lock);
  }
}

/* ---- Loading ---- */

loaded_object_t *loaded_find(rawhal_library_t *library, const object_key_t *key)
{
  loaded_object_t *found;
  pthread_mutex_lock(&library->loaded_lock);
  HASH_FIND(by_key, library->loaded_by_key, key, sizeof(*key), found);
  if (found)
    use(library, found);
  pthread_mutex_unlock(&library->loaded_lock);
  return found;
}

static loaded_object_t *find_executable(rawhal_library_t *library,
                                        const rawhal_executable_t *executable)
{
  loaded_object_t *found;
  HASH_FIND_PTR(library->loaded, &executable, found);
  return found;
}

/* Takes the place of whatever was found under that key before: the file has changed. */
static bool add_key(rawhal_library_t *library, loaded_object_t *loaded)
{
  loaded_object_t *found;
  HASH_FIND(by_key, library->loaded_by_key, &loaded->key, sizeof(loaded->key), found);
  if (found)
    remove_key(library, found);
  HASH_ADD(by_key, library->loaded_by_key, key, sizeof(loaded->key), loaded);
  HASH_FIND(by_key, library->loaded_by_key, &loaded->key, sizeof(loaded->key), found);
  loaded->has_key = found == loaded;
  return loaded->has_key;
}

/* Into both tables, or none. The caller holds the lock. */
static bool add(rawhal_library_t *library, loaded_object_t *loaded)
{
  HASH_ADD_PTR(library->loaded, executable, loaded);
  if (find_executable(library, loaded->executable) != loaded)
    return false;
  if (add_key(library, loaded))
    return true;
  HASH_DELETE(hh, library->loaded, loaded);
  return false;
}

/* Takes the executable, whatever comes of it. */
static rawhal_status_t keep(rawhal_library_t *library, const object_key_t *key,
                            rawhal_executable_t *executable, loaded_object_t **result,
                            rawhal_error_t *error)
{
  loaded_object_t *created = allocate_zeroed(&library->allocator, 1, sizeof(*created));
  pthread_mutex_lock(&library->loaded_lock);
  loaded_object_t *loaded = find_executable(library, executable);
  const bool is_there = loaded;
  if (is_there) { /* another thread was faster, or the same bytes are elsewhere, too */
    use(library, loaded);
    remove_key(library, loaded);
    loaded->key = *key;
    (void)add_key(library, loaded); /* without one it is found again by its bytes */
  } else if (created) {
    created->key = *key;
    created->executable = executable;
    created->users = 1;
    created->bytes = rawhal_hsaco_info(executable->source->hsaco)->bytes.size;
    if (add(library, created)) {
      loaded = created;
      created = NULL;
      library->loaded_bytes += loaded->bytes;
      ++library->counters.loads;
      make_room(library, library->max_loaded_bytes);
    }
  }
  pthread_mutex_unlock(&library->loaded_lock);
  allocate_free(&library->allocator, created);
  if (is_there || !loaded)
    rawhal_executable_destroy(executable);
  *result = loaded;
  return loaded ? RAWHAL_OK
                : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a loaded code object");
}

static void make_all_room(rawhal_library_t *library)
{
  pthread_mutex_lock(&library->loaded_lock);
  make_room(library, 0);
  pthread_mutex_unlock(&library->loaded_lock);
}

rawhal_status_t loaded_get(rawhal_library_t *library, const object_key_t *key,
                           const rawhal_hsaco_t *hsaco, const rawhal_executable_options_t *options,
                           loaded_object_t **loaded, rawhal_error_t *error)
{
  rawhal_executable_t *executable;
  rawhal_status_t status =
      rawhal_executable_load_with(library->device, hsaco, options, &executable, error);
  if (status == RAWHAL_OUT_OF_MEMORY || status == RAWHAL_QUOTA_EXCEEDED) {
    make_all_room(library); /* or another thread just has */
    status = rawhal_executable_load_with(library->device, hsaco, options, &executable, error);
  }
  return status == RAWHAL_OK ? keep(library, key, executable, loaded, error) : status;
}

/* ---- Giving back ---- */

void loaded_put(rawhal_library_t *library, loaded_object_t *loaded)
{
  pthread_mutex_lock(&library->loaded_lock);
  if (loaded->users && --loaded->users == 0)
    idle_add(library, loaded);
  make_room(library, library->max_loaded_bytes);
  pthread_mutex_unlock(&library->loaded_lock);
}

loaded_object_t *loaded_of(rawhal_library_t *library, const rawhal_device_kernel_t *kernel)
{
  const rawhal_executable_t *executable = executable_of(kernel);
  pthread_mutex_lock(&library->loaded_lock);
  loaded_object_t *found = find_executable(library, executable);
  pthread_mutex_unlock(&library->loaded_lock);
  return found;
}

void loaded_free_all(rawhal_library_t *library)
{
  loaded_object_t *one, *next;
  HASH_ITER(hh, library->loaded, one, next)
  {
    if (one->users) {
      one->users = 0;
      idle_add(library, one);
    }
  }
  make_all_room(library);
}
