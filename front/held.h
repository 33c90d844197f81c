/* What the program holds of devices' memory, by its names: reserved in the ledger before it is
 * allocated, given back after it was freed. Internal.
 *
 * Memory may have several names at once, as a handle that is mapped and a file descriptor that it
 * was exported as: it is charged once, until the last of them is gone. */
#ifndef RAWHAL_FRONT_HELD_H
#define RAWHAL_FRONT_HELD_H

#include "front/front.h"

#include "queue/limit/memory.h"

/* Freeing does not tell the size. Names of different kinds are numbered independently. */
typedef enum held_kind {
  HELD_POINTER,    /* of an allocation: its address */
  HELD_HANDLE,     /* of memory that has no address of its own */
  HELD_MAPPING,    /* where such memory is mapped: an address */
  HELD_IMPORT,     /* memory of others: where it is mapped */
  HELD_DESCRIPTOR, /* a file descriptor that keeps memory */
  HELD_QUEUE,      /* a queue whose ring is in device memory: its address */
  HELD_CODE,       /* executables; each has a name for each time that something was loaded */
} held_kind_t;

typedef struct held held_t;

/* NULL: refused, or there is no host memory to remember it in. */
held_t *held_reserve(front_device_t *device, ledger_class_t class, uint64_t bytes);
/* memory.c: of a queue that the device has, and of whose ring only the ring tells where it is. */
held_t *memory_of_queue(front_device_t *device, const hsa_queue_t *queue);
/* What is taken already, whether it fits or not. NULL: no host memory. */
held_t *held_charge(front_device_t *device, ledger_class_t class, uint64_t bytes);
/* The same memory again, for another name of it. NULL: it is not known, or as above. */
held_t *held_again(held_kind_t kind, uint64_t number);
/* Of the mapping that an address is in. */
held_t *held_again_mapped(uint64_t address);
/* NULL is allowed. */
void held_give_back(held_t *held);

static inline uint64_t held_number(const void *address)
{
  return (uint64_t)(uintptr_t)address;
}
/* `span`: how many addresses are its, of a mapping or an import. False: there is no host memory for
 * it. A name may be given several times; the latest is taken first. */
bool held_remember(held_t *held, held_kind_t kind, uint64_t number, uint64_t span);
/* By the file that it is open on, for as long as this process has that open or mapped: it may be
 * closed without a word, or duplicated. */
bool held_remember_descriptor(held_t *held, int fd);
bool held_knows(held_kind_t kind, uint64_t number);
/* Of all that has the name, on one device. */
uint64_t held_sum(held_kind_t kind, uint64_t number, const front_device_t *device);

/* Before it is freed: afterwards another may get the same number. NULL: not known. */
held_t *held_take(held_kind_t kind, uint64_t number);
/* All that have the name; held_settle() settles all of them. */
held_t *held_take_all(held_kind_t kind, uint64_t number);
/* After the runtime freed it, or failed to. NULL is allowed. */
hsa_status_t held_settle(held_t *held, hsa_status_t result);

/* Gives back what descriptors kept that are closed by now. */
void held_sweep(void);
/* When the runtime ends; in a child that has a runtime of its own, where what there is was the
 * parent's, its locks too. So are the other abandon functions. */
void memory_forget(void);
void memory_abandon(void);

#endif
