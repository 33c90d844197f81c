/* The inside of a library. Internal.
 *
 *     library.c   what callers see
 *     source.c    a path or bytes: its files and its index
 *     resolve.c   from a query to the object that is meant
 *     list.c      what there is, page by page
 *     nearest.c   the names that are like one that there is not
 *     object.c    opening one object of a source
 *     loaded.c    what is on the device, and for how long
 */
#ifndef RAWHAL_LIBRARY_INTERNAL_H
#define RAWHAL_LIBRARY_INTERNAL_H

#include "hal/internal.h"
#include "hsaco/content.h"
#include "hsaco/file_bytes.h"
#include "library/cache.h"

#include <pthread.h>

typedef struct library_source {
  struct library_source *next;   /* added later */
  const path_name_t *name;       /* a path, absolute, or what the caller calls its bytes */
  rawhal_container_t *container; /* of bytes */
  list_t files;                  /* of a path; listed_file_t */
  bool indexed;
  library_index_t index;
  uint64_t generation; /* of the index: another numbers objects in another way */
} library_source_t;

/* Which object; all bytes count. */
typedef struct object_key {
  const library_source_t *source;
  uint64_t generation, number;
} object_key_t;

/* A code object that is on the device. */
typedef struct loaded_object {
  object_key_t key; /* where it was first found; the same bytes may stand elsewhere, too */
  rawhal_executable_t *executable;
  uint64_t bytes;
  size_t users;                        /* kernels that were asked for and not given back */
  struct loaded_object *newer, *older; /* while it is not held */
  UT_hash_handle hh;                   /* by the executable */
  UT_hash_handle by_key;
  bool has_key; /* it is in that table */
} loaded_object_t;

typedef struct library_counters {
  uint64_t index_bytes; /* atomically, by the threads that read */
  _Atomic uint64_t files_read, indexes_read, indexes_written, loads, unloads;
} library_counters_t;

struct rawhal_library {
  rawhal_device_t *device;
  allocator_t allocator;
  rawhal_container_options_t container_options;
  rawhal_hsaco_options_t hsaco_options;
  cache_t cache;
  uint64_t max_loaded_bytes;
  uint32_t max_open_files;
  library_counters_t counters;

  /* Of the sources, their files and their indexes: held for reading by threads that look something
   * up. */
  pthread_rwlock_t lock;
  path_names_t names;
  library_source_t *sources, **last;
  uint64_t forgotten; /* indexes that were used, ever: then numbers of kernels mean nothing more */
  uint32_t open_files;

  pthread_mutex_t loaded_lock; /* of what follows; nothing is loaded under it */
  loaded_object_t *loaded, *loaded_by_key;
  loaded_object_t *newest, *oldest; /* of those that are not held */
  uint64_t loaded_bytes;
};

/* ---- source.c: the caller holds the library's lock for writing ---- */

/* Lists the files below a path, in the place of those that are listed. */
RAWHAL_CHECKED rawhal_status_t source_list(rawhal_library_t *library, library_source_t *source,
                                           rawhal_error_t *error);
/* Finds its index on disk, if it may, or makes it. */
RAWHAL_CHECKED rawhal_status_t source_index(rawhal_library_t *library, library_source_t *source,
                                            bool from_disk, rawhal_error_t *error);
/* Lists the files again; the index goes unless it is still of these. A failure changes nothing. */
RAWHAL_CHECKED rawhal_status_t source_refresh(rawhal_library_t *library, library_source_t *source,
                                              rawhal_error_t *error);
/* It is wrong. */
void source_forget_index(rawhal_library_t *library, library_source_t *source);
void source_free(rawhal_library_t *library, library_source_t *source);

/* The file of an object of its index, or the name of the bytes. NULL: the index is damaged. */
static inline const path_name_t *source_file(const library_source_t *source,
                                             const index_object_t *object)
{
  if (source->container)
    return source->name;
  return object->file < source->files.count ? files_at(&source->files, object->file)->path : NULL;
}

