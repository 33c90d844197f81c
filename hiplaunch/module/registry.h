/* What the program's constructors, and hipModuleLoad() and its kin, have registered: fat binaries,
 * their kernels and variables. Internal.
 *
 * Registering only remembers; a fat binary is loaded onto a device when the first of its kernels or
 * variables is asked for there. */
#ifndef RAWHAL_HIPLAUNCH_REGISTRY_H
#define RAWHAL_HIPLAUNCH_REGISTRY_H

#include "hiplaunch/memory/memory.h"

/* A code object on a device. Equal ones are one executable (hal.h), and so one image. */
typedef struct image {
  struct image *next;
  device_t *device;
  rawhal_executable_t *executable;
  unsigned users;
  struct image_variable *variables; /* that were asked for */
} image_t;

/* A kernel by its name in a module; hipFunction_t points to one. */
struct ihipModuleSymbol_t {
  struct ihipModuleSymbol_t *next; /* of the module */
  const void *host; /* the handle: the program's stub; itself of hipModuleGetFunction() */
  struct ihipModule_t *module;
  const char *name;
};

/* A kernel that is loaded. */
typedef struct loaded {
  const char *name;
  image_t *image;
  const rawhal_device_kernel_t *kernel;
} loaded_t;

/* By the handle that kernel<<<>>> leaves behind, and by hipFunction_t. */
hipError_t registry_kernel(const void *host, device_t *device, loaded_t *loaded);
hipError_t registry_function(hipFunction_t function, device_t *device, loaded_t *loaded);

/* By the address of the host's variable. */
hipError_t registry_variable(const void *host, device_t *device, allocation_t *variable);

/* ---- image.c; the registry is locked ---- */

/* Opens a code object for the device in whatever carries it: an image in memory without a size, or
 * a file. */
hipError_t image_open(device_t *device, const void *bytes, const char *path, image_t **image);
void image_close(image_t *image);
hipError_t image_kernel(image_t *image, const char *name, const rawhal_device_kernel_t **kernel);
hipError_t image_variable(image_t *image, const char *name, allocation_t *variable);

#endif
