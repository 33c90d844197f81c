/* What is loaded: sources, which are the same bytes, and executables, which are a source on a
 * device. Internal. */
#ifndef RAWHAL_HAL_EXECUTABLE_H
#define RAWHAL_HAL_EXECUTABLE_H

#include "hal/internal.h"

/* One code object, however often it is loaded on however many devices. */
typedef struct code_source {
  rawhal_hsaco_t *hsaco;   /* our own, on our own copy of the bytes, which are the table's key */
  bool descriptor_kernels; /* which table */
  rawhal_executable_t *executables; /* one a device */
  UT_hash_handle hh;
} code_source_t;

typedef struct loaded_kernel {
  rawhal_device_kernel_t kernel;
  rawhal_kernarg_layout_t *layout;
  const rawhal_kernel_t *facts; /* the table's key */
  uint32_t stated_size;
  UT_hash_handle hh;
} loaded_kernel_t;

struct rawhal_executable {
  code_source_t *source;
  struct rawhal_executable *next; /* of the same source */
  rawhal_device_t *device;
  rawhal_executable_info_t info;
  unsigned char *relabelled; /* the bytes that the runtime has, where they are not the source's */
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  uint64_t code_bytes; /* reserved of the device's quota */
  size_t users;        /* loads less destroys; 0 while the device still needs it */
  kernel_owner_t owner;
  pthread_mutex_t lock;     /* of `kernels` */
  loaded_kernel_t *kernels; /* those asked for */
};

/* kernels.c */
void kernels_free(rawhal_executable_t *executable);

#endif