/* ---- library.c ---- */

/* Does it with all indexed until no source turns out to be out of date. `ask` is called under the
 * lock, for reading; what it has found of a stale source is void. `what` is looked up, for the
 * message when that does not end. */
typedef rawhal_status_t ask_fn(rawhal_library_t *library, void *context, library_source_t **stale,
                               rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t library_look_up(rawhal_library_t *library, ask_fn *ask,
                                               void *context, rawhal_string_t what,
                                               rawhal_error_t *error);
/* NULL, or whose runtime has gone. */
RAWHAL_CHECKED rawhal_status_t library_check(const rawhal_library_t *library,
                                             rawhal_error_t *error);

/* ---- object.c: the caller holds the library's lock ---- */

/* An object with a kernel that a query may mean. */
typedef struct candidate {
  library_source_t *source;
  uint32_t order;  /* of the source */
  uint32_t number; /* of the object in the source's index */
  uint32_t flags;  /* of the kernel, index_flag_t */
  bool examined;   /* then the last two are known */
  index_object_t object;
  const path_name_t *file;
  rawhal_content_hash_t content;
  uint64_t signature;
} candidate_t;

typedef struct opened_object {
  rawhal_container_t *container; /* that unpacked it, or NULL */
  file_bytes_t file;             /* that it is part of, or none */
  rawhal_hsaco_t *hsaco;
  const rawhal_kernel_t *kernel;
} opened_object_t;

/* Its file, that is. */
bool object_is_as_indexed(const candidate_t *candidate);
/* NOT_FOUND: what is there is not what was indexed. */
RAWHAL_CHECKED rawhal_status_t object_open(const rawhal_library_t *library,
                                           const candidate_t *candidate, rawhal_string_t kernel,
                                           opened_object_t *opened, rawhal_error_t *error);
void object_close(const rawhal_library_t *library, opened_object_t *opened);
/* Reads what the index does not know. NOT_FOUND as above. */
RAWHAL_CHECKED rawhal_status_t object_examine(const rawhal_library_t *library,
                                              const rawhal_library_query_t *query,
                                              candidate_t *candidate, rawhal_error_t *error);

/* ---- resolve.c: the caller holds the library's lock ---- */

/* What fits the query, the best first, as candidate_t, the first `examined` of them examined.
 * `*stale`: a source's index is not, or no more, what its files are; whatever else there is, is
 * void. */
RAWHAL_CHECKED rawhal_status_t resolve_all(const rawhal_library_t *library,
                                           const rawhal_library_query_t *query, size_t examined,
                                           list_t *candidates, library_source_t **stale,
                                           rawhal_error_t *error);
/* The one that is meant, which may not be examined. */
RAWHAL_CHECKED rawhal_status_t resolve_one(const rawhal_library_t *library,
                                           const rawhal_library_query_t *query, candidate_t *chosen,
                                           library_source_t **stale, rawhal_error_t *error);

/* ---- loaded.c ---- */

/* One more user of the object, if it is loaded. */
loaded_object_t *loaded_find(rawhal_library_t *library, const object_key_t *key);
/* Loads it, and counts a user. `path`: of the file that has its bytes at `offset`, or NULL. */
RAWHAL_CHECKED rawhal_status_t loaded_get(rawhal_library_t *library, const object_key_t *key,
                                          const rawhal_hsaco_t *hsaco,
                                          const rawhal_executable_options_t *options,
                                          loaded_object_t **loaded, rawhal_error_t *error);
/* A user less; unloads what there is no room for. */
void loaded_put(rawhal_library_t *library, loaded_object_t *loaded);
/* That a kernel is of; NULL: of none here. */
loaded_object_t *loaded_of(rawhal_library_t *library, const rawhal_device_kernel_t *kernel);
void loaded_free_all(rawhal_library_t *library);

#endif
