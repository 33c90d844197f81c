#include "front/loaded.h"

#include "base/list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One that has been seen. */
typedef struct seen {
  uint64_t executable, object;
  bool dead;
  struct seen *next;
} seen_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static seen_t *all;

typedef hsa_ven_amd_loader_1_01_pfn_t loader_t;

static bool find_loader(loader_t *loader)
{
  memset(loader, 0, sizeof(*loader));
  return front.hsa.major_extension_table &&
         front.hsa.major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(*loader), loader) ==
             HSA_STATUS_SUCCESS &&
         loader->hsa_ven_amd_loader_executable_iterate_loaded_code_objects &&
         loader->hsa_ven_amd_loader_loaded_code_object_get_info;
}

static hsa_status_t collect(hsa_executable_t executable, hsa_loaded_code_object_t object,
                            void *context)
{
  (void)executable;
  return list_add(context, &object, sizeof(object)) ? HSA_STATUS_SUCCESS
                                                    : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* Remembers it, if it is new. False: it must not be asked for. */
static bool see(hsa_executable_t executable, hsa_loaded_code_object_t object, bool dead)
{
  pthread_mutex_lock(&lock);
  seen_t *seen = all;
  while (seen && (seen->executable != executable.handle || seen->object != object.handle))
    seen = seen->next;
  if (!seen && (seen = malloc(sizeof(*seen)))) {
    *seen = (seen_t){executable.handle, object.handle, dead, all};
    all = seen;
  }
  const bool alive = seen && !seen->dead;
  pthread_mutex_unlock(&lock);
  return alive;
}

/* The visitor may load, for which the runtime has locks: it is called when they are free. */
static bool look(hsa_executable_t executable, bool dead, loaded_visitor *visitor, void *context)
{
  loader_t loader;
  list_t found = {0};
  if (front_orphaned() || !find_loader(&loader))
    return false;
  const bool whole = loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
                         executable, collect, &found) != HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const hsa_loaded_code_object_t *objects = found.items;
  for (size_t i = 0; i < found.count; ++i)
    if (see(executable, objects[i], dead) && visitor)
      visitor(executable, objects[i], loader.hsa_ven_amd_loader_loaded_code_object_get_info,
              context);
  list_free(&found);
  return whole;
}

bool loaded_each(hsa_executable_t executable, loaded_visitor *visitor, void *context)
{
  return look(executable, false, visitor, context);
}

void loaded_failed(hsa_executable_t executable)
{
  (void)look(executable, true, NULL, NULL);
}

static void drop(const hsa_executable_t *executable) /* NULL: all */
{
  pthread_mutex_lock(&lock);
  for (seen_t **at = &all; *at;) {
    seen_t *seen = *at;
    if (executable && seen->executable != executable->handle) {
      at = &seen->next;
      continue;
    }
    *at = seen->next;
    free(seen);
  }
  pthread_mutex_unlock(&lock);
}

void loaded_gone(hsa_executable_t executable)
{
  drop(&executable);
}

void loaded_forget(void)
{
  drop(NULL);
}

void loaded_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  all = NULL;
}
