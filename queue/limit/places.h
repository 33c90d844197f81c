/* The places of devices and tenants in a region. Internal. Whoever changes one holds the structure
 * lock. */
#ifndef RAWHAL_QUEUE_LIMIT_PLACES_H
#define RAWHAL_QUEUE_LIMIT_PLACES_H

#include "queue/limit/region.h"

/* Of a tenant's asks: not a limit, but that an operator keeps it, with processes or without. */
enum { PLACE_KEPT = 7 };
_Static_assert((int)REGION_ASKS <= (int)PLACE_KEPT, "no limit is asked for there");

static inline bool place_is_kept(const region_tenant_t *tenant)
{
  return atomic_load(&tenant->asks.of[PLACE_KEPT]) != 0;
}

/* INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t place_check_names(const char *device, const char *tenant,
                                                 rawhal_error_t *error);

/* REGION_NO_INDEX: it is not there. */
uint32_t place_of_device(const region_data_t *data, const char *name);

/* That of the name, or an unused one. CAP_EXCEEDED. */
RAWHAL_CHECKED rawhal_status_t place_find_device(region_data_t *data, const char *name,
                                                 uint64_t now, uint32_t *index,
                                                 rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t place_find_tenant(region_data_t *data, uint32_t device,
                                                 const char *name, uint64_t now, uint32_t *index,
                                                 rawhal_error_t *error);

/* Only one that an operator keeps. NOT_FOUND. */
RAWHAL_CHECKED rawhal_status_t place_find_kept(const region_data_t *data, const char *device,
                                               const char *tenant, uint32_t *device_index,
                                               uint32_t *tenant_index, rawhal_error_t *error);
void place_keep(region_data_t *data, uint32_t tenant);
/* With all that is held for it and what it owes. WOULD_BLOCK: there are processes in it. */
RAWHAL_CHECKED rawhal_status_t place_remove(region_data_t *data, uint32_t tenant,
                                            rawhal_error_t *error);

#endif
