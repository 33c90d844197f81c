/* What the program has allocated, by address. Internal. */
#ifndef RAWHAL_HIPLAUNCH_MEMORY_H
#define RAWHAL_HIPLAUNCH_MEMORY_H

#include "hiplaunch/runtime.h"

typedef enum allocation_kind {
  ALLOCATION_DEVICE,   /* hipMalloc() */
  ALLOCATION_HOST,     /* hipHostMalloc() */
  ALLOCATION_MANAGED,  /* hipMallocManaged(), __managed__: host memory that devices reach */
  ALLOCATION_VARIABLE, /* a __device__ variable */
} allocation_kind_t;

typedef struct allocation {
  uint64_t address;
  size_t size;
  rawhal_buffer_t *buffer;
  device_t *device;
  allocation_kind_t kind;
} allocation_t;

/* Allocates, for all devices where it is the host's memory. Fails without a name: callers add what
 * it was for. */
hipError_t memory_allocate(device_t *device, allocation_kind_t kind, size_t size,
                           allocation_t *allocation);

/* The live allocation that has the byte at `address`. */
bool memory_find(uint64_t address, allocation_t *allocation);

/* The bytes of a variable, known from now on; `kind` and `buffer` are filled in. */
hipError_t memory_add_variable(allocation_t *variable);

/* Forgets an allocation and gives its memory back. The device must be done with it. */
void memory_release(const allocation_t *allocation);

/* Whether `size` bytes are live at `address`, and whose; `what` is for the message. */
hipError_t memory_check(const char *what, const void *address, size_t size,
                        allocation_t *allocation);

#endif
