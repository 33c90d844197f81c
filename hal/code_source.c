/* The table of code objects that are loaded, by their bytes: the same object is kept once, however
 * often it is loaded and from wherever. */
#include "hal/executable.h"
#include "hal/runtime.h"

#include "base/error.h"

#include <limits.h>

/* [1]: with leave to use kernels that only have a descriptor. */
static code_source_t *sources[2];

typedef struct source_key {
  rawhal_bytes_t bytes;
  unsigned hash;
  bool descriptor_kernels;
} source_key_t;

/* Has the caller opened the object with leave to use kernels that only have a descriptor? */
static bool allows_descriptor_kernels(const rawhal_hsaco_t *hsaco)
{
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    if (!kernel->has_metadata && kernel->usable)
      return true;
  return false;
}

static source_key_t key_of(const rawhal_hsaco_t *hsaco)
{
  source_key_t key = {.bytes = rawhal_hsaco_info(hsaco)->bytes,
                      .descriptor_kernels = allows_descriptor_kernels(hsaco)};
  HASH_VALUE(key.bytes.data, (unsigned)key.bytes.size, key.hash);
  return key;
}

static code_source_t *find(const source_key_t *key)
{
  code_source_t *found = NULL;
  HASH_FIND_BYHASHVALUE(hh, sources[key->descriptor_kernels], key->bytes.data,
                        (unsigned)key->bytes.size, key->hash, found);
  return found; /* the hash, then memcmp() */
}

/* The caps were the caller's concern when it opened its object; ours has the same bytes. */
static rawhal_status_t open_copy(const source_key_t *key, const allocator_t *allocator,
                                 rawhal_hsaco_t **copy, rawhal_error_t *error)
{
  rawhal_hsaco_options_t options = {
      .size = sizeof(options),
      .flags = RAWHAL_HSACO_COPY | (key->descriptor_kernels ? RAWHAL_HSACO_DESCRIPTOR_KERNELS : 0u),
      .max_kernels = UINT32_MAX,
      .max_arguments = UINT32_MAX,
      .max_metadata_bytes = UINT64_MAX,
      .allocator = allocator_option(allocator),
  };
  return rawhal_hsaco_open(key->bytes.data, key->bytes.size, &options, copy, error);
}

static void destroy(code_source_t *source)
{
  rawhal_hsaco_close(source->hsaco);
  runtime_free(source);
}

static rawhal_status_t create(const source_key_t *key, const allocator_t *allocator,
                              code_source_t **result, rawhal_error_t *error)
{
  *result = NULL;
  code_source_t *source = allocate_zeroed(allocator, 1, sizeof(*source));
  if (!source)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  source->descriptor_kernels = key->descriptor_kernels;
  rawhal_status_t status = open_copy(key, allocator, &source->hsaco, error);
  if (status == RAWHAL_OK)
    *result = source;
  else
    destroy(source);
  return status;
}

static rawhal_status_t list(const source_key_t *key, code_source_t *source, rawhal_error_t *error)
{
  source_key_t own = *key; /* on its own bytes: the caller's may go */
  own.bytes = rawhal_hsaco_info(source->hsaco)->bytes;
  HASH_ADD_KEYPTR_BYHASHVALUE(hh, sources[own.descriptor_kernels], own.bytes.data,
                              (unsigned)own.bytes.size, own.hash, source);
  if (find(&own) == source)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the table of code objects");
}

rawhal_status_t source_get(const rawhal_hsaco_t *hsaco, const allocator_t *allocator,
                           pthread_mutex_t *lock, code_source_t **result, rawhal_error_t *error)
{
  const source_key_t key = key_of(hsaco);
  pthread_mutex_lock(lock);
  *result = find(&key);
  if (*result)
    return RAWHAL_OK;
  pthread_mutex_unlock(lock); /* reading it takes time */
  code_source_t *created;
  rawhal_status_t status = create(&key, allocator, &created, error);
  pthread_mutex_lock(lock);
  if (status != RAWHAL_OK)
    return status;
  *result = find(&key);
  if (*result) { /* another thread was faster */
    destroy(created);
    return RAWHAL_OK;
  }
  status = list(&key, created, error);
  if (status == RAWHAL_OK)
    *result = created;
  else
    destroy(created);
  return status;
}

void source_put(code_source_t *source)
{
  if (source->executables)
    return;
  HASH_DEL(sources[source->descriptor_kernels], source);
  destroy(source);
}

rawhal_executable_t *sources_find(bool (*wanted)(rawhal_executable_t *executable, void *data),
                                  void *data)
{
  for (int i = 0; i < 2; ++i)
    for (code_source_t *source = sources[i]; source; source = source->hh.next)
      for (rawhal_executable_t *one = source->executables; one; one = one->next)
        if (wanted(one, data))
          return one;
  return NULL;
}
