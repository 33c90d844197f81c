/* What is loaded: sources, which are the same bytes, and executables, which are a source on a
 * device. Internal. */
#ifndef RAWHAL_HAL_EXECUTABLE_H
#define RAWHAL_HAL_EXECUTABLE_H

#include "hal/internal.h"

/* One code object, however often it is loaded on however many devices. */
typedef struct code_source {
  rawhal_hsaco_t *hsaco;   /* our own, on our own copy of the bytes, which are the table's key */
  bool descriptor_kernels; /* which table */
  rawhal_executable_t *executables; /* one per device and set of externals */
  UT_hash_handle hh;
} code_source_t;

/* Variables that an object needs, sorted by name; the names are the object's. */
typedef struct external_set {
  rawhal_external_t *all;
  size_t count;
  const allocator_t *allocator;
} external_set_t;

typedef struct loaded_kernel {
  rawhal_device_kernel_t kernel;
  rawhal_kernarg_layout_t *layout;
  const rawhal_kernel_t *facts; /* the table's key */
  uint32_t stated_size;
  tell_entry_t told;
  UT_hash_handle hh;
} loaded_kernel_t;

struct rawhal_executable {
  code_source_t *source;
  struct rawhal_executable *next; /* of the same source */
  rawhal_device_t *device;
  rawhal_executable_info_t info;
  unsigned char *copied; /* the bytes that the runtime has, where they are not the source's */
  external_set_t externals;
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  uint64_t code_bytes; /* reserved of the device's quota */
  uint64_t number;     /* of the module, for events */
  tell_entry_t told;
  size_t users;                  /* loads less destroys; 0 while the device still needs it */
  struct load_in_progress *load; /* NULL: it is loaded */
  kernel_owner_t owner;
  pthread_mutex_t lock;     /* of `kernels` */
  loaded_kernel_t *kernels; /* those asked for */
};

/* That the kernel is of. */
static inline rawhal_executable_t *executable_of(const rawhal_device_kernel_t *kernel)
{
  return (rawhal_executable_t *)((char *)kernel->owner - offsetof(rawhal_executable_t, owner));
}

/* code_source.c: the caller holds the lock of executable.c's table, but for the first. */

/* The object's source, made if there is none. Takes `lock`, lets it go while it reads, and has it
 * on return, whatever comes of it. */
RAWHAL_CHECKED rawhal_status_t source_get(const rawhal_hsaco_t *hsaco, const allocator_t *allocator,
                                          pthread_mutex_t *lock, code_source_t **result,
                                          rawhal_error_t *error);
/* Frees a source without executables. */
void source_put(code_source_t *source);
/* The first executable of all that is `wanted`. */
rawhal_executable_t *sources_find(bool (*wanted)(rawhal_executable_t *executable, void *data),
                                  void *data);

/* code_load.c: what a failed load has taken is given back. */
RAWHAL_CHECKED rawhal_status_t code_load(rawhal_executable_t *executable,
                                         const rawhal_executable_options_t *options,
                                         rawhal_error_t *error);
void code_unload(rawhal_executable_t *executable);

/* kernels.c */
void kernels_free(rawhal_executable_t *executable);

/* variables.c: a C string, which is the allocator's; NULL: no memory. */
char *symbol_text(const allocator_t *allocator, rawhal_string_t name);
/* By the loader's name. */
hsa_status_t executable_symbol(const rawhal_executable_t *executable, rawhal_string_t name,
                               hsa_executable_symbol_t *symbol);

/* externals.c: of what the caller supplies, what the object needs, with the object's names. Fails
 * unless it is all of it. */
RAWHAL_CHECKED rawhal_status_t externals_resolve(const rawhal_hsaco_t *hsaco,
                                                 const rawhal_executable_options_t *options,
                                                 const allocator_t *allocator,
                                                 external_set_t *needed, rawhal_error_t *error);
void externals_free(external_set_t *set);
bool externals_equal(const external_set_t *left, const external_set_t *right);
/* Tells the runtime, before it loads. */
RAWHAL_CHECKED rawhal_status_t externals_define(const rawhal_executable_t *executable,
                                                rawhal_error_t *error);

/* Keeps all that is loaded, until executables_let(); comes before all other locks. */
void executables_hold(void);
/* The same for what must not wait for it; false: it is busy. */
bool executables_try_hold(void);
void executables_let(void);
/* Whether the kernel is one of theirs. While they are held. */
bool executables_have(const rawhal_device_kernel_t *kernel);

/* Unloads what has no users and the device no longer needs. */
void executables_reap(void);

#endif
