/* Where in a region the value of each limit is stored. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_STORAGE_H
#define RAWHAL_QUEUE_LIMIT_STORAGE_H

#include "queue/limit/region.h"

typedef enum place { PLACE_NOWHERE, PLACE_DEVICE, PLACE_TENANT, PLACE_PROCESS, PLACE_CAPS } place_t;

/* Whose words are meant; those of NULL ones are left out. */
typedef struct limit_owners {
  region_device_t *device;
  region_tenant_t *tenant;
  region_member_t *member;
  _Atomic uint64_t *caps; /* of LIMIT_COUNT */
} limit_owners_t;

enum { LIMIT_STORAGE_WORDS = 3 };

typedef struct limit_storage {
  _Atomic uint64_t *words[LIMIT_STORAGE_WORDS]; /* all of them hold the value; then NULL */
  uint64_t (*encode)(uint64_t value);
  uint64_t (*decode)(uint64_t word);
  place_t place; /* whose limit it is: a device's, a tenant's or a process's */
} limit_storage_t;

limit_storage_t limit_storage(const limit_owners_t *owners, rawhal_limit_t limit);
void limit_store(const limit_storage_t *storage, uint64_t word);

/* Words of a region as they are configured. */
uint64_t limit_share_value(uint64_t word); /* parts per million */
uint64_t limit_memory_value(uint64_t units);

#endif
