/* What the program holds of devices' memory, by its names: reserved in the ledger before it is
 * allocated, given back after it was freed. Internal. */
#ifndef RAWHAL_FRONT_HELD_H
#define RAWHAL_FRONT_HELD_H

#include "front/front.h"

/* Freeing does not tell the size. Memory, handles of memory and code objects are numbered
 * independently: a key has the kind and the number. */
typedef enum held_kind { HELD_POINTER, HELD_HANDLE, HELD_CODE } held_kind_t;

typedef struct held held_t;

/* NULL: refused, or there is no host memory to remember it in. */
held_t *held_reserve(front_device_t *device, ledger_class_t class, uint64_t bytes);
/* NULL is allowed. */
void held_give_back(held_t *held);
/* False: there is no host memory for it. */
bool held_remember(held_t *held, held_kind_t kind, uint64_t number);
bool held_knows(held_kind_t kind, uint64_t number);
/* Before it is freed: afterwards another may get the same number. NULL: not known. */
held_t *held_take(held_kind_t kind, uint64_t number);
/* After the runtime freed it, or failed to. NULL is allowed. */
hsa_status_t held_settle(held_t *held, hsa_status_t result);

#endif
