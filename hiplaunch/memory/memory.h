/* What the program has allocated, by address. Internal. */
#ifndef RAWHAL_HIPLAUNCH_MEMORY_H
#define RAWHAL_HIPLAUNCH_MEMORY_H

#include "hiplaunch/device/runtime.h"

typedef enum allocation_kind {
  ALLOCATION_DEVICE,     /* hipMalloc() */
  ALLOCATION_HOST,       /* hipHostMalloc() */
  ALLOCATION_REGISTERED, /* hipHostRegister(): the program's own */
  ALLOCATION_MANAGED,    /* hipMallocManaged(), __managed__: host memory that devices reach */
  ALLOCATION_VARIABLE,   /* a __device__ variable */
} allocation_kind_t;

typedef struct allocation {
  uint64_t address;
  size_t size;
  rawhal_buffer_t *buffer;
  device_t *device;
  allocation_kind_t kind;
  unsigned flags;                   /* as the program gave them */
  uint32_t id;                      /* no other allocation of the process has it */
  struct ihipMemPoolHandle_t *pool; /* hipMallocAsync(): whose it counts towards */
  rawhal_buffer_t **shared; /* of registered memory: one more for each other device, then NULL */
} allocation_t;

/* Allocates `size` bytes of that kind for the device, for all devices where it is the host's
 * memory; address and buffer are filled in. Fails without a name: callers add what it was for. */
hipError_t memory_allocate(allocation_t *allocation);

/* The live allocation that has the byte at `address`. */
bool memory_find(uint64_t address, allocation_t *allocation);

/* The bytes of a variable, known from now on; `kind` and `buffer` are filled in. */
hipError_t memory_add_variable(allocation_t *variable);

/* Forgets an allocation and gives its memory back. The device must be done with it. */
void memory_release(const allocation_t *allocation);

/* The two halves of that: whoever forgets it first gives it back. */
bool memory_forget(uint64_t address, allocation_t *allocation);
void memory_give_back(const allocation_t *allocation);

/* Host memory of the program's, which kernels use at the host's address from now on. */
hipError_t memory_register(device_t *device, void *pointer, size_t size, unsigned flags);

/* Lets a device reach what the owner has allocated and will allocate; or what it will no more. */
hipError_t memory_open_to(device_t *owner, device_t *device);
hipError_t memory_close_to(device_t *owner, device_t *device);

/* pool.c: the allocation is gone from its pool. */
void pool_leave(const allocation_t *allocation);

/* Whether `size` bytes are live at `address`, and whose; `what` is for the message. */
hipError_t memory_check(const char *what, const void *address, size_t size,
                        allocation_t *allocation);

#endif
